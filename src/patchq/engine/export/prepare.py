"""A selection in place on its base, found fit for an export."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from patchq.engine.export.contents import leads_outside
from patchq.engine.series.selection import Selection, require_order
from patchq.engine.series.variants import recipe_of, turn_on
from patchq.engine.verify.build.prediction import predicted_builds
from patchq.engine.verify.pins import Compared, compare_pins
from patchq.engine.verify.requirements import Requirements, own_version
from patchq.engine.verify.runtime import TargetRuntime, runtimes
from patchq.engine.verify.subject import (
    Subject,
    put_in_place,
    uncovered,
    uncovered_words,
    without_uncovered,
)
from patchq.engine.workspace.project import Project
from patchq.errors import FindingsError, InputError, Where
from patchq.git.objects import Entry
from patchq.model.building import fill
from patchq.model.globs import read_globs
from patchq.model.ids import TreeId
from patchq.model.lock import Base, Lock
from patchq.model.recipe import Chosen
from patchq.model.retired import RecordState
from patchq.model.verification import Fetched, Remark, TargetBuild

_ATTRIBUTES = ".gitattributes"


@dataclass(frozen=True)
class Part:
    """What of the tree is exported: a directory as the root, a set of paths, or all of it."""

    subdir: str | None = None
    of: str | None = None


WHOLE = Part()


def default_name(lock: Lock, tag: str) -> str:
    """The name of the export of ``tag``, and of the directory inside it: project, tag, patched."""
    parts = [part.removesuffix(".git") for part in re.split(r"[/:\\]", lock.upstream)]
    project = next((part for part in reversed(parts) if part), "")
    return f"{re.sub(r'[^A-Za-z0-9._+-]', '-', project).lstrip('-.') or 'upstream'}-{tag}-patched"


@dataclass(frozen=True)
class Prepared:
    """A selection in place on its base.

    ``machine`` names the target that it is for, if there are any; ``left_out`` are patches that the
    base does not cover and that touch nothing of the exported set.
    """

    project: Project
    subject: Subject
    choice: Chosen
    part: Part = WHOLE
    machine: str | None = None
    left_out: tuple[str, ...] = ()

    @property
    def base(self) -> Base:
        """What it stands on."""
        return self.subject.base

    @cached_property
    def exported(self) -> TreeId:
        """The tree that is written."""
        if self.part.of is not None:
            return self._tree_of_set(self.part.of)
        if self.part.subdir is None:
            return self.subject.tree
        entry = self.project.store.objects.entry(self.subject.tree, self.part.subdir)
        if entry is None or not entry.is_tree:
            raise InputError(
                f"the patched tree has no directory {self.part.subdir}",
                hint="Give it from the root of the tree, without a leading slash.",
            )
        return entry.tree_id

    def _tree_of_set(self, name: str) -> TreeId:
        """The paths of the set, and the attributes that hold for them."""
        if name not in self.sets:
            known = ", ".join(self.sets) or "none"
            raise InputError(
                f"there is no set {name!r} under export in patchq.yaml", hint=f"Sets are: {known}."
            )
        objects = self.project.store.objects
        files = dict(objects.walk(self.subject.tree))
        chosen = dict(self.chosen(name, files))
        if not chosen:
            raise InputError(
                f"the set {name} matches no file of {self.base.name}",
                hint=f"See the paths of {name} under export in patchq.yaml.",
            )
        above = {parent for path in chosen for parent in _parents(path)}
        attributes = {f"{parent}{_ATTRIBUTES}" for parent in above} & files.keys()
        return objects.tree_of({**chosen, **{path: files[path] for path in attributes}})

    def chosen(self, name: str, files: dict[str, Entry]) -> Iterable[tuple[str, Entry]]:
        """The files of the set ``name``."""
        spec = read_globs(self.sets[name])
        return ((path, entry) for path, entry in files.items() if spec.match_file(path))

    @cached_property
    def sets(self) -> dict[str, list[str]]:
        """The sets of paths of the settings, as gitignore(5) patterns of this tree."""
        return {
            name: [fill(pattern, self.placeholders) for pattern in patterns]
            for name, patterns in self.project.settings.export.sets.items()
        }

    @cached_property
    def outside(self) -> tuple[Remark, ...]:
        """What the exported part needs that is not in it: it cannot be built alone."""
        if self.part.subdir is None:
            return ()
        return leads_outside(self.project.store, self.subject.tree, self.part.subdir)

    @cached_property
    def requirements(self) -> Requirements:
        """What the base itself requires."""
        subject, targets = self.subject, self.project.settings.targets
        return Requirements.of(self.base, subject.recipe, subject.before, targets)

    @cached_property
    def pins(self) -> tuple[Compared, ...]:
        """The pins that hold, beside what the base asks for."""
        return compare_pins(self.choice.pins, self.requirements)

    @cached_property
    def runtimes(self) -> tuple[TargetRuntime, ...]:
        """What each target is built against and runs in."""
        return runtimes(self.project.settings.targets, self.subject.recipe, self.requirements)

    @property
    def runtime(self) -> TargetRuntime | None:
        """That of the target that the export is for; None without targets."""
        return next((each for each in self.runtimes if each.target.name == self.machine), None)

    @cached_property
    def builds(self) -> tuple[TargetBuild, ...]:
        """What is built for each target; raises if there is no CMake to tell."""
        return predicted_builds(self.subject)

    @property
    def fetched(self) -> tuple[Fetched, ...]:
        """What the builds fetch while they are configured."""
        return tuple(dict.fromkeys(item for build in self.builds for item in build.after.fetched))

    @property
    def version(self) -> str | None:
        """The version of the recipe's project, with what the downstream puts behind it."""
        own, local = own_version(self.subject.recipe, self.subject.after), self._local
        return f"{own}{local}" if own else None

    @property
    def _local(self) -> str:
        local = self.subject.recipe.local_version
        return f"+{local}" if local else ""

    @property
    def prefix(self) -> str:
        """The name of the directory that all of it lies in."""
        return default_name(self.project.lock, self.base.name)

    @property
    def placeholders(self) -> dict[str, str]:
        """What ``{…}`` stands for in the settings of an export."""
        runtime = self.runtime
        values = {
            "tag": self.base.name,
            "version": self.base.name.removeprefix("v"),
            "project": self.subject.recipe.project,
            "project_version": self.version,
            "target": self.machine,
            "processor": runtime.target.processor if runtime else None,
            "cuda": runtime.target.cuda if runtime else None,
            "torch": runtime.torch if runtime else None,
        }
        return {name: value for name, value in values.items() if value is not None}


def _parents(path: str) -> Iterable[str]:
    """The directories above ``path``, each with a slash behind it, and the root."""
    parts = path.split("/")[:-1]
    return ("".join(f"{part}/" for part in parts[:length]) for length in range(len(parts) + 1))


def prepare_export(
    project: Project,
    selection: Selection,
    variants: Iterable[str] = (),
    part: Part = WHOLE,
    machine: str | None = None,
    fuzz: int = 0,
) -> Prepared:
    """Apply the selection, with what ``variants`` turn on, to its base: strictly but for ``fuzz``.

    ``machine`` names the target that it is for; the first of the settings, if none is named. Raises
    :class:`FindingsError` if a patch is held or not covered by its base; :class:`InputError` if a
    patch does not apply or lacks what it requires, and if a variant, target, set or the
    subdirectory is not there.
    """
    selection, choice = turn_on(project.settings, selection, variants)
    _refuse_held(selection)
    base = project.lock.base(selection.directory.tag)
    selection, left_out = _covered_part(project, selection, base, part)
    _refuse_uncovered(selection, base)
    require_order(selection)
    subject = put_in_place(project, selection, fuzz)
    if part.subdir is not None:
        part = Part(part.subdir.strip("/") or None, part.of)
    return Prepared(project, subject, choice, part, _machine(project, machine), left_out)


def _covered_part(
    project: Project, selection: Selection, base: Base, part: Part
) -> tuple[Selection, tuple[str, ...]]:
    """The selection for a set of paths without the patches that are all outside of both."""
    patterns = project.settings.export.sets.get(part.of or "")
    if patterns is None:
        return selection, ()
    values = {"project": recipe_of(selection.directory).project or ""}
    spec = read_globs([fill(pattern, values) for pattern in patterns])
    return without_uncovered(selection, base, spec.match_file)


def _machine(project: Project, name: str | None) -> str | None:
    names = [target.name for target in project.settings.targets]
    if name is None:
        return names[0] if names else None
    if name not in names:
        known = f"Targets are: {', '.join(names)}." if names else "The workspace has no targets."
        raise InputError(f"there is no target {name!r} in patchq.yaml", hint=known)
    return name


def _refuse_held(selection: Selection) -> None:
    held = [
        record.name for record in selection.directory.retired if record.standing is RecordState.HELD
    ]
    if held:
        raise FindingsError(
            f"series {selection.directory.tag} is incomplete: {', '.join(held)} "
            f"{'is' if len(held) == 1 else 'are'} held for review",
            hint=f"`patchq resolve {held[0]} {selection.directory.tag}` opens the conflict of "
            f"{'it' if len(held) == 1 else 'the first'}; `patchq drop PATCH --tag "
            f"{selection.directory.tag} --reason WHY` leaves one out.",
        )


def _refuse_uncovered(selection: Selection, base: Base) -> None:
    for patch, paths in uncovered(selection, base):
        raise FindingsError(
            uncovered_words(base, paths),
            where=patch.where or Where(patch.name),
            hint=f"`patchq lock {base.name} --replace-archive` takes upstream's own tag; "
            "`patchq export --set NAME` exports paths that are covered.",
        )
