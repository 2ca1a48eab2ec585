"""Patches that left a series and that its own base needs again.

Finding out takes a judgement on each. What was found is kept under the records and the base that
it holds for, so that ``patchq status`` can say it without any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256

from patchq.engine.judge.cache import RULES, kept_verdicts
from patchq.engine.judge.judgement import Judgement
from patchq.engine.workspace.project import Project
from patchq.errors import UpstreamError
from patchq.kept_answers import key_of
from patchq.model.lock import Base
from patchq.model.retired import RecordState, Retired, render_retired
from patchq.model.verdict import Memory, Remembered
from patchq.model.workspace import RETIRED, SeriesDirectory, Workspace


def find_resurfaced(project: Project, directory: SeriesDirectory) -> tuple[Remembered, ...]:
    """The retired patches that upstream made necessary again by the base of ``directory``."""
    earlier = [
        record
        for record in directory.out_of_series
        if record.standing is RecordState.RETIRED and record.since != directory.tag
    ]
    found = tuple(
        item
        for item in _remembered(project, directory, earlier)
        if item.memory is Memory.RESURFACED
    )
    if directory.retired:
        base = project.lock.base(directory.tag)
        keep_resurfaced(
            project.workspace, base, render_retired(directory.retired, directory.lineage), found
        )
    return found


def _remembered(
    project: Project, directory: SeriesDirectory, records: Iterable[Retired]
) -> Iterator[Remembered]:
    from patchq.engine.rebase.retired import recall  # the judge, which `patchq status` needs not

    for record in records:
        # what is not available locally to judge it by is no finding
        with suppress(UpstreamError):
            yield from (
                item.remembered for item in recall(project, directory, directory.tag, (record,))
            )


def keep_resurfaced(
    workspace: Workspace, base: Base, records: bytes, found: Iterable[Remembered]
) -> None:
    """Keep which of ``records`` (a ``retired.yaml``) were found to be needed again on ``base``."""
    reports = {item.name: Judgement(item.now) for item in found if item.now is not None}
    kept_verdicts(workspace).put(_key(base, records), reports)


def kept_resurfaced(workspace: Workspace, base: Base) -> tuple[str, ...]:
    """The patches that the series on ``base`` needs again, as far as that was found out before."""
    file = workspace.series_path(base.name) / RETIRED
    if not file.is_file():
        return ()
    return tuple(kept_verdicts(workspace).get(_key(base, file.read_bytes())) or ())


def _key(base: Base, records: bytes) -> str:
    return key_of(["resurfaced", RULES, base.name, base.commit, sha256(records).hexdigest()])
