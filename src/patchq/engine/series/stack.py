"""A series as trees: each patch applied strictly on the patches below it, without a checkout."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from patchq.errors import InputError, Where
from patchq.git.apply import Applied, Refused
from patchq.git.store import Store
from patchq.git.strict import PlainDiff
from patchq.model.ids import TreeId
from patchq.model.patch import Patch, Reach
from patchq.model.series import Series, SeriesEntry
from patchq.model.words import some

_CONTEXT = 3


class PatchRefusedError(InputError):
    """A patch of a series does not apply in its place."""

    def __init__(self, patch: Patch, onto: str, reason: str):
        super().__init__(
            f"does not apply to {onto} with the patches below it: {reason}",
            where=Where(patch.name),
            hint="A series must apply to its own tag without fuzz; "
            "`patchq import` brings a patch over by three-way merge.",
        )
        self.patch = patch
        self.onto = onto
        self.reason = reason


class Stack:
    """Applies patches onto trees of one store; results are kept."""

    def __init__(self, store: Store):
        self._store = store
        self._known: dict[tuple[str, str, int, str, int], Applied | Refused] = {}
        self._last: dict[tuple[TreeId, str], tuple[tuple[Patch, ...], list[TreeId]]] = {}
        """By tree and base: the last stack of patches on it, and the tree after each patch."""

    def try_apply(self, tree: TreeId, patch: Patch, *, fuzz: int = 0) -> Applied | Refused:
        """Apply one patch to ``tree``, strictly except for ``fuzz``: the whole file, as git does.

        ``fuzz`` is the number of context lines that need not match, as with patch(1) ``-F``.
        """
        key = (tree, patch.sha256, patch.strip, patch.directory, fuzz)
        if key not in self._known:
            self._known[key] = self._store.applier.apply(
                tree,
                patch.raw,
                patch.paths,
                strip=patch.strip,
                directory=patch.directory,
                context=max(0, _CONTEXT - fuzz) if fuzz else None,
                plain=PlainDiff(patch.raw, patch.split, patch.files),
            )
        return self._known[key]

    def apply(self, tree: TreeId, patch: Patch, *, onto: str) -> Applied:
        """Apply one patch; ``onto`` names the base in the :class:`PatchRefusedError` raised."""
        applied = self.try_apply(tree, patch)
        if isinstance(applied, Refused):
            raise PatchRefusedError(patch, onto, applied.reason)
        return applied

    def apply_all(self, tree: TreeId, patches: Iterable[Patch], *, onto: str) -> TreeId:
        """The tree after all ``patches``, in order."""
        wanted = tuple(patches)
        known, trees = self._last.get((tree, onto), ((), [tree]))
        # a series grows patch by patch, and comparing the same ones is cheap
        both = min(len(wanted), len(known))
        same = both if wanted[:both] == known[:both] else 0
        if same == len(wanted):
            return trees[same]
        del trees[same + 1 :]
        for patch in wanted[same:]:
            trees.append(self.apply(trees[-1], patch, onto=onto).tree)
            self._last[tree, onto] = wanted[: len(trees) - 1], trees
        return trees[-1]


def below(
    series: Series, entry: SeriesEntry, default_guards: frozenset[str]
) -> tuple[SeriesEntry, ...]:
    """The entries below ``entry``: those before it that are active under the default guards plus
    its own positive guards."""
    own = frozenset(guard.name for guard in entry.guards if guard.positive)
    earlier = series.entries[: series.entries.index(entry)]
    return tuple(other for other in earlier if other.active(default_guards | own))


@dataclass(frozen=True)
class Absent:
    """A patch that another one requires and that is not below it; ``where`` says where it is."""

    name: str
    where: str


def absent(patch: Patch, there: Container[str], series: Series | None = None) -> tuple[Absent, ...]:
    """The patches that ``patch`` requires and that are not ``there``, with their place in
    ``series``."""
    names = series.names if series else ()
    found = []
    for name in patch.header.requires:
        if name in there:
            continue
        where = "not in the series"
        if series and name in names:
            guards = " ".join(series.entry(name).guard_words)
            own = names.index(patch.name) if patch.name in names else len(names)
            where = "after it" if names.index(name) >= own else f"off by guards ({guards})"
        found.append(Absent(name, where))
    return tuple(found)


def absent_words(missing: Sequence[Absent]) -> str:
    """The names of ``missing``, and where they are: ``a, b, which are not in the series``."""
    parts = []
    for where in dict.fromkeys(each.where for each in missing):
        names = [each.name for each in missing if each.where == where]
        parts.append(f"{some(names)}, which {'is' if len(names) == 1 else 'are'} {where}")
    return ", and ".join(parts)


def met(reach: Reach, patches: Iterable[Patch]) -> tuple[Patch, ...]:
    """Those of ``patches`` that can affect the paths ``reach``, in order.

    They touch these paths, or paths that another of them touches: without the rest, a tree has the
    same content at ``reach``.
    """
    left = dict(enumerate(patches))
    found: dict[int, Patch] = {}
    while True:
        new = {number: patch for number, patch in left.items() if reach.meets(patch.reach)}
        if not new:
            return tuple(found[number] for number in sorted(found))
        found |= new
        left = {number: patch for number, patch in left.items() if number not in new}
        reach = reach.with_all(patch.reach for patch in new.values())


def independent(
    reaches: Mapping[str, Reach], tied: Iterable[tuple[str, str]] = ()
) -> list[tuple[str, ...]]:
    """The names in groups that touch no common paths, each in the order of ``reaches``.

    ``tied`` are pairs that belong together whatever they touch.
    """
    groups: list[tuple[set[str], Reach]] = []
    ties = [set(pair) for pair in tied]
    for name, reach in reaches.items():
        mine = {name}.union(*(pair for pair in ties if name in pair))
        joined = [each for each in groups if not mine.isdisjoint(each[0]) or reach.meets(each[1])]
        groups = [each for each in groups if each not in joined]
        groups.append(
            (mine.union(*(names for names, _ in joined)), reach.with_all(r for _, r in joined))
        )
    return [tuple(name for name in reaches if name in names) for names, _ in groups]
