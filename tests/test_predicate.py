from __future__ import annotations

import pytest

from patchq.errors import InputError, Where
from patchq.model.predicate import parse_predicate


@pytest.mark.parametrize(
    ("text", "content", "holds"),
    [
        ("always", None, True),
        ("path-missing a/b", None, True),
        ("path-missing a/b", b"", False),
        ("path-exists a/b", b"", True),
        ("path-exists a/b", None, False),
        ("contains a/b sm_121", b"x\nsm_121a\n", True),
        ("contains a/b sm_121", None, False),
        ("lacks a/b sm_121", b"x\n", True),
        ("lacks a/b sm_121", b"sm_121", False),
        ("lacks a/b sm_121", None, False),
        (r"contains a/b is_sm100\(\)", b"if is_sm100():", True),
        (r"contains a/b 'is_sm100\(\) or'", b"is_sm100() or x", True),
        ("contains a/b ^end$", b"the\r\nend\r\n", True),
        ("contains a/b one.two", b"one\ntwo", False),
        (r"contains a/b \xff", b"\xff", True),
    ],
)
def test_when_a_predicate_holds(text: str, content: bytes | None, holds: bool) -> None:
    assert parse_predicate(text).holds_on(content) is holds


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "empty predicate", "Known are"),
        ("path-mising a", "unknown predicate 'path-mising'", "path-missing"),
        ("path-missing", "lacks its PATH", "path-missing PATH"),
        ("contains a", "lacks its REGEX", "contains PATH REGEX"),
        ("contains a if x", "words too many: x", "'if x'"),
        ("path-missing a b", "words too many: b", "'a b'"),
        ("always a", "words too many: a", "Write: always"),
        ("contains a f(x", "missing )", "escape"),
        ("contains a don't", "unbalanced quotes", "other kind"),
        ("path-missing ../a", "not a path inside", "root of the upstream"),
        ("path-missing /a", "not a path inside", "root of the upstream"),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_predicate(text, Where("p.patch", 7))
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert caught.value.where == Where("p.patch", 7)
