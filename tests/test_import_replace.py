"""``patchq import --replace``: another version of a patch, as quilt or others give it back."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import ENVIRONMENT, Edits, MakeMiniature, Miniature, executable
from seriesbench import A, B, Bench, begin, changed
from workspaces import make_workspace, placed

from patchq.model.patch import Patch

SERIES = "# in order\nfirst.patch #-slim # why\nsecond.patch\nlast.patch #+extra\n"
FIRST: Edits = {"a.txt": changed(A, 5)}
MORE: Edits = {"a.txt": changed(A, 5, 20)}
SAID = "\n\nX-Kind: fix\nX-Upstream-PR: 7"


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    return begin(miniature())


@pytest.fixture
def bench(upstream: Miniature, patchq: CommandLine) -> Bench:
    """A patch, one that edits a line of it, and one of another file, by a guard."""
    first = upstream.detached("v1", f"First{SAID}", FIRST)
    second = upstream.detached(first, "Second", {"a.txt": changed(A, 5, to="again")})
    patches = {
        "first.patch": upstream.format(first),
        "second.patch": upstream.format(second),
        "last.patch": upstream.patch("v1", {"b.txt": changed(B, 5)}, "Last"),
    }
    return Bench(upstream, make_workspace(upstream, patches, series=SERIES), patchq)


Form = Callable[[bytes], bytes]

# -- what quilt writes -----------------------------------------------------------------------------


def quilt_default(diff: bytes) -> bytes:
    """As ``quilt refresh --no-timestamps`` writes it in a directory called ``tree``."""
    named = diff.replace(b"--- a/", b"--- tree.orig/").replace(b"+++ b/", b"+++ tree/")
    rule = b"=" * 67
    return re.sub(
        rb"(?m)^(?=--- .*\n\+\+\+ tree/(.*)\n)", rb"Index: tree/\1\n" + rule + b"\n", named
    )


def quilt_stamped(diff: bytes) -> bytes:
    """As ``quilt refresh`` writes it, with the times of the files."""
    stamp = rb"\1\t2026-08-03 10:00:00.000000000 +0200"
    return re.sub(rb"(?m)^((?:---|\+\+\+) tree.*)$", stamp, quilt_default(diff))


def quilt_bare(diff: bytes) -> bytes:
    """As ``quilt refresh -p ab --no-timestamps --no-index`` writes it."""
    return diff


def quilt_p0(diff: bytes) -> bytes:
    """As ``quilt refresh -p 0 --no-timestamps --no-index`` writes it."""
    return re.sub(rb"(?m)^--- a/(.*)$", rb"--- \1.orig", diff).replace(b"+++ b/", b"+++ ")


FORMS = (quilt_default, quilt_stamped, quilt_bare, quilt_p0)
in_every_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)


def diffed(upstream: Miniature, at: str, edits: Edits) -> bytes:
    """The change as ``diff -u`` shows it."""
    rows = upstream.bare_diff(at, edits).splitlines(keepends=True)
    git = (b"diff --git", b"index ", b"new file mode", b"old mode", b"new mode")
    return b"".join(row for row in rows if not row.startswith(git))


def refreshed(bench: Bench, form: Form, edits: Edits, name: str = "first.patch") -> bytes:
    """The patch as quilt refreshes it: its header kept, its diff written anew."""
    head = Patch(name, bench.files()[name]).head
    return head + form(diffed(bench.upstream, "v1", edits))


def give(bench: Bench, raw: bytes, name: str = "first.patch") -> str:
    """A patch in a directory of quilt's beside the workspace."""
    file = bench.workspace.root.parent / "tree/patches" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(raw)
    return str(file)


def differing(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def result(bench: Bench) -> dict[str, bytes]:
    """What git itself makes of all patches: content by path of what they change."""
    files = bench.files()
    return placed(bench.upstream, "v1", *(files[name] for name in bench.series()))


def replace(bench: Bench, *files: str, code: int = 0) -> str:
    return bench.run("import", "--replace", *files, "--tag", "v1", code=code)


# -- a copy ----------------------------------------------------------------------------------------


@in_every_form
def test_a_refreshed_copy_comes_back_under_its_header(bench: Bench, form: Form) -> None:
    before = bench.files()
    said = replace(bench, give(bench, refreshed(bench, form, MORE)))
    assert said == "v1: wrote first.patch\n"
    after = bench.files()
    assert differing(before, after) == {"first.patch"}
    first = Patch("first.patch", after["first.patch"])
    assert first.head == Patch("", before["first.patch"]).head
    assert first.diff.startswith(b"diff --git a/a.txt b/a.txt\nindex ")
    assert result(bench)["a.txt"].decode() == changed(changed(A, 20), 5, to="again")
    bench.run("undo")
    assert bench.files() == before


@in_every_form
def test_what_changes_nothing_changes_no_byte(bench: Bench, form: Form) -> None:
    before = bench.files()
    file = give(bench, refreshed(bench, form, FIRST))
    assert replace(bench, file) == "v1: nothing to change\n"
    assert bench.files() == before
    assert bench.run("undo", code=2).startswith("error: there is nothing to undo")


def test_all_of_an_exported_quilt_series_comes_back_as_it_was(
    upstream: Miniature, patchq: CommandLine
) -> None:
    moved: Edits = {"a.txt": None, "moved.txt": changed(A, 5), "run.sh": executable("true\n")}
    raw = upstream.patch("v1", moved, "Move it")
    assert b"rename to" in raw
    bench = Bench(upstream, make_workspace(upstream, {"move.patch": raw}), patchq)
    tree = bench.workspace.root.parent / "tree"
    bench.run("export", "v1", "--format", "quilt", "-o", str(tree), "--no-verify")
    given = tree / "patches/move.patch"
    assert given.read_bytes() != raw
    assert replace(bench, str(given)) == "v1: nothing to change\n"
    given.write_bytes(given.read_bytes().replace(b"+a changed 5\n", b"+a moved 5\n"))
    assert replace(bench, str(given)) == "v1: wrote move.patch\n"
    assert b"rename to moved.txt\n" in bench.files()["move.patch"]


def test_a_dry_run_writes_nothing(bench: Bench) -> None:
    before = bench.files()
    file = give(bench, refreshed(bench, quilt_bare, MORE))
    found = bench.json("import", "--replace", file, "--tag", "v1", "--dry-run")
    assert (found["schema"], found["written"]) == ("patchq.edited/1", ["first.patch"])
    assert bench.files() == before


def test_a_quilt_patch_of_the_series_becomes_git_s_where_it_changes(
    upstream: Miniature, patchq: CommandLine
) -> None:
    head = b"Description: First\nX-Kind: fix\n\n"
    old = {"first.patch": head + quilt_default(diffed(upstream, "v1", FIRST))}
    bench = Bench(upstream, make_workspace(upstream, old), patchq)
    same = give(bench, head + diffed(upstream, "v1", FIRST))
    assert replace(bench, same) == "v1: nothing to change\n"
    replace(bench, give(bench, head + quilt_default(diffed(upstream, "v1", MORE))))
    raw = bench.files()["first.patch"]
    assert raw.startswith(head + b"diff --git a/a.txt")
    assert b"Index:" not in raw


def test_files_that_keep_their_change_keep_their_bytes(
    upstream: Miniature, patchq: CommandLine
) -> None:
    both: Edits = {"a.txt": changed(A, 5), "b.txt": changed(B, 5)}
    raw = upstream.patch("v1", both, "Both").replace(b"@@ -2,7 +2,7 @@", b"@@ -3,7 +3,7 @@")
    bench = Bench(upstream, make_workspace(upstream, {"both.patch": raw}), patchq)
    edits = {**both, "b.txt": changed(B, 5, 6)}
    replace(bench, give(bench, refreshed(bench, quilt_bare, edits, "both.patch"), "both.patch"))
    old, new = (Patch("", raw), Patch("", bench.files()["both.patch"]))
    sections = [
        patch.diff[change.start : change.end] for patch in (old, new) for change in patch.files
    ]
    assert (sections[0] == sections[2], sections[1] == sections[3]) == (True, False)


def test_an_executable_file_stays_one_though_quilt_cannot_say_it(
    upstream: Miniature, patchq: CommandLine
) -> None:
    raw = upstream.patch("v1", {"run.sh": executable("true\n")}, "Run")
    bench = Bench(upstream, make_workspace(upstream, {"run.patch": raw}), patchq)
    edits: Edits = {"run.sh": "false\n"}
    replace(bench, give(bench, refreshed(bench, quilt_default, edits, "run.patch"), "run.patch"))
    assert b"new file mode 100755\n" in bench.files()["run.patch"]
    assert b"+false\n" in bench.files()["run.patch"]


def test_a_file_that_is_left_out_is_said(upstream: Miniature, patchq: CommandLine) -> None:
    raw = upstream.patch("v1", {"a.txt": changed(A, 5), "b.txt": changed(B, 5)}, "Both")
    bench = Bench(upstream, make_workspace(upstream, {"both.patch": raw}), patchq)
    file = give(bench, refreshed(bench, quilt_bare, FIRST, "both.patch"), "both.patch")
    assert f"{file}: no longer changes b.txt" in replace(bench, file)


# -- the patches above -----------------------------------------------------------------------------


def test_a_patch_above_is_merged_and_rewritten_where_it_must(bench: Bench) -> None:
    before = bench.files()
    near: Edits = {"a.txt": changed(A, 5, 7)}
    said = replace(bench, give(bench, refreshed(bench, quilt_default, near)))
    assert said == "v1: wrote first.patch, second.patch\n"
    after = bench.files()
    assert Patch("", after["second.patch"]).head == Patch("", before["second.patch"]).head
    assert result(bench)["a.txt"].decode() == changed(changed(A, 7), 5, to="again")


def test_a_conflict_above_writes_nothing_and_both_together_solve_it(bench: Bench) -> None:
    before = bench.files()
    other: Edits = {"a.txt": changed(A, 5, to="other")}
    first = give(bench, refreshed(bench, quilt_default, other))
    said = replace(bench, first, code=1)
    assert "second.patch does not merge with what is below it now: conflict in a.txt" in said
    assert "give both to `patchq import --replace`" in said
    assert bench.files() == before
    at = bench.upstream.detached("v1", "First", other)
    diff = diffed(bench.upstream, at, {"a.txt": changed(A, 5, to="again")})
    second = give(bench, Patch("", before["second.patch"]).head + diff, "second.patch")
    assert replace(bench, second, first) == "v1: wrote first.patch, second.patch\n"
    assert result(bench)["a.txt"].decode() == changed(A, 5, to="again")


def test_unchanged_ones_given_along_are_merged_as_others_are(bench: Bench) -> None:
    before = bench.files()
    near: Edits = {"a.txt": changed(A, 5, 7)}
    first = give(bench, refreshed(bench, quilt_bare, near))
    second = give(bench, before["second.patch"], "second.patch")
    assert replace(bench, first, second) == "v1: wrote first.patch, second.patch\n"


def test_one_that_does_not_apply_in_its_place_is_refused(bench: Bench) -> None:
    before = bench.files()
    raw = refreshed(bench, quilt_default, MORE).replace(b" a line 4\n", b" a line four\n")
    said = replace(bench, give(bench, raw), code=2)
    assert "first.patch does not apply to v1 with the patches below it: patch failed: a.txt" in said
    assert "hunk 1 of a.txt" in said
    assert "refresh it there" in said
    assert bench.files() == before


def test_a_patch_that_was_broken_can_be_replaced(upstream: Miniature, patchq: CommandLine) -> None:
    good = upstream.patch("v1", FIRST, "First")
    last = upstream.patch("v1", {"b.txt": changed(B, 5)}, "Last")
    patches = {"first.patch": good.replace(b" a line 4\n", b" a line four\n"), "last.patch": last}
    bench = Bench(upstream, make_workspace(upstream, patches), patchq)
    assert replace(bench, give(bench, good)) == "v1: wrote first.patch\n"
    assert result(bench)["a.txt"].decode() == changed(A, 5)


def test_a_requirement_that_is_not_met_is_refused(bench: Bench) -> None:
    raw = bench.files()["first.patch"].replace(b"X-Kind: fix", b"X-Requires: last.patch")
    assert "first.patch requires last.patch" in replace(bench, give(bench, raw), code=1)


# -- what it says ----------------------------------------------------------------------------------


def test_new_words_win_and_fields_that_they_lack_are_kept(bench: Bench) -> None:
    words = b"Another subject\n\nWith more of it.\n\nX-Kind: gate\n\n"
    file = give(bench, words + diffed(bench.upstream, "v1", FIRST))
    said = replace(bench, file)
    assert f"{file}: kept of first.patch: X-Upstream-PR\n" in said
    raw = bench.files()["first.patch"]
    header = Patch("first.patch", raw).header
    assert (header.subject, header.body) == ("Another subject", "With more of it.")
    assert [str(trailer) for trailer in header.trailers] == ["X-Kind: gate", "X-Upstream-PR: 7"]
    assert header.author == "Iris Downstream <iris@downstream.example>"
    assert raw.startswith(b"From 0000")


def test_fields_without_words_change_those_fields_alone(bench: Bench) -> None:
    before = bench.files()["first.patch"]
    fields = b"X-Upstream-PR: 7 | 8\nOrigin: vendor\n\n"
    replace(bench, give(bench, fields + diffed(bench.upstream, "v1", FIRST)))
    wanted = before.replace(b"X-Upstream-PR: 7\n", b"X-Upstream-PR: 7 | 8\nOrigin: vendor\n")
    assert bench.files()["first.patch"] == wanted


def test_a_diff_without_words_keeps_all_of_the_header(bench: Bench) -> None:
    before = Patch("", bench.files()["first.patch"])
    replace(bench, give(bench, bench.upstream.bare_diff("v1", MORE)))
    assert Patch("", bench.files()["first.patch"]).head == before.head


def test_a_diffstat_that_quilt_puts_in_front_says_nothing(bench: Bench) -> None:
    old = Patch("", bench.files()["first.patch"])
    stat = b"---\n a.txt |    4 ++--\n 1 file changed, 2 insertions(+), 2 deletions(-)\n\n"
    file = give(bench, old.head + stat + quilt_default(diffed(bench.upstream, "v1", MORE)))
    assert replace(bench, file) == "v1: wrote first.patch\n"
    assert Patch("", bench.files()["first.patch"]).head == old.head


def test_a_newer_mail_of_another_author_brings_its_own(bench: Bench) -> None:
    raw = bench.upstream.patch("v1", MORE, "First, again", author="Jo <jo@else.example>")
    replace(bench, give(bench, raw, "0001-first.patch"))
    header = Patch("", bench.files()["first.patch"]).header
    assert (header.subject, header.author) == ("First, again", "Jo <jo@else.example>")
    assert header.upstream_prs == (7,)


# -- in the series' own directory ------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS[:-1], ids=lambda form: form.__name__)
def test_a_patch_refreshed_in_place_becomes_a_git_mail_again(bench: Bench, form: Form) -> None:
    wanted = bench.upstream.patch("v1", MORE, "First", trailers={"X-Kind": "fix"})
    before = bench.files()
    path = bench.workspace.series_path("v1") / "first.patch"
    quilted = refreshed(bench, form, MORE)
    path.write_bytes(quilted)
    assert replace(bench, str(path)) == "v1: wrote first.patch\n"
    after = bench.files()
    assert differing(before, after) == {"first.patch"}
    first = Patch("", after["first.patch"])
    assert first.head == Patch("", before["first.patch"]).head
    assert first.diff == Patch("", wanted).diff
    assert replace(bench, str(path)) == "v1: nothing to change\n"
    bench.run("undo")
    assert path.read_bytes() == quilted


def test_a_p0_that_quilt_puts_into_the_series_stays(bench: Bench) -> None:
    directory = bench.workspace.series_path("v1")
    series = SERIES.replace("first.patch ", "first.patch -p0 ")
    (directory / "series").write_text(series)
    (directory / "first.patch").write_bytes(refreshed(bench, quilt_p0, MORE))
    for said in ("v1: wrote first.patch\n", "v1: nothing to change\n"):
        assert replace(bench, str(directory / "first.patch")) == said
    assert b"\ndiff --git a.txt a.txt\n" in bench.files()["first.patch"]
    assert (directory / "series").read_text() == series


def test_a_new_patch_of_quilt_s_in_place_gets_an_author(bench: Bench) -> None:
    directory = bench.workspace.series_path("v1")
    (directory / "series").write_text(f"new.patch\n{SERIES}")
    file = directory / "new.patch"
    file.write_bytes(b"Fix it\n\n" + quilt_default(diffed(bench.upstream, "v1", {"n": "n\n"})))
    replace(bench, str(file))
    header = Patch("", bench.files()["new.patch"]).header
    assert (header.subject, header.author) == ("Fix it", "Uma User <uma@user.example>")


def test_one_above_that_no_longer_applies_in_place_is_named(bench: Bench) -> None:
    path = bench.workspace.series_path("v1") / "first.patch"
    path.write_bytes(refreshed(bench, quilt_default, {"a.txt": changed(A, 5, to="other")}))
    before = bench.files()
    said = replace(bench, str(path), code=1)
    assert "series/v1/second.patch: second.patch does not apply to what is below it now" in said
    assert bench.files() == before


# -- usage -----------------------------------------------------------------------------------------


def test_which_patch_is_meant(bench: Bench) -> None:
    raw = bench.upstream.bare_diff("v1", MORE)
    said = replace(bench, give(bench, raw, "frist.patch"), code=2)
    assert "frist.patch: no patch 'frist.patch' in the series on v1" in said
    assert "Did you mean first.patch" in said
    file = give(bench, raw, "v2.diff")
    assert replace(bench, file, "--name", "first") == "v1: wrote first.patch\n"
    again = replace(bench, give(bench, raw), give(bench, raw, "0001-first.diff"), code=2)
    assert "first.patch is given twice" in again


def test_options_for_new_patches_are_refused(bench: Bench) -> None:
    for option in (("--guard", "x"), ("--with", "extra"), ("--propose-end",)):
        assert "--replace goes without" in replace(bench, "first.patch", *option, code=2)


def test_a_name_that_is_taken_says_the_way(bench: Bench) -> None:
    file = give(bench, bench.upstream.bare_diff("v1", MORE))
    assert "--replace puts it in the place" in bench.run("import", file, "--tag", "v1", code=2)


# -- quilt itself ----------------------------------------------------------------------------------


needs_quilt = pytest.mark.skipif(shutil.which("quilt") is None, reason="quilt is not installed")


class Quilt:
    """quilt in a checkout of v1, as its users have it."""

    def __init__(self, bench: Bench, patches: Path):
        self.tree = bench.workspace.root.parent / "checkout"
        self._patches = patches
        clone = ["git", "clone", "-q", "-b", "v1", str(bench.upstream.path), str(self.tree)]
        subprocess.run(clone, env=ENVIRONMENT, capture_output=True, check=True)

    def __call__(self, *args: str) -> None:
        plain = {"PATH": os.environ["PATH"], "HOME": os.devnull, "LC_ALL": "C"}
        done = subprocess.run(
            ["quilt", "--quiltrc", "-", *args],
            cwd=self.tree,
            env={**plain, "EDITOR": "true", "QUILT_PATCHES": str(self._patches)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def content(self, *names: str) -> dict[str, bytes]:
        """Files of the tree as they are."""
        return {name: (self.tree / name).read_bytes() for name in names}

    def edit(self, name: str, old: str, new: str) -> None:
        self("edit", name)
        path = self.tree / name
        path.write_text(path.read_text().replace(old, new))


OPTIONS = ((), ("-p", "ab", "--no-timestamps", "--no-index"), ("-p", "0"))


@needs_quilt
@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_quilt_on_a_copy(bench: Bench, options: tuple[str, ...]) -> None:
    before = bench.files()
    patches = bench.workspace.root.parent / "patches"
    patches.mkdir()
    for path in bench.run("list", "v1", "--paths", "--with", "extra").splitlines():
        shutil.copy(path, patches)
        with (patches / "series").open("a") as series:
            series.write(f"{Path(path).name}\n")
    quilt = Quilt(bench, patches)
    quilt("push", "first.patch")
    quilt.edit("a.txt", "a line 20\n", "a changed 20\n")
    quilt("refresh", *options)
    quilt("push", "-a")
    said = replace(bench, *(str(patches / name) for name in bench.series()))
    assert said == "v1: wrote first.patch\n"
    assert differing(before, bench.files()) == {"first.patch"}
    assert result(bench) == quilt.content("a.txt", "b.txt")


@needs_quilt
@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_quilt_in_the_series_itself(bench: Bench, options: tuple[str, ...]) -> None:
    before = bench.files()
    directory = bench.workspace.series_path("v1")
    quilt = Quilt(bench, directory)
    quilt("push", "first.patch")
    quilt.edit("a.txt", "a line 20\n", "a changed 20\n")
    quilt("refresh", *options)
    quilt("push", "-a")
    replace(bench, str(directory / "first.patch"))
    after = bench.files()
    assert differing(before, after) <= {"first.patch", "series"}
    assert Patch("", after["first.patch"]).head == Patch("", before["first.patch"]).head
    assert b"first.patch" in after["series"]
    assert b" #-slim # why" in after["series"]
    if "0" not in options:
        assert result(bench) == quilt.content("a.txt", "b.txt")


def test_a_patch_above_whose_guard_is_off_or_that_waits_for_another_is_left_as_it_is(
    bench: Bench, upstream: Miniature
) -> None:
    waits = upstream.patch(
        "v1", {"a.txt": changed(A, 30, to="else")}, "Waits\n\nX-Requires: x.patch"
    )
    broken = waits.replace(b" line 29", b" line 92").replace(b"X-Requires: x.patch", b"X-Kind: fix")
    assert broken.count(b"92") == 1
    directory = bench.workspace.series_path("v1")
    for name, raw in (("waits.patch", waits.replace(b"29", b"92")), ("off.patch", broken)):
        (directory / name).write_bytes(raw)
    (directory / "series").write_text(SERIES + "waits.patch\noff.patch #+extra\n")
    before = bench.files()
    said = replace(bench, give(bench, refreshed(bench, quilt_bare, MORE)))
    assert "waits.patch is left as it is: it requires x.patch, which is not in the series" in said
    assert "off.patch is left as it is: its guards (+extra) are off" in said
    assert differing(before, bench.files()) == {"first.patch"}
