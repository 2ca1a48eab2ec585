from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from patchq.engine.languages.outline import Definition, outline

PYTHON = b"""\
import os
from a import (
    b,
    c,
)


@decorated
def outer(x):
    if x:
        def inner():
            return lambda: 1
    return inner


class Thing:
    limit = 3

    async def run(self):
        try:
            import late
        except ImportError:
            pass
"""

CUDA = b"""\
#include "tile.cuh"
namespace kernels {
template <int N>
__global__ void __launch_bounds__(128) scale(float* out, int n) {
  out[threadIdx.x] *= N;
}
struct Plan {
  int tiles() const { return 4; }
};
}  // namespace kernels
static inline void launch(torch::Tensor& out) { kernels::scale<3><<<1, 2>>>(out); }
"""

BROKEN = b"""\
static void dump(int x) {
  list_foreach(x, i, each) {
    use(each);
  }
  switch (x) {
  case 1: {
#ifdef BIG
    if (big(x)) {
      use(x);
    } else {
#endif
      use(2);
    }
  }
  for (int i = 0; i < x; i++) {
  }
}

void after(int x) {
  use(x);
}

template <int N>
static void last(int x) {
  use(x);
}
"""

CMAKE = b"""\
set(A 1)
function(add_kernel name)
  add_library(${name})
endfunction()
macro(Old)
endmacro()
"""


@pytest.mark.parametrize(
    ("path", "content", "names"),
    [
        ("a.py", PYTHON, {"outer", "outer.inner", "Thing", "Thing.run"}),
        ("a.cu", CUDA, {"scale", "Plan", "Plan::tiles", "launch"}),
        ("a.cu", BROKEN, {"dump", "after", "last"}),
        ("x/CMakeLists.txt", CMAKE, {"add_kernel", "old"}),
    ],
)
def test_definitions(path: str, content: bytes, names: set[str]) -> None:
    found = outline(path, content)
    assert found is not None
    assert found.names == names


@pytest.mark.parametrize(
    ("path", "content", "line", "name"),
    [
        ("a.py", PYTHON, 7, "outer"),  # a decorator belongs to what it decorates
        ("a.py", PYTHON, 10, "outer.inner"),
        ("a.py", PYTHON, 15, "Thing"),
        ("a.py", PYTHON, 1, None),
        ("a.cu", CUDA, 2, "scale"),  # so does a template's head
        ("a.cu", CUDA, 7, "Plan::tiles"),
        ("a.cu", BROKEN, 2, "dump"),  # a macro with a block is no function
        ("a.cu", BROKEN, 16, "dump"),  # what the compiler sees of an #ifdef ends where it does
        ("a.cu", BROKEN, 17, "dump"),
        ("a.cu", BROKEN, 19, "after"),
        ("a.cu", BROKEN, 22, "last"),
        ("x.cmake", CMAKE, 2, "add_kernel"),
        ("x.cmake", CMAKE, 0, None),
    ],
)
def test_the_innermost_definition_around_a_line(
    path: str, content: bytes, line: int, name: str | None
) -> None:
    found = outline(path, content)
    assert found is not None
    around = found.around(line, line)
    assert (around.name if around else None) == name


CUT = [
    "",
    "import a\nx = 1\n",
    "class A:\n    def f(self): ...\n    x = 1\n\n    @p(\n        1\n    )\n"
    "    def g(self):\n        def h(): ...\n    y = 2\n\n\n# after\nz = 3\n",
    "@d\nclass A(\n    B,\n):\n    def f(self): ...\n    class C:\n        def g(self): ...\n",
    "class A:\n    if x:\n        def f(): ...\n    def g(): ...\n    import b\n",
    'class A:\n    def f(self):\n        return """\nclass B:\n'
    '    def g(): ...\n"""\n    def h(self): ...\n',
    'def f():\n    """Like\n\n    def g():\n        ...\n    """\n    return 1\n\n\ndef k(): ...\n',
    "class A: x = 1\nclass B:\n  def f(self): ...\n  def g(self): ...\n",
    "if x:\n    y = 1\n    def a(): ...\nelse:\n    def b(): ...\n\nasync def c(): ...\n",
    "class A:\r\n    def f(self): ...\r\n\r\n    def g(self): ...\r\nx = 1\r\n",
    "class A:\r    def f(self): ...\rx = 1\r",
    "class A:\n\tdef f(self): ...\n\tdef g(self): ...\n",
    "# -*- coding: latin-1 -*-\nclass A:\n    def f(self): ...\n",
    "class A:\n    x = (\n    def_,\n    1)\n    def f(self): ...\n",
]


@pytest.mark.parametrize("text", CUT)
def test_a_file_read_in_pieces_is_as_python_reads_it(text: str) -> None:
    found = outline("a.py", text.encode())
    assert found is not None
    assert sorted(found.definitions, key=str) == sorted(_as_parsed(ast.parse(text)), key=str)


def _as_parsed(node: ast.AST, prefix: str = "") -> Iterator[Definition]:
    for child in ast.iter_child_nodes(node):
        name = prefix
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
            yield Definition(f"{prefix}{child.name}", first - 1, (child.end_lineno or 0) - 1)
            name = f"{prefix}{child.name}."
        yield from _as_parsed(child, name)


def test_imports_are_told_apart_wherever_they_stand() -> None:
    found = outline("a.py", PYTHON)
    assert found is not None
    assert [line for line in range(24) if found.in_imports(line, line)] == [0, 1, 2, 3, 4, 20]


@pytest.mark.parametrize(("path", "content"), [("a.py", b"def ("), ("a.txt", b"def f(): pass\n")])
def test_what_cannot_be_read_has_no_outline(path: str, content: bytes) -> None:
    assert outline(path, content) is None
