"""Regular expressions from files: as Python reads them, but never in more than linear time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchq.model.predicate import parse_predicate
from patchq.model.regex import compile_regex, matches_a_line
from patchq.model.settings import Settings

PARTS = ["a", "b", "ab", ".", "^", "$", "[^x]", r"\s", r"\w+", r"\bb", "(a|b)", "a*", "b?", r"\."]
TEXTS = ["a", "b", "x", " ", "\n", "\r\n", "\r", "ab.", "\xe9"]


@given(parts=st.lists(st.sampled_from(PARTS), min_size=1), texts=st.lists(st.sampled_from(TEXTS)))
def test_a_line_matches_as_in_python(parts: list[str], texts: list[str]) -> None:
    pattern, content = "".join(parts).encode("latin-1"), "".join(texts).encode("latin-1")
    try:
        search = re.compile(pattern).search
        compile_regex(pattern)
    except (re.error, ValueError):
        return  # `a**` and the like: one has it and the other not
    lines = [line.removesuffix(b"\r") for line in content.split(b"\n")]
    assert matches_a_line(pattern, content) == any(map(search, lines))


@pytest.mark.parametrize("pattern", [rb"\Ab", rb"a\z"])
def test_the_ends_of_the_text_are_those_of_the_line(pattern: bytes) -> None:
    assert matches_a_line(pattern, b"a\nb\n")
    assert not matches_a_line(pattern, b"xax\nxbx\n")


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|aa)+$", r"(.*a){20}$"])
def test_no_pattern_hangs(pattern: str) -> None:
    content = b"a" * 50_000 + b"!\n"
    assert not parse_predicate(f"contains r '{pattern}'").holds_on(content)
    assert Settings(pr_pattern=pattern).pull_requests("a" * 5_000 + "!") == ()


@pytest.mark.parametrize("pattern", [b"(?=x)", rb"(a)\1", b"(?<!x)", b"[", b"x{1,5000}"])
def test_what_re2_has_not_is_said(pattern: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        compile_regex(pattern)


def test_bytes_that_are_no_text_match() -> None:
    assert matches_a_line("café".encode(), "le café\n".encode())
    assert matches_a_line(b"caf\xe9", b"caf\xe9\n")
    assert not matches_a_line(b"caf\xe9", "café\n".encode())


def test_a_number_that_no_forge_gives_is_none() -> None:
    assert Settings().pull_requests(f"x (#{'9' * 5000})") == ()
    assert Settings().pull_requests("x (#12)") == (12,)
