"""Ask a remote repository, with the user's own git settings, for no more than is needed.

Credentials, proxies and ``insteadOf`` are the user's, so their configuration and their ``GIT_*``
variables are given back to git here, except those that would point it at another repository.
A server that allows it sends commits and trees, and no blob that it is not asked for by its id
(git-rev-list(1), ``--filter=blob:none``); from another, git takes all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from patchq.errors import UpstreamError
from patchq.git.leftovers import packing
from patchq.git.process import user_environment
from patchq.git.watched import run_watched
from patchq.model.ids import ObjectId

# `git rev-parse --local-env-vars`: these tie git to one repository. GIT_CONFIG_COUNT is not among
# ours: build services hand over credentials and insteadOf in it.
_LOCAL = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_CONFIG",
        "GIT_CONFIG_PARAMETERS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_GRAFT_FILE",
        "GIT_INDEX_FILE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_REPLACE_REF_BASE",
        "GIT_PREFIX",
        "GIT_SHALLOW_FILE",
        "GIT_COMMON_DIR",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NAMESPACE",
        "GIT_QUARANTINE_PATH",
    }
)

# What the user's configuration must not do to our store. Unpacking what comes would touch the times
# of a lender's packs that hold the same objects; a pack that is kept does not.
_PINNED = (
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "fetch.writeCommitGraph=false",
    "-c",
    "fetch.unpackLimit=1",
)

# The remote of a partial clone as git knows it, for its own fetches and for nothing else: where it
# stood in the store's configuration, git would fetch each missing blob by itself (partial-clone in
# git's technical documentation).
_NAME = "patchq-upstream"

# Version 2 of the protocol lets any object be asked for; what is here says nothing about blobs.
_BY_ID = ("-c", "protocol.version=2", "-c", "fetch.negotiationAlgorithm=noop")

_FETCH = (
    "fetch",
    "--no-tags",
    "--no-prune",
    "--no-auto-maintenance",
    "--no-write-fetch-head",
    "--no-recurse-submodules",
)


def is_url(location: str) -> bool:
    """Whether git would take ``location`` for a URL and not a path (git-fetch(1), GIT URLS)."""
    return ":" in location.split("/", 1)[0]


class FetchFailedError(UpstreamError):
    """git could not ask a server, or not store what it sent."""


class Remote:
    """A remote upstream, by URL; ``terminal`` lets git ask for passwords and show progress."""

    def __init__(self, url: str, store: Path, *, terminal: bool):
        self.url = url
        self._store = store
        self._terminal = terminal

    def refs(self, *patterns: str) -> dict[str, ObjectId]:
        """Full ref names and ids that match ``patterns``; annotated tags also as ``name^{}``."""
        output = self._run("ls-remote", "--", self.url, *patterns, capture=True)
        rows = (line.split("\t", 1) for line in output.decode(errors="replace").splitlines())
        return {name: ObjectId(oid) for oid, name in rows}

    def fetch(self, refspecs: Sequence[str]) -> None:
        """Bring refs and their history into the store, from a URL without blobs if it allows that.

        Where a shallow lender cut our history (:mod:`patchq.git.store`), the cut is forgotten
        first: git would tell the server about it, and be sent nothing from beyond it.
        """
        (self._store / "shallow").unlink(missing_ok=True)
        whole = () if is_url(self.url) else ("--no-filter",)
        self._fetch(*whole, "--", _NAME, *refspecs)

    def bring(self, ids: Iterable[ObjectId]) -> None:
        """Bring the objects of these ids into the store, all in one fetch."""
        wanted = "".join(f"{oid}\n" for oid in ids).encode()
        self._fetch("--stdin", "--", _NAME, options=_BY_ID, ids=wanted)

    def _fetch(self, *args: str, options: Sequence[str] = (), ids: bytes | None = None) -> None:
        options = (*_promisor(self.url), *options)
        with packing(self._store):
            self._run(*_FETCH, "--progress", *args, capture=False, options=options, stdin=ids)

    def _run(
        self,
        *args: str,
        capture: bool,
        options: Sequence[str] = (),
        stdin: bytes | None = None,
    ) -> bytes:
        user = user_environment()
        environment = {
            **os.environ,
            **{name: value for name, value in user.items() if name not in _LOCAL},
            "GIT_DIR": str(self._store),
        }
        environment.setdefault("GIT_TERMINAL_PROMPT", "1" if self._terminal else "0")
        result = run_watched(
            ["git", *_PINNED, *options, *args],
            environment,
            stdin=stdin,
            terminal=self._terminal,
            show=self._terminal and not capture,
        )
        if result.status:
            raise FetchFailedError(
                f"{_shown(self.url)}: {result.reason}",
                hint="Check the URL and the network, or lend a clone with --upstream PATH.",
            )
        return result.stdout


def _shown(url: str) -> str:
    """``url`` without what only the server is to know."""
    return re.sub(r"^([^/]+://)[^/@]*@", r"\1", url)


def _promisor(url: str) -> tuple[str, ...]:
    settings = (f"url={url}", "promisor=true", "partialCloneFilter=blob:none")
    return tuple(part for each in settings for part in ("-c", f"remote.{_NAME}.{each}"))
