"""series/patchq.yaml: defaults, pull request numbers, and malformed files."""

import pytest

from patchq.errors import InputError, Where
from patchq.model.settings import Settings, read_settings

WHERE = Where("series/patchq.yaml")


@pytest.mark.parametrize(
    ("subject", "numbers"),
    [
        ("Fix lint in #30645 (#30699) (#30704)", (30699, 30704)),
        ('Revert "x (#1)" (#2)', (2,)),
        ('Revert "x (#1)"', ()),
        ("Add (#12) to the docs", ()),
        ("One (#7)(#8)  ", (7, 8)),
        ("(#5)", (5,)),
        ("", ()),
    ],
)
def test_only_trailing_numbers_count(subject: str, numbers: tuple[int, ...]) -> None:
    assert Settings().pull_requests(subject) == numbers


def test_upstreams_own_pattern() -> None:
    settings = read_settings(rb"pr_pattern: '!(\d+)'", WHERE)
    assert settings.pull_requests("Fix !1 for good !22") == (22,)


@pytest.mark.parametrize("raw", [b"", b"# nothing\n", b"{}", b"version: 1\n"])
def test_defaults(raw: bytes) -> None:
    assert read_settings(raw, WHERE) == Settings()


def test_everything() -> None:
    raw = b"""\
version: 1
main: refs/heads/main
guards: {slim: no demos, mtp: the draft model}
default_guards: [mtp]
targets:
  gb10: {arch: 12.1a, cuda: 13}
checks:
  imports: [sglang]
"""
    settings = read_settings(raw, WHERE)
    assert settings.main == "refs/heads/main"
    assert settings.guards == {"slim": "no demos", "mtp": "the draft model"}
    assert settings.default_guards == {"mtp"}
    assert settings.targets == {"gb10": {"arch": "12.1a", "cuda": 13}}
    assert settings.checks == {"imports": ["sglang"]}


@pytest.mark.parametrize(
    ("raw", "line", "words"),
    [
        (b"\nguard: {}", 2, "'guard'"),
        (b"version: 7", 1, "version 7"),
        (b"pr_pattern: '('", 1, "regular expression"),
        (b"main:\npr_pattern: '#[0-9]+'", 2, "one group"),
        (b"main: []", 1, "expected text"),
        (b"guards: {a: x}\ndefault_guards:\n- a\n- b", 4, "'b'"),
        (b"default_guards: a", 1, "a list"),
        (b"targets: [a]", 1, "a mapping"),
        (b"checks:\n  a: 2026-99-99", 1, "month"),
        (b"checks:\n  a: !!python/none x", 2, "constructor"),
        (b"checks:\n  a: 1\n  a: 2", 3, "given twice"),
    ],
)
def test_malformed_settings_are_refused_with_the_line(raw: bytes, line: int, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_settings(raw, WHERE)
    assert words in caught.value.message
    assert caught.value.where == Where("series/patchq.yaml", line)
