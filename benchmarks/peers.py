"""What git's own means say of a patch on another tag: would they drop it?"""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.model.ids import TreeId
from patchq.model.patch import Patch


class Peer(Enum):
    """A way to see that upstream has a patch."""

    REBASE = "git rebase"
    CHERRY = "git cherry"
    REVERSE = "git apply -R"


_NO_RENAMES = ("-p", "--no-renames", "--full-index", "--no-ext-diff", "--no-color")


def patch_ids(span: UpstreamRange) -> dict[str, str]:
    """git's patch-id of each commit between the tags, merges aside."""
    git = span.store.git
    log = git.run("log", "--no-merges", *_NO_RENAMES, span.new.commit, f"^{span.old.commit}").stdout
    rows = git.text("patch-id", "--stable", stdin=log).splitlines()
    return {commit: name for name, commit in map(str.split, rows)}


class Peers:
    """Asks git about patches on one span; ``scratch`` holds an index of the new tag."""

    def __init__(self, span: UpstreamRange, scratch: Path):
        self._span = span
        self._git = span.store.git
        self._index = {"GIT_INDEX_FILE": str(scratch / "index")}
        self._git.run("read-tree", span.new.tree, environment=self._index)
        self._known = frozenset(patch_ids(span).values())

    def dropping(self, patch: Patch, patched: TreeId) -> frozenset[Peer]:
        """The peers that take ``patch`` for landed; ``patched`` is the old tag's tree with it."""
        landed = set()
        if self._is_known(patched):
            # git rebase leaves out what git cherry finds
            landed |= {Peer.CHERRY, Peer.REBASE}
        if self._merges_to_nothing(patched):
            landed.add(Peer.REBASE)
        if self._applies_in_reverse(patch):
            landed.add(Peer.REVERSE)
        return frozenset(landed)

    def _is_known(self, patched: TreeId) -> bool:
        diff = self._git.run("diff-tree", "-r", *_NO_RENAMES, self._span.old.tree, patched).stdout
        found = self._git.text("patch-id", "--stable", stdin=diff).split()
        return bool(found) and found[0] in self._known

    def _merges_to_nothing(self, patched: TreeId) -> bool:
        """What ``git rebase --onto`` does: a merge of whole trees; an empty one is dropped."""
        new = self._span.new.tree
        merged = self._span.store.merger.merge(self._span.old.tree, new, patched)
        return merged.clean and merged.tree == new

    def _applies_in_reverse(self, patch: Patch) -> bool:
        result = self._git.run(
            "apply",
            "--reverse",
            "--check",
            "--cached",
            "-",
            stdin=patch.diff,
            environment=self._index,
            allow=(0, 1, 128),
        )
        return result.status == 0
