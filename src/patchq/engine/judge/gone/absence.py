"""The proof that code is gone from upstream, or the reason why there is none.

Absence is never inferred. A proof names the commit that deleted the code with nothing in its place,
and the search of the whole new tree that found neither its name nor a text like it. Everything else
is a doubt: a rename, a copy, a rewritten version, a part of upstream that could not be searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from patchq.engine.judge.gone.entries import entry_elsewhere
from patchq.engine.judge.gone.finding import Doubt, Likest, ProofOfAbsence
from patchq.engine.judge.gone.own_lines import own_lines_elsewhere
from patchq.engine.judge.gone.removal import LostCode, Removal, renamed_to
from patchq.engine.judge.gone.replacement import Replacements
from patchq.engine.judge.gone.successor import Successors
from patchq.engine.judge.gone.unsearched import Unsearched
from patchq.engine.languages.matching import SequenceMatcher
from patchq.engine.languages.named import bare, binding, definitions, tail
from patchq.engine.languages.outline import outline
from patchq.engine.languages.python_modules import read_facts
from patchq.engine.languages.search.containment import EXACT, Figures, Piece
from patchq.engine.languages.search.fresh_code import FOUND_RENAMED, TELLING, fresh_code
from patchq.engine.languages.search.tree_index import TreeIndex
from patchq.engine.languages.tokens import Family, family, tokenize
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.model.diff_layout import split_lines
from patchq.model.ids import BlobId
from patchq.model.words import some

SMALL = 40
"""Code with fewer tokens has too few shingles to be compared by: its names are compared instead."""

GONE_EXACT, GONE_SHAPE, GONE_NAMES, GONE_FEW_NAMES = 0.40, 0.70, 0.72, 0.60
"""Code counts as gone if each window of the new tree has less of it (the last: small code).

Chosen on functions of SGLang that left their file between v0.5.16 and v0.5.17, checked by hand;
what they give on other releases is in benchmarks/README.md.
"""
FOUND_EXACT, FOUND_SHAPE = 0.60, 0.85
"""Code counts as found from these shares on; between the two it is not known."""

TWIN = 0.80
"""From this share on, code that was there before is a copy; below, it is only similar."""
SAME_SHAPE, SHAPELY = 0.98, 60
"""The same with names ignored, for definitions of at least that many tokens: shorter ones are
similar by chance."""

COMMON = 5
"""A name with more definitions than this in unchanged files is too common to tell anything."""


class Wanted(NamedTuple):
    """A text to search for: a unit, its surroundings or its body, which may be ``inlined``."""

    text: bytes
    inlined: bool = False


class Prover:
    """Proves that code is gone, between two bases."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._objects = span.store.objects
        self._replacements = Replacements(span)
        self._successors = Successors(span)
        self._fresh_code = fresh_code(span.store, span.old.tree, span.new.tree)

    def prove(self, lost: LostCode, removal: Removal) -> ProofOfAbsence | Doubt:
        """The proof that ``lost``, removed by ``removal``, is gone, or the first doubt."""
        doubt = self._renamed(lost) or self._still_named(lost)
        if doubt:
            return doubt
        likest, like = self._likest(lost)
        doubt = (
            self._contained(lost, likest, like)
            or self._unsearched(lost, removal)
            or self._stands(lost)
            or self._listed(lost)
            or self._inlined(lost)
            or self._succeeded(lost, removal)
            or self._replaced(lost, removal)
        )
        if doubt or removal.commit is None:
            return doubt or _untold(lost)
        return ProofOfAbsence(
            file=lost.path,
            hunks=lost.unit.hunks,
            what=lost.what,
            whole_file=lost.new_path is None,
            commit=removal.commit,
            tree=self.index.tree,
            coverage=self._span.new.name,
            searched=self.index.files,
            likest=likest,
        )

    def elsewhere(self, path: str, text: bytes) -> bool:
        """Whether a file of the new base may have ``text``, which was in ``path``."""
        return any(like for like, _, _ in self._compare(path, text, [Wanted(text)]))

    @cached_property
    def index(self) -> TreeIndex:
        """The index of the new base."""
        span = self._span
        return TreeIndex(span.store, span.new.tree, span.cache, span.old.tree)

    @cached_property
    def unsearched(self) -> Unsearched:
        """The content of the new base that cannot be searched."""
        return Unsearched(self._span, self.index)

    def _renamed(self, lost: LostCode) -> Doubt | None:
        place = renamed_to(self._span, lost.path) if lost.new_path is None else None
        return Doubt(f"{lost.path} was moved to {place}", (place,)) if place else None

    def _still_named(self, lost: LostCode) -> Doubt | None:
        """A doubt if the new tree defines the name, or the file imports it."""
        if lost.name is None:
            return None
        name = bare(lost.name)
        found = self._definitions(lost.path, name)
        unchanged = sum(1 for path, _ in found if self._is_old(path))
        if unchanged > COMMON:
            own = tail(lost.name)
            found = [each for each in found if len(own) > 1 and tail(each[1]) == own]
        if found:
            places = tuple(dict.fromkeys(path for path, _ in found))
            names = some([f"{qualified} in {path}" for path, qualified in found])
            return Doubt(f"{lost.name} is defined elsewhere: {names}", places)
        if lost.new_path and lost.name == name and family(lost.path) is Family.PYTHON:
            content = self._objects.content(self._span.new.tree, lost.new_path) or b""
            for item in read_facts(content).imports:
                if item.bound == name:
                    source = f"{'.' * item.level}{item.module}"
                    return Doubt(
                        f"{lost.new_path} takes {name} from {source} now", (lost.new_path,)
                    )
        return self._bound(lost, name)

    def _definitions(self, path: str, name: str) -> list[tuple[str, str]]:
        kind = family(path)
        return [
            (place, qualified)
            for place, content in self.index.with_name(name.encode("utf-8", "surrogateescape"))
            for qualified in definitions(place, content, name, kind)
        ]

    def _bound(self, lost: LostCode, name: str) -> Doubt | None:
        """A doubt if a line that the old base lacks binds the name in any other way."""
        pattern = binding(name)
        for path, content in self.index.with_name(name.encode("utf-8", "surrogateescape")):
            if not pattern.search(content) or self._is_old(path):
                continue
            before = self._objects.content(self._span.old.tree, self._origin.get(path, path)) or b""
            known = {line.strip() for line in split_lines(before)}
            for line in split_lines(content):
                if pattern.search(line) and line.strip() not in known:
                    shown = line.strip().decode(errors="replace")
                    return Doubt(f"{lost.name} may be bound in {path} now: {shown}", (path,))
        return None

    def _is_old(self, path: str) -> bool:
        """Whether the old base has the content of a file of the new base."""
        entry = self._objects.file(self._span.new.tree, path)
        return entry is not None and entry.oid in self.unsearched.old_blobs

    def _likest(self, lost: LostCode) -> tuple[Likest | None, bool]:
        """The place most like the code or its surroundings, and whether it may be that code."""
        wanted = [Wanted(text) for text in dict.fromkeys([lost.text, lost.neighbourhood])]
        wanted.append(Wanted(lost.body, inlined=True))
        found = self._compare(lost.path, lost.text, wanted)
        like, _, best = max(found, key=lambda each: each[:2], default=(False, 0.0, None))
        return best, like

    def _compare(
        self, path: str, unit: bytes, wanted: Sequence[Wanted]
    ) -> list[tuple[bool, float, Likest]]:
        """For each file that may have a ``wanted`` text: whether it has, by which share, and where.

        Each file is tokenized once for all texts.
        """
        kind, weight = family(path), self.index.weight
        pieces = [Piece(tokenize(kind, each.text), weight) for each in wanted]
        asked_of = zip(pieces, wanted, strict=True)
        files = [dict.fromkeys(self._candidates(kind, piece, w.text)) for piece, w in asked_of]
        found = {
            (number, oid): self._compared(path, unit, wanted[number], pieces[number], oid)
            for oid in dict.fromkeys(chain.from_iterable(files))
            for number, oids in enumerate(files)
            if oid in oids
        }
        return [found[number, oid] for number, oids in enumerate(files) for oid in oids]

    def _compared(
        self, path: str, unit: bytes, wanted: Wanted, piece: Piece, oid: BlobId
    ) -> tuple[bool, float, Likest]:
        """Whether a blob has a ``wanted`` text, by which share, and where.

        Similar code that was there before, beside the unit, is not the unit moved: then only what
        the file has anew is compared. If a small text may be ``inlined``, names do not count.
        """
        kind, inlined, small = family(path), wanted.inlined, piece.size < SMALL
        whole = wanted.text == unit and piece.size >= SHAPELY

        def is_like(figures: Figures) -> bool:
            return figures.exact >= GONE_EXACT if inlined and small else _is_like(piece, figures)

        figures = piece.within(self.index.tokens(oid, kind))
        like = is_like(figures)
        copied = figures.exact >= TWIN or (whole and figures.shape >= SAME_SHAPE)
        if like and (inlined or not copied):
            like = is_like(piece.within(tokenize(kind, self._fresh(oid, path, unit))))
        best = Likest(self.index.paths(oid)[0], figures.first + 1, None, figures, small)
        return like, figures.exact if inlined and small else best.share, best

    def _candidates(self, kind: Family, piece: Piece, text: bytes) -> Iterator[BlobId]:
        """The blobs of the new base that may have much of ``text``."""
        yield from self.index.candidates(piece, text)
        if piece.size < TELLING or kind is Family.OTHER:
            return
        for path, _ in self._fresh_code.like(kind, text):
            oid = self.index.blob(path)
            if oid is not None:
                yield oid

    def _fresh(self, oid: BlobId, path: str, unit: bytes) -> bytes:
        """The lines of a blob of the new tree that its old file, without ``unit``, lacks."""
        if oid in self.unsearched.old_blobs:
            return b""
        content = self.index.content(oid)
        new = self.index.paths(oid)[0]
        before = self._origin.get(new, new)
        old = self._objects.content(self._span.old.tree, before)
        if old is None:
            return content
        if before == path:
            old = old.replace(unit, b"", 1)
        lines, known = split_lines(content), split_lines(old)
        codes = SequenceMatcher(None, known, lines, autojunk=False).get_opcodes()
        added = (lines[low:high] for tag, _, _, low, high in codes if tag != "equal")
        return b"".join(line for block in added for line in block)

    @cached_property
    def _origin(self) -> dict[str, str]:
        """The old path of each file that moved, by the new one."""
        return {new: old for old, new in self._span.renames.renames.items()}

    def _named(self, likest: Likest) -> Likest:
        content = self._objects.content(self._span.new.tree, likest.path) or b""
        shown = outline(likest.path, content)
        middle = (likest.figures.first + likest.figures.last) // 2
        around = shown.around(middle, middle) if shown else None
        name = around.name if around else None
        return replace(likest, name=name)

    def _contained(self, lost: LostCode, likest: Likest | None, like: bool) -> Doubt | None:
        if likest is not None and like:
            place = self._named(likest)
            figures = place.figures
            found = figures.exact >= FOUND_EXACT or figures.shape >= FOUND_SHAPE
            words = "is changed, not gone" if found else "may not be gone"
            return Doubt(
                f"{lost.what} {words}: {place.text} has {figures.exact:.0%} of it as it was, "
                f"{figures.shape:.0%} under other names, {figures.names:.0%} of its names",
                (place.path,),
            )
        names = tokenize(family(lost.path), lost.body).names
        if lost.name is None:  # there is no name of a definition to tell
            names = frozenset(name for name in names if len(name) > 2)
        if len(names) < 2:
            return Doubt(f"{lost.what} says too little to be looked for", ())
        return None

    def _stands(self, lost: LostCode) -> Doubt | None:
        found = own_lines_elsewhere(self._span, lost)
        if found is None:
            return None
        line = found.lines[0].decode(errors="replace")
        where = f" in {some(found.files)}" if found.files else ""
        return Doubt(f"{lost.what} was not just deleted: {line!r} stands{where}", found.files[:5])

    def _listed(self, lost: LostCode) -> Doubt | None:
        found = entry_elsewhere(self._span, lost)
        if found is None:
            return None
        words = f"{lost.what} was not just deleted: {found.path} has {found.name} now"
        return Doubt(words, (found.path,))

    def _inlined(self, lost: LostCode) -> Doubt | None:
        """A doubt if new code contains a whole body that is too short to be compared."""
        kind = family(lost.path)
        tokens = tokenize(kind, lost.body)
        if len(tokens.texts) >= EXACT:
            return None
        wanted = b"\0".join(text for text in tokens.texts if text != b"return")
        for path, added in self._fresh_code.with_words(kind, tokens.names):
            if wanted in b"\0".join(tokenize(kind, added).texts):
                return Doubt(f"{lost.what} may be written out where it was called: {path}", (path,))
        return None

    def _succeeded(self, lost: LostCode, removal: Removal) -> Doubt | None:
        found = self._successors.find(lost, removal)
        if found is None:
            return None
        words = f"{lost.what} was not just deleted: {found.words}"
        return Doubt(words, (found.path,))

    def _replaced(self, lost: LostCode, removal: Removal) -> Doubt | None:
        if removal.commit is None:
            return None
        if lost.new_path is None:
            other = self._replacements.find(lost.path, removal.commit)
            words = f"{lost.path} was not just deleted: {other} came, maybe in its place"
            return Doubt(words, (other,)) if other else None
        if removal.pure:
            return None
        return Doubt(
            f"{lost.what} was not just deleted: other code is in its place in {lost.new_path}",
            (lost.new_path,),
        )

    def _unsearched(self, lost: LostCode, removal: Removal) -> Doubt | None:
        unseen = self.unsearched.find(lost.what, removal)
        return Doubt(unseen.text, unseen.paths) if unseen else None


def _untold(lost: LostCode) -> Doubt:
    return Doubt(f"no commit between the bases shows what became of {lost.what}", ())


def _is_like(piece: Piece, figures: Figures) -> bool:
    """Whether a text with these ``figures`` may have the piece."""
    if figures.exact >= GONE_EXACT or (piece.size >= TELLING and figures.renamed >= FOUND_RENAMED):
        return True
    if piece.size < SMALL:
        return figures.names >= GONE_FEW_NAMES
    return figures.shape >= GONE_SHAPE or figures.names >= GONE_NAMES
