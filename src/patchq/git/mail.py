"""Patches as git writes them: the diff between two trees, and a commit as a mail."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from patchq.git.identity import identity
from patchq.git.objects import Objects
from patchq.git.process import Git
from patchq.model.ids import CommitId, TreeId
from patchq.scratch import scratch_root

# Everything of a diff's form that a user's configuration or a later git could change.
_DIFF_FORM = (
    "--full-index",
    "--binary",
    "-M",
    "-l0",
    "--unified=3",
    "--inter-hunk-context=0",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-relative",
)
_AUTHOR = re.compile(r"\s*(?P<name>[^<>]*?)\s*<(?P<mail>[^<>]*)>")
_MAIL_FORM = ("--zero-commit", "--no-signature", "--no-stat", "-N", "--no-base", "--no-thread")


def author_of(text: str | None) -> str | None:
    """An author as patches name one, as git's ``Name <mail>``; None if there is none.

    git keeps a mail that is empty; one that is not given at all is unknown.
    """
    if not text or not text.strip():
        return None
    match = _AUTHOR.match(text)
    if match and (match["name"] or match["mail"]):
        name, mail = (re.sub(r"[\x00-\x1f]", "", match[part]) for part in ("name", "mail"))
        return f"{name or mail} <{mail}>"
    return identity("", text) if "@" in text else identity(text, "")


@dataclass(frozen=True)
class MailedChange:
    """The change from tree ``old`` to ``new``, which a mail tells; the fields as for ``mail``."""

    old: TreeId
    new: TreeId
    message: str
    author: str
    date: str


class Mailer:
    """Writes diffs and mails from the trees of one store."""

    def __init__(self, git: Git, objects: Objects):
        self._git = git
        self._objects = objects

    def diff(self, old: TreeId, new: TreeId, *, strip: int = 1) -> bytes:
        """The diff from tree ``old`` to ``new``, to be applied with ``-p<strip>``."""
        self._objects.write_differing((old, new))
        return self._git.run(
            "diff-tree", "-r", "-p", *_DIFF_FORM, *_prefixes(strip), old, new
        ).stdout

    def unmoved(self, old: TreeId, new: TreeId) -> bytes:
        """The same for GNU patch: all files as text, and none that moves.

        One that did is deleted and added.
        """
        self._objects.write_differing((old, new))
        return self._git.run(
            "diff-tree", "-r", "-p", *_DIFF_FORM, "--text", "--no-renames", *_prefixes(1), old, new
        ).stdout

    def mail(self, old: TreeId, new: TreeId, *, message: str, author: str, date: str) -> bytes:
        """The change from tree ``old`` to ``new`` as ``git format-patch`` writes it.

        ``author`` is ``Name <mail>``, ``date`` git's raw form (``seconds +zone``).
        """
        commit = self._commit(MailedChange(old, new, message, author, date))
        return self._git.run("format-patch", "--stdout", *_FORM, "-1", commit).stdout

    def mails(self, changes: Sequence[MailedChange]) -> list[bytes]:
        """:meth:`mail` for each of many changes, by one process."""
        commits = [self._commit(change) for change in changes]
        # in the order asked for, which is the reverse of what git takes on stdin
        wanted = list(dict.fromkeys(commits))
        with tempfile.TemporaryDirectory(prefix="mails-", dir=scratch_root()) as directory:
            self._git.run(
                *("format-patch", "--numbered-files", "-o", directory, *_FORM),
                # without a number one commit would be the start of a range
                *("--no-walk=unsorted", f"-{len(wanted)}", "--stdin"),
                stdin="".join(f"{commit}\n" for commit in reversed(wanted)).encode(),
            )
            files = [Path(directory, str(number)) for number in range(1, len(wanted) + 1)]
            mails = {commit: file.read_bytes() for commit, file in zip(wanted, files, strict=True)}
        return [mails[commit] for commit in commits]

    def _commit(self, change: MailedChange) -> CommitId:
        self._objects.write_differing((change.old, change.new))
        parent = self._objects.write_commit(change.old, message="base\n")
        author = f"{change.author} {change.date}"
        return self._objects.write_commit(
            change.new, (parent,), message=change.message, author=author
        )


def _prefixes(strip: int) -> tuple[str, str]:
    return f"--src-prefix={'a/' * strip}", f"--dst-prefix={'b/' * strip}"


_FORM = (*_MAIL_FORM, *_DIFF_FORM, *_prefixes(1))
