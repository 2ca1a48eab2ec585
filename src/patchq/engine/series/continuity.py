"""Continuity: nothing vanishes between two series.

Every patch of the series before, in the lock's order, is in a series or in its memory with a
reason; so is what that series remembers, and its recipe. A patch that was renamed, folded or split
is known by the record that this left. A series may say that it starts over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from patchq.model.retired import Lineage, RecordState
from patchq.model.workspace import RECIPE, SeriesDirectory, Workspace


@dataclass(frozen=True)
class Gap:
    """What the series ``earlier`` has, and the one on ``tag`` neither has nor remembers.

    ``carried`` says that it is a patch of that series, not one that it remembers.
    """

    name: str
    earlier: str
    tag: str
    carried: bool = True

    @property
    def words(self) -> str:
        """What is missing."""
        return f"in {self.earlier}, not in {self.tag}, no record"

    @property
    def ways_on(self) -> str:
        """What can be done about it."""
        if self.name == RECIPE:
            return f"copy it from series/{self.earlier} and change what {self.tag} needs"
        record = f"`patchq drop {self.name} --tag {self.tag} --reason WHY` records why it is out"
        if not self.carried:
            return f"{self.earlier} remembers it; {record}"
        return f"{port_command((self,))} brings it, {record}"


def port_command(gaps: Sequence[Gap]) -> str:
    """The command that brings the patches of ``gaps``, which all are of one series."""
    names = " ".join(gap.name for gap in gaps)
    return f"`patchq port {names} --from {gaps[0].earlier} --to {gaps[0].tag}`"


def begun_anew(
    workspace: Workspace, directory: SeriesDirectory, together: Iterable[str] = ()
) -> Lineage | None:
    """The lineage of a series that patches are imported into, where there was none before.

    ``together`` are those that come with it. None if the series is there already, or is the first.
    """
    if directory.series.entries or directory.retired or directory.lineage:
        return None
    earlier = series_before(workspace, directory.tag, together)
    return Lineage(begins=f"imported, not rebased from {earlier}") if earlier else None


def series_before(workspace: Workspace, tag: str, together: Iterable[str] = ()) -> str | None:
    """The series before that on ``tag`` in the lock's order, None if it is the first.

    Those on ``together`` count as if they were there.
    """
    names = workspace.lock().names
    there = {*workspace.series_names(), *together}
    earlier = [name for name in names[: names.index(tag)] if name in there]
    return earlier[-1] if earlier else None


def gaps(workspace: Workspace, tag: str) -> tuple[Gap, ...]:
    """What vanished on the way to the series on ``tag``; nothing where it starts over.

    Raises :class:`~patchq.errors.InputError` if a series or its memory cannot be read.
    """
    lineage = workspace.lineage(tag)
    earlier = series_before(workspace, tag)
    if earlier is None or lineage.begins is not None:
        return ()
    before = workspace.lineage(earlier)
    here = {*workspace.series(tag).names, *(record.name for record in workspace.retired(tag))}
    carried = workspace.series(earlier).names
    there = [
        *carried,
        *(r.name for r in workspace.retired(earlier) if r.standing is not RecordState.DROPPED),
    ]
    lost = [name for name in dict.fromkeys(there) if not _continues(name, here, lineage, before)]
    if _has_recipe(workspace, earlier) and not _has_recipe(workspace, tag):
        lost.append(RECIPE)
    return tuple(Gap(name, earlier, tag, name in carried) for name in lost)


def _continues(name: str, here: set[str], lineage: Lineage, before: Lineage) -> bool:
    """Whether the patch is there under any name that it had before or has got since."""
    names = {name, *before.ancestors(name)}
    later = {successor for known in names for successor in lineage.successors_of(known)}
    return not here.isdisjoint(names | later)


def _has_recipe(workspace: Workspace, tag: str) -> bool:
    return (workspace.series_path(tag) / RECIPE).is_file()


def ages(workspace: Workspace, upto: str) -> Counter[str]:
    """On how many bases in a row each patch of the series ``upto`` has stood, that one included."""
    names = workspace.series_names()
    counts: Counter[str] = Counter()
    alive: set[str] | None = None
    for tag in reversed(names[: names.index(upto) + 1]):
        present = set(workspace.series(tag).names)
        alive = present if alive is None else alive & present
        counts.update(alive)
    return counts
