"""Judge a series on a commit that no tag names yet: what the next release will do to it."""

from __future__ import annotations

import re
from dataclasses import replace

from patchq.engine.rebase.rebase import Rebased, judge_series, quiet
from patchq.engine.rebase.series_run import Progress
from patchq.engine.workspace.main_branch import main_tip
from patchq.engine.workspace.project import Project
from patchq.errors import InputError
from patchq.model.ids import CommitId
from patchq.model.lock import Base

_ID = re.compile(r"[0-9a-f]{7,40}")


def forecast(
    project: Project,
    source: str,
    revision: str,
    progress: Progress = quiet,
    jobs: int | None = None,
) -> Rebased:
    """Judge the series on ``source`` on the upstream commit that ``revision`` names.

    ``revision`` is a commit id, a branch of the lender, or upstream's main branch by its name.
    Raises :class:`InputError` if nothing is known by that name, or where the commit is not
    past the lock's last base: one of its bases contains it.
    """
    commit = main_tip(project, revision)
    assert commit is not None  # main_tip raises for a revision that names nothing
    project.lock.base(source)
    _refuse_past(project, revision, commit)
    tree, date = project.store.describe(commit)
    name = commit[:12] if _ID.fullmatch(revision) else revision
    ahead = replace(project.lock, bases=(*project.lock.bases, Base(name, commit, tree, date)))
    return judge_series(replace(project, lock=ahead), source, name, progress, jobs=jobs)


def _refuse_past(project: Project, revision: str, commit: CommitId) -> None:
    history, store = project.store.history, project.store
    for base in reversed(project.lock.bases):
        here = base.archive is None and store.objects.has(base.commit)
        if here and history.contains(commit, base.commit):
            raise InputError(
                f"{revision} ({commit[:12]}) is not past {project.lock.bases[-1].name}, the last "
                f"base of upstream.lock: {base.name} contains it",
                hint="Name a later commit of upstream, its main branch for example; "
                "--onto judges on a base of the lock.",
            )
