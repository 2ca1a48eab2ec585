"""The long questions of a verification, asked in several processes ahead of it.

Each leaves its answers among those that are kept, where the verification then finds them: it comes
out as it would without.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from patchq.engine.rebase.beside import cores, share
from patchq.engine.rebase.resurfaced import find_resurfaced
from patchq.engine.series.selection import Selection
from patchq.engine.verify import imports
from patchq.engine.verify.build import check as build
from patchq.engine.verify.subject import Subject, put_in_place
from patchq.engine.workspace.project import Project
from patchq.errors import PatchqError
from patchq.kept_answers import KeptAnswers, key_of
from patchq.model.settings import Target


def ask_ahead(project: Project, selection: Selection, fuzz: int, *, effects: bool) -> None:
    """Ask what takes long, unless it was asked before or there is one processor."""
    base, jobs = project.lock.base(selection.directory.tag), cores()
    asked = KeptAnswers(project.cache / "verified", "patchq.verified/1", bool, bool)
    digests = [patch.sha256 for patch in selection.patches]
    key = key_of([base.tree, digests, effects, repr(project.settings)])
    if jobs == 1 or asked.get(key):
        return
    try:
        subject = put_in_place(project, selection, fuzz)
    except PatchqError:  # which the verification tells
        return
    tasks: list[Callable[[], object]] = [
        *(partial(_build, subject, target, effects) for target in project.settings.targets),
        partial(find_resurfaced, project, selection.directory),
        partial(imports.check, subject),
    ]

    def work(number: int) -> None:
        with suppress(PatchqError):
            tasks[number]()

    share(project.store, work, len(tasks), min(jobs, len(tasks)))
    asked.put(key, True)


def _build(subject: Subject, target: Target, effects: bool) -> None:
    """What ``target`` is built of, and what each patch does to it."""
    project = subject.project
    alone = replace(project, settings=replace(project.settings, targets=(target,)))
    build.check(replace(subject, project=alone), effects=effects)
