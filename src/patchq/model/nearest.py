"""What a user may have meant by a name that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 3


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Those of ``known`` that are spelled much like ``name``, endings aside, else that hold it.

    A version that differs in nothing but its numbers is another version, and no slip of the pen.
    """
    stems: dict[str, list[str]] = {}
    for each in sorted(set(known)):
        stems.setdefault(_stem(each), []).append(each)
    wanted = _stem(name)
    alike = [stem for stem in stems if not _is_other_version(wanted, stem)]
    near = get_close_matches(wanted, alike, _MOST)
    if not near and wanted:
        near = [stem for stem in alike if wanted in stem][:_MOST]
    return [each for stem in near for each in stems[stem]]


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The question that a hint asks, or what it says ``otherwise``."""
    near = near_names(name, known)
    return f"Did you mean {' or '.join(near)}?" if near else otherwise


def _stem(name: str) -> str:
    return name.removesuffix(".patch").removesuffix(".diff")


def _is_other_version(name: str, other: str) -> bool:
    pattern = re.compile(r"[\d.]+")
    if not (pattern.search(name) and pattern.search(other)):
        return False
    return pattern.sub("", name) == pattern.sub("", other)
