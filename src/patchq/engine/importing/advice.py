"""What to do about a patch that does not apply, by why it does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from patchq.engine.importing.places import Places
from patchq.engine.series.hunks import locate
from patchq.engine.series.stack import Stack
from patchq.git.apply import Refused
from patchq.git.store import Store
from patchq.model.diff import ChangeKind, FileChange, Hunk
from patchq.model.diff_layout import split_lines
from patchq.model.ids import TreeId
from patchq.model.lock import Base
from patchq.model.patch import Patch

_NO_DATA = re.compile(r"cannot apply binary patch|without full index line")
_NO_PLACE = re.compile(r"invalid path", re.IGNORECASE)
_NO_DIFF = re.compile(r"bad git-diff|corrupt patch|unrecognized input|garbage|malformed")
_FAILED_HUNK = re.compile(r"patch failed: (.+):(\d+)$")

_Content = Callable[[str], bytes | None]


class Adviser:
    """Looks at patches that ``base`` refused; ``others`` are the other bases that may help."""

    def __init__(self, store: Store, base: Base, others: Sequence[Base], places: Places):
        self._objects = store.objects
        self._stack = Stack(store)
        self._base = base
        self._others = others
        self._places = places

    def spot(self, tree: TreeId, patch: Patch, reason: str) -> tuple[int | None, str]:
        """The line of the first hunk that fails, and which ones do, in words."""
        failed = self._failed(tree, patch, reason)
        if not failed:
            return None, ""
        first = next(iter(failed.values()))[0]
        line = _first_line(patch) + first.line
        words = "; ".join(
            f"{'hunk' if len(hunks) == 1 else 'hunks'} "
            f"{_listed([str(hunk.index) for hunk in hunks])} of {path}"
            for path, hunks in failed.items()
        )
        return line, f" ({words})"

    def advice(self, tree: TreeId, patch: Patch, reason: str, needs: Sequence[str]) -> str:
        """What to do next."""
        if _NO_DATA.search(reason):
            return "It names binary files without their content; `git diff --binary` writes it."
        if _NO_PLACE.search(reason):
            return (
                "A patch may touch neither .git, by any name that a system knows it by, nor "
                "anything outside the tree."
            )
        if _NO_DIFF.search(reason):
            return "git cannot read it; make it again with `git diff` or `diff -u`."
        if needs:
            return (
                f"Bring what it needs first: `patchq backport {' '.join(needs)} "
                f"--onto {self._base.name}`."
            )
        failed = self._failed(tree, patch, reason)
        if failed:
            path, (hunk, *_) = next(iter(failed.items()))
            if all(line[:1] in (b"-", b"+") for line in hunk.lines):
                return (
                    "It has no lines of context to find its place by; make it again without -U0, "
                    "`git diff` and `diff -u` write three."
                )
            if _differs_in_blanks(hunk, self._objects.content(tree, path)):
                return (
                    "Only its blanks differ from the file's, as a mail program or a copy from a "
                    "page leaves them; get it as a file."
                )
            if fuzz := self._fuzz(tree, patch):
                return (
                    f"It applies to {self._base.name} with fuzz {fuzz} alone: context beside its "
                    "change differs. Look where "
                    f"`patch -p{patch.strip}` puts it, and make it strict: `quilt refresh`, or "
                    "`git diff` after that. If it was cut from another tag, import it there "
                    "(--tag) and rebase."
                )
        return self._other_base(tree, patch)

    def _fuzz(self, tree: TreeId, patch: Patch) -> int | None:
        """With how many lines of context left out it applies, as patch(1) tries by itself."""
        applied = (
            fuzz
            for fuzz in (1, 2)
            if not isinstance(self._stack.try_apply(tree, patch, fuzz=fuzz), Refused)
        )
        return next(applied, None)

    def is_there(self, tree: TreeId, patch: Patch) -> bool:
        """Whether every file already is as the patch would leave it."""
        return all(
            _has_change(change, lambda path: self._objects.content(tree, path))
            for change in patch.files
        )

    def _other_base(self, tree: TreeId, patch: Patch) -> str:
        absent = [c.old for c in patch.files if c.old and not self._objects.file(tree, c.old)]
        twice = _section_again(patch)
        if twice is not None:
            return (
                f"{twice.old} comes with an earlier section of the same file, and git applies a "
                f"file's sections to one state of the tree. Cut it in two before line "
                f"{_first_line(patch) + twice.line} and import both, or get the "
                "commits one by one (`git format-patch`, `git log -p`)."
            )
        names = {path for path in absent if path}
        holders = [
            base.name
            for base in self._others
            if names and all(self._there(base, path) for path in names)
        ]
        fitting = [name for name in holders if name != self._base.name]
        gone = f"{absent[0]} is not in {self._base.name}. " if absent else ""
        if names and not fitting and not any(self._any(base, patch) for base in self._others):
            return (
                "None of the files that it changes is in any base of upstream.lock: it is for "
                "another repository."
            )
        onto = f" ({', '.join(fitting)} {_have(fitting)} it)" if absent and fitting else ""
        return (
            f"{gone}Import it with --tag onto the tag that it was cut from{onto}; "
            f"`patchq rebase --onto {self._base.name}` then brings it over. Without --tag, "
            "`patchq import` shows which base it fits."
        )

    def _there(self, base: Base, path: str) -> bool:
        return self._objects.has(base.tree) and self._objects.file(base.tree, path) is not None

    def _any(self, base: Base, patch: Patch) -> bool:
        """Whether the base has a file that the patch changes, or cannot tell."""
        if base.archive is not None or not self._objects.has(base.tree):
            return True
        return any(change.old and self._there(base, change.old) for change in patch.files)

    def _failed(self, tree: TreeId, patch: Patch, reason: str) -> dict[str, list[Hunk]]:
        """The hunks that have no place, by file: git names the first of each file at most."""
        named = {match.groups() for match in map(_FAILED_HUNK.match, reason.split("; ")) if match}
        found: dict[str, list[Hunk]] = {}
        if not named:
            return found
        for change in patch.files:
            content = self._objects.content(tree, change.old) if change.old else None
            if change.old is None or content is None:
                continue
            lines = split_lines(content)
            for hunk in change.hunks:
                said = (change.old, str(hunk.old_start)) in named
                if said or locate([hunk], lines) is None:
                    found.setdefault(change.old, []).append(hunk)
        return found


def place_of(patch: Patch) -> str:
    """What messages call a patch."""
    return patch.where.file if patch.where else patch.name


def _first_line(patch: Patch) -> int:
    """How many lines of its file stand before the diff."""
    above = patch.where.line if patch.where else None
    return (above or 0) + patch.head.count(b"\n")


def _section_again(patch: Patch) -> FileChange | None:
    """The section that stands on a file which an earlier section makes."""
    made: set[str | None] = set()
    for change in patch.files:
        if change.old in made and change.kind is not ChangeKind.MODIFY:
            return change
        if change.old != change.new:
            made.add(change.new)
    return None


def _listed(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _have(names: Sequence[str]) -> str:
    return "has" if len(names) == 1 else "have"


def _differs_in_blanks(hunk: Hunk, content: bytes | None) -> bool:
    """Whether the hunk finds a place in the file once blanks do not count."""

    def bare(line: bytes) -> bytes:
        return b"".join(line.split()) + b"\n"

    lines = tuple(line[:1].replace(b"\n", b" ") + bare(line[1:]) for line in hunk.lines)
    there = [bare(line) for line in split_lines(content or b"")]
    return locate([replace(hunk, lines=lines)], there) is not None


def _has_change(change: FileChange, content: _Content) -> bool:
    if change.new is None:
        return change.old is not None and content(change.old) is None
    text = content(change.new)
    if text is None or not change.hunks:
        return False
    if change.kind is ChangeKind.ADD:
        return text == b"".join(change.hunks[0].added)
    return locate([_reversed(hunk) for hunk in change.hunks], split_lines(text)) is not None


def _reversed(hunk: Hunk) -> Hunk:
    swap = {b"-": b"+", b"+": b"-"}
    return replace(
        hunk,
        old_start=hunk.new_start,
        old_count=hunk.new_count,
        new_start=hunk.old_start,
        new_count=hunk.old_count,
        lines=tuple(swap.get(line[:1], line[:1]) + line[1:] for line in hunk.lines),
    )
