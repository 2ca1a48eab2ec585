"""Many files as one commit at once, by git-fast-import(1)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import nullcontext
from datetime import datetime

from patchq.git.leftovers import packing
from patchq.git.objects import encode_path
from patchq.git.process import EMAIL, IDENTITY, Git
from patchq.model.ids import CommitId, TreeId, commit_id, tree_id


def is_ref(git: Git, name: str) -> bool:
    """Whether ``name`` can be the full name of a ref (git-check-ref-format(1))."""
    return not git.run("check-ref-format", name, allow=(0, 1)).status


def commit_files(
    git: Git, ref: str, message: str, date: datetime, files: Iterable[tuple[str, str, bytes]]
) -> tuple[CommitId, TreeId]:
    """A commit without parents at ``ref`` of ``files`` (path, mode, content); its id and tree.

    What the ref pointed to before is no longer reached from it.
    """
    body = encode_path(message)
    who = f"{IDENTITY} <{EMAIL}> {int(date.timestamp())} +0000"
    parts = [
        f"commit {ref}\nmark :1\ncommitter {who}\n".encode(),
        b"data %d\n%b\n" % (len(body), body),
    ]
    for path, mode, content in files:
        quoted = re.sub(rb'[\\"]', rb"\\\g<0>", encode_path(path)).replace(b"\n", rb"\n")
        parts.append(b'M %b inline "%b"\n' % (mode.encode(), quoted))
        parts.append(b"data %d\n%b\n" % (len(content), content))
    parts.append(b'get-mark :1\nls :1 ""\ndone\n')
    with packing(git.directory) if git.directory else nullcontext():
        out = git.run("fast-import", "--quiet", "--done", "--force", stdin=b"".join(parts)).stdout
    commit, tree_line = out.decode().splitlines()
    return commit_id(commit), tree_id(tree_line.split()[2])
