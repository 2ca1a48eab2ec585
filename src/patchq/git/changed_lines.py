"""The lines that commits changed, searched for words.

With git-log(1) ``-G``, git would compute the differences again for each word; here it computes
those of each commit once for all words.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from patchq.git.history import CommitInfo
from patchq.git.process import Git
from patchq.model.diff_paths import as_text, unquoted
from patchq.model.ids import CommitId, commit_id, commit_ids, tree_id

_HEAD = b"\x01%H%x00%P%x00%T%x00%cI%x00%s%x00"
_FILE = b"\ndiff --"
_HUNK = b"\n@@"
_HUNKS = re.compile(rb"^(?=@@)", re.MULTILINE)
_LARGEST = "1m"
"""The lines of a file that is at least this large are not read: it is data."""
_AT_ONCE = 200
_ROOM = 64 << 20
"""How many commits one process reads; none is read once more bytes than that are kept."""
_BINDING = (
    rb"\bWORD\s*(?::[^=:]+)?[:?+]?=(?!=)|-DWORD\b|\b(?:def|class|function|define|import|as|alias)\s+WORD\b"
    rb"|\bclass\s+\w+\s*[(:][^:]*\bWORD\b|[\"']WORD[\"']\s*[,\]]"
)
"""A line that may bind ``WORD``, or make a class of it."""
_NAME = re.compile(rb"^(?:---|\+\+\+) ([^\n\t]*)", re.MULTILINE)
_SWITCHES = re.compile(
    rb"\s*(?:#\s*(?:if|el|endif)|<<|[}\s]*(?i:if|el|elif|elseif|else|endif|fi|while|until|for|return|exit"
    rb"|goto|break|continue|raise|throw|switch|case|with|try)\b)|.*(?:/\*|\*/|\"\"\"|'''|<<|\\$)"
)
"""A line that may switch off unchanged lines next to it."""


@dataclass(frozen=True)
class ChangedFile:
    """A file in which ``commit`` changed lines with a word; ``old`` and ``new`` are its names.

    If ``beside``, the lines with the word are unchanged, and a line next to them that may switch
    them off was changed.
    """

    commit: CommitInfo
    old: str | None
    new: str | None
    beside: bool

    @property
    def path(self) -> str:
        """The new path of the file, or the old one if it was deleted."""
        return self.new or self.old or ""


class ChangedLines:
    """The changed lines of ``commits`` (the newest first). Each is read once, in that order, up to
    what is asked for and fits: what is read does not depend on who asks first."""

    def __init__(self, git: Git, commits: Iterable[CommitId]):
        self._git = git
        self._left = list(commits)
        self._texts: list[_Text] = []
        self._read: set[CommitId] = set()
        self._room = _ROOM

    def read(self, wanted: Sequence[CommitId]) -> list[CommitId]:
        """Read the commits ``wanted``; those of them that fit."""
        missing = set(wanted) - self._read
        while missing and self._left and self._room > 0:
            some, self._left = self._left[:_AT_ONCE], self._left[_AT_ONCE:]
            output = self._git.run(
                *("-c", f"core.bigFileThreshold={_LARGEST}"),
                *("diff-tree", "--stdin", "-r", "--root", "-p", "--cc", "-U3", "-M"),
                *("--no-rename-empty", "--no-ext-diff", "--no-textconv", "--no-color"),
                f"--format={_HEAD.decode()}",
                stdin="".join(f"{commit}\n" for commit in some).encode(),
            ).stdout
            self._room -= len(output)
            self._texts.append(_Text(b"\n" + output))
            self._read.update(some)
            missing.difference_update(some)
        return [commit for commit in wanted if commit in self._read]

    def saying(
        self, word: bytes, commits: Collection[CommitId], *, only_bound: bool = False
    ) -> Iterator[ChangedFile]:
        """The files in which ``commits``, which were :meth:`read`, changed lines with ``word`` as a
        whole word, or after the ``-D`` of a compiler; ``only_bound``: that seem to give the word to
        something, or build on it."""
        escaped = re.escape(word)
        pattern = re.compile(
            _BINDING.replace(b"WORD", escaped)
            if only_bound
            else rb"(?:(?<!\w)|(?<=-D))" + escaped + rb"(?!\w)"
        )
        for text in self._texts:
            yield from text.saying(word, pattern, commits)


class _Text:
    """The output of git for commits."""

    def __init__(self, text: bytes):
        self._text = text
        self._commits = list(_commits(text))
        self._starts = [start for start, _ in self._commits]

    def saying(
        self, word: bytes, pattern: re.Pattern[bytes], wanted: Collection[CommitId]
    ) -> Iterator[ChangedFile]:
        places = [n for n, (_, each) in enumerate(self._commits) if each.oid in wanted]
        text = self._text
        limit = self._end(places[-1]) if places else 0
        at = text.find(word, 0, limit)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            begin, end = self._starts[number], self._end(number)
            place = bisect_left(places, number)
            if places[place] != number:
                end = self._starts[places[place]]
            elif pattern.search(text, *_line(text, at, end)):
                first, last = text.rfind(_FILE, begin, at), text.find(_FILE, at, end)
                end = end if last < 0 else last
                body = text.find(_HUNK, max(first, begin), end)
                found = None
                if first >= 0 and body >= 0:
                    found = _read(text[first:body], text[body + 1 : end], pattern)
                if found is not None:
                    yield ChangedFile(self._commits[number][1], *found)
            else:
                end = at + 1
            at = text.find(word, end, limit)

    def _end(self, number: int) -> int:
        after = number + 1
        return self._starts[after] if after < len(self._starts) else len(self._text)


def _line(text: bytes, at: int, end: int) -> tuple[int, int]:
    """Where the line around ``at`` begins and ends."""
    last = text.find(b"\n", at, end)
    return text.rfind(b"\n", 0, at) + 1, end if last < 0 else last


def _commits(text: bytes) -> Iterator[tuple[int, CommitInfo]]:
    at = text.find(b"\n\x01")
    while at >= 0:
        head = text[at + 2 : text.index(b"\0\n", at)]
        oid, parents, tree, date, subject = head.decode(errors="replace").split("\0")
        yield (
            at,
            CommitInfo(commit_id(oid), commit_ids(parents.split()), tree_id(tree), date, subject),
        )
        at = text.find(b"\n\x01", at + 1)


def _read(
    head: bytes, hunks: bytes, pattern: re.Pattern[bytes]
) -> tuple[str | None, str | None, bool] | None:
    """The old and new name of a file and whether its lines with the word are unchanged; None if
    no change is near such a line."""
    beside = False
    for hunk in _HUNKS.split(hunks):
        wide = max(len(hunk) - len(hunk.lstrip(b"@")) - 1, 1)  # a line has one mark for each parent
        lines = hunk.split(b"\n")[1:]
        sides = (b"+" * wide, b"-" * wide)
        changed = [line[wide:] for line in lines if line[:wide] in sides]
        if any(map(pattern.search, changed)):
            return *_names(head), False
        beside = beside or (
            any(map(_SWITCHES.match, changed))
            and any(pattern.search(line, wide) for line in lines if line[:wide].isspace())
        )
    return (*_names(head), True) if beside else None


def _names(head: bytes) -> tuple[str | None, str | None]:
    old, new, *_ = (
        None if name == b"/dev/null" else unquoted(as_text(name)).partition("/")[2]
        for name in _NAME.findall(head)
    )
    return old, new
