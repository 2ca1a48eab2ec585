"""File names of patches."""

from __future__ import annotations

import re
from pathlib import PurePath

from patchq.errors import InputError
from patchq.model.patch_names import name_fault

_NUMBER = re.compile(r"\d+-(?=.)")
_EXTENSIONS = (".patch", ".diff", ".txt", ".mbox", ".eml")


def patch_name(file: str) -> str:
    """The name in the series for a file: no number in front, ``.patch`` behind."""
    base = re.sub(r"[\s#]+", "-", PurePath(file).name).lstrip("-.")
    stem = next((base.removesuffix(end) for end in _EXTENSIONS if base.endswith(end)), base)
    stem = _NUMBER.sub("", stem, count=1) if _NUMBER.match(stem) else stem
    if not stem:
        raise InputError(f"{file!r} gives no name for a patch", hint="Name it: --name NAME.")
    return f"{stem}.patch"


def asked_name(wanted: str) -> str:
    """The name in the series for what the user asks a patch to be called: ``.patch`` behind it.

    Nothing else of it changes. Raises :class:`InputError`, saying why, if no patch can have it.
    """
    stem = next((wanted.removesuffix(end) for end in _EXTENSIONS if wanted.endswith(end)), wanted)
    name = f"{stem}.patch"
    fault = name_fault(name) if stem else "is empty"
    if fault is None and name.endswith("/.patch"):
        fault = "is empty"
    if fault is not None:
        raise InputError(
            f"{wanted!r} cannot be a patch's name: it {fault}", hint=f"For example: {_like(wanted)}"
        )
    return name


def _like(wanted: str) -> str:
    """A name that a patch can have, and much like the one that was asked for."""
    parts = (re.sub(r"[^\w.+]+", "-", part).strip("-.") for part in wanted.split("/"))
    return patch_name("-".join(part for part in parts if part)[:100] or "fix")
