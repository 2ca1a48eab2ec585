"""Which paths an archive speaks for."""

from __future__ import annotations

import pytest

from patchq.model.coverage import Coverage


def test_no_globs_cover_everything() -> None:
    assert Coverage().covers_path("any/path")


@pytest.mark.parametrize(
    ("path", "covered"),
    [
        ("python/pkg/a.py", True),
        ("python/pkg/deep/er/a.py", True),
        ("python/pkg/kernel/a.cu", False),
        ("python/pkg/kernels.py", True),
        ("python/setup.py", False),
        ("other/python/pkg/a.py", False),
        ("python/pkg/lib.so", False),
        ("python/pkg/_version.py", False),
        ("python/pkg/my_version.py", True),
    ],
)
def test_an_exclude_wins_over_covers(path: str, covered: bool) -> None:
    coverage = Coverage(("python/pkg/**",), ("python/pkg/kernel/**", "*.so", "_version.py"))
    assert coverage.covers_path(path) is covered


def test_excludes_without_covers_take_away_from_everything() -> None:
    coverage = Coverage(excludes=("docs/**",))
    assert coverage.covers_path("a.py")
    assert not coverage.covers_path("docs/a.md")


def test_a_star_stays_within_a_directory() -> None:
    coverage = Coverage(("src/*.c",))
    assert coverage.covers_path("src/a.c")
    assert not coverage.covers_path("src/sub/a.c")


def test_a_path_that_is_not_utf_8_is_matched() -> None:
    assert not Coverage(excludes=("*.so",)).covers_path(
        b"caf\xe9.so".decode(errors="surrogateescape")
    )
