"""Source nested deeper than Python's stack, or that is none: read as far as it can be, no crash."""

from __future__ import annotations

import re
import warnings

import pytest

from patchq.engine.languages.outline import outline
from patchq.engine.languages.python_modules import read_facts
from patchq.engine.languages.python_names import read_module, read_uses
from patchq.engine.languages.python_text import NotPythonError, parse
from patchq.engine.verify.parse import reader_of

DEPTH = 2000
SUM = b"def f():\n    return " + b" + ".join([b"a.b"] * DEPTH) + b"\n"
CHAIN = b"import m\nx = m" + b".a" * DEPTH + b"\ndef g(): ...\n"
BRANCHES = b"if a:\n    import m0\n" + b"".join(
    b"elif a:\n    import m%d\n    def g%d(): ...\n" % (number, number)
    for number in range(1, DEPTH)
)
BEYOND = b"x = " + b"-" * 20_000 + b"1\n"  # the parser gives up
NOT_PYTHON = [
    BEYOND,
    b"x = " + b"(" * 500 + b")" * 500,
    b"x = \0",
    b"# coding: hex\nx = 1\n",
    b"x =",
]


@pytest.mark.parametrize(
    ("path", "content", "names"),
    [
        ("a.py", SUM, {"f"}),
        ("a.py", BRANCHES, {f"g{number}" for number in range(1, DEPTH)}),
        (
            "a.cu",
            b"int f() { return " + b" + ".join([b"1"] * DEPTH) + b"; }\nvoid g() {}",
            {"f", "g"},
        ),
        (
            "a.cu",
            b"int f(int x) { " + b" else ".join([b"if (x) return 1;"] * DEPTH) + b" }",
            {"f"},
        ),
        (
            "a.cuh",
            b"namespace a { " * DEPTH + b"struct S { int g() { return 1; } };",
            {"S", "S::g"},
        ),
        (
            "a.cmake",
            b"if(A)\n" * 400 + b"function(f)\nendfunction()\n" + b"endif()\n" * 400,
            {"f"},
        ),
    ],
)
def test_what_is_deep_has_an_outline(path: str, content: bytes, names: set[str]) -> None:
    found = outline(path, content)
    assert found is not None
    assert found.names == names


def test_what_is_deep_has_names_and_uses() -> None:
    module = read_module(BRANCHES)
    assert module is not None
    assert module.names >= {"m0", f"m{DEPTH - 1}", f"g{DEPTH - 1}"}
    assert module.imports[f"m{DEPTH - 1}"] == f"m{DEPTH - 1}"
    assert len(read_uses(module, range(1, 4 * DEPTH)).imported) == DEPTH
    summed, chained = read_module(SUM), read_module(CHAIN)
    assert summed is not None
    assert chained is not None
    assert read_uses(summed, [2]).loose == {("b", 2)}
    assert ("m" + ".a" * DEPTH, 2) in read_uses(chained, [2]).attributes


def test_what_is_deep_has_facts() -> None:
    assert read_facts(SUM).names == {"f"}
    facts = read_facts(BRANCHES)
    assert [item.module for item in facts.imports] == [f"m{number}" for number in range(DEPTH)]
    assert f"g{DEPTH - 1}" in facts.names
    assert read_facts(CHAIN).uses[0].path == ("m", *["a"] * DEPTH)


@pytest.mark.parametrize("content", NOT_PYTHON, ids=range(len(NOT_PYTHON)))
def test_what_is_no_python_is_no_crash(content: bytes) -> None:
    with pytest.raises(NotPythonError) as caught:
        parse(content)
    assert caught.value.text
    assert outline("a.py", content) is None
    assert read_module(content) is None
    assert read_facts(content).error == (caught.value.line or 1, caught.value.text)
    reader = reader_of("a.py")
    assert reader is not None
    with pytest.raises(Exception, match=re.escape(caught.value.text)):
        reader(content)


def test_what_python_warns_of_in_upstreams_text_is_not_shown() -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert outline("a.py", b"PATTERN = '\\d'\ndef f(): ...\n") is not None
        assert read_module(b"PATTERN = '\\d'\n") is not None
    assert shown == []
