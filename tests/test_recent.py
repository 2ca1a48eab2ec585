"""What was used last is kept, up to a size."""

from __future__ import annotations

from patchq.recent import Recent


def test_the_least_recently_used_goes_first() -> None:
    recent: Recent[str, bytes] = Recent(6, len)
    for key in "abc":
        recent.keep(key, b"xx")
    assert recent.get("a") == b"xx"
    recent.keep("d", b"xx")
    assert [key for key in "abcd" if recent.get(key)] == ["a", "c", "d"]


def test_a_value_that_is_kept_again_counts_once() -> None:
    recent: Recent[str, bytes] = Recent(4, len)
    for _ in range(5):
        recent.keep("a", b"xx")
    recent.keep("b", b"xx")
    assert recent.get("a") == recent.get("b") == b"xx"


def test_what_is_too_large_is_not_kept() -> None:
    recent: Recent[str, bytes] = Recent(4, len)
    recent.keep("a", b"x" * 5)
    assert recent.get("a") is None
    recent.keep("b", b"xxxx")
    assert recent.get("b") == b"xxxx"
