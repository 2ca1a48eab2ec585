"""The end that a patch could have: its own pull request, or what upstream says once it has it.

Better none than a wrong one. A number counts only where the patch speaks of itself: in its file
name, its subject, or a line that says where it is from. One that landed before the base is no end.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache

from patchq.engine.predicates import Predicates
from patchq.engine.series.early_end import ends_come
from patchq.engine.workspace.project import Project
from patchq.engine.workspace.pull_requests import landed_numbers
from patchq.engine.workspace.upstream import is_url
from patchq.model.diff import ChangeKind, FileChange
from patchq.model.header import Header
from patchq.model.lock import Base
from patchq.model.patch import Patch
from patchq.model.predicate import PredicateKind, parse_predicate

_IN_NAME = re.compile(r"(?<![A-Za-z])pr[-_ ]?(\d+)", re.I)
_OWN = re.compile(r"(?:\bpull/|\bpull request #?|\bPR[ #-]*)(\d+)(?![\w-]|\.\w)", re.I)
_CARRIED = re.compile(
    r"\b(?:back-?)?ports? (?:of )?#(\d+)\b|\bcherry[- ]?pick\w* (?:of )?#(\d+)", re.I
)
_ANY = re.compile(r"#(\d+)\b")
_SOURCE = re.compile(
    r"\W*(?:source|origin|upstream|upstream[- ]pr|pr|forwarded)\s*:\s*(\S.*)", re.I
)
_REPOSITORY = re.compile(r"https?://[^/\s]+/[^/\s]+/([^/\s]+)/(?:pull|-/merge_requests)/(\d+)")
_IDLE = re.compile(rb"import\b|from\b|#\s*include\b")
"""Imports: what other changes may bring as well."""
_COMMENT = re.compile(rb"(?:^|\s)(?:#(?:\s|$)|//|/\*|--\s|;;|<!--)|^\*")
_CODE = re.compile(rb"[=(){}\[\]<>:;]")
"""What a line of code has one of at least; prose (of a docstring) has mostly none."""
_TELLING = range(8, 121)
"""How long a line is that tells something and still reads well in a header."""
_WORD = re.compile(rb"[A-Za-z_]{4,}")
"""What a line has two of at least that is not said elsewhere for another reason: ``if (FALSE)``."""


class Ends:
    """Proposes ends for patches on ``base``."""

    def __init__(self, project: Project, base: Base):
        self._objects = project.store.objects
        self._predicates = Predicates(project)
        self._base = base
        self._landed = landed_before(project, base)
        self._settings = project.settings
        upstream = project.lock.upstream
        name = upstream.rstrip("/").rpartition("/")[2].removesuffix(".git").lower()
        self._repository = name if is_url(upstream) else None

    def propose(self, patch: Patch) -> str | None:
        """The field that would end the patch's life: its PR, else that upstream says it itself.

        Only where that says all of the patch, one file that it adds or one place that it changes:
        part of it may come upstream while the rest is still needed. None if no such end is
        known.
        """
        number = self.number(patch)
        if number is not None and not self._landed(number):
            return f"X-Upstream-PR: {number}"
        if len(patch.files) != 1:
            return None
        (change,) = patch.files
        text = _says_it(change)
        if text is None:
            return None
        predicate = parse_predicate(text)
        assert predicate.path is not None
        there = self._objects.content(self._base.tree, predicate.path)
        known = there is not None or predicate.kind is PredicateKind.PATH_EXISTS
        return f"X-Retire-When: {text}" if known and not predicate.holds_on(there) else None

    def number(self, patch: Patch) -> int | None:
        """The pull request that the patch says it is; None if it says none, or several."""
        named = _IN_NAME.search(patch.name)
        if named:
            return int(named[1])
        own = self._settings.pull_requests(patch.header.subject)
        numbers = set(own[:1]) or set(self._told(patch.header))
        return numbers.pop() if len(numbers) == 1 else None

    def remarks(self, patch: Patch) -> Iterator[str]:
        """What is to be said of the ends that the patch names, or could have named."""
        for text, _ in ends_come(patch, self._base, self._predicates):
            yield f"{text}: the next tag would retire it"
        number = self.number(patch) if lacks_end(patch.header) else None
        if number is not None and self._landed(number):
            yield f"#{number} landed before {self._base.name}: no end"

    def _told(self, header: Header) -> Iterator[int]:
        lines = header.raw.decode(errors="replace").split("\n")
        sources = (match[1] for match in map(_SOURCE.match, lines) if match)
        for text in (header.subject, *sources):
            other = {
                match[2]
                for match in _REPOSITORY.finditer(text)
                if self._repository not in (None, match[1].lower())
            }
            found = [*_OWN.findall(text), *(a or b for a, b in _CARRIED.findall(text))]
            if len({*found, *_ANY.findall(text)}) > 1:
                continue  # it speaks of several, and may be none of them
            yield from (int(number) for number in found if number not in other)


def lacks_end(header: Header) -> bool:
    """Whether a patch says nothing of its end."""
    return not (header.fields("X-Upstream-PR") or header.fields("X-Retire-When"))


def landed_before(project: Project, base: Base) -> Callable[[int], bool]:
    """Whether the commit of a pull request is in the history of ``base``, by its number.

    What an archive holds is told by the git bases before it.
    """
    tips = [
        one.commit
        for one in (*project.lock.previous(base.name), base)
        if one.archive is None and project.store.objects.has(one.commit)
    ]

    @cache
    def numbers() -> frozenset[int]:
        store, settings = project.store, project.settings
        return landed_numbers(store.history, settings, tips[-1], project.cache)

    return lambda number: bool(tips) and number in numbers()


def _says_it(change: FileChange) -> str | None:
    """The predicate that holds where upstream has the change."""
    path = change.new
    if path is None or not path.isprintable():
        return None
    if change.kind is ChangeKind.ADD:
        return f"path-exists {shlex.quote(path)}"
    lines = [line.strip() for hunk in change.hunks for line in hunk.added]
    telling = [
        line
        for line in lines
        if line.isascii()
        and len(line) in _TELLING
        and len(set(_WORD.findall(line))) > 1
        # a downstream's own words: upstream would say it in others
        and not _COMMENT.search(line)
        and _CODE.search(line)
    ]
    if len(change.hunks) != 1 or change.old_mode != change.new_mode or not telling:
        return None
    line = max(telling, key=lambda line: (not _IDLE.match(line), len(line)))
    regex = re.escape(line.decode("ascii")).replace("\\ ", " ")
    return f"contains {shlex.quote(path)} {shlex.quote(regex)}"
