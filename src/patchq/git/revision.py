"""The commit that a directory of the user's own repository is at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from patchq.git.process import Git
from patchq.model.ids import CommitId, commit_id


@dataclass(frozen=True)
class Revision:
    """The commit that is checked out, and whether the files asked for differ from it."""

    commit: CommitId
    changed: bool


def revision(directory: Path, paths: Sequence[str]) -> Revision | None:
    """The revision of ``directory``, by its files below ``paths``.

    None if it is in no repository, in one without a commit, or in one that git does not trust.
    """
    git = Git()
    place = ("-c", "core.fsmonitor=false", "-C", str(directory))
    head = git.run(*place, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", allow=(0, 1, 128))
    if head.status:
        return None
    status = git.run(*place, "status", "--porcelain", "--", *paths, allow=(0, 128))
    changed = bool(status.status or status.stdout)
    return Revision(commit_id(head.stdout.decode().strip()), changed)
