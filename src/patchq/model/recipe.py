"""``series/<base>/recipe.yaml``: what belongs to one base of the upstream, and not to all."""

from __future__ import annotations

from dataclasses import dataclass, field

from patchq.errors import Where
from patchq.model.yamlfile import Entry, parse

VERSION = 1


@dataclass(frozen=True)
class Recipe:
    """What a base needs beside its patches.

    ``project`` is the directory of the CMake project whose build is evaluated, from the root of
    the tree; None where there is none to evaluate. ``where`` is the place that names it.
    """

    project: str | None = None
    where: Where = field(default=Where("recipe.yaml"), compare=False)


def read_recipe(raw: bytes | None, where: Where) -> Recipe:
    """The recipe in ``raw``; an empty one where there is no file.

    Raises :class:`~patchq.errors.InputError` with the line for anything malformed.
    """
    document = None if raw is None else parse(raw, where)
    if document is None:
        return Recipe(where=where)
    document.check_version(VERSION)
    fields = document.fields(optional=("version", "project"))
    project = fields.get("project")
    if project is None:
        return Recipe(where=where)
    return Recipe(directory(project), project.where)


def directory(entry: Entry) -> str:
    """A directory of the upstream's tree, without a slash at its end; ``.`` is the root."""
    text = entry.text().rstrip("/")
    if not text or text.startswith("/") or ".." in text.split("/"):
        entry.fail(
            f"{entry.text()!r} is not a directory inside the tree",
            hint="Give it from the root of the upstream tree, without a leading slash.",
        )
    return text
