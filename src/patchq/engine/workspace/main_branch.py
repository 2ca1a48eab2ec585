"""Upstream's main branch, as far as the store or its lender knows it."""

from __future__ import annotations

import re

from patchq.engine.workspace.project import Project
from patchq.engine.workspace.upstream import MAIN_REF
from patchq.errors import InputError
from patchq.model.ids import CommitId

_ID = re.compile(r"[0-9a-f]{7,40}")


def main_tip(project: Project, revision: str | None = None) -> CommitId | None:
    """The tip of upstream's main branch: ``revision``, or what the store or its lender knows.

    Raises :class:`InputError` if ``revision`` names nothing; None if none is known.
    """
    store, main = project.store, project.settings.main or "main"
    name = revision or main
    known: list[str | None] = [name] if _ID.fullmatch(name) else []
    if name == main:
        known.append(MAIN_REF)
    if store.lender is not None:
        known += [
            store.lender.ref(full)
            for full in (
                (name,)
                if name.startswith("refs/")
                else (f"refs/remotes/origin/{name}", f"refs/heads/{name}", f"refs/tags/{name}")
            )
        ]
    for candidate in known:
        commit = store.resolve(candidate) if candidate else None
        if commit is not None:
            return commit
    if revision is None:
        return None
    raise InputError(
        f"no upstream commit is known as {revision!r}",
        hint="Give a commit id or a branch, or run `patchq fetch`.",
    )
