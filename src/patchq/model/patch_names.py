"""What a patch in a series may be called, and which one a user means."""

from __future__ import annotations

import os
import re
from collections.abc import Collection

from patchq.errors import InputError, Where

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""A control character."""
_LONGEST = 255


def name_fault(name: str) -> str | None:
    """Why no patch in a series can be called ``name``; None if one can."""
    if CONTROL.search(name):
        return "holds a control character"
    if any(character.isspace() for character in name):
        return "holds a space, at which a name ends in a series file"
    if any(part in ("", ".", "..") for part in name.split("/")):
        return "is not a path below the directory of the series"
    if name.startswith("-"):
        return "begins with '-', as an option does"
    if "#" in name:
        return "holds a '#', with which a guard or a comment begins"
    if any(len(os.fsencode(part)) > _LONGEST for part in name.split("/")):
        return f"has more than {_LONGEST} bytes, which no file name may have"
    return None


def check_name(name: str, here: Where) -> None:
    """Raise :class:`InputError` if ``name`` cannot be the name of a patch in a series."""
    fault = name_fault(name)
    if fault is not None:
        raise InputError(
            f"{name!r} cannot be a patch's name: it {fault}",
            where=here,
            hint="A name is a path below the series, of printable characters; a guard stands "
            "behind it, after a space.",
        )


def meant_name(name: str, known: Collection[str]) -> str:
    """The one of ``known`` that the user means by ``name``: itself, or without its ending.

    ``name`` as it is where that is none of them, or several.
    """
    if name in known:
        return name
    meant = [each for each in known if each in (f"{name}.patch", f"{name}.diff")]
    return meant[0] if len(meant) == 1 else name
