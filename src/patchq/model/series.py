"""The order of patches: a quilt series file with Mercurial-mq guards.

quilt(1): one patch a line, an optional ``-pN``, comments after ``#``. Mercurial's mq: guards after
the name, ``#+name`` and ``#-name``, which quilt and dpkg-source take for a comment.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import dropwhile, takewhile
from pathlib import PurePosixPath

from patchq.errors import InputError, Where
from patchq.model.nearest import did_you_mean
from patchq.model.patch_names import CONTROL, check_name, meant_name

_GUARD = re.compile(r"#([-+])([^-+#\s][^#\s]*)$")
_GUARDS = re.compile(rb"(?:\s*#[-+]\S+)*\s*")
_STRIP = re.compile(r"-p([0-9]{1,3})$")


@dataclass(frozen=True)
class Guard:
    """``#+name`` (only with) or ``#-name`` (not with)."""

    name: str
    positive: bool

    def __str__(self) -> str:
        return f"#{'+' if self.positive else '-'}{self.name}"


def asked_guard(name: str, *, positive: bool) -> Guard:
    """The guard that the user names; raises :class:`InputError` if none can be called so."""
    guard = Guard(name, positive)
    if CONTROL.search(name) or not _GUARD.fullmatch(str(guard)):
        raise InputError(
            f"{name!r} cannot be a guard",
            hint="A guard is one word that begins without '+' or '-' and holds no '#'.",
        )
    return guard


@dataclass(frozen=True)
class SeriesEntry:
    """One patch of a series; ``line`` is where it stands, 0 for an entry not in a file yet."""

    name: str
    strip: int = 1
    guards: tuple[Guard, ...] = ()
    line: int = field(default=0, compare=False)
    comment: bytes = field(default=b"", compare=False)
    """The comment lines right above it, which a patch takes along that comes back."""
    remark: bytes = field(default=b"", compare=False)
    """The comment on its own line, behind the guards, from the ``#`` on."""

    @property
    def guard_words(self) -> list[str]:
        """The guards as the series file has them, less the ``#``."""
        return [str(guard).removeprefix("#") for guard in self.guards]

    def __str__(self) -> str:
        return f"{self.name} ({' '.join(self.guard_words)})" if self.guards else self.name

    def active(self, selected: Collection[str]) -> bool:
        """Whether the patch is applied where the guards ``selected`` are on.

        mq's rule: a selected negative guard wins; else, if there are positive guards, one of
        them must be selected.
        """
        if any(guard.name in selected for guard in self.guards if not guard.positive):
            return False
        positive = [guard.name for guard in self.guards if guard.positive]
        return not positive or any(name in selected for name in positive)

    def can_be_active(self, always: Collection[str] = ()) -> bool:
        """Whether any selection has the patch, where the guards ``always`` are on in each."""
        return self.active(always) or any(
            self.active({*always, guard.name}) for guard in self.guards if guard.positive
        )


class NoSuchPatchError(InputError):
    """There is no patch of this name where one was looked for."""

    def __init__(self, name: str, message: str, *, where: Where | None = None, hint: str):
        super().__init__(message, where=where, hint=hint)
        self.name = name


@dataclass(frozen=True)
class Series:
    """A series file: its bytes, and what they say. Edits keep all other lines byte for byte."""

    raw: bytes
    entries: tuple[SeriesEntry, ...]
    where: Where = field(default=Where("series"), compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """All patches, in order, whatever their guards."""
        return tuple(entry.name for entry in self.entries)

    @property
    def guards(self) -> tuple[str, ...]:
        """The names of all guards mentioned, sorted."""
        return tuple(sorted({guard.name for entry in self.entries for guard in entry.guards}))

    def active(self, selected: Collection[str]) -> tuple[SeriesEntry, ...]:
        """The patches that are applied where the guards ``selected`` are on, in order."""
        return tuple(entry for entry in self.entries if entry.active(selected))

    def guarded_off(self, selected: Collection[str]) -> tuple[SeriesEntry, ...]:
        """The other ones, in order."""
        return tuple(entry for entry in self.entries if not entry.active(selected))

    def entry(self, name: str) -> SeriesEntry:
        """The entry of patch ``name``, given with or without its ending.

        Raises :class:`InputError` with near matches.
        """
        meant = meant_name(name, self.names)
        for entry in self.entries:
            if entry.name == meant:
                return entry
        raise NoSuchPatchError(
            name,
            f"no patch {name!r} in the series",
            where=self.where,
            hint=did_you_mean(name, self.names, f"`patchq list{self._tag}` shows them."),
        )

    @property
    def _tag(self) -> str:
        """The tag as a command takes it, with a space before it; empty if the file is in none."""
        tag = PurePosixPath(self.where.file or "").parent.name
        return tag and f" {tag}"

    def append(self, entry: SeriesEntry, above: Iterable[str] = ()) -> Series:
        """The series with ``entry`` at its end, under lines of comment."""
        comments = (_encode(f"{line}\n") for line in above)
        return self._with([*self._lines(), *comments, render_entry(entry)])

    def insert(self, entry: SeriesEntry, *, before: str) -> Series:
        """The series with ``entry`` on a line of its own before patch ``before``."""
        lines = self._lines()
        lines.insert(self.entry(before).line - 1, render_entry(entry))
        return self._with(lines)

    def place(self, entry: SeriesEntry, order: Sequence[str]) -> Series:
        """The series with ``entry`` before the first patch that comes after it in ``order``.

        At the end if there is none, or ``order`` does not have it; below its comment.
        """
        later = frozenset(order[order.index(entry.name) + 1 :] if entry.name in order else ())
        at = next((n for n, one in enumerate(self.entries) if one.name in later), None)
        before, after = self.entries[:at], self.entries[at:] if at is not None else ()
        lines, start = self._lines(), before[-1].line if before else 0
        between = b"\n" + b"".join(lines[start : after[0].line - 1 if after else None])
        head, comment, _ = between.partition(b"\n" + entry.comment)
        if entry.comment and comment:
            lines.insert(start + (head + comment).count(b"\n") - 1, render_entry(entry))
            return self._with(lines)
        if entry.comment and after:  # before the comment of the next one
            line = after[0].line
            lines.insert(line - 1 - self._comment_above(line).count(b"\n"), render_entry(entry))
            placed = self._with(lines)
        else:
            placed = self.arrange([*before, entry, *after]) if after else self.append(entry)
        return placed.under(entry.name, entry.comment)

    def under(self, name: str, comment: bytes) -> Series:
        """The series with ``comment`` above patch ``name``, unless it has these lines."""
        if not comment or b"\n" + comment in b"\n" + self.raw:
            return self
        lines = self._lines()
        lines.insert(self.entry(name).line - 1, comment)
        return self._with(lines)

    def remarked(self, name: str, remark: bytes) -> Series:
        """The series with ``remark`` on the line of patch ``name``, unless that has a comment."""
        lines, entry = self._lines(), self.entry(name)
        if not remark or entry.remark:
            return self
        lines[entry.line - 1] = lines[entry.line - 1].rstrip() + b" " + remark + b"\n"
        return self._with(lines)

    def taken(self, name: str) -> SeriesEntry:
        """The entry of patch ``name`` with the comment right above it."""
        entry = self.entry(name)
        return replace(entry, comment=self._comment_above(entry.line))

    def _comment_above(self, line: int) -> bytes:
        above = takewhile(_is_comment, reversed(self._lines()[: line - 1]))
        return b"".join(reversed([*above]))

    def without(self, names: Iterable[str], *, comments: bool = False) -> Series:
        """The series without the lines of the patches ``names``.

        With ``comments`` also without those above a patch that no other one stands under: which
        ends the file, or has an empty line or a comment behind it.
        """
        gone = {self.entry(name).line for name in names}
        kept: list[bytes] = []
        lines = self._lines()
        for number, line in enumerate(lines, 1):
            if number not in gone:
                kept.append(line)
                continue
            ends = number == len(lines) or not lines[number].strip() or _is_comment(lines[number])
            while comments and ends and kept and _is_comment(kept[-1]):
                kept.pop()
        return self._with(kept)

    def rename(self, old: str, new: str) -> Series:
        """The series with patch ``old`` called ``new``; options and comments stay."""
        lines, line = self._lines(), self.entry(old).line - 1
        lines[line] = lines[line].replace(_encode(old), _encode(new), 1)
        return self._with(lines)

    def guard(self, name: str, guards: Iterable[Guard]) -> Series:
        """The series with exactly these guards on patch ``name``; a comment after them stays."""
        lines, line = self._lines(), self.entry(name).line - 1
        given = lines[line].partition(b"#")[0]
        remark = self.entry(name).remark
        words = [given.rstrip(), *(_encode(str(guard)) for guard in guards), remark]
        lines[line] = b" ".join(filter(None, words)) + b"\n"
        return self._with(lines)

    def arrange(self, entries: Sequence[SeriesEntry]) -> Series:
        """The series with exactly these patches in this order.

        The line of a patch that was here before goes with it as it is; all other lines stay with
        what they stood before. As few lines as possible change their place.
        """
        if self.names == tuple(entry.name for entry in entries):
            return self
        lines = self._lines()
        own = {entry.name: lines[entry.line - 1] for entry in self.entries}
        wanted = [entry.name for entry in entries]
        rendered = {entry.name: own.get(entry.name) or render_entry(entry) for entry in entries}
        blocks = SequenceMatcher(None, self.names, wanted, autojunk=False).get_matching_blocks()
        staying = {name for block in blocks for name in wanted[block.b : block.b + block.size]}
        following = _followers(wanted, staying)
        at = {entry.line: entry.name for entry in self.entries}
        first = next((name for name in self.names if name in staying), None)
        result: list[bytes] = []
        for number, line in enumerate(lines, 1):
            name = at.get(number)
            if name is None:
                result.append(line)
            elif name in staying:
                before = following[""] if name == first else []
                result.extend(rendered[other] for other in before)
                result.append(line)
                result.extend(rendered[other] for other in following[name])
        if first is None:
            result.extend(rendered[name] for name in wanted)
        return self._with(result)

    def _lines(self) -> list[bytes]:
        """The lines, each with its ending, also the last."""
        ending = b"" if self.raw.endswith(b"\n") or not self.raw else b"\n"
        return (self.raw + ending).splitlines(keepends=True)

    def _with(self, lines: Iterable[bytes]) -> Series:
        return read_series(b"".join(lines), self.where)


@lru_cache(maxsize=64)
def read_series(raw: bytes, where: Where) -> Series:
    """Read a series file.

    Raises :class:`InputError` with the line for a patch named twice, an unknown option, a bad
    guard, and a name that leaves the directory or holds control characters.
    """
    entries: list[SeriesEntry] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(raw.splitlines(), 1):
        here = Where(where.file, number)
        entry = _read_entry(line.decode("utf-8", "surrogateescape"), here)
        if entry is None:
            continue
        if entry.name in seen:
            raise InputError(
                f"{entry.name} is listed twice in the series, first on line {seen[entry.name]}",
                where=here,
                hint="Take one of the two lines out; use guards for variants.",
            )
        seen[entry.name] = number
        entries.append(entry)
    return Series(raw, tuple(entries), Where(where.file))


def _followers(wanted: Sequence[str], staying: Collection[str]) -> dict[str, list[str]]:
    """The names that move, by the one that stays before them (the empty name: none does)."""
    following: dict[str, list[str]] = {"": []}
    last = ""
    for name in wanted:
        if name in staying:
            last = name
            following[name] = []
        else:
            following[last].append(name)
    return following


def _is_comment(line: bytes) -> bool:
    return line.lstrip().startswith(b"#")


def render_entry(entry: SeriesEntry) -> bytes:
    """The line of ``entry``, with its newline."""
    strip = [] if entry.strip == 1 else [f"-p{entry.strip}"]
    remark = [entry.remark] if entry.remark else []
    words = [*map(_encode, [entry.name, *strip, *map(str, entry.guards)]), *remark]
    return b" ".join(words) + b"\n"


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _read_entry(line: str, here: Where) -> SeriesEntry | None:
    words = line.split()
    if not words or words[0].startswith("#"):
        return None
    name, *rest = words
    check_name(name, here)
    comment = list(dropwhile(lambda word: not word.startswith("#"), rest))
    options = rest[: len(rest) - len(comment)]
    return SeriesEntry(
        name,
        _read_strip(options, here),
        _read_guards(comment, here),
        here.line or 0,
        remark=_read_remark(_encode(line)),
    )


def _read_strip(options: list[str], here: Where) -> int:
    if not options:
        return 1
    match = _STRIP.match(options[0])
    if match is None or len(options) > 1:
        raise InputError(
            f"bad option {options[0] if match is None else options[1]!r} after the patch's name",
            where=here,
            hint="One -pN may follow the name (quilt's -R and -pab are not supported).",
        )
    return int(match[1])


def _read_remark(line: bytes) -> bytes:
    """The free text behind the guards of a line, beginning with a ``#``; empty if there is none."""
    _, mark, rest = line.strip().partition(b"#")
    remark = _GUARDS.sub(b"", mark + rest, count=1)
    return remark if not remark or remark.startswith(b"#") else b"# " + remark


def _read_guards(comment: list[str], here: Where) -> tuple[Guard, ...]:
    """The guards a comment begins with; what follows them is free text.

    mq finds guards anywhere in a comment; one that we would overlook is an error.
    """
    guards: list[Guard] = []
    free = False
    for word in comment:
        if not word.startswith(("#+", "#-")):
            free = True
            continue
        match = None if CONTROL.search(word) else _GUARD.match(word)
        if free or match is None:
            raise InputError(
                f"guard {word!r} comes after a comment" if free else f"bad guard {word!r}",
                where=here,
                hint="Guards follow the name, before any comment: name.patch #+with #-without",
            )
        guards.append(Guard(match[2], match[1] == "+"))
    return tuple(guards)
