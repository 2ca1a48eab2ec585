"""A series as a repository of its own: one branch, one commit a patch, the same ids everywhere.

The base's commit is upstream's own, with its id; the history behind it is cut off as in a shallow
clone (gitrepository-layout, ``shallow``), so that the repository holds just these trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from patchq.git.commits import read_commit
from patchq.git.process import Git
from patchq.git.store import Store
from patchq.model.ids import CommitId, TreeId, commit_ids

_CONFIG = """\
[core]
\trepositoryFormatVersion = 0
\tbare = true
"""


@dataclass(frozen=True)
class CommitToMake:
    """A commit to make: ``author`` is ``Name <mail>``, ``date`` git's raw form."""

    tree: TreeId
    message: str
    author: str
    date: str


def commit_changes(store: Store, base: CommitId, changes: Sequence[CommitToMake]) -> CommitId:
    """Commits on ``base``, one after another; the id of the last.

    Committer and date are the author's, so that nothing of the machine gets into the id.
    """
    commit = base
    for change in changes:
        signature = f"{change.author} {change.date}"
        commit = store.objects.write_commit(
            change.tree,
            (commit,),
            message=f"{change.message.strip()}\n",
            author=signature,
            committer=signature,
        )
    return commit


def write_repository(
    store: Store, base: CommitId, tip: CommitId, branch: str, tag: str, to: Path
) -> None:
    """A bare repository at ``to``: ``tip`` on ``branch``, which HEAD is, and ``base`` as ``tag``.

    Raises :class:`~patchq.errors.UpstreamError` if an object is missing or damaged.
    """
    commits = commit_ids(store.git.text("rev-list", tip, f"^{base}").split())
    trees = [store.describe(commit)[0] for commit in (*commits, base)]
    store.objects.verify_files(*trees)
    for directory in ("objects/pack", "objects/info", "refs/heads", "refs/tags"):
        (to / directory).mkdir(parents=True)
    (to / "config").write_text(_CONFIG)
    (to / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
    listed = store.git.run(
        "rev-list", "--objects", "--no-object-names", "--stdin", stdin=_lines(trees)
    ).stdout
    store.git.run(
        "pack-objects",
        "--quiet",
        "--threads=1",
        str(to / "objects" / "pack" / "pack"),
        stdin=_lines([*commits, base]) + listed,
    )
    if read_commit(store.objects, base).parents:
        (to / "shallow").write_text(f"{base}\n")
    for ref, commit in ((f"refs/heads/{branch}", tip), (f"refs/tags/{tag}", base)):
        Git(to).run("update-ref", ref, commit)


def _lines(items: Sequence[str]) -> bytes:
    return "".join(f"{item}\n" for item in items).encode()
