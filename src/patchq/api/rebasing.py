"""Take series to another base: rebase and its stops, held patches, port."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from patchq.api.opened import OpenWorkspace, Progress, quiet

if TYPE_CHECKING:
    from patchq.engine.rebase.operation import Operation
    from patchq.engine.rebase.port import Ported
    from patchq.engine.rebase.rebase import Rebased
    from patchq.engine.rebase.session import AbortedRebase, Decided
    from patchq.engine.rebase.solving.resolve import OpenedConflict as OpenedConflict
    from patchq.engine.rebase.solving.state import Resolving
    from patchq.engine.series.continuity import Gap
    from patchq.engine.series.edits import Edited
    from patchq.model.verification import Remark


class Rebasing(OpenWorkspace):
    """See :class:`~patchq.api.Workspace`."""

    def rebase(
        self,
        onto: str,
        *,
        source: str | None = None,
        keep_going: bool = False,
        replace: bool = False,
        progress: Progress = quiet,
        jobs: int | None = None,
    ) -> Rebased:
        """Take a series (default: the newest before ``onto``) to the base ``onto``.

        The new series is written if nothing needs review, or with ``keep_going``, which holds what
        does; else the rebase waits at the first such patch (``stop``), as on the command line. As
        many processes as there are ``jobs`` (default: processors) judge a long series.

        Raises :class:`~patchq.errors.PatchqError` if a rebase or edit is open, or the series is
        there already and not to be replaced. To judge only, use :meth:`judge`.
        """
        from patchq.engine.rebase.operation import refuse_meanwhile
        from patchq.engine.rebase.rebase import judge_series, refuse_existing, refuse_losing
        from patchq.engine.rebase.session import begin, write

        refuse_meanwhile(self.files)
        if not replace:
            refuse_existing(self.files, onto)
        project = self.project
        source = source or project.series_before(onto)
        rebased = judge_series(project, source, onto, progress, jobs=jobs)
        with self.writing() as files:
            if not replace:
                refuse_existing(files, onto)
            refuse_losing(files, rebased)
            if rebased.stop and not keep_going:
                begin(project, rebased)
            else:
                write(project, rebased, f"rebase --onto {onto}", ())
        return self._told(rebased)

    @property
    def rebase_under_way(self) -> Operation | None:
        """The rebase that waits, and at which patch."""
        from patchq.engine.rebase.operation import load

        return load(self.files)

    def continue_rebase(self, *, progress: Progress = quiet) -> tuple[Decided | None, Rebased]:
        """Go on with what stands in ``.patchq/worktree``; what was solved there, and the rebase.

        Raises :class:`~patchq.errors.FindingsError` if something is not solved.
        """
        from patchq.engine.rebase.session import continue_rebase

        with self.going_on():
            decided, rebased = continue_rebase(self.project, progress)
        return decided, self._told(rebased)

    def skip(self, reason: str, *, progress: Progress = quiet) -> Rebased:
        """Leave out the patch that the rebase waits at, and go on."""
        from patchq.engine.rebase.session import skip

        with self.going_on():
            rebased = skip(self.project, reason, progress)
        return self._told(rebased)

    def accept_drift(self, reason: str, *, progress: Progress = quiet) -> Rebased:
        """Carry the drifted patch that the rebase waits at, and go on."""
        from patchq.engine.rebase.session import accept_drift

        with self.going_on():
            rebased = accept_drift(self.project, reason, progress)
        return self._told(rebased)

    def abort_rebase(self) -> AbortedRebase:
        """Forget the rebase, whatever state it is in."""
        from patchq.engine.rebase.session import abort

        with self.going_on():
            return abort(self.files)

    def _told(self, rebased: Rebased) -> Rebased:
        from patchq.engine.verify.facts import with_facts

        # what it stopped at was found before, from what is there no more
        return dataclasses.replace(
            with_facts(self.project, rebased), find_stop=lambda: rebased.stop
        )

    def gaps(self, series: str) -> tuple[Gap, ...]:
        """The patches that vanished on the way to a series, without a record."""
        from patchq.engine.series.continuity import gaps

        return tuple(gaps(self.files, series))

    def misfits(self, series: str) -> tuple[Remark, ...]:
        """What the recipe of a series pins other than its base asks for."""
        from patchq.engine.verify.pins import misfits_of

        return tuple(misfits_of(self.project, series))

    # held patches

    def resolve(
        self, patch: str, series: str | None = None, *, accept_drift: str | None = None
    ) -> OpenedConflict | Edited:
        """Open the conflict of a held patch in ``.patchq/worktree``.

        If it has none (any more), or it was solved before, it joins its series at once. One that is
        drifted does so for the reason ``accept_drift``.
        """
        from patchq.engine.rebase.solving.resolve import OpenedConflict, begin

        series = series or self.newest_series
        (name,) = self.named([patch], series, retired=True)
        with self.writing():
            opened = begin(self.project, series, name, accept_drift)
            if not isinstance(opened, OpenedConflict):
                opened.write(self.project, self.label(f"resolve {name}", series))
            return opened

    def revive(
        self, name: str, series: str | None = None, *, dry_run: bool = False
    ) -> OpenedConflict | Edited:
        """Bring a retired or held patch back, judged again.

        If it does not merge, its conflict is opened as :meth:`resolve` does; with ``dry_run`` it
        raises :class:`~patchq.errors.FindingsError` then.
        """
        from patchq.engine.rebase.revive import revive
        from patchq.engine.rebase.solving.resolve import OpenedConflict, bring_back

        series = series or self.newest_series
        (meant,) = self.named([name], series, retired=True)
        if dry_run:
            return revive(self.project, series, meant)
        with self.writing():
            opened = bring_back(self.project, series, meant)
            if not isinstance(opened, OpenedConflict):
                opened.write(self.project, self.label(f"revive {meant}", series))
            return opened

    def continue_resolve(self) -> Edited:
        """Take what was solved in the worktree: the patch joins its series."""
        from patchq.engine.rebase.solving.resolve import finish

        with self.going_on():
            return finish(self.project)

    def abort_resolve(self) -> Resolving | None:
        """Leave the patch out of its series; which one that is, None if that cannot be read."""
        from patchq.engine.rebase.solving.resolve import abort

        with self.going_on():
            return abort(self.project)

    # port

    def port(
        self,
        names: Sequence[str],
        to: Sequence[str] = (),
        *,
        source: str | None = None,
        live: bool = False,
        replace: bool = False,
        dry_run: bool = False,
        progress: Progress = quiet,
    ) -> tuple[Ported, ...]:
        """Take patches of the series ``source`` to the series on the bases ``to``.

        By default from the newest series that has all of them; ``live`` adds each live base that
        lacks one. A base where one of them needs review gets nothing; the others get theirs. With
        ``replace`` patches of these names that are there are replaced.
        """
        from patchq.engine.rebase import port

        names = self.named(names, source) if source else port.meant_anywhere(self.files, names)
        origin = source or port.newest_with(self.project, names)
        tags = list(dict.fromkeys(to))
        if live:
            tags += port.live_without(self.project, origin, names, replacing=replace)
        with nullcontext() if dry_run else self.writing():
            ported = []
            for number, tag in enumerate(tags):
                progress(number, len(tags), tag)
                ported.append(port.port(self.project, origin, names, tag, replacing=replace))
            if not dry_run and ported:
                label = self.label(f"port {' '.join(names)} --to {','.join(to)}")
                port.write(self.project, ported, f"{label} ({', '.join(tags)})" if live else label)
        return tuple(ported)
