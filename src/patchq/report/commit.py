"""What evidence says of a commit, and where a reader can look at it."""

from __future__ import annotations

from dataclasses import dataclass

from patchq.errors import InputError
from patchq.model.verdict import Evidence
from patchq.report.text import day

SHORT_ID = 9


@dataclass(frozen=True)
class Commit:
    """An upstream commit: ``subject`` without the number of its pull request."""

    oid: str
    pr: int | None
    subject: str
    date: str
    first_tag: str

    @property
    def short(self) -> str:
        """The id as people read it."""
        return self.oid[:SHORT_ID]


def commit_of(evidence: Evidence) -> Commit | None:
    """The commit of a piece of evidence, None if it has none."""
    if evidence.commit is None:
        return None
    subject = (evidence.subject or "").removesuffix(f"(#{evidence.pr})").rstrip()
    first_tag = evidence.first_tag or ""
    return Commit(evidence.commit, evidence.pr, subject, day(evidence.date), first_tag)


@dataclass(frozen=True)
class CommitLinks:
    """Links to commits by a template such as ``https://example.org/commit/{}`` (None: no links).

    ``pull`` is one for pull requests. Raises :class:`~patchq.errors.InputError` for a template that
    is not a web address with one place for the id.
    """

    template: str | None = None
    pull: str | None = None

    def __post_init__(self) -> None:
        for template in filter(None, (self.template, self.pull)):
            if not template.startswith(("https://", "http://")) or template.count("{}") != 1:
                raise InputError(
                    f"not a template for the addresses of commits: {template!r}",
                    hint="Give a web address with {} for the commit id.",
                )

    def to(self, oid: str) -> str | None:
        """The address of commit ``oid``."""
        return self.template.replace("{}", oid) if self.template else None

    def to_pull(self, number: int) -> str | None:
        """The address of pull request ``number``."""
        return self.pull.replace("{}", str(number)) if self.pull else None


NO_LINKS = CommitLinks()
