"""Diffs applied in process: each as ``git apply`` would, or not at all."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

import pytest

from patchq.errors import InputError
from patchq.git.apply import _reason
from patchq.git.objects import Entry
from patchq.git.strict import Content, PlainDiff, Unplaced
from patchq.model.ids import ObjectId
from patchq.model.patch import Patch, read_patch

MANY = int(os.environ.get("PATCHQ_STRICT_CASES", "2000"))
PER_CALL = 250

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Case:
    """Files as they are, and a patch that was perhaps made for other ones."""

    files: Files
    patch: Patch


def _text(dice: random.Random, most: int = 40) -> list[str]:
    """Lines of which many are the same, with some that are not."""
    letters = dice.choice(("ab", "abcdef", "abcdefghijklmnopqrstuvwxyz"))
    return [
        "\n" if dice.random() < 0.1 else f"{dice.choice(letters)}{dice.choice(('', '', '  x'))}\n"
        for _ in range(dice.randint(0, most))
    ]


def _edited(dice: random.Random, lines: Sequence[str], times: int) -> list[str]:
    edited = list(lines)
    for _ in range(times):
        at = dice.randint(0, len(edited))
        edited[at : at + dice.randint(0, 3)] = _text(dice, 3)
    return edited


def _section(dice: random.Random, path: str, old: Sequence[str], new: Sequence[str]) -> str:
    """One file's part of a diff, as git or diff would write it, or nearly so."""
    before = "/dev/null" if not old and dice.random() < 0.5 else f"a/{path}"
    after = "/dev/null" if not new and dice.random() < 0.5 else f"b/{path}"
    width = dice.choice((0, 1, 2, 3, 3, 3, 3))
    body = "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in unified_diff(list(old), list(new), before, after, n=width)
    )
    for stamp in dice.choices((("\n",), ("\t2026-01-01 00:00:00 +0000\n",)), (9, 1))[0]:
        body = body.replace(f"--- {before} \n", f"--- {before}{stamp}", 1)
    body = body.replace(f"--- {before} \n", f"--- {before}\n").replace("\n \n", "\n\n")
    if not body or dice.random() < 0.2:
        return body
    kind = ""
    if dice.random() < 0.9:
        kind += "new file mode 100644\n" if before == "/dev/null" else ""
        kind += "deleted file mode 100644\n" if after == "/dev/null" else ""
    mode = dice.choice(("", " 100644", " 100644", " 100755")) if not kind else ""
    return f"diff --git a/{path} b/{path}\n{kind}index 1234567..89abcde{mode}\n{body}"


def _case(seed: int, number: int) -> Case | None:
    dice = random.Random(f"{seed}/{number}")
    files, parts = {}, []
    for name in dice.sample("fgh", dice.randint(1, 3)):
        path = f"{number}/{name}"
        old = _text(dice)
        new = _edited(dice, old, dice.randint(1, 4))
        if dice.random() < 0.1:
            new = []
        if dice.random() < 0.1:
            old = []
        if dice.random() < 0.1:
            old, new = ([line.replace("\n", "\r\n") for line in side] for side in (old, new))
        if dice.random() < 0.05 and new:
            new[-1] = new[-1].rstrip("\r\n") or "z"
        parts.append(_section(dice, path, old, new))
        now = "".join(_edited(dice, old, dice.choice((0, 0, 1, 2))))
        if old or dice.random() < 0.2:
            files[path] = now.encode()
    prose = dice.choice(("", "Subject: x\n\nwords\n---\n f | 2 +-\n\n"))
    tail = dice.choice(("", "", "-- \n2.39.5\n\n", "words\n"))
    try:
        patch = read_patch("x.patch", (prose + "".join(parts) + tail).encode())
    except InputError:
        return None
    return Case(files, patch)


def _in_process(case: Case) -> Mapping[str, Content | None] | Unplaced | None:
    before = {path: _entry(case.files.get(path)) for path in case.patch.paths}
    blobs = {entry: case.files[path] for path, entry in before.items() if entry}
    return PlainDiff(case.patch.raw, case.patch.split, case.patch.files).apply(
        before, blobs.__getitem__
    )


def _entry(content: bytes | None) -> Entry | None:
    return None if content is None else Entry("100644", ObjectId(str(hash(content))))


def _by_git(directory: Path, cases: Sequence[Case]) -> dict[str, bytes]:
    """The files that ``git apply`` makes of all ``cases``, which are in folders of their own."""
    subprocess.run(["git", "init", "-q", "."], cwd=directory, check=True)
    for case in cases:
        for path, content in case.files.items():
            (directory / path).parent.mkdir(exist_ok=True)
            (directory / path).write_bytes(content)
    subprocess.run(
        ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"],
        input=b"".join(case.patch.raw for case in cases),
        cwd=directory,
        check=True,
    )
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*/*")
        if path.is_file() and ".git" not in path.parts
    }


def compare(directory: Path, seed: int, count: int) -> int:
    """Make ``count`` cases and compare; how many of them were settled in process."""
    settled, refused, wanted = [], list[tuple[Case, Unplaced]](), dict[str, bytes]()
    for number in range(count):
        case = _case(seed, number)
        found = None if case is None else _in_process(case)
        if case is None or found is None:
            continue
        if isinstance(found, Unplaced):
            refused.append((case, found))
            continue
        settled.append(case)
        wanted.update(case.files)
        for path, file in found.items():
            if file is None:
                del wanted[path]
            else:
                wanted[path] = file.content
    assert _by_git(directory, settled) == wanted
    _check_refused(directory, refused)
    return len(settled)


def _check_refused(directory: Path, refused: Sequence[tuple[Case, Unplaced]]) -> None:
    """git refuses them all, each with the same words."""
    for case, _ in refused:
        for path, content in case.files.items():
            (directory / path).parent.mkdir(exist_ok=True)
            (directory / path).write_bytes(content)
    said = subprocess.run(
        ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "--check", "-"],
        input=b"".join(case.patch.raw for case, _ in refused),
        cwd=directory,
        capture_output=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    assert bool(said.returncode) is bool(refused)
    words = dict.fromkeys(word for _, found in refused for word in found.reason.split("; "))
    assert not refused or _reason(said.stderr) == "; ".join(words)


@pytest.mark.parametrize("seed", range(MANY // PER_CALL))
def test_as_git_apply(tmp_path: Path, seed: int) -> None:
    assert compare(tmp_path, seed, PER_CALL) > PER_CALL // 10


def _settles(content: bytes, diff: bytes) -> bytes | None:
    case = Case({"f": content}, read_patch("x.patch", b"--- a/f\n+++ b/f\n" + diff))
    found = _in_process(case)
    assert not isinstance(found, Unplaced)
    return found["f"].content if found and found["f"] else None


def test_no_hunk_matches_what_an_earlier_one_left() -> None:
    diff = b"@@ -1,2 +1,3 @@\n a\n+b\n c\n@@ -4,2 +5,1 @@\n b\n-c\n"
    assert _settles(b"a\nc\nx\n", diff) is None


def test_two_places_are_left_to_git() -> None:
    diff = b"@@ -1,3 +1,3 @@\n a\n-b\n+x\n a\n".replace(b"-1,3 +1,3", b"-2,3 +2,3")
    assert _settles(b"a\nb\na\nb\na\n", diff) is None
    assert _settles(b"z\na\nb\na\n", diff) == b"z\na\nx\na\n"
