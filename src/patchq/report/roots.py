"""What needs a decision: the patches that collide by themselves, and those that stand on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from patchq.model.verdict import PatchReport


@dataclass(frozen=True)
class Root:
    """A patch that is a question of its own, and those whose answer waits for it."""

    patch: PatchReport
    followers: tuple[PatchReport, ...] = ()


def roots(patches: Sequence[PatchReport]) -> tuple[Root, ...]:
    """``patches`` by what they stand on, in series order.

    One that is blocked by several of them is told with the first. What blocks a patch but is not
    among them makes it no follower.
    """
    named = {patch.name: patch for patch in patches}
    tops = {name: _top(name, named) for name in named}
    return tuple(
        Root(patch, tuple(p for p in patches if tops[p.name] == patch.name and p is not patch))
        for patch in patches
        if tops[patch.name] == patch.name
    )


def _top(name: str, named: Mapping[str, PatchReport]) -> str:
    """The patch at the bottom of what ``name`` stands on; itself if it stands on none.

    Of patches that stand on each other it is the first.
    """
    seen = [name]
    while below := [each for each in named[seen[-1]].blocked_by if each in named]:
        step = next((each for each in below if each not in seen), None)
        if step is None:
            return next(each for each in named if each in seen)
        seen.append(step)
    return seen[-1]
