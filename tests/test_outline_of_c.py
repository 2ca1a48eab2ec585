"""C is read piece by piece: what one function does to the parser is no matter of the next."""

from __future__ import annotations

import pytest

from patchq.engine.languages.outline import Definition, outline

ONE = "int one(int a)\n{\n    return a;\n}\n"
TWO = "int two(int a)\n{\n    if (a) {\n        a = one(a);\n    }\n    return a;\n}\n"
THREE = "static int\nthree(void)\n{\n    return two(0);\n}\n"
FILES = {
    "one after the other": ("", ONE, TWO, THREE, ""),
    "all in a condition": ("#ifdef WITH_ALL\n", ONE, TWO, THREE, "#endif\n"),
    "in two branches": ("#if A\n", ONE, f"#else\n{TWO}", f"#endif\n{THREE}", ""),
    "in C++ alone": ('extern "C" {\n', ONE, TWO, THREE, "}\n"),
    "with an end in a comment": ("/*\nvoid zero() {\n}\n*/\n", ONE, TWO, THREE, ""),
    "with brackets in texts": ("char a[] = \"{{{\", b = '{'; // {\n", ONE, TWO, THREE, ""),
    "with a comment that does not end": ("", ONE, TWO, THREE, "/*\n}\n"),
}


@pytest.mark.parametrize("parts", FILES.values(), ids=FILES.keys())
def test_every_function_is_found_where_it_stands(parts: tuple[str, ...]) -> None:
    shown = outline("a.c", "".join(parts).encode())
    assert shown is not None
    lines = "".join(parts).split("\n")
    assert [each.name for each in shown.definitions] == ["one", "two", "three"]
    for each in shown.definitions:
        assert lines[each.last] == "}"
        assert f"{each.name}(" in "".join(lines[each.first : each.first + 2])


@pytest.mark.parametrize(
    "torn",
    [
        "#ifdef A\nint torn(int a) {\n#else\nint torn(long a) {\n#endif\n    return a;\n}\n",
        "int torn(int a)\n{\n#ifdef A\n    if (a) {\n#else\n    if (!a) {\n#endif\n"
        "        a = 1;\n    }\n    return a;\n}\n",
        "EXPORT(int) torn(int a) {\n    FOR_EACH (b, a) {\n        a += b;\n    }\n"
        "    return a;\n}\n",
    ],
)
def test_a_function_that_conditions_cut_ends_before_the_next(torn: str) -> None:
    shown = outline("a.c", f"{ONE}{torn}{TWO}{THREE}".encode())
    assert shown is not None
    first = ONE.count("\n") + torn.count("\n")
    assert shown.named("two") == Definition("two", first, first + TWO.count("\n") - 1)
    assert shown.named("three") is not None
    found = shown.named("torn")
    assert found is None or found.last < first


def test_what_a_piece_cannot_tell_is_asked_of_the_file() -> None:
    """A macro in place of a head leaves a piece without a function: the file has no other."""
    shown = outline("a.c", f"{ONE}MACRO_HEAD\n{{\n    int a = 1;\n}}\n{TWO}".encode())
    assert shown is not None
    assert {"one", "two"} <= shown.names
