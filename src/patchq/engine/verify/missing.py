"""What a file asks for and its tree does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from patchq.engine.languages.python_facts import STAR, AttributeUse, Import, ModuleFacts, When
from patchq.engine.verify.modules import FoundModule, Tree, below
from patchq.errors import Where
from patchq.git.raw_objects import MissingObjectError


@dataclass(frozen=True)
class Missing:
    """Something that ``file`` asks for on ``line`` and the tree does not have.

    ``name`` is None if the module itself is missing; ``asked`` is then what is taken from it.
    """

    file: str
    line: int
    module: str
    places: tuple[str, ...]
    name: str | None
    when: When
    asked: tuple[str, ...] = ()
    swallowed: int | None = None
    replaced: bool = False

    @property
    def key(self) -> tuple[str, str | None]:
        """What is missing, whoever asks for it."""
        return self.module, self.name

    @property
    def where(self) -> Where:
        """Where it is asked for."""
        return Where(self.file, self.line)

    @property
    def files(self) -> tuple[str, ...]:
        """Where it would stand."""
        return tuple(
            file for place in self.places for file in (f"{place}.py", f"{place}/__init__.py")
        )

    @property
    def words(self) -> tuple[str, ...]:
        """The names that are asked for."""
        return (self.name,) if self.name else self.asked

    @property
    def last_word(self) -> str:
        """What whoever asks for it has to spell out."""
        return self.name or self.module.rpartition(".")[2]


def missing_in(tree: Tree, path: str) -> tuple[Missing, ...]:
    """All that the file at ``path`` asks for and ``tree`` does not have."""
    facts = tree.facts(path)
    return _joined(_File(tree, path, facts).missing()) if facts else ()


def had(tree: Tree, missing: Missing) -> bool:
    """Whether ``tree``, that of another base, has what is missing; False: or cannot tell."""
    try:
        modules = [module for place in missing.places if (module := tree.module(place))]
        return any(missing.name is None or tree.has(m, missing.name) for m in modules)
    except MissingObjectError:
        return False  # a partial clone may hold only the trees of that base


@dataclass(frozen=True)
class _File:
    """A Python file in its tree, and what it says."""

    tree: Tree
    path: str
    facts: ModuleFacts

    def missing(self) -> Iterator[Missing]:
        """What it asks for in vain, by imports and by uses of modules."""
        for item in self.facts.imports:
            yield from self._import(item)
        bound = self._bound()
        for use in self.facts.uses:
            yield from self._use(bound, use)

    def _import(self, item: Import) -> Iterator[Missing]:
        if self._works(item):
            return
        found, name = self.tree.resolve(self.path, item), item.name
        places = tuple(module.place for module in found or ())
        places = places or self.tree.places(self.path, item.module, item.level) or (item.module,)
        attempt = item.attempt
        missing = Missing(
            self.path,
            item.line,
            self.tree.packages.dotted(places[0]),
            places,
            name if found else None,
            item.when,
            asked=() if found or name is None or name == STAR else (name,),
            swallowed=attempt.line if attempt and not attempt.fallback else None,
        )
        yield replace(missing, replaced=self._is_replaced(item))

    def _is_replaced(self, item: Import) -> bool:
        """Whether the other side of the ``try`` that ``item`` stands in brings what it does not."""
        attempt = item.attempt
        if attempt is None:
            return False
        return any(
            other.attempt is not None
            and other.attempt.line == attempt.line
            and other.attempt.fallback is not attempt.fallback
            and other.bound == item.bound
            and self._works(other)
            for other in self.facts.imports
        )

    def _works(self, item: Import) -> bool:
        modules = self.tree.resolve(self.path, item)
        if modules is None:
            return True
        name = item.name
        if name is None or name == STAR:
            return bool(modules)
        return any(self.tree.has(module, name, item.when) for module in modules)

    def _bound(self) -> Mapping[str, FoundModule]:
        """The modules of this tree that names of the file stand for, where that is certain."""
        found: dict[str, set[str | None]] = {}
        for item in self.facts.imports:
            if item.name != STAR and item.bound:
                found.setdefault(item.bound, set()).add(self._stands_for(item))
        bound = {}
        for name, places in found.items():
            place = next(iter(places))
            module = self.tree.module(place) if place is not None and len(places) == 1 else None
            if module is not None:
                bound[name] = module
        return bound

    def _stands_for(self, item: Import) -> str | None:
        dotted = item.module
        if item.name is None and item.bound == dotted.partition(".")[0]:
            dotted = item.bound
        places = self.tree.places(self.path, dotted, item.level)
        if places is None or len(places) != 1:
            return None
        if item.name is None:
            return places[0]
        holder = self.tree.module(places[0])
        if holder is None or holder.facts is None:
            return None if holder is None else below(places[0], item.name)
        own = holder.facts
        if own.open or own.stars or own.error or item.name in own.names | own.typing_names:
            return None
        return below(places[0], item.name)

    def _use(self, bound: Mapping[str, FoundModule], use: AttributeUse) -> Iterator[Missing]:
        name, *attributes = use.path
        module = bound.get(name)
        for attribute in attributes:
            if module is None or module.facts is None:
                return
            if not self.tree.has(module, attribute, use.when):
                dotted = self.tree.packages.dotted(module.place)
                yield Missing(self.path, use.line, dotted, (module.place,), attribute, use.when)
                return
            if attribute in module.facts.names or module.facts.open or module.facts.stars:
                return
            module = self.tree.module(below(module.place, attribute))


def _joined(found: Iterable[Missing]) -> tuple[Missing, ...]:
    """Each missing thing once a line; what is taken from one missing module put together."""
    joined: dict[tuple[object, ...], Missing] = {}
    for item in found:
        place = (item.line if item.name else None, item.when, item.replaced, item.key)
        known = joined.get(place)
        if known is None:
            joined[place] = item
        elif item.asked:
            joined[place] = replace(known, asked=tuple(dict.fromkeys(known.asked + item.asked)))
    return tuple(joined.values())


def words_of(missing: Missing) -> str:
    """What is missing, in words."""
    if missing.name is None:
        names = f" ({', '.join(missing.asked)})" if missing.asked else ""
        text = f"module {missing.module}{names} is not in the tree"
    else:
        text = f"{missing.module} has no {missing.name}"
    if missing.swallowed is not None:
        text += f", which the try on line {missing.swallowed} swallows"
    return text
