"""A worktree for people: part of a tree checked out of our store, where git's own tools work.

It is a linked worktree of the store, sparse to the directories asked for. What would change bytes
or run code is pinned in its configuration (line endings, filters, hooks); identity, editor and
mergetool are the user's, for the user's git reads their configuration there as anywhere.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path, PurePosixPath

from patchq.errors import FindingsError, PatchqError
from patchq.git.leftovers import packing
from patchq.git.merge import Stage, read_stage
from patchq.git.objects import GITLINK_MODE, Entry, decode_path, encode_path
from patchq.git.process import Result
from patchq.git.raw_objects import object_id
from patchq.git.store import Store
from patchq.model.ids import CommitId, TreeId, commit_id, tree_id
from patchq.scratch import scratch_root

# `core.bare` of the store would otherwise count in its worktrees too (git-worktree,
# CONFIGURATION FILE).
_CONFIG = f"""\
[core]
\tbare = false
\tfsmonitor = false
\thooksPath = {os.devnull}
\tlogAllRefUpdates = true
"""

# Of the highest precedence (gitattributes): no attribute of the upstream tree converts a byte.
_ATTRIBUTES = b"* -text -eol -ident -filter -working-tree-encoding\n"

# What merge tools, editors and interpreters leave beside a file is nobody's change.
_EXCLUDE = b"*.orig\n*.rej\n*~\n.*.sw[op]\n.DS_Store\n/.idea/\n/.vscode/\n__pycache__/\n"

# What git leaves in a git directory until `--continue` or `--abort` (git-rebase, git-merge, ...).
_UNDER_WAY = {
    "rebase-merge": "git rebase",
    "rebase-apply": "git am",
    "MERGE_HEAD": "git merge",
    "CHERRY_PICK_HEAD": "git cherry-pick",
    "REVERT_HEAD": "git revert",
    "sequencer": "git cherry-pick",
}

_READY = "patchq-ready"
_TREE = "patchq-tree"
_NAMED = 5
_NO_OBJECT = "0" * 40


@dataclass(frozen=True)
class Sides:
    """What the three sides of a merge have at a path (None: nothing)."""

    base: Entry | None
    ours: Entry | None
    theirs: Entry | None

    def stages(self) -> Iterator[tuple[int, Entry]]:
        """The sides that are there, by their number in git's index."""
        for number, entry in enumerate((self.base, self.ours, self.theirs), start=1):
            if entry is not None:
                yield number, entry


@dataclass(frozen=True)
class WorktreeLayout:
    """What a worktree is to hold.

    ``commit`` is its HEAD, with ``parent`` somewhere below it; ``tree`` is what index and files
    have, all of it where ``directories`` is None. The paths of ``unmerged`` stand in the index in
    three stages.
    """

    commit: CommitId
    parent: CommitId
    tree: TreeId
    directories: tuple[str, ...] | None
    unmerged: Mapping[str, Sides]

    @property
    def identity(self) -> str:
        """A digest of all of it."""
        facts = (self.commit, self.tree, self.directories, sorted(self.unmerged.items()))
        return sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True)
class KeptFiles:
    """Files that were moved out of a worktree: where to, and their paths in it."""

    directory: Path
    paths: tuple[str, ...]

    def __str__(self) -> str:
        shown = ", ".join(self.paths[:_NAMED])
        more = len(self.paths) - _NAMED
        return f"{shown}{f' and {more} more' if more > 0 else ''} (now in {self.directory})"


class Worktree:
    """The worktree at ``path``, there or not yet."""

    def __init__(self, store: Store, path: Path):
        self._store = store
        self.path = path
        self._directory = store.directory.absolute() / "worktrees" / path.name

    def lay_out(self, layout: WorktreeLayout, *, then: Iterable[TreeId] = ()) -> None:
        """Make the worktree anew. Cut off half-way, it does not :meth:`hold <holds>` the layout.

        Raises :class:`FindingsError` if there are files that neither the layout nor one of the
        trees ``then``, which the caller goes on to, has as they are: nobody knows what they are
        for, so they are moved aside, and nothing else is done.
        """
        kept = self._move_aside([layout.tree, *then], {})
        if kept is not None:
            raise FindingsError(
                f"{self.path} held files that patchq did not put there: {kept}",
                hint="Take from there what you need, and run the command again.",
            )
        self._verify(layout)
        self.clear(layout.tree)
        self._keep(layout)
        self._settle()
        self._store.persistent.run(
            *("worktree", "add", "--quiet", "--no-checkout", "--detach"),
            str(self.path),
            layout.commit,
        )
        (self._directory / "config.worktree").write_text(_CONFIG)
        if layout.directories is not None:
            cone = "".join(f'"{_quoted(name)}"\n' for name in layout.directories)
            self._run(
                *("sparse-checkout", "set", "--cone", "--no-sparse-index", "--stdin"),
                stdin=cone.encode("utf-8", "surrogateescape"),
            )
        self._run("read-tree", "-m", "-u", layout.tree)
        self._run(
            "update-index", "-z", "--index-info", stdin=b"".join(_index_lines(layout.unmerged))
        )
        (self._directory / _TREE).write_text(layout.tree)
        (self._directory / _READY).write_text(layout.identity)

    def holds(self, identity: str) -> bool:
        """Whether the layout of this identity was made here to its end, and is still there."""
        ready = self._directory / _READY
        return ready.is_file() and self.is_linked and ready.read_text() == identity

    @property
    def is_linked(self) -> bool:
        """Whether git's own tools find the store from there."""
        return (self.path / ".git").is_file()

    def configure(self, key: str, value: str) -> None:
        """Set a variable of git's configuration in this worktree alone."""
        self._run("config", "--worktree", key, value)

    def mark(self, name: str, commit: CommitId) -> None:
        """Let ``worktree/<name>`` mean ``commit`` in this worktree (gitglossary, per-worktree)."""
        self._run("update-ref", f"refs/worktree/{name}", commit)

    def go_to(self, commit: CommitId) -> None:
        """Check ``commit`` out, detached; nothing may be uncommitted."""
        self._run("checkout", "--quiet", "--detach", commit)

    def head(self) -> CommitId:
        """The commit that is checked out."""
        return commit_id(
            self._run("rev-parse", "--verify", "HEAD^{commit}").stdout.decode().strip()
        )

    def under_way(self) -> str | None:
        """The command of git's that waits there to be continued, None if none does."""
        return next(
            (words for name, words in _UNDER_WAY.items() if (self._directory / name).exists()), None
        )

    def relink(self) -> None:
        """Let worktree and store point at each other, wherever the workspace was moved to."""
        link, back = self.path / ".git", self._directory / "gitdir"
        for file, target in ((link, f"gitdir: {self._directory}\n"), (back, f"{link}\n")):
            if file.is_file() and file.read_text() != target:
                file.write_text(target)

    def unmerged(self) -> tuple[str, ...]:
        """The paths that stand in the index unmerged."""
        return tuple(dict.fromkeys(path for path, _ in self._stages("--unmerged")))

    def index(self) -> dict[str, Entry]:
        """The entries of the index that are merged."""
        stages = self._stages("--stage")
        return {path: Entry(stage.mode, stage.oid) for path, stage in stages if not stage.number}

    def _stages(self, option: str) -> Iterator[tuple[str, Stage]]:
        return map(read_stage, self._run("ls-files", option, "-z").stdout.split(b"\0")[:-1])

    def snapshot(self) -> TreeId:
        """The tree of what stands there: files new, changed, gone, whether staged or not.

        Neither the index nor the store is changed; what git ignores is left out.
        """
        with tempfile.TemporaryDirectory(prefix="index-", dir=scratch_root()) as scratch:
            index = Path(scratch, "index")
            # with its time: git looks into files that are as young as the index, whose sizes
            # and seconds may be the same though they changed (racy-git in git's documentation)
            shutil.copy2(self._directory / "index", index)
            place = {"GIT_INDEX_FILE": str(index), **self._place}
            self._store.git.run("add", "--all", "--sparse", environment=place)
            written = self._store.git.run("write-tree", environment=place).stdout
        return tree_id(written.decode().strip())

    def keep_aside(self, tree: TreeId | None) -> KeptFiles | None:
        """Move the files aside that ``tree`` does not have as they are; None if there is none.

        All files are, if there is no ``tree`` to compare with.
        """
        return self._move_aside([tree] if tree else [], {})

    def _keep_unknown(self, taken: TreeId | None, *, committed: bool) -> KeptFiles | None:
        """Move the files aside that would be lost.

        Those that neither ``taken`` nor the layout has as they are, nor, if what is ``committed``
        there stays, HEAD and the index.
        """
        if not self.path.is_dir():
            return None
        trees, index = [taken] if taken else [], dict[str, Entry]()
        laid = self._directory / _TREE
        if laid.is_file():
            trees.append(tree_id(laid.read_text()))
        if committed and self.is_linked:
            with suppress(PatchqError):
                trees.append(self._store.describe(self.head())[0])
                index = self.index()
        return self._move_aside(trees, index)

    def _move_aside(self, trees: Sequence[TreeId], index: Mapping[str, Entry]) -> KeptFiles | None:
        """Move the files aside that none of ``trees`` and not ``index`` has as they are."""
        objects = self._store.objects
        here = [tree for tree in trees if objects.has(tree)]
        odd: list[Path] = []
        for file in _files(self.path):
            path = decode_path(os.fsencode(file.relative_to(self.path)))
            found = (*(objects.file(tree, path) for tree in here), index.get(path))
            known = {entry.oid for entry in found if entry}
            if not known or object_id(b"blob", _content(file)) not in known:
                odd.append(file)
        if not odd:
            return None
        home = self.path.parent / "kept"
        number = next(n for n in count(1) if not (home / f"{self.path.name}-{n}").exists())
        directory = home / f"{self.path.name}-{number}"
        for file in odd:
            target = directory / file.relative_to(self.path)
            target.parent.mkdir(parents=True, exist_ok=True)
            file.rename(target)
        return KeptFiles(directory, tuple(str(file.relative_to(self.path)) for file in odd))

    def clear(self, taken: TreeId | None = None, *, committed: bool = True) -> KeptFiles | None:
        """Take everything out; the directory itself stays, for shells that stand in it.

        What would be lost is moved aside, to ``kept`` beside the worktree: files that are not in
        the tree ``taken``, and in no commit there and not staged, unless nobody will look for a
        ``committed`` or staged one either. Those files are returned.
        """
        kept = self._keep_unknown(taken, committed=committed)
        if self.path.is_symlink() or self.path.is_file():
            self.path.unlink()
        # first what says that the layout is whole
        (self._directory / _READY).unlink(missing_ok=True)
        shutil.rmtree(self._directory, ignore_errors=True)
        for entry in list(self.path.iterdir()) if self.path.is_dir() else ():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        return kept

    def remove(self, taken: TreeId | None = None, *, committed: bool = True) -> KeptFiles | None:
        """Remove the worktree, if there is one; see :meth:`clear`."""
        kept = self.clear(taken, committed=committed)
        if self.path.is_dir():
            _step_out(self.path)
            self.path.rmdir()
        return kept

    def _verify(self, layout: WorktreeLayout) -> None:
        """See that each file that will be checked out is what its id says."""
        objects = self._store.objects
        if layout.directories is None:
            objects.verify_files(layout.tree)
            return
        cone = [objects.entry(layout.tree, name) for name in layout.directories]
        objects.verify_files(*(entry.tree_id for entry in cone if entry and entry.is_tree))
        parents = (up for name in layout.directories for up in PurePosixPath(name).parents)
        for name in {"", *map(str, parents)} - {"."}:
            entry = objects.entry(layout.tree, name) if name else None
            files = objects.tree(entry.tree_id if entry and entry.is_tree else layout.tree).values()
            objects.verify(e.oid for e in files if not e.is_tree and e.mode != GITLINK_MODE)

    def _keep(self, layout: WorktreeLayout) -> None:
        """Bring into the store what so far is only in the scratch directory."""
        objects = self._store.objects
        holder = objects.write_commit(layout.tree, (layout.commit,), message="layout\n")
        sides = {entry.oid for side in layout.unmerged.values() for _, entry in side.stages()}
        wanted = [holder, f"^{layout.parent}", *sorted(sides)]
        pack = self._store.git.run(
            *("pack-objects", "--revs", "--stdout", "--quiet"),
            stdin="".join(f"{oid}\n" for oid in wanted).encode(),
        ).stdout
        with packing(self._store.directory):
            self._store.persistent.run("index-pack", "--stdin", stdin=pack)

    def _settle(self) -> None:
        info = self._store.directory / "info"
        info.mkdir(exist_ok=True)
        (info / "attributes").write_bytes(_ATTRIBUTES)
        (info / "exclude").write_bytes(_EXCLUDE)

    def _run(self, *args: str, stdin: bytes = b"") -> Result:
        return self._store.persistent.run(*args, stdin=stdin, environment=self._place)

    @property
    def _place(self) -> Mapping[str, str]:
        return {"GIT_DIR": str(self._directory), "GIT_WORK_TREE": str(self.path.absolute())}


def _files(directory: Path) -> Iterator[Path]:
    """The files and symbolic links below a worktree, but for git's own."""
    for entry in sorted(directory.iterdir()) if directory.is_dir() else ():
        if entry.name == ".git":
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from _files(entry)
        else:
            yield entry


def _content(file: Path) -> bytes:
    return os.fsencode(file.readlink()) if file.is_symlink() else file.read_bytes()


def _index_lines(unmerged: Mapping[str, Sides]) -> Iterator[bytes]:
    for path, sides in unmerged.items():
        yield b"0 %b\t%b\0" % (_NO_OBJECT.encode(), encode_path(path))
        for number, entry in sides.stages():
            yield f"{entry.mode} {entry.oid} {number}\t".encode() + encode_path(path) + b"\0"


def _quoted(name: str) -> str:
    """A path as git's C-style quoting has it (``core.quotePath``)."""
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")


def _step_out(directory: Path) -> None:
    """Leave ``directory`` before it goes: no process can be started from one that is gone."""
    try:
        inside = Path.cwd().is_relative_to(directory.resolve())
    except FileNotFoundError:
        inside = True
    if inside:
        os.chdir(directory.resolve().parent)
