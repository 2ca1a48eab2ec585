"""A few lines of test make a git repository: each call is one ``git fast-import``.

The repository is bare, and git runs with an environment of its own here, so that a test of our
hermetic process does not stand on that process.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from patchq.model.ids import CommitId, ObjectId, TreeId, commit_id

AUTHOR = "Ada Varga <ada@upstream.example>"
DOWNSTREAM = "Iris Downstream <iris@downstream.example>"
FIRST_DATE = 1_736_150_400
DAY = 86_400

SCRATCH = "refs/scratch/commit"
NOTHING = "0" * 40

FORMAT_PATCH = (
    "format-patch",
    "--stdout",
    "--zero-commit",
    "--full-index",
    "--no-signature",
    "--no-stat",
    "-N",
    "--binary",
    "-M",
)

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada Varga",
    "GIT_AUTHOR_EMAIL": "ada@upstream.example",
    "GIT_COMMITTER_NAME": "Ada Varga",
    "GIT_COMMITTER_EMAIL": "ada@upstream.example",
    "GIT_AUTHOR_DATE": f"{FIRST_DATE} +0000",
    "GIT_COMMITTER_DATE": f"{FIRST_DATE} +0000",
    "LC_ALL": "C",
    "TZ": "UTC",
}


@dataclass(frozen=True)
class Entry:
    """A file of another mode than 100644."""

    mode: str
    content: bytes


def executable(content: bytes | str) -> Entry:
    """A file with its executable bit set."""
    return Entry("100755", _bytes(content))


def submodule(commit: str) -> Entry:
    """A submodule at a commit, which is in no repository here."""
    return Entry("160000", commit.encode())


def symlink(target: str) -> Entry:
    """A symbolic link to ``target``."""
    return Entry("120000", os.fsencode(target))


Edits = Mapping[str, bytes | str | Entry | None]
"""What becomes of each path: its whole new content, or None to delete it."""


class Miniature:
    """A bare repository at ``path`` with fixed identities and dates a day apart."""

    def __init__(self, path: Path):
        self.path = path
        self._next_date = FIRST_DATE
        path.mkdir(parents=True)
        self.git("init", "--quiet", "--bare", "--template=", "--object-format=sha1", "-b", "main")

    def git(self, *args: str, stdin: bytes = b"", allow: Sequence[int] = (0,)) -> bytes:
        """Standard output of ``git args`` on this repository."""
        done = subprocess.run(
            ["git", f"--git-dir={self.path}", *args],
            input=stdin,
            capture_output=True,
            env=ENVIRONMENT,
            check=False,
        )
        if done.returncode not in allow:
            raise AssertionError(f"git {' '.join(args)}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def id(self, revision: str) -> ObjectId:
        """The full object id that ``revision`` names."""
        found = self.git("rev-parse", "--verify", "--end-of-options", revision)
        return ObjectId(found.decode().strip())

    def commit_id(self, revision: str) -> CommitId:
        """The commit that ``revision`` names."""
        return CommitId(self.id(f"{revision}^{{commit}}"))

    def tree_id(self, revision: str) -> TreeId:
        """The tree of it."""
        return TreeId(self.id(f"{revision}^{{tree}}"))

    def read(self, at: str, path: str) -> bytes:
        """The content of ``path`` at a revision."""
        return self.git("cat-file", "blob", f"{at}:{path}")

    def paths(self, at: str) -> list[str]:
        """Every path of the tree at a revision."""
        listing = self.git("ls-tree", "-r", "-z", "--name-only", at)
        return [os.fsdecode(path) for path in listing.split(b"\0")[:-1]]

    def commit(
        self,
        message: str,
        edits: Edits,
        *,
        branch: str = "main",
        merges: Sequence[str] = (),
        author: str = AUTHOR,
    ) -> CommitId:
        """Commit on the tip of ``branch`` (a root commit where there is none); its id.

        ``branch`` may be a full ref, such as ``refs/pull/7/head``; ``merges`` are further parents.
        """
        return self._commit(
            _full_ref(branch), self._tip(branch), message, _commands(edits), author, merges
        )

    def move(self, old: str, new: str, message: str, *, branch: str = "main") -> CommitId:
        """Move a file or a directory, contents untouched, in a commit of its own; its id."""
        rename = b"R %b %b\n" % (_quoted(old.rstrip("/")), _quoted(new.rstrip("/")))
        return self._commit(_full_ref(branch), self._tip(branch), message, rename)

    def detached(
        self, at: str, message: str, edits: Edits, *, author: str = DOWNSTREAM
    ) -> CommitId:
        """A commit on top of ``at`` that no ref holds; its id."""
        commands = _commands(edits)
        return self._commit(SCRATCH, self.commit_id(at), message, commands, author)

    def branch(self, name: str, *, at: str = "main") -> None:
        """Put the branch (or full ref) ``name`` at a revision."""
        self.git("update-ref", _full_ref(name), self.commit_id(at))

    def tag(self, name: str, *, at: str = "main", message: str | None = None) -> CommitId:
        """Tag a revision, annotated where there is a message; the id of the tagged commit."""
        annotation = () if message is None else ("--annotate", "--message", message)
        self.git("tag", "--force", *annotation, name, self.commit_id(at))
        return self.commit_id(f"refs/tags/{name}")

    def patch(
        self,
        at: str,
        edits: Edits,
        subject: str = "Change it",
        body: str = "",
        trailers: Mapping[str, str | Sequence[str]] | None = None,
        author: str = DOWNSTREAM,
    ) -> bytes:
        """A patch in mail form for ``at``; a trailer with several values is repeated."""
        lines = [
            f"{name}: {value}"
            for name, values in (trailers or {}).items()
            for value in ([values] if isinstance(values, str) else values)
        ]
        message = "\n\n".join(part for part in (subject, body, "\n".join(lines)) if part)
        return self.format(self.detached(at, message, edits, author=author))

    def format(self, commit: str) -> bytes:
        """The mail form of one commit; patches stack by :meth:`detached` commits."""
        return self.git(*FORMAT_PATCH, "-1", commit)

    def bare_diff(self, at: str, edits: Edits) -> bytes:
        """What ``git diff`` shows for the edits: no header, ids abbreviated."""
        return self.git("diff-tree", "-p", f"{at}^{{tree}}", self.detached(at, "diff", edits))

    def _tip(self, branch: str) -> str | None:
        ref = _full_ref(branch)
        return self.git("for-each-ref", "--format=%(objectname)", ref).decode().strip() or None

    def _commit(
        self,
        ref: str,
        parent: str | None,
        message: str,
        commands: bytes,
        author: str = AUTHOR,
        merges: Sequence[str] = (),
    ) -> CommitId:
        date = f"{self._next_date} +0000"
        self._next_date += DAY
        stream = [
            f"commit {ref}\nmark :1\nauthor {author} {date}\ncommitter {author} {date}\n".encode(),
            _data(f"{message}\n".encode("utf-8", "surrogateescape")),
            f"from {parent}\n".encode() if parent else b"",
            *(f"merge {self.id(merged)}\n".encode() for merged in merges),
            commands,
            b"\nget-mark :1\n",
            # The null id takes the ref away again, and leaves the commit.
            f"reset {ref}\nfrom {NOTHING}\n\n".encode() if ref == SCRATCH else b"",
            b"done\n",
        ]
        made = self.git("fast-import", "--quiet", "--done", stdin=b"".join(stream))
        return commit_id(made.decode().strip())


class MakeMiniature(Protocol):
    """The ``miniature`` fixture."""

    def __call__(self, name: str = "upstream") -> Miniature:
        """An empty repository of that name."""


def _full_ref(branch: str) -> str:
    return branch if branch.startswith("refs/") else f"refs/heads/{branch}"


def _commands(edits: Edits) -> bytes:
    # Deletions first, so that a file can make room for a directory of the same name.
    ordered = sorted(edits.items(), key=lambda edit: edit[1] is not None)
    return b"".join(_command(path, content) for path, content in ordered)


def _command(path: str, content: bytes | str | Entry | None) -> bytes:
    if content is None:
        return b"D %b\n" % _quoted(path)
    entry = content if isinstance(content, Entry) else Entry("100644", _bytes(content))
    if entry.mode == "160000":
        return b"M 160000 %b %b\n" % (entry.content, _quoted(path))
    return b"M %b inline %b\n" % (entry.mode.encode(), _quoted(path)) + _data(entry.content)


def _quoted(path: str) -> bytes:
    escaped = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return b'"%b"' % escaped.replace(b"\n", b"\\n")


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def _bytes(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content
