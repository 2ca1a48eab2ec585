"""The store: a bare repository of our own under ``.patchq/``, with objects lent by others.

What is fetched or imported is kept here. A lender's objects are reached through
``objects/info/alternates`` (gitrepository-layout), so an existing clone serves without a copy
and is never written to. If a lender is shallow, our own ``shallow`` file says where its history
ends, so that git walks what is there instead of failing. What a command computes on the way (trees,
merges) goes to a scratch object directory that is gone with the process, so that the store does
not grow with use. What was fetched may lack blobs; :mod:`patchq.git.partial` brings those needed.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

from patchq.errors import MissingBasesError, UpstreamError
from patchq.files import replace_file, sweep
from patchq.git.apply import Applier
from patchq.git.commits import committed, read_commit
from patchq.git.damage import remake
from patchq.git.history import History
from patchq.git.leftovers import sweep_packs
from patchq.git.lender import Lender, borrowed, quoted_if_odd
from patchq.git.mail import Mailer
from patchq.git.merge import Merger
from patchq.git.objects import Objects
from patchq.git.partial import MissingObjects, ObjectSource
from patchq.git.process import FetchMissing, Git, require_version
from patchq.model.ids import (
    BlobId,
    CommitId,
    ObjectId,
    TreeId,
    blob_id,
    commit_id,
    commit_ids,
    tree_id,
)
from patchq.model.lock import Base
from patchq.scratch import scratch_root

_NAME = re.compile(r"[0-9a-f]{40}|refs/[\w./-]+")
"""What names a commit for any process of git; others may be malformed."""
_HEAD = re.compile(rb"(ref: refs/[\w./-]+|[0-9a-f]{40})\n")

# What would otherwise follow the user's or the machine's defaults; `git init` is given no template.
# To learn a lender's refs, git fetch would open it as a repository: true(1) lists none.
_CONFIG = """\
[core]
\trepositoryFormatVersion = 0
\tbare = true
\tautocrlf = false
\teol = lf
\tfilemode = true
\tsymlinks = true
\tlogAllRefUpdates = false
\talternateRefsCommand = true
[extensions]
\tworktreeConfig = true
[gc]
\tauto = 0
[maintenance]
\tauto = false
[commit]
\tgpgSign = false
[tag]
\tgpgSign = false
[tar]
\tumask = 0022
"""


@dataclass(frozen=True)
class Store:
    """An open store. Its parts are made when first used.

    Without a ``supply`` nothing is ever fetched, and an object that is missing is an error.
    """

    directory: Path
    lender: Lender | None = None
    supply: ObjectSource | None = None
    mended: str | None = None
    """What was damaged of it and is written anew, in words for the user."""

    @cached_property
    def git(self) -> Git:
        """git for questions: what it writes goes to the scratch directory."""
        return Git(self.directory, scratch=self._scratch, fetch_missing=self._fetch_missing)

    @cached_property
    def persistent(self) -> Git:
        """git for what stays in the store."""
        return Git(self.directory)

    @cached_property
    def objects(self) -> Objects:
        """Objects by id and path."""
        return Objects(self.git, self._scratch, self._fetch_missing)

    @cached_property
    def gaps(self) -> MissingObjects | None:
        """What is missing here and can be fetched."""
        return MissingObjects(self.persistent, self.directory, self.supply) if self.supply else None

    @property
    def _fetch_missing(self) -> FetchMissing | None:
        return self.gaps.close_for if self.gaps else None

    @cached_property
    def _scratch_holder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(
            prefix="objects-", ignore_cleanup_errors=True, dir=scratch_root()
        )

    @cached_property
    def _scratch(self) -> Path:
        directory = Path(self._scratch_holder.name)  # lives as long as the store
        (directory / "info").mkdir()
        alternates = directory / "info" / "alternates"
        alternates.write_bytes(_line(self.directory.absolute() / "objects"))
        return directory

    def go_apart(self, name: str) -> None:
        """In a process that was forked off: write to a scratch directory ``name`` of its own.

        It reads what the other one wrote before, and fetches nothing.
        """
        shared = self._scratch
        own = shared / name
        (own / "info").mkdir(parents=True)
        lines = (shared / "info" / "alternates").read_bytes() + _line(shared)
        (own / "info" / "alternates").write_bytes(lines)
        self.git.go_apart(own)
        self.objects.go_apart(own)

    @cached_property
    def applier(self) -> Applier:
        """Strict application of diffs."""
        return Applier(self.git, self.objects)

    @cached_property
    def history(self) -> History:
        """Commits and what they touch."""
        return History(self.git)

    @cached_property
    def mailer(self) -> Mailer:
        """Diffs and mails, written by git."""
        return Mailer(self.git, self.objects)

    @cached_property
    def merger(self) -> Merger:
        """Three-way merges."""
        return Merger(self.git, self.objects)

    def borrow(self, lender: Lender) -> None:
        """Have the objects of ``lender`` at hand too, for this process alone."""
        alternates = self._scratch / "info" / "alternates"
        line = _line(lender.objects)
        if line not in alternates.read_bytes():
            with alternates.open("ab") as file:
                file.write(line)
            self.objects.reopen()

    def resolve(self, revision: str) -> CommitId | None:
        """The id of the commit that ``revision`` (an id or full ref) names in this store."""
        if _NAME.fullmatch(revision):
            named = self.objects.find(f"{revision}^{{commit}}")
            if named is not None or revision.startswith("refs/"):
                return commit_id(named) if named else None
        result = self.git.run(
            "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", allow=(0, 1, 128)
        )
        found = result.stdout.decode().strip()
        return commit_id(found) if found else None

    def describe(self, commit: CommitId) -> tuple[TreeId, str]:
        """The tree id and the committer date (strict ISO 8601) of a commit."""
        tree, date = self.git.text("show", "-s", "--format=%T%n%cI", commit).split("\n")
        return tree_id(tree), date

    def raw_date(self, commit: CommitId) -> str:
        """The committer date of a commit in git's raw form (``seconds zone``)."""
        return self.git.text("show", "-s", "--format=%cd", "--date=raw", commit)

    def persist(self, kind: str, content: bytes) -> ObjectId:
        """Keep an object of ``kind`` in the store; returns its id."""
        kept = self.persistent.run("hash-object", "-t", kind, "-w", "--stdin", stdin=content)
        return ObjectId(kept.stdout.decode().strip())

    def find_blobs(self, ids: Iterable[str]) -> dict[str, BlobId]:
        """Full ids of abbreviated ones, for those that are one blob here or can be fetched."""
        asked = [oid for oid in dict.fromkeys(ids) if oid]
        if not asked:
            return {}
        self.complete_named(asked)
        answers = self.git.text(
            "cat-file", "--batch-check=%(objectname) %(objecttype)", stdin="\n".join(asked).encode()
        ).split("\n")
        return {
            oid: blob_id(answer.removesuffix(" blob"))
            for oid, answer in zip(asked, answers, strict=False)
            if answer.endswith(" blob")
        }

    def require(self, bases: Iterable[Base]) -> None:
        """:meth:`check` each base, with its files and those of the commits between them.

        What is missing of those is fetched. Raises :class:`UpstreamError` if it cannot be.
        """
        wanted = tuple(bases)
        commits = (base.commit for base in wanted if base.archive is None)
        self.complete(filter(self.objects.has, commits))
        self.check(wanted)

    def complete(self, commits: Iterable[CommitId]) -> None:
        """Have the files of ``commits`` (ids) here, and those of the commits between them.

        What is missing of those is fetched. Raises :class:`UpstreamError` if it cannot be.
        """
        if self.gaps is not None:
            self.gaps.close(commits)

    def complete_named(self, beginnings: Iterable[str]) -> None:
        """Have the objects of upstream's history here whose ids begin like this."""
        if self.gaps is not None:
            self.gaps.close_named(beginnings)

    def check(self, bases: Iterable[Base]) -> None:
        """Check that each base is here, though it may lack files, and is what the lock says.

        Raises :class:`UpstreamError` naming the base, and both values where they differ.
        """
        for base in bases:
            if not self.objects.has(base.commit):
                raise MissingBasesError(
                    (base.name,),
                    f"{base.name} ({base.commit[:12]}) is not in the upstream store",
                    hint=f"Run `patchq fetch {base.name}`"
                    + ("." if base.archive else ", or lend a clone that has it with --upstream."),
                )
            tree = read_commit(self.objects, base.commit).tree
            if tree != base.tree:
                raise UpstreamError(
                    f"{base.name}: the lock says tree {base.tree}, commit {base.commit} has {tree}"
                )
            date = committed(self.objects, base.commit)
            if datetime.fromisoformat(base.date) != date:
                raise UpstreamError(
                    f"{base.name}: the lock says {base.date}, commit {base.commit} is of "
                    f"{date.isoformat()}"
                )
            if not self.objects.has(tree):
                raise UpstreamError(
                    f"{base.name}: tree {tree} is missing from the upstream store",
                    hint="The lender has lost objects; run `patchq fetch`, or lend another clone.",
                )


def open_store(
    directory: Path, lender: Lender | None = None, supply: ObjectSource | None = None
) -> Store:
    """Open the store at ``directory``, making it where there is none.

    ``lender`` lends its objects from now on; without one, those lent before stay in use as long
    as they are there. What is missing and needed comes from ``supply``.
    """
    require_version()
    mended = None
    if directory.exists():
        mended = _mend(directory)
    else:
        directory.parent.mkdir(parents=True, exist_ok=True)
        Git().run("init", "--quiet", "--bare", "--template=", str(directory))
    sweep(directory)
    sweep_packs(directory)
    _settle(directory / "config", _CONFIG.encode())
    lent = _lend(directory / "objects" / "info" / "alternates", lender)
    store = Store(directory, lender, supply, mended)
    _mark_ends(store, lent)
    return store


def _mend(directory: Path) -> str | None:
    """Have there what makes a directory a repository for git; in words what was not there."""
    lost = [name for name in ("objects", "refs") if not (directory / name).is_dir()]
    head = directory / "HEAD"
    if not (head.is_file() and _HEAD.fullmatch(head.read_bytes())):
        lost.append(head.name)
    if not lost:
        return None
    try:
        for name in lost:
            if name != head.name:
                (directory / name).mkdir()
            else:
                if head.is_dir():
                    shutil.rmtree(head)
                replace_file(head, b"ref: refs/heads/main\n")
    except OSError as error:
        raise UpstreamError(
            f"{directory} is no repository of git: {error.strerror} ({error.filename})",
            hint=remake(directory),
        ) from error
    return f"{directory} was damaged; written anew: {', '.join(lost)}"


def _lend(alternates: Path, lender: Lender | None) -> list[Path]:
    """Borrow from ``lender`` too, and no longer from what has vanished; all that is lent."""
    lent = [path for path in borrowed(alternates.parent.parent) if path.is_dir()]
    if lender is not None and lender.objects not in lent:
        lent.append(lender.objects)
    alternates.parent.mkdir(parents=True, exist_ok=True)
    _settle(alternates, b"".join(map(_line, lent)))
    return lent


def _mark_ends(store: Store, lent: Iterable[Path]) -> None:
    """Write ``shallow``: the commits at which a lender's history ends, and ours with it."""
    ends: set[CommitId] = set()
    for objects in lent:
        shallow = objects.parent / "shallow"
        if shallow.is_file():
            ends.update(commit_ids(shallow.read_text().split()))
    lines = [f"{commit}\n" for commit in sorted(ends) if _lacks_parent(store, commit)]
    file = store.directory / "shallow"
    if lines:
        _settle(file, "".join(lines).encode())
    else:
        file.unlink(missing_ok=True)


def _lacks_parent(store: Store, commit: CommitId) -> bool:
    if not store.objects.has(commit):
        return False
    return not all(map(store.objects.has, read_commit(store.objects, commit).parents))


def _settle(file: Path, content: bytes) -> None:
    """Give ``file`` this content, in one step, unless it has it."""
    if file.is_file() and file.read_bytes() == content:
        return
    replace_file(file, content)


def _line(path: Path) -> bytes:
    return quoted_if_odd(os.fsencode(path)) + b"\n"
