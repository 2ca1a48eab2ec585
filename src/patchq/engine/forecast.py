"""Judge a series on a commit that no tag names yet: what the next release will do to it."""

from __future__ import annotations

import re
from dataclasses import replace

from patchq.engine.project import Project
from patchq.engine.rebase import Progress, Rebased, judge_series, quiet
from patchq.engine.upstream import MAIN_REF
from patchq.errors import InputError
from patchq.git.history import History
from patchq.model.lock import Base

_ID = re.compile(r"[0-9a-f]{7,40}")


def forecast(project: Project, source: str, revision: str, progress: Progress = quiet) -> Rebased:
    """Judge the series on ``source`` on the upstream commit that ``revision`` names.

    ``revision`` is a commit id, a branch of the lender, or upstream's main branch by its name.
    Raises :class:`InputError` where nothing is known by that name, or where the commit is not
    past the series' own base.
    """
    commit = _resolve(project, revision)
    base = project.lock.base(source)
    if base.archive is None and History(project.store.git).contains(commit, base.commit):
        raise InputError(
            f"{revision} ({commit[:12]}) is not past {source}: {source} contains it",
            hint="Name a later commit of upstream, its main branch for example.",
        )
    tree, date = project.store.describe(commit)
    name = commit[:12] if _ID.fullmatch(revision) else revision
    ahead = replace(project.lock, bases=(*project.lock.bases, Base(name, commit, tree, date)))
    return judge_series(replace(project, lock=ahead), source, name, progress)


def _resolve(project: Project, revision: str) -> str:
    store = project.store
    known = [revision] if _ID.fullmatch(revision) else []
    if revision == (project.settings.main or "main"):
        known.append(MAIN_REF)
    if store.lender is not None:
        for prefix in ("", "refs/heads/", "refs/remotes/origin/", "refs/tags/"):
            found = store.lender.ref(prefix + revision) if prefix or "/" in revision else None
            known += [found] if found else []
    for candidate in known:
        commit = store.resolve(candidate)
        if commit:
            return commit
    raise InputError(
        f"no upstream commit is known as {revision!r}",
        hint="Give a commit id, or run `patchq fetch` to bring upstream's main branch.",
    )
