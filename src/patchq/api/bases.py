"""The bases of the lock: added, checked, fetched, imported, trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from patchq.api.opened import OpenWorkspace, Progress, quiet
from patchq.written import note

if TYPE_CHECKING:
    from patchq.engine.workspace.replace_archive import Replaced
    from patchq.engine.workspace.upstream import BaseState, FoundBase
    from patchq.model.ids import CommitId
    from patchq.model.lock import Base
    from patchq.model.verdict import Report


@dataclass(frozen=True)
class Rejudged:
    """The patches that an archive did not cover, judged on the tag that took its place.

    ``earlier`` is the series that they were judged from; without one there is no ``report``.
    """

    patches: frozenset[str] = frozenset()
    earlier: str | None = None
    report: Report | None = None


class Bases(OpenWorkspace):
    """See :class:`~patchq.api.Workspace`."""

    def lock_bases(
        self, *names: str, after: str | None = None, label: str | None = None
    ) -> tuple[tuple[FoundBase, ...], tuple[str, ...]]:
        """Pin tags, or ``NAME=COMMIT``, in the lock: what was found, and the names new in it.

        They come behind ``after``, or by their versions. ``label`` is the change's name for
        :meth:`undo`.
        """
        from patchq.engine.workspace.upstream import add_bases, lock_names, parse_request

        requests = [parse_request(name) for name in names]
        if after is not None:
            self.lock.position(after)
        found = lock_names(self.lock, self.upstream_refs, requests)
        with self.writing() as files:
            bases = [each.base for each in found]
            named = label or self.label(" ".join(["lock", *names]))
            added = add_bases(files, bases, after=after, label=named)
        return found, added

    def moved(self, *names: str) -> tuple[tuple[Base, CommitId | None], ...]:
        """Each locked git base with the commit that its tag has upstream now, if it has one."""
        from patchq.engine.workspace.upstream import moved

        bases = self._bases(names)
        self.store.check(base for base in bases if self.store.objects.has(base.commit))
        return tuple(moved(self.upstream_refs, bases))

    def fetch(self, *names: str, whole: bool = False) -> Iterator[tuple[Base, BaseState]]:
        """Bring locked bases (default: all) into the store, one by one, and check them.

        With ``whole`` all files of history too, so that nothing is fetched later.
        """
        from patchq.engine.workspace.upstream import BaseState, fetch_bases

        bases = self._bases(names)
        for base, state in fetch_bases(self.files, self.store, self.fetch_remote, bases):
            if state is not BaseState.PRESENT:
                note(f"{base.name}, {state.value}")
            yield base, state
        if whole and self.store.gaps is not None:
            self.store.gaps.close_all(base.commit for base in bases if base.archive is None)
        if whole and self.store.lender is not None:
            self.say(
                f"what {self.store.lender.directory} lends is not copied into .patchq/: elsewhere "
                "the workspace needs it too, named with --upstream PATH"
            )

    def _bases(self, names: Sequence[str]) -> list[Base]:
        return [self.lock.base(name) for name in names] if names else list(self.lock.bases)

    def import_upstream(
        self,
        source: str | None,
        tag: str,
        *,
        prefix: str = "",
        covers: Sequence[str] = (),
        excludes: Sequence[str] = (),
        python: str | None = None,
        platform: str | None = None,
        built: Sequence[str] = (),
        built_platform: str | None = None,
        after: str | None = None,
    ) -> tuple[Base, bool]:
        """Lock a source archive or wheel as the base ``tag``; the base, and whether it is new.

        ``built`` are wheels that were built of it, as ``DIR=SOURCE``; without a ``source`` they
        are added to a base that is locked.
        """
        from patchq.archives.bases import ArchiveImport, find_archive, import_base
        from patchq.engine.verify.wheel.built import read_built, with_built
        from patchq.engine.workspace.upstream import add_bases, open_own

        if after is not None:
            self.lock.position(after)
        here = Path.cwd()
        with self.writing() as files:
            wheels = tuple(read_built(files, here, text, built_platform) for text in built)
            if source is None:
                base = with_built(files.lock(), tag, wheels)
            else:
                file, origin = find_archive(files, here, source, python, platform)
                wanted = ArchiveImport(
                    tag, origin, file, prefix, tuple(covers), tuple(excludes), wheels
                )
                base = import_base(files.lock(), open_own(files), wanted)
            label = " ".join(filter(None, ("import-upstream", source, "--tag", tag)))
            added = add_bases(files, [base], after=after, label=self.label(label))
            return files.lock().base(tag), bool(added)

    def replace_archive(self, name: str) -> Replaced:
        """Put upstream's tag in the place of a base that was made from an archive."""
        from patchq.engine.workspace.replace_archive import find_replacement, write_replacement

        with self.writing() as files:
            found = find_replacement(files.lock(), self.upstream_refs, name)
            write_replacement(files, found, self.label(f"lock {name} --replace-archive"))
        return found

    def rejudge(self, replaced: Replaced, progress: Progress = quiet) -> Rejudged:
        """The patches of the base's series that the archive did not cover, judged again."""
        from patchq.engine.rebase.rebase import judge_series
        from patchq.engine.series.selection import Selection
        from patchq.engine.verify.subject import uncovered

        name, project = replaced.base.name, self.project
        if name not in self.series_names:
            return Rejudged()
        directory = self.files.load(name)
        everything = Selection(directory, frozenset(directory.series.guards))
        blind = frozenset(patch.name for patch, _ in uncovered(everything, replaced.archive))
        before = {base.name for base in project.lock.previous(name)}
        earlier = next((n for n in reversed(self.series_names) if n in before), None)
        if not blind or earlier is None:
            return Rejudged(blind)
        report = judge_series(project, earlier, name, progress).report
        known = tuple(patch for patch in report.patches if patch.name in blind)
        return Rejudged(blind, earlier, replace(report, patches=known, remembered=()))

    def trust(self, name: str) -> bool:
        """Let the CMake code of exactly this base's tree run without a sandbox too.

        False if it was trusted before. It is recorded in ``upstream.trust``.
        """
        from patchq.engine.build.trust import trust

        return trust(self.files, self.lock.base(name))
