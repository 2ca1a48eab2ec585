"""A workspace with its upstream at hand: what the engine's jobs start from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from patchq.errors import InputError
from patchq.git.store import Store
from patchq.model.lock import Lock
from patchq.model.settings import Settings
from patchq.model.workspace import Workspace


@dataclass(frozen=True)
class Project:
    """Workspace, lock, settings and an open store."""

    workspace: Workspace
    lock: Lock
    settings: Settings
    store: Store

    @property
    def cache(self) -> Path:
        """Where answers are kept that can be had again."""
        return self.workspace.cache_dir

    def series_before(self, onto: str) -> str:
        """The newest series strictly before ``onto`` in the lock's order.

        Raises :class:`InputError` if there is none.
        """
        have = self.workspace.series_names()
        earlier = [base.name for base in self.lock.previous(onto) if base.name in have]
        if not earlier:
            others = ", ".join(name for name in have if name != onto)
            raise InputError(
                f"there is no series before {onto} in the order of upstream.lock",
                hint=f"Name the one to take: there is one on {others}."
                if others
                else "Start one on an earlier base: `patchq import FILE… --tag TAG`.",
            )
        return earlier[-1]

    def base_after(self, name: str) -> str:
        """The base that follows ``name`` in the lock's order; raises :class:`InputError`."""
        following = self.lock.following(name)
        if not following:
            raise InputError(
                f"{name} is the last base of upstream.lock",
                hint="Name another with --onto, or add the new tag: `patchq lock TAG`.",
            )
        return following[0].name
