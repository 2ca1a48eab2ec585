"""The upstream: open it, pin bases of it in ``upstream.lock``, bring what the lock names.

A repository on this machine lends its objects and is read as files; a server is asked by git. The
lock's commits are what tags mean: a tag that says otherwise has moved, which is an error here and
never a change of the lock.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from patchq.engine.workspace.transaction import Transaction
from patchq.engine.workspace.versions import base_after
from patchq.errors import InputError, UpstreamError
from patchq.git.lender import find_lender
from patchq.git.partial import TIPS, ObjectSource, Showing, silently
from patchq.git.raw_objects import MissingObjectError
from patchq.git.remote import Remote
from patchq.git.remote import is_url as is_url  # the engine's callers ask here
from patchq.git.store import Store, open_store
from patchq.model.ids import CommitId, ObjectId, commit_id
from patchq.model.lock import Base, Lock, check_base_name, leading_comment, render_lock
from patchq.model.workspace import Workspace, ensure_state_dir

BASE_REFS = f"{TIPS[0]}/"
MAIN_REF = TIPS[1]
"""Where fetched bases and upstream's main branch are kept in the store."""

_COMMIT = re.compile(r"[0-9a-f]{40}")
_COMMIT_PREFIX = re.compile(r"[0-9a-f]{7,40}")
_NO_OBJECT = "0" * 40


# Where upstream is


@dataclass(frozen=True)
class OpenedStore:
    """The store, and what its lender may lack, in words for the user."""

    store: Store
    limits: tuple[str, ...]


def open_upstream(
    workspace: Workspace, location: str, *, terminal: bool = False, showing: Showing = silently
) -> OpenedStore:
    """The workspace's store, with the objects of the repository at ``location`` lent to it.

    A relative path is relative to the workspace where it is the lock's own, else to the current
    directory. A URL lends nothing: what was fetched or lent before is what there is, and the files
    it lacks come from there. Those that a lender lacks come from the lock's URL, or else from where
    it would fetch them itself. Raises :class:`UpstreamError` if there is no repository.
    """
    if is_url(location):
        ensure_state_dir(workspace)
        supply = ObjectSource(location, terminal, showing)
        return OpenedStore(open_store(workspace.store_path, supply=supply), ())
    locked = workspace.lock().upstream
    start = workspace.root if location == locked else Path.cwd()
    lender = find_lender(start / local_path(location))
    ensure_state_dir(workspace)
    supply = ObjectSource(locked if is_url(locked) else lender.promisor, terminal, showing)
    return OpenedStore(open_store(workspace.store_path, lender, supply), lender.limits)


def origin_of(workspace: Workspace, location: str) -> str:
    """The address that the clone at ``location`` came from; ``location`` itself if it is none."""
    if is_url(location):
        return location
    start = workspace.root if location == workspace.lock().upstream else Path.cwd()
    try:
        return find_lender(start / local_path(location)).origin or location
    except (UpstreamError, OSError):
        return location


def local_path(location: str) -> Path:
    """The path that ``location`` means, ``~`` being somebody's home."""
    try:
        return Path(location).expanduser()
    except RuntimeError:  # no such user: a directory may be called that
        return Path(location)


def open_own(workspace: Workspace) -> Store:
    """The workspace's store without a new lender."""
    ensure_state_dir(workspace)
    return open_store(workspace.store_path)


def location_in_lock(location: str, root: Path) -> str:
    """``location`` as the lock of a workspace at ``root`` is to have it.

    A relative path becomes relative to ``root``. Raises :class:`InputError` for a URL with
    credentials (of http, a user name may be a token), and :class:`UpstreamError` for a path where
    no repository is.
    """
    if is_url(location):
        if re.match(r"[^/]+://[^/@]*:[^/@]*@|https?://[^/@]*@", location):
            raise InputError(
                "the URL holds a password or token, and upstream.lock is public",
                hint="Leave it out; git asks your credential helper when it fetches.",
            )
        return location
    find_lender(local_path(location))
    return location if location.startswith(("/", "~")) else os.path.relpath(location, root)


@dataclass(frozen=True)
class Upstream:
    """Where refs are looked up: the lender of ``store``, or else the server ``remote``."""

    store: Store
    remote: Remote

    def __str__(self) -> str:
        return str(self.store.lender.directory) if self.store.lender else self.remote.url

    def branches(self, name: str) -> tuple[str, ...]:
        """The full names under which a tag or branch of this short name may stand."""
        if name.startswith("refs/"):
            return (name,)
        names = (f"refs/tags/{name}", f"refs/heads/{name}")
        # a clone has upstream's branches as it last saw them, beside its own
        return (*names, f"refs/remotes/origin/{name}") if self.store.lender else names

    def commits(self, names: Iterable[str]) -> dict[str, CommitId]:
        """The commits that the refs of these full names stand for, tags peeled.

        A name that upstream lacks is left out.
        """
        wanted = tuple(dict.fromkeys(names))
        if not wanted:
            return {}
        if self.store.lender is None:
            refs = self.remote.refs(*wanted, *(f"{name}^{{}}" for name in wanted))
            return {name: _commit_at(name, refs) for name in wanted if name in refs}
        held = {name: self.store.lender.ref(name) for name in wanted}
        return {name: self._peeled(name, oid) for name, oid in held.items() if oid}

    def _peeled(self, name: str, oid: ObjectId) -> CommitId:
        commit = self.store.resolve(oid)
        if commit is not None:
            return commit
        if not self.store.objects.has(oid):
            raise MissingObjectError(oid)
        raise UpstreamError(f"{name} of {self} names no commit that is there")


# Locking


@dataclass(frozen=True)
class Request:
    """A base to lock: the tag ``name``, or the commit or ref ``revision`` under that name."""

    name: str
    revision: str | None = None


@dataclass(frozen=True)
class FoundBase:
    """A base as upstream has it now, and by what it was found (a full ref, or a commit id)."""

    base: Base
    origin: str


def parse_request(text: str) -> Request:
    """``NAME`` or ``NAME=REVISION``; raises :class:`InputError` for what cannot be a name."""
    name, equals, revision = text.partition("=")
    if equals and not revision:
        raise InputError(f"{text!r} names no commit", hint="Write NAME=COMMIT.")
    check_base_name(name)
    return Request(name, revision or None)


def lock_names(
    lock: Lock, upstream: Upstream, requests: Sequence[Request]
) -> tuple[FoundBase, ...]:
    """What upstream has under the names asked for, brought into the store.

    Raises :class:`UpstreamError` if it has none, or where the lock has the name with another
    commit; nothing is fetched then.
    """
    found = _locate(upstream, requests)
    for request, (_, commit) in found.items():
        _refuse_move(lock, request.name, commit)
    _bring(upstream, found)
    pins = []
    for request, (origin, commit) in found.items():
        tree, date = upstream.store.describe(commit)
        pins.append(FoundBase(Base(request.name, commit, tree, date), origin))
    upstream.store.check(pin.base for pin in pins)
    return tuple(pins)


def add_bases(
    workspace: Workspace, bases: Iterable[Base], *, after: str | None, label: str
) -> tuple[str, ...]:
    """Write bases into the lock, behind ``after`` or by their versions; the names new in it.

    A base that is no version comes last.

    Raises :class:`UpstreamError` if the lock has other pins for a name.
    """
    before = lock = workspace.lock()
    for base in bases:
        later = base_after(lock, base.name) if after is None else None
        lock = lock.with_base(base, after=after, before=later)
        after = base.name if after is not None else None
    if lock != before:
        comment = leading_comment(workspace.lock_path.read_bytes())
        transaction = Transaction(workspace, label)
        transaction.write_file(workspace.lock_path, render_lock(lock, comment=comment))
        transaction.commit()
    return tuple(name for name in lock.names if name not in before.names)


def moved(upstream: Upstream, bases: Sequence[Base]) -> Iterator[tuple[Base, CommitId | None]]:
    """Each git base with the commit that the tag of its name has upstream now, None without one."""
    tags = {base.name: f"refs/tags/{base.name}" for base in bases if base.archive is None}
    commits = upstream.commits(tags.values())
    for base in bases:
        if base.name in tags:
            yield base, commits.get(tags[base.name])


def _refuse_move(lock: Lock, name: str, commit: CommitId) -> None:
    if name in lock.names:
        lock.with_base(replace(lock.base(name), commit=commit))


def _locate(upstream: Upstream, requests: Sequence[Request]) -> dict[Request, tuple[str, CommitId]]:
    """By what, and at which commit, each request is found."""
    found: dict[Request, tuple[str, CommitId]] = {}
    candidates: dict[Request, tuple[str, ...]] = {}
    for request in requests:
        if request.revision and _COMMIT_PREFIX.fullmatch(request.revision):
            found[request] = ("commit id", _known_commit(upstream, request.revision))
        elif request.revision:
            candidates[request] = upstream.branches(request.revision)
        else:
            candidates[request] = (f"refs/tags/{request.name}",)
    commits = upstream.commits(name for names in candidates.values() for name in names)
    for request, names in candidates.items():
        there = {name: commits[name] for name in names if name in commits}
        found[request] = _only(request, there, upstream)
    return {request: found[request] for request in requests}


def _known_commit(upstream: Upstream, revision: str) -> CommitId:
    commit = upstream.store.resolve(revision)
    if commit is not None:
        return commit
    if upstream.store.lender is None and _COMMIT.fullmatch(revision):
        return commit_id(revision)
    raise UpstreamError(
        f"there is no commit {revision} in {upstream}",
        hint="A server is asked for a commit by its full id; a clone may have to fetch it first.",
    )


def _only(
    request: Request, there: Mapping[str, CommitId], upstream: Upstream
) -> tuple[str, CommitId]:
    if not there:
        asked = request.revision or f"tag {request.name}"
        raise UpstreamError(
            f"there is no {asked} in {upstream}",
            hint="Fetch it there (`git fetch --tags`), or name a commit: NAME=COMMIT.",
        )
    if len(set(there.values())) > 1:
        values = ", ".join(f"{name} is {commit}" for name, commit in there.items())
        raise InputError(
            f"{request.revision} is ambiguous: {values}", hint="Write the full name of the ref."
        )
    return next(iter(there.items()))


def _bring(upstream: Upstream, found: Mapping[Request, tuple[str, CommitId]]) -> None:
    objects = upstream.store.objects
    missing = {request: place for request, place in found.items() if not objects.has(place[1])}
    if missing and upstream.store.lender is None:
        upstream.remote.fetch(
            [
                _refspec(origin if origin.startswith("refs/") else commit, request.name)
                for request, (origin, commit) in missing.items()
            ]
        )
    for _, commit in missing.values():
        if not objects.has(commit):
            raise MissingObjectError(commit)


def _refspec(source: str, name: str) -> str:
    return f"+{source}:{BASE_REFS}{name}"


# Fetching


class BaseState(Enum):
    """How a base that the lock names came to be in the store."""

    PRESENT = "is there"
    FETCHED = "fetched"
    IMPORTED = "imported"


def fetch_bases(
    workspace: Workspace,
    store: Store,
    remote: Remote | None,
    bases: Sequence[Base],
) -> Iterator[tuple[Base, BaseState]]:
    """Bring ``bases`` into the store and check them against the lock, one after another.

    ``remote`` has what neither store nor lender has. With a remote and no lender, upstream's main
    branch comes along. Raises :class:`UpstreamError` if something is not available, or is not
    what the lock says (both values are named).
    """
    lock = workspace.lock()
    from_git = [base for base in bases if base.archive is None]
    missing = [base for base in from_git if not _has(store, base)]
    if missing and remote is None:
        store.check(missing)
    if remote is not None and (missing or (from_git and store.lender is None)):
        branch = None if store.lender else workspace.settings().main or "HEAD"
        _fetch(lock, remote, from_git, missing, branch)
    elif store.lender is not None and not is_url(lock.upstream):
        for base in from_git:
            found = _peeled(store, store.lender.ref(f"refs/tags/{base.name}"))
            if found is not None:
                _refuse_move(lock, base.name, found)
    store.check(from_git)
    for base in from_git:
        yield base, BaseState.FETCHED if base in missing else BaseState.PRESENT
    for base in bases:
        if base.archive is not None:
            if _has(store, base):
                store.check((base,))
                yield base, BaseState.PRESENT
            else:
                from patchq.archives.bases import bring_archive  # heavy

                bring_archive(workspace, store, lock, base, base.archive)
                yield base, BaseState.IMPORTED


def _has(store: Store, base: Base) -> bool:
    return store.objects.has(base.commit) and store.objects.has(base.tree)


def _peeled(store: Store, oid: ObjectId | None) -> CommitId | None:
    return None if oid is None else store.resolve(oid)


def _fetch(
    lock: Lock,
    remote: Remote,
    bases: Sequence[Base],
    missing: Sequence[Base],
    branch: str | None,
) -> None:
    """Fetch the ``missing`` of ``bases``, and the branch; none of ``bases`` may have moved."""
    tags = {base.name: f"refs/tags/{base.name}" for base in bases}
    main = None if branch is None else _full_branch(branch)
    asked = (*tags.values(), *(f"{tag}^{{}}" for tag in tags.values()), *([main] if main else ()))
    refs = remote.refs(*asked)
    refspecs = []
    for base in bases:
        tag = tags[base.name]
        if tag in refs:
            _refuse_move(lock, base.name, _commit_at(tag, refs))
    for base in missing:
        tag = tags[base.name]
        # a server may be unwilling to give out a commit that no ref names
        refspecs.append(_refspec(tag if tag in refs else base.commit, base.name))
    if main in refs:
        refspecs.append(f"+{main}:{MAIN_REF}")
    elif main not in (None, "HEAD"):
        raise UpstreamError(
            f"there is no {main} in {remote.url}",
            hint="It is `main` in series/patchq.yaml; without it, the server's HEAD counts.",
        )
    if refspecs:
        remote.fetch(refspecs)


def _commit_at(ref: str, refs: Mapping[str, ObjectId]) -> CommitId:
    """The commit of a ref that a server has; of an annotated tag it names both."""
    return CommitId(refs.get(f"{ref}^{{}}", refs[ref]))


def _full_branch(name: str) -> str:
    return name if name == "HEAD" or name.startswith("refs/") else f"refs/heads/{name}"
