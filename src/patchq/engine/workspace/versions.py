"""Names of bases as versions: which comes first, and where a new one belongs in the lock."""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

from patchq.model.lock import Lock

_LETTER = re.compile(r"(\d+(?:\.\d+)*)([a-z])")


def version_of(name: str) -> tuple[str, Version] | None:
    """The letters that ``name`` begins with, and the version after them (PEP 440).

    Two more spellings of upstreams are read: ``1_1_1`` for ``1.1.1``, and a lone letter at the end
    for a release after the one without (``3.7a``, ``1.1.1w``), where PEP 440 has one before it.
    """
    prefix, rest = re.match(r"(\D*)(.*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
    dotted = re.sub(r"(?<=\d)_(?=\d)", ".", rest)
    if later := _LETTER.fullmatch(dotted):
        dotted = f"{later[1]}.post{ord(later[2]) - ord('a') + 1}"
    try:
        return prefix, Version(dotted)
    except InvalidVersion:
        return None


def base_after(lock: Lock, name: str) -> str | None:
    """The base of ``lock`` that the new base ``name`` comes before, by their versions.

    None if it comes last, is no version, or the bases are not in the order of their versions.
    """
    new = version_of(name)
    if new is None:
        return None
    known = {
        other: found[1]
        for other in lock.names
        if (found := version_of(other)) and found[0] == new[0]
    }
    if list(known.values()) != sorted(known.values()):
        return None
    return next((other for other, version in known.items() if version > new[1]), None)
