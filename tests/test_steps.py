"""Long loops say how far they are, if somebody listens."""

from __future__ import annotations

import itertools

import pytest

from patchq.steps import about, counted, heard_by

Told = list[tuple[int, int, str]]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second goes by whenever the time is asked for."""
    ticks = itertools.count()
    monkeypatch.setattr("patchq.steps.time.monotonic", lambda: next(ticks) / 2)


@pytest.mark.usefixtures("clock")
def test_a_loop_that_takes_long_is_told_of_by_name() -> None:
    told: Told = []
    with heard_by(lambda *words: told.append(words)), about("big.patch"):
        assert list(counted("abcdef", "lines since")) == list("abcdef")
    assert told[0] == (1, 6, "big.patch: lines since")
    assert [done for done, _, _ in told] == sorted({done for done, _, _ in told})


@pytest.mark.usefixtures("clock")
def test_only_the_last_listener_hears_and_none_afterwards() -> None:
    first: Told = []
    second: Told = []
    with heard_by(lambda *words: first.append(words)):
        with heard_by(lambda *words: second.append(words)):
            list(counted("abcdef", "x"))
        assert second
        assert not first
        list(counted("abcdef", "y"))
    assert {what for _, _, what in first} == {"y"}
    before = len(first)
    list(counted("abcdef", "z"))
    assert len(first) == before


def test_a_short_loop_says_nothing() -> None:
    told: Told = []
    with heard_by(lambda *words: told.append(words)):
        assert list(counted(range(1000), "x")) == list(range(1000))
    assert not told
