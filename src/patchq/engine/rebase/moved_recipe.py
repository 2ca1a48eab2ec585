"""The recipe of a series on another base."""

from __future__ import annotations

import re

from patchq.engine.workspace.upstream_range import UpstreamRange

_PROJECT_FILE = "CMakeLists.txt"


def moved_recipe(span: UpstreamRange, recipe: bytes | None) -> bytes | None:
    """The recipe with its project directory where it is on the new base, all else byte for byte."""
    found = re.search(rb"^project: *(\S+) *$", recipe or b"", re.MULTILINE)
    if recipe is None or found is None:
        return recipe
    marker = f"{found[1].decode()}/{_PROJECT_FILE}"
    new = span.place(marker).new if span.covers(marker) else None
    if new is None:
        return recipe
    directory = new.removesuffix(f"/{_PROJECT_FILE}").encode()
    return recipe[: found.start(1)] + directory + recipe[found.end(1) :]
