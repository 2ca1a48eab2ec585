"""What evidence says of a commit, and where a reader can look at it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from patchq.errors import InputError
from patchq.model.ids import CommitId
from patchq.model.verdict import Evidence
from patchq.model.web import is_address
from patchq.report.text import day

SHORT_ID = 9


@dataclass(frozen=True)
class ShownCommit:
    """An upstream commit: ``subject`` without the number of its pull request."""

    oid: CommitId
    pr: int | None
    subject: str
    date: str
    first_tag: str

    @property
    def short(self) -> str:
        """The id as people read it."""
        return self.oid[:SHORT_ID]


def commit_of(evidence: Evidence) -> ShownCommit | None:
    """The commit of a piece of evidence, None if it has none."""
    if evidence.commit is None:
        return None
    subject = (evidence.subject or "").removesuffix(f"(#{evidence.pr})").rstrip()
    first_tag = evidence.first_tag or ""
    return ShownCommit(evidence.commit, evidence.pr, subject, day(evidence.date), first_tag)


@dataclass(frozen=True)
class CommitLinks:
    """Links to upstream's commits and pull requests, by the addresses of the settings.

    They are templates such as ``https://example.org/commit/{}``; None: no links. Raises
    :class:`~patchq.errors.InputError` for one that is not a web address with its ``{}``.
    """

    template: str | None = None
    pull: str | None = None
    compare: str | None = None
    file: str | None = None

    def __post_init__(self) -> None:
        for template, places in (
            (self.template, 1),
            (self.pull, 1),
            (self.compare, 2),
            (self.file, 2),
        ):
            if template and not is_address(template, places):
                raise InputError(
                    f"not a template for the addresses of commits: {template!r}",
                    hint="Give a web address with {} for the commit id.",
                )

    def to(self, oid: CommitId) -> str | None:
        """The address of commit ``oid``."""
        return _filled(self.template, oid)

    def to_pull(self, number: int) -> str | None:
        """The address of pull request ``number``."""
        return _filled(self.pull, str(number))

    def between(self, old: str, new: str) -> str | None:
        """The address of what lies between two commits."""
        return _filled(self.compare, old, new)

    def to_file(self, commit: CommitId, path: str) -> str | None:
        """The address of the file ``path`` at ``commit``."""
        return _filled(self.file, commit, path)


def _filled(template: str | None, *words: str) -> str | None:
    """``template`` with each ``{}`` taken by a word, which cannot leave its place."""
    if not template:
        return None
    pieces = template.split("{}")
    quoted = (quote(word.encode("utf-8", "surrogateescape"), safe="/") for word in words)
    return "".join(part for pair in zip(pieces, (*quoted, ""), strict=True) for part in pair)


NO_LINKS = CommitLinks()
