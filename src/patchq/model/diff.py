"""Look inside a unified diff: which files, which hunks, which lines.

Nothing here rewrites or applies a diff; git does that. :mod:`patchq.model.diff_layout` finds where
sections and hunks lie; :func:`scan` says what they mean, and raises on what git would refuse or,
worse, silently leave out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate

from patchq.errors import InputError, Where
from patchq.model.diff_layout import (
    BINARY,
    BINARY_DATA,
    COMBINED,
    FIELD,
    HUNK,
    FileSection,
    HunkSpan,
    laid_out,
    names_only,
)
from patchq.model.diff_paths import STAMP, as_text, is_epoch, name_pairs, unquoted
from patchq.model.hunk_lines import MANY_LINES, hunk_lines, hunk_lines_of_many
from patchq.model.names import DEEPEST, MOST_BYTES, fits, is_dot_gitmodules, is_inside

_INDEX = re.compile(r"([^. ]*)\.\.([^ ]*)(?: (.*))?$")
_BLOB = re.compile(r"[0-9a-f]{4,64}")
_MODE = re.compile(r"\s*0*([0-7]{1,6})(?:\s|$)")
_REGULAR = re.compile(r"100[0-7]{3}")
_LINK_MODES = ("120000", "160000")
NAMED_HINT = (
    "The diff only names it, so it would be lost. Make the diff again: `diff -ruN` or "
    "`git diff --binary --submodule=short`; or take the line out if the change is not wanted."
)
_REMARK = 13  # from this length on git always sees "\\ No newline at end of file", in any language
_DEV_NULL = "/dev/null"


@dataclass(frozen=True)
class Hunk:
    """One hunk; ``lines`` carry their marker and their line ending.

    A line that ``\\ No newline at end of file`` follows has no ending. ``index`` counts from 1
    within the file; ``line`` is the line of the ``@@``, from 1, in the bytes given to scan.
    """

    index: int
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[bytes, ...]
    line: int

    @property
    def preimage(self) -> tuple[bytes, ...]:
        """The lines it stands on: context and removed."""
        return tuple(line[1:] for line in self.lines if line[:1] != b"+")

    @property
    def postimage(self) -> tuple[bytes, ...]:
        """The lines it leaves: context and added."""
        return tuple(line[1:] for line in self.lines if line[:1] != b"-")

    @property
    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """``lines``, each with the line that it is in the bytes given to scan."""
        number = self.line
        for content in self.lines:
            number += 1
            yield number, content
            if not content.endswith(b"\n"):
                number += 1  # "\\ No newline at end of file" stands between

    @property
    def removed(self) -> tuple[bytes, ...]:
        """The lines it takes away."""
        return tuple(line[1:] for line in self.lines if line[:1] == b"-")

    @property
    def added(self) -> tuple[bytes, ...]:
        """The lines it brings."""
        return tuple(line[1:] for line in self.lines if line[:1] == b"+")


class ChangeKind(Enum):
    """What a section does to its file."""

    MODIFY = "modify"
    ADD = "add"
    DELETE = "delete"
    RENAME = "rename"
    COPY = "copy"


@dataclass(frozen=True)
class FileChange:
    """One file's section: ``diff[start:end]``, sections following each other without a gap.

    ``old`` is None for an added file, ``new`` for a deleted one; modes and blob ids stand where
    the diff gives them, ids as written (perhaps abbreviated).
    """

    old: str | None
    new: str | None
    kind: ChangeKind
    old_mode: str | None
    new_mode: str | None
    old_blob: str | None
    new_blob: str | None
    binary: bool
    hunks: tuple[Hunk, ...]
    start: int
    end: int
    line: int

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths it touches, old before new, each once."""
        return tuple(dict.fromkeys(path for path in (self.old, self.new) if path is not None))


def scan(
    diff: bytes, *, strip: int = 1, directory: str = "", where: Where | None = None
) -> tuple[FileChange, ...]:
    """What ``diff`` does, file by file.

    ``strip`` is the ``-p`` of git and patch, ``directory`` git's ``--directory``. ``where.line`` is
    the number of lines that stand before the diff in its file, so that errors name lines of the
    file.

    Raises :class:`InputError` on hunks whose counts are wrong, hunks without a file, combined
    diffs, paths that ``strip`` leaves nothing of, and paths that leave the tree.
    """
    lines, sections = laid_out(diff)
    offsets = [0, *accumulate(map(len, lines))]
    if not sections:
        return ()
    starts = [0, *(section.start for section in sections[1:]), len(lines)]
    changes = []
    for number, section in enumerate(sections):
        first, end = starts[number], starts[number + 1]
        reader = _Reader(lines, section, end, strip, directory, where)
        changes.append(reader.change(offsets[first], offsets[end]))
    return tuple(changes)


@dataclass(frozen=True)
class _Reader:
    """Reads one section."""

    lines: Sequence[bytes]
    section: FileSection
    end: int
    strip: int
    directory: str
    where: Where | None

    def change(self, start: int, end: int) -> FileChange:
        """The section's meaning; ``start`` and ``end`` are its offsets."""
        section = self.section
        header = self.lines[section.header : section.body]
        if COMBINED.match(header[0]):
            raise self._error(
                section.start,
                "a combined diff of a merge cannot be applied",
                "Take the merge's change against its first parent: git diff MERGE^1 MERGE.",
            )
        if any(b"\0" in line for line in header):
            raise self._error(section.start, "a NUL byte in its header, where git stops reading")
        fields = {
            match[1].decode(): as_text(match[2]) for line in header if (match := FIELD.match(line))
        }
        for verb in ("old", "new"):
            if f"rename {verb}" in fields:
                fields["rename from" if verb == "old" else "rename to"] = fields[f"rename {verb}"]
        git = header[0].startswith(b"diff --git ")
        if not git:
            self._check_named(section.start, section.body)
        elif not fields and not section.hunks:
            raise self._error(section.start, "git would pass over this section: it has no header")
        binary = any(BINARY.match(line) or BINARY_DATA.match(line) for line in header)
        hunks = tuple(self._hunk(number, span) for number, span in enumerate(section.hunks, 1))
        self._check_tail()
        if git:
            old, new, kind = self._git_paths(fields)
        else:
            old, new, kind = self._plain_paths(fields, hunks)
        for path in (old, new):
            self._check_path(path)
        index = _INDEX.match(fields.get("index", ""))
        old_blob, new_blob, mode = index.groups() if index else (None, None, None)
        old_mode = self._mode(fields.get("old mode", fields.get("deleted file mode", mode)))
        new_mode = self._mode(fields.get("new mode", fields.get("new file mode", mode)))
        if new_mode == "120000" and new is not None and is_dot_gitmodules(new.rpartition("/")[2]):
            raise self._error(section.start, f"{new!r} may be no symbolic link")
        if new_mode == "120000" and kind is ChangeKind.ADD and not hunks and not binary:
            raise self._error(section.start, f"{new!r} is a symbolic link to nowhere: cut short?")
        if kind is ChangeKind.MODIFY and not hunks and not binary and old_mode == new_mode:
            raise self._error(section.start, "nothing follows this file's header: cut short?")
        return FileChange(
            old=old,
            new=new,
            kind=kind,
            old_mode=old_mode,
            new_mode=new_mode,
            old_blob=_blob(old_blob),
            new_blob=_blob(new_blob),
            binary=binary,
            hunks=hunks,
            start=start,
            end=end,
            line=section.start + 1,
        )

    def _mode(self, written: str | None) -> str | None:
        """A mode as git writes it in trees."""
        if written is None:
            return None
        match = _MODE.match(written)
        if match is None or not (_REGULAR.fullmatch(match[1]) or match[1] in _LINK_MODES):
            raise self._error(
                self.section.start,
                f"{written[:40]!r} is no mode of a file",
                "git knows 100644, 100755, 120000 (a symbolic link) and 160000 (a submodule).",
            )
        if match[1] in _LINK_MODES:
            return match[1]
        return "100755" if int(match[1], 8) & 0o100 else "100644"

    def _error(self, index: int, message: str, hint: str | None = None) -> InputError:
        where = self.where and Where(self.where.file, (self.where.line or 0) + index + 1)
        return InputError(message, where=where, hint=hint)

    def _hunk(self, number: int, span: HunkSpan) -> Hunk:
        if not span.complete:
            raise self._error(
                span.start,
                "corrupt hunk: @@ says {} old and {} new lines, found {} and {}".format(
                    *span.says, *span.found
                ),
                "Restore the lines that are missing; or, if the lines are right and only the "
                "counts are not, `patchq import --recount` recounts them.",
            )
        if span.says == (0, 0):
            raise self._error(span.start, "corrupt hunk: it changes nothing")
        first, *rest = self.lines[span.start + 1 : span.stop]
        if first[:1] == b"\\" or any(map(_is_bad_remark, rest)):
            raise self._error(
                span.start,
                "corrupt hunk: a line that begins with a backslash can only say that there is no "
                "newline at the end of the line before it",
            )
        old_count, new_count = span.says
        read = hunk_lines if len(self.lines) < MANY_LINES else hunk_lines_of_many
        return Hunk(
            index=number,
            old_start=span.old_start,
            old_count=old_count,
            new_start=span.new_start,
            new_count=new_count,
            lines=read(self.lines[span.start : span.stop]),
            line=span.start + 1,
        )

    def _check_named(self, start: int, end: int) -> None:
        """No change may only be named: whoever applies the diff would lose it in silence."""
        for index in range(start, end):
            if names_only(self.lines[index]):
                told = as_text(self.lines[index]).strip()
                raise self._error(index, f"a change without its content: {told!r}", NAMED_HINT)

    def _check_tail(self) -> None:
        """No hunk may stand apart: git refuses it, or takes it for prose."""
        self._check_named(self.section.tail, self.end)
        for index in range(self.section.tail, self.end):
            if HUNK.match(self.lines[index]):
                raise self._error(
                    index,
                    "this hunk does not follow another hunk or a file's header",
                    "Take out the lines before it that do not belong to the diff.",
                )
            if self.lines[index].startswith(b"@@ -"):
                raise self._error(index, "malformed hunk header, not @@ -LINE,COUNT +LINE,COUNT @@")

    def _strip(self, path: str, components: int) -> str:
        parts = re.sub("/{2,}", "/", path).split("/", components)
        if len(parts) <= components or not parts[-1]:
            raise self._error(
                self.section.start,
                f"path {path!r} has no {components} leading directories to strip",
                "Say -p0 after the patch's name in the series if its paths have no a/ and b/.",
            )
        return f"{self.directory}/{parts[-1]}" if self.directory else parts[-1]

    def _side(self, field: str) -> str | None:
        """The path of a ``---`` or ``+++`` line; None for /dev/null."""
        name = unquoted(field) if field.startswith('"') else STAMP.sub("", field)
        return None if name == _DEV_NULL else self._strip(name, self.strip)

    def _git_paths(self, fields: dict[str, str]) -> tuple[str | None, str | None, ChangeKind]:
        for verb, kind in (("rename", ChangeKind.RENAME), ("copy", ChangeKind.COPY)):
            if f"{verb} from" in fields and f"{verb} to" in fields:
                ends = (unquoted(fields[f"{verb} {end}"]) for end in ("from", "to"))
                # these lines have no a/ and b/, so one component less is stripped
                old, new = (self._strip(path, max(self.strip - 1, 0)) for path in ends)
                return old, new, kind
        if "---" in fields and "+++" in fields:
            sides = self._side(fields["---"]), self._side(fields["+++"])
            path = sides[1] or sides[0]
            absent = sides[0] is None, sides[1] is None
        else:
            path, absent = self._named_path(), (False, False)
        if "new file mode" in fields or absent[0]:
            return None, path, ChangeKind.ADD
        if "deleted file mode" in fields or absent[1]:
            return path, None, ChangeKind.DELETE
        return path, path, ChangeKind.MODIFY

    def _named_path(self) -> str:
        """The one path that both halves of a ``diff --git`` line name."""
        line = as_text(self.lines[self.section.header]).rstrip("\r\n")
        names = line.removeprefix("diff --git ")
        for left, right in name_pairs(names):
            try:
                old, new = self._strip(left, self.strip), self._strip(right, self.strip)
            except InputError:
                continue
            if old == new:
                return old
        raise self._error(
            self.section.start,
            f"no path can be told from {line!r} with {self.strip} directories stripped",
            "Say -p0 after the patch's name in the series if its paths have no a/ and b/.",
        )

    def _plain_paths(
        self, fields: dict[str, str], hunks: tuple[Hunk, ...]
    ) -> tuple[str | None, str | None, ChangeKind]:
        """Paths as git takes them where nothing but ``---`` and ``+++`` tells them.

        Such a diff never renames: the new name counts, unless it is the old one with an ending.
        """
        if "---" not in fields or "+++" not in fields:
            raise self._error(self.section.start, "this section holds no change")
        old, new = self._side(fields["---"]), self._side(fields["+++"])
        if old is None or is_epoch(fields["---"]):
            return None, new, ChangeKind.ADD
        if new is None or is_epoch(fields["+++"]):
            return old, None, ChangeKind.DELETE
        path = old if new.startswith(old) else new
        if len(hunks) == 1 and (hunks[0].old_start, hunks[0].old_count) == (0, 0):
            return None, path, ChangeKind.ADD
        return path, path, ChangeKind.MODIFY

    def _check_path(self, path: str | None) -> None:
        if path is None:
            return
        if not fits(path):
            raise self._error(
                self.section.start,
                f"path {path[:40]!r}... is longer or deeper than patchq takes: "
                f"{MOST_BYTES} bytes, {DEEPEST} directories",
            )
        if not is_inside(path):
            raise self._error(
                self.section.start,
                f"path {path!r} is not one inside the tree",
                "A patch may touch neither .git, in any spelling, nor anything outside the tree.",
            )


def _is_bad_remark(line: bytes) -> bool:
    """Whether git would refuse this line that begins with a backslash."""
    return line[:1] == b"\\" and (line[:2] != b"\\ " or len(line) < _REMARK)


def _blob(written: str | None) -> str | None:
    """An id of a blob, None for the one of no file, and for what is no id."""
    named = written and _BLOB.fullmatch(written) and written.strip("0")
    return written if named else None
