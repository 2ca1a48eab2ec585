from __future__ import annotations

import pytest

from patchq.engine.languages.outline import outline

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


def test_imports_are_told_apart_wherever_they_stand() -> None:
    found = outline("a.py", PYTHON)
    assert found is not None
    assert [line for line in range(24) if found.in_imports(line, line)] == [0, 1, 2, 3, 4, 20]


@pytest.mark.parametrize(("path", "content"), [("a.py", b"def ("), ("a.txt", b"def f(): pass\n")])
def test_what_cannot_be_read_has_no_outline(path: str, content: bytes) -> None:
    assert outline(path, content) is None
