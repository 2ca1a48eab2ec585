"""The commits of an edit: one a patch, which tells its file by a ``Patch-Name:`` trailer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from patchq.engine.series.message import Wording, normalised
from patchq.errors import FindingsError
from patchq.git.commits import read_commit
from patchq.git.objects import Entries, Objects
from patchq.git.process import EMAIL, IDENTITY
from patchq.git.store import Store
from patchq.model.ids import CommitId, TreeId

_TRAILER = re.compile(r"^Patch-Name:[ \t]*(\S+)[ \t]*$\n?", re.MULTILINE)
_COMMENT_CHARACTERS = "#;%@!$^&|"


@dataclass(frozen=True)
class PatchCommit:
    """A commit of the worktree: its change and its words, less the trailer that names it.

    ``oid`` is None if it is not made yet.
    """

    oid: CommitId | None
    parents: tuple[CommitId, ...]
    tree: TreeId
    words: Wording
    names: tuple[str, ...]
    before: Entries = field(default_factory=dict)
    after: Entries = field(default_factory=dict)

    @property
    def subject(self) -> str:
        """The first line of its message."""
        return self.words.message.partition("\n")[0]


def commits_between(objects: Objects, head: CommitId, base: CommitId) -> Iterator[PatchCommit]:
    """The commits from ``head`` down to ``base``, which is left out.

    Raises :class:`FindingsError` at a merge: a series is a line.
    """
    while head != base:
        commit = read_patch_commit(objects, head)
        if len(commit.parents) != 1:
            raise FindingsError(
                f"{head[:12]} is a merge: {commit.subject}",
                hint="A series is one patch after the other: rebase it flat, then refresh.",
            )
        (head,) = commit.parents
        yield with_change(objects, commit, objects.commit_tree(head))


def with_change(objects: Objects, commit: PatchCommit, parent_tree: TreeId) -> PatchCommit:
    """``commit`` with the entries that it changes in its parent's tree, before and after."""
    paths = objects.changed(parent_tree, commit.tree)
    return replace(
        commit,
        before=objects.files(parent_tree, paths),
        after=objects.files(commit.tree, paths),
    )


def read_patch_commit(objects: Objects, oid: CommitId) -> PatchCommit:
    """Commit ``oid`` without its change, its trailers taken out of the message."""
    commit = read_commit(objects, oid)
    message = normalised(_TRAILER.sub("", commit.message))
    return PatchCommit(
        oid=oid,
        parents=commit.parents,
        tree=commit.tree,
        words=Wording(message, commit.author, commit.date),
        names=tuple(_TRAILER.findall(commit.message)),
    )


def write_patch_commit(
    objects: Objects, tree: TreeId, parent: CommitId, words: Wording, name: str
) -> CommitId:
    """Write a commit for patch ``name``, by its author at its date; its id.

    The trailer joins the last paragraph if that holds trailers (git-interpret-trailers(1)).
    """
    body = words.message.partition("\n\n")[2].rstrip("\n")
    last = body.rpartition("\n\n")[2]
    fields = bool(last) and all(re.match(r"[A-Za-z][\w-]*:|\s", line) for line in last.split("\n"))
    gap = "" if fields else "\n"
    return objects.write_commit(
        tree,
        (parent,),
        message=f"{words.message}{gap}Patch-Name: {name}\n",
        author=f"{words.author} {words.date}",
        committer=f"{IDENTITY} <{EMAIL}> {words.date}",
    )


def empty_commit(store: Store, parent: CommitId, words: Wording, name: str) -> CommitId:
    """A commit on ``parent`` that changes nothing yet, kept in the store."""
    tree = read_patch_commit(store.objects, parent).tree
    commit = write_patch_commit(store.objects, tree, parent, words, name)
    store.persist("commit", store.objects.read(commit))
    return commit


def comment_character(messages: Sequence[bytes]) -> str:
    """One that begins no line of the messages: git takes such lines out when it has them edited."""
    used = {line[:1] for message in messages for line in message.split(b"\n")}
    return next((c for c in _COMMENT_CHARACTERS if c.encode() not in used), "#")
