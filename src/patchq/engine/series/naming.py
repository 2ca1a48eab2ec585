"""File names of patches."""

from __future__ import annotations

import re
from pathlib import PurePath

from patchq.errors import InputError

_NUMBER = re.compile(r"\d+-(?=.)")
_EXTENSIONS = (".patch", ".diff", ".txt", ".mbox", ".eml")


def patch_name(file: str) -> str:
    """The name in the series for a file: no number in front, ``.patch`` behind."""
    base = re.sub(r"[\s#]+", "-", PurePath(file).name).lstrip("-.")
    stem = next((base.removesuffix(end) for end in _EXTENSIONS if base.endswith(end)), base)
    stem = _NUMBER.sub("", stem, count=1) if _NUMBER.match(stem) else stem
    if not stem:
        raise InputError(f"{file!r} gives no name for a patch", hint="Name it with --name.")
    return f"{stem}.patch"
