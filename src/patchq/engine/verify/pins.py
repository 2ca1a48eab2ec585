"""The downstream's pins beside what the upstream tag itself asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from patchq.engine.verify.requirements import Asked, Reader, Requirements, sources, unreadable
from patchq.engine.verify.runtime import TORCH, TargetRuntime, runtimes
from patchq.engine.verify.subject import Subject
from patchq.engine.workspace.project import Project
from patchq.errors import Where
from patchq.model.pins import Pin, PinState, compare_pin, compatible
from patchq.model.recipe import Recipe, read_recipe
from patchq.model.regex import compile_regex, encoded
from patchq.model.verification import Failure, Remark, Section

NAME = "pins"
_WORDS = {
    PinState.EQUAL: "equal",
    PinState.INSIDE: "inside upstream's range",
    PinState.AHEAD: "ahead of upstream",
    PinState.BEHIND: "behind upstream",
    PinState.OUTSIDE: "outside upstream's range",
    PinState.FREE: "upstream takes any version",
    PinState.ABSENT: "upstream does not ask for it",
    PinState.UNKNOWN: "what upstream asks for is not known",
    PinState.INCOMPARABLE: "cannot be compared as a version",
}
_TO_DECIDE = (PinState.BEHIND, PinState.OUTSIDE)


@dataclass(frozen=True)
class Compared:
    """A pin beside upstream's; None: upstream does not ask for the package.

    Nothing is ``known`` of what upstream asks for if no file and no metadata of the base says it.
    """

    pin: Pin
    asked: Asked | None
    known: bool = True

    @property
    def standing(self) -> PinState:
        """How the one stands to the other."""
        if self.asked is None and not self.known:
            return PinState.UNKNOWN
        return compare_pin(self.pin.specifier, self.asked.specifier if self.asked else None)

    @property
    def text(self) -> str:
        """The comparison in words."""
        standing = self.standing
        theirs = ""
        if self.asked and self.asked.specifier:
            theirs = f", upstream has {self.asked.specifier}"
            if standing is PinState.INCOMPARABLE:
                theirs += f" ({self.asked.where})"
        reason = f"; {self.pin.reason}" if self.pin.reason else ""
        return f"{self.pin.name}{self.pin.specifier}: {_WORDS[standing]}{theirs}{reason}"

    @property
    def fits(self) -> bool:
        """Whether a resolver can satisfy both, so that the pin is a mere constraint."""
        return compatible(self.pin.specifier, self.asked.specifier if self.asked else None)


def check(subject: Subject) -> Section:
    """Compare the recipe's pins, and those of each variant, with the tag's own.

    A pin may well differ from upstream's: what there is to decide is a note. A file that the
    recipe names and the tag has not, or that cannot be read, is a failure.
    """
    recipe, settings = subject.recipe, subject.project.settings
    failures = [
        Failure(text, recipe.where)
        for path in sources(recipe)
        if subject.coverage.covers_path(path)
        # a project need not have one; what the recipe names has to be there
        and (path in recipe.pyprojects or subject.before(path) is not None)
        for text in unreadable(path, subject.before(path))
    ]
    failures += [
        Failure(f"there is no target {name} in patchq.yaml", recipe.where)
        for name in recipe.targets.keys() - {target.name for target in settings.targets}
    ]
    asked = Requirements.of(subject.base, recipe, subject.before, settings.targets)
    failures += _other_torch(recipe, runtimes(settings.targets, recipe, asked))
    compared = compare_pins(recipe.pins, asked)
    rows = [Remark(row.text, row.pin.where) for row in compared]
    for variant in recipe.variants.values():
        for row in compare_pins(variant.pins, asked):
            rows.append(Remark(f"{row.text} (variant {variant.name})", row.pin.where))
    open_rows = sum(row.standing in _TO_DECIDE for row in compared)
    summary = f"{len(compared)} pins, {open_rows} behind or outside of upstream's range"
    if compared and not asked.known:
        summary = f"{len(compared)} pins; what {subject.base.name} requires is not known"
    return Section(NAME, summary, tuple(failures), tuple(rows), skipped=not rows and not failures)


def _other_torch(recipe: Recipe, targets: Iterable[TargetRuntime]) -> Iterator[Failure]:
    """Targets that are built against another PyTorch than the one that the recipe pins."""
    pin = next((pin for pin in recipe.pins if pin.name == TORCH), None)
    for runtime in targets:
        if pin and runtime.own and not compatible(pin.specifier, f"=={runtime.torch}"):
            text = f"{TORCH}{pin.specifier} is pinned, and the target is built against "
            yield Failure(f"{text}{runtime.torch}", pin.where, target=runtime.target.name)


def compare_pins(pins: Iterable[Pin], asked: Requirements) -> tuple[Compared, ...]:
    """Each pin beside what the tag asks for on the machine of the first target."""
    return tuple(
        Compared(pin, _of_source(pin, asked.read) or asked.asked.get(pin.name), asked.known)
        for pin in pins
    )


def misfits_of(project: Project, tag: str) -> tuple[Remark, ...]:
    """What of the recipe of the series on ``tag`` does not fit that tag.

    What an archive does not cover is not known, and no misfit.
    """
    directory, base = project.workspace.load(tag), project.lock.base(tag)
    objects = project.store.objects

    def has_directory(path: str) -> bool:
        entry = objects.entry(base.tree, path)
        return entry is not None and entry.is_tree

    recipe = read_recipe(directory.recipe, Where(f"series/{tag}/recipe.yaml"))
    found = misfits(
        recipe, lambda path: objects.content(base.tree, path), has_directory, base.covers
    )
    return tuple(found)


def misfits(
    recipe: Recipe,
    read: Reader,
    has_directory: Callable[[str], bool],
    covers: Callable[[str], bool] = lambda _: True,
) -> Iterator[Remark]:
    """What of a recipe that was carried on does not fit the new tag any more."""
    project = recipe.project
    if project is not None and covers(f"{project}/CMakeLists.txt") and not has_directory(project):
        yield Remark(f"the tag has no directory {project}", recipe.where)
    for path in recipe.pyprojects:
        if covers(path) and read(path) is None:
            yield Remark(f"the tag has no {path}", Where(recipe.where.file))
    pins = [*recipe.pins, *(pin for variant in recipe.variants.values() for pin in variant.pins)]
    for pin in pins:
        source = pin.source
        if source is not None and covers(source.file) and _of_source(pin, read) is None:
            text = f"{source.file} of the tag does not say the version of {pin.name}"
            yield Remark(text, pin.where)


def _of_source(pin: Pin, read: Reader) -> Asked | None:
    """What upstream says in the file that the pin names; it need not be a version."""
    if pin.source is None:
        return None
    raw = read(pin.source.file) or b""
    match = compile_regex(encoded(pin.source.pattern)).search(raw)
    if match is None or not match[1]:
        return None
    line = raw.count(b"\n", 0, match.start(1)) + 1
    return Asked(_exactly(match[1].decode("utf-8", "replace")), Where(pin.source.file, line))


def _exactly(text: str) -> str:
    """The specifier of just this version, or of a text that is none (``===``)."""
    try:
        return str(SpecifierSet(f"=={text}"))
    except InvalidSpecifier:
        return f"==={text}"
