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
    tops = dict[str, str]()
    followers: dict[str, list[PatchReport]] = {name: [] for name in named}
    for patch in patches:
        top = _top(patch.name, named, tops)
        if top != patch.name:
            followers[top].append(patch)
    return tuple(
        Root(patch, tuple(followers[patch.name]))
        for patch in patches
        if tops[patch.name] == patch.name
    )


def _top(name: str, named: Mapping[str, PatchReport], tops: dict[str, str]) -> str:
    """The patch at the bottom of what ``name`` stands on; itself if it stands on none.

    Of patches that stand on each other it is the first. ``tops`` holds those found so far, and then
    this one and all on its way.
    """
    way = dict.fromkeys([name])
    last = name
    while last not in tops and (below := [p for p in named[last].blocked_by if p in named]):
        step = next((each for each in below if each not in way), None)
        if step is None:
            last = next(each for each in named if each in way)
            break
        way[step], last = None, step
    top = tops.get(last, last)
    tops.update(dict.fromkeys(way, top))
    return top
