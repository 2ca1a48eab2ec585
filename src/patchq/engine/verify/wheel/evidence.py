"""What a built wheel tells of the patches that its base does not cover.

Upstream's own wheel was built without the series. What a patch takes out of the build is known from
the last base that covers it; if that is still in the wheel, the patch is still needed. This is
evidence and never a verdict: whether the patch applies there, no wheel can tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from patchq.engine.series.selection import Selection
from patchq.engine.verify.wheel.check import compare_libraries, processor_of
from patchq.engine.workspace.project import Project
from patchq.errors import PatchqError, UnavailableError
from patchq.model.lock import Base, BuiltWheel
from patchq.model.prediction import predict
from patchq.model.verdict import Column, Evidence, EvidenceKind, PatchReport, Report, Verdict
from patchq.model.verification import Build, Change, Effect, PatchEffect, TargetBuild
from patchq.model.wheel import Library, read_library_line

if TYPE_CHECKING:
    from patchq.engine.verify.build.effect import Evaluated


class Wheels:
    """What the wheels that the lock names tell of the patches of one workspace."""

    def __init__(self, project: Project):
        self._project = project
        self._known: dict[str | None, _Known] = {}

    def in_report(self, report: Report) -> Report:
        """``report`` with what the wheels that were built of its base tell."""
        if report.onto not in self._project.lock.names:  # a forecast
            return report
        told = [patch for patch in report.patches if patch.verdict is Verdict.NOT_COVERED]
        base = self._project.lock.base(report.onto)
        found = self.evidence(
            base, {patch.name: [change.old for change in patch.paths] for patch in told}
        )
        patches = tuple(_with(patch, found.get(patch.name, ())) for patch in report.patches)
        return replace(report, patches=patches)

    def in_columns(self, columns: Iterable[Column]) -> tuple[Column, ...]:
        """``columns`` with what the wheels tell in the report of each."""
        return tuple(
            replace(column, report=column.report and self.in_report(column.report))
            for column in columns
        )

    def evidence(
        self, base: Base, patches: Mapping[str, Iterable[str]]
    ) -> dict[str, tuple[Evidence, ...]]:
        """What the wheels built of ``base`` tell of ``patches``, names with the paths of each.

        Nothing is fetched for it: without the last base that covers a patch, what is in the wheel
        is told, and how to have that base.
        """
        found: dict[str, tuple[Evidence, ...]] = {}
        for wheel in base.archive.built if base.archive else ():
            for name, paths in patches.items():
                if any(path.startswith(f"{wheel.directory}/") for path in paths):
                    told = self._last_known(base).tells(wheel, name)
                    found[name] = (*found.get(name, ()), told)
        return found

    def _last_known(self, base: Base) -> _Known:
        """What the patches do on the newest earlier base from git that has a series."""
        with_series = set(self._project.workspace.series_names())
        earlier = [
            known
            for known in self._project.lock.previous(base.name)
            if known.archive is None and known.name in with_series
        ]
        last = earlier[-1] if earlier else None
        name = last.name if last else None
        if name not in self._known:
            self._known[name] = _known_on(self._project, last)
        return self._known[name]


def _known_on(project: Project, last: Base | None) -> _Known:
    if last is None:
        return _Known("", None, "no earlier base with a series covers what the patch changes")
    if not project.store.objects.has(last.commit):
        return _Known(last.name, None, f"after `patchq fetch {last.name}` it tells more")
    from patchq.engine.verify.build.effect import evaluate_on

    selection = Selection(project.workspace.load(last.name), project.settings.default_guards)
    try:
        evaluated = evaluate_on(project, last.name, selection.patches)
    except UnavailableError:
        raise
    except PatchqError as error:
        return _Known(last.name, None, f"{last.name} is not evaluated: {error.message}")
    return _Known(last.name, evaluated, f"the build of {last.name} cannot be evaluated here")


def _with(patch: PatchReport, evidence: tuple[Evidence, ...]) -> PatchReport:
    needed = any(item.kind is EvidenceKind.STILL_NEEDED for item in evidence)
    notes = (*patch.notes, "still needed") if needed else patch.notes
    return replace(patch, evidence=(*patch.evidence, *evidence), notes=notes)


@dataclass(frozen=True)
class _Known:
    """What is known of the patches on the last base that covers them, or why it is not."""

    base: str
    evaluated: Evaluated | None
    why: str = ""

    def tells(self, wheel: BuiltWheel, name: str) -> Evidence:
        """What the wheel tells of the patch ``name``."""
        processor = processor_of(wheel.file)
        wheel_words = _named(wheel)
        libraries = [read_library_line(line) for line in wheel.libraries]
        if self.evaluated is None:
            words = f"{wheel_words} holds {_every(libraries)}; {self.why}"
            return Evidence(EvidenceKind.BUILT_WHEEL, words)
        effects = {
            effect.target: effect for effect in self.evaluated.effects if effect.patch == name
        }
        builds = {
            build.target.name: build
            for build in self.evaluated.builds
            if processor in (None, build.target.processor) and build.target.name in effects
        }
        if not builds:
            why = "no target is for its platform"
            if not effects:
                why = f"the patch is not among those of {self.base}, guards off"
            return Evidence(EvidenceKind.BUILT_WHEEL, f"{wheel_words} tells nothing: {why}")
        said: dict[tuple[EvidenceKind, str], list[str]] = {}
        for target, build in builds.items():
            said.setdefault(self._of_target(build, effects[target], libraries), []).append(target)
        kind = min((kind for kind, _ in said), key=_KINDS.index)
        words = "; ".join(
            text if len(said) == 1 else f"{text} ({', '.join(targets)})"
            for (_, text), targets in said.items()
        )
        return Evidence(kind, f"{wheel_words} {words}")

    def _of_target(
        self, build: TargetBuild, effect: PatchEffect, libraries: list[Library]
    ) -> tuple[EvidenceKind, str]:
        if not effect.changes:
            words = f"the patch changes nothing in the build on {self.base}"
            if effect.effect is Effect.UNKNOWN:
                words = f"what the patch does to the build on {self.base} is not known"
            return EvidenceKind.BUILT_WHEEL, f"tells nothing: {words}"
        held = _libraries(build.before, build, libraries)
        left, gone = dict[str, list[str]](), list[str]()
        for change in effect.changes:
            for words, is_held in _compared(change, held.get(change.name)):
                if is_held:
                    left.setdefault(words, []).append(change.name)
                else:
                    gone.append(words)
        if left:
            items = [f"{', '.join(names)}{words}" for words, names in left.items()]
            return EvidenceKind.STILL_NEEDED, f"still has {'; '.join(items)}, which it takes out"
        if gone:
            return EvidenceKind.BUILT_WHEEL, f"has nothing of what it takes out: {'; '.join(gone)}"
        return EvidenceKind.BUILT_WHEEL, "tells nothing: the patch takes out no GPU code"


_KINDS = (EvidenceKind.STILL_NEEDED, EvidenceKind.BUILT_WHEEL)
"""What a wheel can tell, the stronger first."""


def _compared(change: Change, library: Library | None) -> Iterator[tuple[str, bool]]:
    """What the wheel has of one change's target, and whether the change takes it out."""
    if change.after is None:
        if library is None:
            yield f"no {change.name}", False
        else:
            yield f" ({_archs(library)})", True
    elif change.archs_gone:
        meant = set(change.after.archs)
        held = [arch for arch in _held(library) if arch not in meant] if library else []
        if held:
            yield f" for {_short(held)}", True
        else:
            rest = f"{change.name} for {_archs(library)} alone" if library else None
            yield rest or f"no {change.name}", False


def _libraries(
    unpatched: Build, build: TargetBuild, libraries: list[Library]
) -> dict[str, Library]:
    """The libraries by the targets of the unpatched build that make them."""
    [prediction] = predict([TargetBuild(build.target, unpatched, unpatched)]) or [None]
    rows = compare_libraries(libraries, prediction) if prediction else ()
    return {row.predicted.target: row.library for row in rows if row.predicted and row.library}


def _named(wheel: BuiltWheel) -> str:
    """The wheel by name, version and processor; the lock has the whole name of its file."""
    processor = processor_of(wheel.file)
    name = "-".join(wheel.file.split("-")[:2]).removesuffix(".whl")
    return f"{name} for {processor}" if processor else name


def _held(library: Library) -> tuple[str, ...]:
    return (*library.cubins, *library.ptx)


def _short(archs: Iterable[str]) -> str:
    return " ".join(arch.removeprefix("sm_") for arch in archs)


def _archs(library: Library) -> str:
    return _short(_held(library))


def _every(libraries: Iterable[Library]) -> str:
    return "; ".join(f"{library.path} for {_archs(library)}" for library in libraries)
