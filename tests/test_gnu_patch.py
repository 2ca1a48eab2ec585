"""Patches that git and GNU patch apply alike; the real ``patch`` runs beside git."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path

import pytest
from judging import carried, judged
from miniature import MakeMiniature, Miniature
from workspaces import placed

from patchq.engine.judge.judge import FOR_GNU_PATCH
from patchq.engine.series.hunks import splice
from patchq.engine.series.rewrite import gnu_places
from patchq.model.diff import scan
from patchq.model.diff_layout import split_lines
from patchq.model.verdict import Verdict

PATH = "dev.yaml"


def gnu_patch(directory: Path, content: bytes, patch: bytes, *options: str) -> bytes | None:
    """What ``patch`` makes of a file, None if it refuses."""
    (directory / PATH).write_bytes(content)
    done = subprocess.run(
        ["patch", "-p1", "-s", "-f", "-N", "-r", "-", "--no-backup-if-mismatch", *options],
        input=patch,
        cwd=directory,
        capture_output=True,
        check=False,
    )
    return (directory / PATH).read_bytes() if done.returncode == 0 else None


def random_text(dice: random.Random, length: int) -> list[str]:
    """Lines of which many are the same, so that hunks fit in several places."""
    return [f"{dice.choice('abcd')}\n" for _ in range(length)]


def random_edit(dice: random.Random, lines: Sequence[str], times: int) -> list[str]:
    edited = list(lines)
    for _ in range(times):
        at = dice.randint(0, len(edited))
        edited[at : at + dice.randint(0, 2)] = [
            f"{dice.choice('abcdxyz')}\n" for _ in range(dice.randint(0, 2))
        ]
    return edited


def random_cases(seed: int, count: int) -> Iterator[tuple[bytes, bytes]]:
    """A file, and a patch that was made for another state of it."""
    dice = random.Random(seed)
    while count:
        old = random_text(dice, dice.randint(1, 24))
        new = random_edit(dice, old, dice.randint(1, 3))
        diff = "".join(unified_diff(old, new, f"a/{PATH}", f"b/{PATH}", n=dice.randint(0, 3)))
        now = random_edit(dice, old, dice.randint(0, 2))
        more = random_text(dice, dice.choice((0, 0, 5, 12)))
        now = [*more, *now] if dice.random() < 0.5 else [*now, *more]
        if diff and now and new:
            count -= 1
            yield "".join(now).encode(), diff.encode()


@pytest.mark.parametrize("seed", range(4))
def test_hunks_stand_where_gnu_patch_puts_them(tmp_path: Path, seed: int) -> None:
    refused = 0
    for content, diff in random_cases(seed, 75):
        (change,) = scan(diff)
        lines = split_lines(content)
        places = gnu_places(change.hunks, lines)
        made = gnu_patch(tmp_path, content, diff, "-F0")
        refused += made is None
        if places is None:
            assert made is None, diff.decode()
        else:
            assert made == splice(lines, list(zip(change.hunks, places, strict=True)))
    assert 0 < refused < 75


def block(arch: int, enabled: str = "no") -> str:
    return (
        f"device:\n  family: sm\n  arch: {arch}\n  flags:\n    - fast\n"
        f"  enabled: {enabled}\n  note: x\n"
    )


@pytest.fixture
def devices(miniature: MakeMiniature) -> Miniature:
    """An upstream that appends what looks like the file's end."""
    made = miniature()
    made.commit("Two", {PATH: "# devices\n" + block(90) + block(121)})
    made.tag("v1")
    made.commit("Three (#2)", {PATH: "# devices\n" + block(90) + block(121) + block(130)})
    made.tag("v2")
    return made


def test_a_hunk_at_the_old_end_is_rewritten(devices: Miniature, tmp_path: Path) -> None:
    patch = devices.patch("v1", {PATH: "# devices\n" + block(90) + block(121, "yes")})
    judgement = judged(devices, patch)
    assert judgement.report.verdict is Verdict.ADAPTED
    assert FOR_GNU_PATCH in judgement.report.notes
    wanted = ("# devices\n" + block(90) + block(121, "yes") + block(130)).encode()
    written = carried(judgement)
    assert placed(devices, "v2", written) == {PATH: wanted}
    now = devices.read("v2", PATH)
    assert [gnu_patch(tmp_path, now, written, fuzz) for fuzz in ("-F0", "-F2")] == [wanted] * 2
    assert gnu_patch(tmp_path, now, patch, "-F0") is None
    assert gnu_patch(tmp_path, now, patch, "-F2") != wanted


@pytest.mark.parametrize("seed", range(12))
def test_what_is_carried_applies_alike(miniature: MakeMiniature, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    old = random_text(dice, 30)
    upstream = miniature()
    upstream.commit("Start", {PATH: "".join(old), "other": "x\n"})
    upstream.tag("v1")
    patch = upstream.patch("v1", {PATH: "".join(random_edit(dice, old, 2)), "other": "y\n"})
    more = random_text(dice, 9)
    upstream.commit("More", {PATH: "".join([*more, *old, *more])})
    upstream.tag("v2")
    judgement = judged(upstream, patch)
    if judgement.patch is None:
        return
    wanted = placed(upstream, "v2", judgement.patch.raw)[PATH]
    now = upstream.read("v2", PATH)
    (tmp_path / "other").write_text("x\n")
    for fuzz in ("-F0", "-F2"):
        assert gnu_patch(tmp_path, now, judgement.patch.raw, fuzz) == wanted
        (tmp_path / "other").write_text("x\n")
