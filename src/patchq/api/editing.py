"""Change series: their patches in place, as commits in a worktree, and back again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from patchq.api.opened import OpenWorkspace
from patchq.errors import InputError

if TYPE_CHECKING:
    from patchq.engine.edit.refresh import Refreshed
    from patchq.engine.edit.session import AbortedEdit
    from patchq.engine.edit.state import Edit
    from patchq.engine.series.edits import Edited, PatchPart, Place
    from patchq.engine.series.message import Wording
    from patchq.engine.workspace.journal import Journal
    from patchq.engine.workspace.project import Project
    from patchq.model.patch import Patch
    from patchq.model.series import Guard


class Editing(OpenWorkspace):
    """See :class:`~patchq.api.Workspace`.

    What changes a series returns it before and after; with ``dry_run`` nothing is written.
    """

    def drop(
        self,
        names: Sequence[str],
        reason: str | None,
        series: str | None = None,
        *,
        dry_run: bool = False,
    ) -> Edited:
        """Take patches out, and keep them in ``retired.yaml`` with ``reason``; if None, forget."""
        from patchq.engine.series import edits

        meant = self.named(names, series, retired=True)
        return self.change(
            f"drop {' '.join(meant)}",
            lambda project, tag: edits.drop(project, tag, meant, reason),
            series,
            dry_run=dry_run,
        )

    def rename(
        self, name: str, wanted: str, series: str | None = None, *, dry_run: bool = False
    ) -> Edited:
        """Rename a patch; its bytes stay, and patches that require it follow."""
        from patchq.engine.series import edits

        (meant,) = self.named([name], series)
        return self.change(
            f"rename {meant} {wanted}",
            lambda project, tag: edits.rename(project, tag, meant, wanted),
            series,
            dry_run=dry_run,
        )

    def move(
        self,
        names: Sequence[str],
        place: Place,
        series: str | None = None,
        *,
        dry_run: bool = False,
    ) -> Edited:
        """Move patches to another place; the patched tree stays the same, or it is refused."""
        from patchq.engine.series import edits

        meant = self.named(names, series)
        if place.anchor is not None:
            place = replace(place, anchor=self.named([place.anchor], series)[0])
        return self.change(
            f"move {' '.join(meant)}",
            lambda project, tag: edits.move(project, tag, meant, place),
            series,
            dry_run=dry_run,
        )

    def fold(
        self,
        into: str,
        names: Sequence[str],
        series: str | None = None,
        *,
        dry_run: bool = False,
    ) -> Edited:
        """Fold patches into another one, which keeps its name, place and message."""
        from patchq.engine.series import edits

        into, *meant = self.named([into, *names], series)
        return self.change(
            f"fold {into} {' '.join(meant)}",
            lambda project, tag: edits.fold(project, tag, into, meant),
            series,
            dry_run=dry_run,
        )

    def split(
        self,
        name: str,
        parts: Sequence[PatchPart],
        into: str,
        series: str | None = None,
        *,
        subject: str | None = None,
        dry_run: bool = False,
    ) -> Edited:
        """Make ``parts`` of a patch a patch of their own, right after it."""
        from patchq.engine.series import edits

        (meant,) = self.named([name], series)
        return self.change(
            f"split {meant} --into {into}",
            lambda project, tag: edits.split(project, tag, meant, parts, into, subject),
            series,
            dry_run=dry_run,
        )

    def guard(
        self,
        name: str,
        guards: Sequence[Guard],
        series: str | None = None,
        *,
        dry_run: bool = False,
    ) -> Edited:
        """Set the guards of a patch; without any it always applies."""
        from patchq.engine.series import edits

        (meant,) = self.named([name], series)
        return self.change(
            f"guard {meant}",
            lambda project, tag: edits.guard(project, tag, meant, guards),
            series,
            dry_run=dry_run,
        )

    def edit_header(
        self,
        name: str,
        change: Callable[[Patch], Patch],
        series: str | None = None,
        *,
        reword: Callable[[Wording], Wording] | None = None,
        dry_run: bool = False,
    ) -> Edited:
        """Change the header of a patch: its fields by ``change``, then its words by ``reword``.

        See :mod:`patchq.engine.series.header_edit` for changes of a field.
        """
        (meant,) = self.named([name], series)
        return self.change(
            f"header {meant}",
            lambda project, tag: _with_header(project, tag, meant, change, reword),
            series,
            dry_run=dry_run,
        )

    def change(
        self,
        label: str,
        make: Callable[[Project, str], Edited],
        series: str | None = None,
        *,
        dry_run: bool = False,
    ) -> Edited:
        """Make a change of a series and write it, under ``label`` for :meth:`undo`."""
        series = series or self.newest_series
        if dry_run:
            return make(self.project, series)
        with self.writing():
            edited = make(self.project, series)
            edited.write(self.project, self.label(label, series))
        return edited

    def fix(self, *series: str) -> tuple[str, ...]:
        """Repair what :meth:`lint` calls fixable in these series, by default in all; the files."""
        from patchq.engine.series.lint.lint import fix, lint_workspace
        from patchq.engine.workspace.transaction import Transaction
        from patchq.model.workspace import LOCK

        with self.writing() as files:
            readable = all(finding.where.file != LOCK for finding in lint_workspace(files))
            names = (series or self.series_names) if readable else ()
            transaction = Transaction(files, f"lint --fix {' '.join(names)}")
            repaired = [f"{tag}/{name}" for tag in names for name in fix(files, tag, transaction)]
            transaction.commit()
        return tuple(repaired)

    # as commits

    def edit(
        self,
        series: str | None = None,
        upto: str | None = None,
        guards: Sequence[str] = (),
        variants: Sequence[str] = (),
        *,
        new: tuple[str, str] | None = None,
    ) -> Edit:
        """Open a series as commits in ``.patchq/edit``, up to the patch ``upto`` or all of it.

        With ``new``, a name and a subject, there is an empty commit for a new patch on top.
        """
        from patchq.engine.edit.session import NewPatch, begin
        from patchq.engine.series.naming import asked_name

        series = series or self.newest_series
        (opened,) = self.named([upto], series) if upto is not None else (None,)
        if new and not new[1].strip():
            raise InputError(
                "a new patch needs a subject", hint="Say what it does, in one line: -m TEXT."
            )
        patch = NewPatch(asked_name(new[0]), new[1]) if new else None
        with self.writing():
            chosen = self.chosen_guards(series, guards, variants)
            return begin(self.project, series, opened, chosen, patch)

    def refresh(self, *, amend: bool = False, dry_run: bool = False) -> Refreshed | None:
        """Write the commits of the open edit back as patches, and close it.

        With ``amend``, what is not committed belongs to the last one. None if they had been written
        already, and only closing was left to do.
        """
        from patchq.engine.edit.refresh import finish, is_written, refresh
        from patchq.engine.edit.session import close

        with self.going_on() as files:
            if is_written(files):
                close(self.project)
                return None
            refreshed = refresh(self.project, amend=amend)
            if not dry_run:
                finish(self.project, refreshed)
        return refreshed

    def abort_edit(self) -> AbortedEdit:
        """Forget the open edit, whatever state it is in."""
        from patchq.engine.edit.session import abort

        with self.writing_alone() as files:  # the answer says what is kept
            return abort(files)

    # and back

    @property
    def last_change(self) -> Journal | None:
        """What :meth:`undo` would take back."""
        from patchq.engine.workspace.transaction import newest

        return newest(self.files)

    def undo(self) -> Journal:
        """Take back the last change of series or lock; what was taken back."""
        from patchq.engine.workspace.transaction import undo

        with self.writing() as files:
            return undo(files)


def _with_header(
    project: Project,
    series: str,
    name: str,
    change: Callable[[Patch], Patch],
    reword: Callable[[Wording], Wording] | None,
) -> Edited:
    from patchq.engine.series.edits import Edited
    from patchq.engine.series.header_edit import check_fields, with_message
    from patchq.engine.series.message import now, wording
    from patchq.engine.series.restack import check_requirements
    from patchq.git.identity import user_identity
    from patchq.model.retired import provided_by_upstream

    directory = project.workspace.load(series)
    patch = change(directory.patches[directory.series.entry(name).name])
    if reword is not None:
        words = wording(patch, author=user_identity(project.workspace.root), date=now())
        patch = with_message(project.store, patch, words, reword(words))
        check_fields(patch.header)
    new = replace(directory, patches={**directory.patches, name: patch})
    check_requirements(directory, new, project.settings.default_guards)
    there = {*directory.series.names, *provided_by_upstream(directory.retired)}
    unmet = [other for other in patch.header.requires if other not in there]
    remarks = (
        f"X-Requires: {other} is not in the series; {name} is off by its guards" for other in unmet
    )
    return Edited(directory, new, tuple(remarks))
