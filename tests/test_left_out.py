"""The patches of a pile that an import does not take: each is named, in text and in JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature
from workspaces import make_workspace

from patchq.engine.importing import sources

NAMES = ("one", "two", "extra", "nested", "hidden")


@pytest.fixture
def pile(miniature: MakeMiniature, tmp_path: Path) -> tuple[Miniature, Path]:
    """An upstream, and a directory of patches of it."""
    upstream = miniature()
    upstream.commit("Start", {f"{name}.txt": "1\n" for name in NAMES})
    upstream.tag("v1")
    upstream.tag("v2")
    directory = tmp_path / "pile"
    (directory / "sub").mkdir(parents=True)
    for name in NAMES:
        raw = upstream.bare_diff("v1", {f"{name}.txt": "2\n"})
        (directory / f"{name}.patch").write_bytes(raw)
    (directory / "nested.patch").rename(directory / "sub/nested.patch")
    (directory / "extra.patch").rename(directory / "extra.diff.txt")
    (directory / "README").write_text("Words, and --- no diff\n")
    (directory / "gone.patch").symlink_to("nowhere")
    return upstream, directory


def told(patchq: CommandLine, root: Path, *what: str) -> tuple[dict[str, str], str]:
    """What JSON has as passed over, and what stderr says."""
    options = ("--tag", "v1", "--author", "A <a@x>", "--json", "--dry-run")
    done = patchq("import", *what, *options, cwd=root)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    return {one["file"]: one["text"] for one in document["passed_over"]}, done.stderr


def test_what_a_series_does_not_list(
    pile: tuple[Miniature, Path], patchq: CommandLine, tmp_path: Path
) -> None:
    upstream, directory = pile
    root = make_workspace(upstream, {}).root
    (directory / "series").write_text("one.patch\n#hidden.patch\ntwo.patch\n")
    (directory / "again.patch").symlink_to("one.patch")
    (directory / ".pc").mkdir()
    (directory / ".pc/kept.patch").write_bytes((directory / "one.patch").read_bytes())
    left = [
        f"{directory}/{name}"
        for name in ("extra.diff.txt", "gone.patch", "hidden.patch", "sub/nested.patch")
    ]
    passed, said = told(patchq, root, str(directory))
    assert passed == dict.fromkeys(left, "not in series")
    triaged = patchq("import", str(directory), "--author", "A <a@x>", "--json", cwd=root)
    rows = json.loads(triaged.stdout)["passed_over"]
    assert {one["file"]: one["text"] for one in rows} == passed
    assert f"not imported, not in series: {', '.join(left)}\n" in said
    assert f"{directory}/README: not a patch: skipped\n" in said
    assert told(patchq, root, f"{directory}/series")[0] == passed
    started = patchq(
        *("init", "ws", "--upstream", upstream.path, "--tag", "v1"),
        *("--from", directory, "--author", "A <a@x>"),
        cwd=tmp_path,
    )
    assert started.returncode == 0, started.stderr
    assert f"not imported, not in series: {', '.join(left)}\n" in started.stderr


def test_what_is_named_beside_its_directory_is_taken(
    pile: tuple[Miniature, Path], patchq: CommandLine
) -> None:
    upstream, directory = pile
    (directory / "series").write_text("one.patch\ntwo.patch\nhidden.patch\n")
    (directory / "gone.patch").unlink()
    root = make_workspace(upstream, {}).root
    more = (str(directory / "sub/nested.patch"), str(directory / "extra.diff.txt"))
    assert told(patchq, root, str(directory), *more)[0] == {}


def test_a_directory_without_a_series(pile: tuple[Miniature, Path], patchq: CommandLine) -> None:
    upstream, directory = pile
    root = make_workspace(upstream, {}).root
    passed, said = told(patchq, root, str(directory))
    assert passed == {
        f"{directory}/extra.diff.txt": "its name does not end like a patch's (.patch, .diff, …)",
        f"{directory}/gone.patch": "a link to nothing",
        f"{directory}/sub/nested.patch": "in a directory below",
    }
    assert all(file in said for file in passed)
    fits = patchq("import", directory, cwd=root)
    assert all(file in fits.stderr for file in passed)


def test_a_directory_above_the_series(pile: tuple[Miniature, Path], patchq: CommandLine) -> None:
    upstream, directory = pile
    patches = directory / "debian/patches"
    patches.mkdir(parents=True)
    for name in ("one.patch", "two.patch"):
        (directory / name).rename(patches / name)
    (patches / "series").write_text("one.patch\n")
    root = make_workspace(upstream, {}).root
    passed, said = told(patchq, root, str(directory))
    assert {Path(file).name for file in passed} == {
        *("two.patch", "hidden.patch", "extra.diff.txt", "gone.patch")
    }
    assert "README" not in said


def test_no_more_than_so_many_files_are_looked_at(
    pile: tuple[Miniature, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those nearest to the directory come first, and that there are more is said."""
    _, directory = pile
    monkeypatch.setattr(sources, "_MOST", 6)
    found = sources.left_out([sources.Pile(directory, "pile")], ())
    assert "pile/sub/nested.patch" not in {one.where.file for one in found.patches}
    assert "only 6 files of it were looked at" in str(found.notices[-1])
    monkeypatch.setattr(sources, "_MOST", 7)
    found = sources.left_out([sources.Pile(directory, "pile")], ())
    assert "pile/sub/nested.patch" in {one.where.file for one in found.patches}
    assert "looked at" not in str(found.notices[-1])
