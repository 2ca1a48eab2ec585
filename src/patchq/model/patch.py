"""A patch file: a header and a diff, byte for byte, and what they say.

:func:`repair` mends what editors and mail programs do to patch files, where that is certain.
"""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile

from patchq.errors import InputError, Where
from patchq.model.diff import NAMED_HINT, FileChange, scan
from patchq.model.diff_layout import HunkSpan, find_diff, laid_out, names_only, split_lines
from patchq.model.header import Header, read_header
from patchq.model.words import counted


@dataclass(frozen=True)
class Reach:
    """Paths, and the directories that they are in.

    Two that share no path can still meet: a file in the place of a directory of the other.
    """

    paths: frozenset[str]
    directories: frozenset[str]

    @classmethod
    def of(cls, paths: Iterable[str]) -> Reach:
        """That of these paths."""
        paths = frozenset(paths)
        above = (path.split("/")[:-1] for path in paths)
        return cls(
            paths,
            frozenset(
                "/".join(each[:depth]) for each in above for depth in range(1, len(each) + 1)
            ),
        )

    def meets(self, other: Reach) -> bool:
        """Whether what one does can matter to the other."""
        return not (
            self.paths.isdisjoint(other.paths)
            and self.paths.isdisjoint(other.directories)
            and self.directories.isdisjoint(other.paths)
        )

    def with_all(self, others: Iterable[Reach]) -> Reach:
        """The reach of all together."""
        every = [self, *others]
        return Reach(
            frozenset().union(*(each.paths for each in every)),
            frozenset().union(*(each.directories for each in every)),
        )


@dataclass(frozen=True)
class Patch:
    """One patch of a series; ``raw`` is the file as it is, ``head + diff``.

    ``strip`` leading directories are taken off its paths, and ``directory`` is put before them, as
    git's ``-p`` and ``--directory`` do. ``where.line`` are the lines before it in its file.
    """

    name: str
    raw: bytes
    strip: int = 1
    where: Where | None = field(default=None, compare=False)
    directory: str = ""

    @cached_property
    def split(self) -> int:
        """The offset where the diff begins."""
        return find_diff(self.raw)

    @cached_property
    def head(self) -> bytes:
        """What stands before the diff."""
        return self.raw[: self.split]

    @cached_property
    def diff(self) -> bytes:
        """The diff, with whatever follows it."""
        return self.raw[self.split :]

    @cached_property
    def bare(self) -> Patch:
        """The patch without what stands before its diff."""
        bare = replace(self, raw=self.diff)
        if "files" in self.__dict__ and not bare.split:  # they say where in the diff they are
            bare.__dict__["files"] = self.files
        return bare

    @cached_property
    def header(self) -> Header:
        """What the head says."""
        return read_header(self.head, self._place)

    @cached_property
    def files(self) -> tuple[FileChange, ...]:
        """What the diff does, file by file; raises :class:`InputError` if it is malformed."""
        return scan(
            self.diff,
            strip=self.strip,
            directory=self.directory,
            where=Where(self._place.file, (self._place.line or 0) + self.head.count(b"\n")),
        )

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """All paths touched, old and new, in order, each once."""
        return tuple(dict.fromkeys(path for change in self.files for path in change.paths))

    def section(self, change: FileChange) -> Patch:
        """What the patch does to one file, ``change`` of its :attr:`files`."""
        alone = replace(self, raw=self.diff[change.start : change.end])
        if alone.split == 0:  # read already
            end = change.end - change.start
            alone.__dict__["files"] = (replace(change, start=0, end=end),)
        return alone

    @cached_property
    def reach(self) -> Reach:
        """Which paths it touches, for telling whether two patches can meet."""
        return Reach.of(self.paths)

    def with_paths(self, paths: Sequence[str]) -> Patch:
        """This very patch, whose :attr:`paths` are known already: its diff need not be read."""
        self.__dict__["paths"] = tuple(paths)
        return self

    @cached_property
    def sha256(self) -> str:
        """The hash of the file."""
        return hashlib.sha256(self.raw).hexdigest()

    @property
    def _place(self) -> Where:
        return self.where or Where(self.name)


@dataclass(frozen=True)
class Repair:
    """What was mended, and on which line of the file as it was."""

    line: int
    text: str


def read_patch(
    name: str, raw: bytes, *, strip: int = 1, where: Where | None = None, directory: str = ""
) -> Patch:
    """Read a patch file.

    Raises :class:`InputError` with the line where its diff is malformed, or only names a change,
    or where it has none.
    """
    patch = Patch(name, raw, strip, where, directory)
    _check_named(patch, where or Where(name))
    if not patch.files:
        raise InputError(
            "no diff in it" if raw.strip() else "the patch is empty",
            where=where or Where(name),
            hint="A patch is a unified diff, as git diff, git format-patch and diff -u write it.",
        )
    return patch


def nul_bytes(patch: Patch) -> Iterator[tuple[int, str]]:
    """The first line of each file that has a NUL byte in a hunk, and words for it.

    Raises :class:`InputError` if the diff is malformed.
    """
    if b"\0" not in patch.diff:
        return
    above = patch.head.count(b"\n")
    for change in patch.files:
        lines = [line for hunk in change.hunks for line, text in hunk.numbered if b"\0" in text]
        if lines:
            name = change.new or change.old
            yield (
                above + lines[0],
                f"{name}: {counted(len(lines), 'line')} of its hunks with a NUL byte: kept as it "
                "is, but git takes such a file for a binary one",
            )


def _check_named(patch: Patch, where: Where) -> None:
    """No change may only be named right above the diff, or in the place of one."""
    lines = split_lines(patch.head)
    for number in range(len(lines), 0, -1):
        line = lines[number - 1]
        if names_only(line):
            told = line.decode(errors="replace").strip()
            raise InputError(
                f"a change without its content: {told!r}",
                where=Where(where.file, (where.line or 0) + number),
                hint=NAMED_HINT,
            )
        if patch.diff and not line.startswith((b"diff ", b"Common subdirectories: ")):
            return


def repair(raw: bytes, *, recount: bool = False) -> tuple[bytes, tuple[Repair, ...]]:
    """Mend ``raw`` where there is only one way to; the same object where there is nothing to mend.

    Mended are: a byte order mark in front; CRLF on every line, headers included; blank context
    lines at a hunk's end or blank lines of CRLF content that an editor stripped; and a missing last
    newline. With ``recount``, the counts of a hunk's header are made what its lines are: right
    where somebody edited the lines, wrong where some are missing.
    """
    repairs: list[Repair] = []
    if raw.startswith(BOM_UTF8):
        repairs.append(Repair(1, "a byte order mark stood in front: taken away"))
    lines = split_lines(raw.removeprefix(BOM_UTF8))
    if lines and not lines[-1].endswith(b"\n"):
        crlf = len(lines) > 1 and lines[-2].endswith(b"\r\n")
        lines[-1] = lines[-1].removesuffix(b"\r") + b"\r\n" if crlf else lines[-1] + b"\n"
        repairs.append(Repair(len(lines), "the last line had no newline: added"))
    if lines and all(line.endswith(b"\r\n") for line in lines):
        lines = [line[:-2] + b"\n" for line in lines]
        repairs.append(Repair(1, "every line ended in CRLF: made LF"))
    whole = b"".join(lines)
    begin = find_diff(whole)
    head = whole.count(b"\n", 0, begin)
    spans = [span for section in laid_out(whole[begin:])[1] for span in section.hunks]
    for span in reversed(spans):
        start, stop = head + span.start, head + span.stop
        lines[start:stop], mended = _mend_hunk(lines[start:stop], span, start, recount=recount)
        repairs.extend(mended)
    if not repairs:
        return raw, ()
    return b"".join(lines), tuple(sorted(repairs, key=lambda entry: entry.line))


def _mend_hunk(
    lines: list[bytes], span: HunkSpan, start: int, *, recount: bool
) -> tuple[list[bytes], list[Repair]]:
    """A hunk with what is certain put right; ``start`` is the line before its header's."""
    repairs: list[Repair] = []
    for index, line in enumerate(lines):
        if line == b"\r\n":
            lines[index] = b" \r\n"
            repairs.append(Repair(start + index + 1, "a blank line had lost its space: restored"))
    missing = _missing_context(lines, span)
    if missing:
        ending = b"\r\n" if all(line.endswith(b"\r\n") for line in lines[1:]) else b"\n"
        noun = "line was" if missing == 1 else "lines were"
        text = f"{missing} blank context {noun} missing at the hunk's end: restored"
        repairs.append(Repair(start + len(lines), text))
        lines = [*lines, *[b" " + ending] * missing]
    elif recount and not span.complete and any(span.found):
        (old, new), (was_old, was_new) = span.found, span.says
        header = b"@@ -%d,%d +%d,%d @@" % (span.old_start, old, span.new_start, new)
        lines[0] = header + lines[0].split(b"@@", 2)[2]
        text = (
            f"@@ said {was_old} old and {was_new} new lines, there are {old} and {new}: recounted"
        )
        repairs.append(Repair(start + 1, text))
    return lines, repairs


def _missing_context(lines: Sequence[bytes], span: HunkSpan) -> int:
    """How many blank context lines a hunk lacks at its end; 0 where it may lack something else.

    A hunk has no more context behind its change than before it, but at the file's beginning;
    there it may as well have lost a line in front, so nothing is certain.
    """
    old, new = (says - found for says, found in zip(span.says, span.found, strict=True))
    if old != new or old <= 0:
        return 0
    return old if old + _context(lines[:0:-1]) <= _context(lines[1:]) else 0


def _context(lines: Sequence[bytes]) -> int:
    """How many context lines ``lines`` begin with."""
    return sum(1 for _ in takewhile(lambda line: line[:1] in (b" ", b"\n"), lines))
