"""What people have as patch files: several commits in one, other directories, other forms."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from test_import import EDIT, LINES, TEN, Bench, bench, edited, plain_diff

from patchq.engine.importing.given import file_kind, read
from patchq.engine.importing.given.stream_order import StreamOrder, stream_order
from patchq.errors import InputError

__all__ = ["bench"]

TWENTY = {"src/app.py": TEN.replace("line 20\n", "line twenty\n")}
SECOND = "Say twenty (#77)\n\nWhy it is needed.\n\nX-Retire-When: path-missing src/app.py"
CHANGE = b"@@ -8,5 +8,5 @@\n line 8\n line 9\n-line 10\n+line ten, as a word\n line 11\n line 12\n"


def two_commits(bench: Bench) -> tuple[str, str]:
    one = bench.upstream.detached("v1", "Say ten", EDIT, author="Bob <bob@x>")
    return one, bench.upstream.detached(one, SECOND, TWENTY, author="Eve <eve@x>")


def log(bench: Bench, *args: str) -> bytes:
    return bench.upstream.git("log", "-p", "--reverse", *args, f"v1..{two_commits(bench)[1]}")


def mails(bench: Bench) -> list[bytes]:
    return [bench.upstream.format(commit) for commit in two_commits(bench)]


def bundle(bench: Bench, form: str) -> bytes:
    one, two = mails(bench)
    match form:
        case "log" | "fuller" | "raw":
            return log(bench, *([] if form == "log" else [f"--format={form}"]))
        case "oneline":
            return log(bench, "--oneline")
        case "prose-first":
            return b"This file is part of the build.\n\n" + one + two
        case "diff-then-mail":
            return plain_diff(bench) + b"\n" + two
        case "no-from-line":
            return b"".join(mail.partition(b"\n")[2] for mail in (one, two))
        case "mangled":
            return one + two.replace(b"From ", b"FFrom ", 1)
        case "hg":
            user = b"# HG changeset patch\n# User %s\n# Date 1700000000 -7200\n%s\n\n"
            bodies = [mail[mail.index(b"diff --git") :] for mail in (one, two)]
            words = ((b"Bob <bob@x>", b"Say ten"), (b"Eve <eve@x>", SECOND.encode()))
            return b"".join(user % word + body for word, body in zip(words, bodies, strict=True))
    raise AssertionError(form)


@pytest.mark.parametrize(
    "form",
    [
        *("log", "fuller", "raw", "oneline", "prose-first", "diff-then-mail", "no-from-line"),
        *("mangled", "hg"),
    ],
)
def test_several_commits_are_several_patches(bench: Bench, form: str) -> None:
    done = bench.run(bench.write("two.patch", bundle(bench, form)))
    assert done.returncode == 0, done.stderr
    names = bench.series().split()
    assert len(names) == 2
    first, second = (bench.patch(name).decode() for name in names)
    assert bench.am(*names)[0] == edited(bench, TWENTY)
    assert "Subject: [PATCH] Say twenty (#77)\n" in second
    assert "twenty" not in first
    if form != "oneline":  # which tells no more
        assert "From: Eve <eve@x>\n" in second
        assert "\nWhy it is needed.\n\nX-Retire-When: path-missing src/app.py\n" in second
    if form == "hg":
        assert "Date: Wed, 15 Nov 2023 00:13:20 +0200\n" in second
    if form == "prose-first":
        assert "This file is part of the build." in first


def test_a_commit_without_a_diff_is_said(bench: Bench) -> None:
    one, _ = two_commits(bench)
    empty = bench.upstream.detached(one, "Nothing at all", {})
    two = bench.upstream.detached(empty, SECOND, TWENTY)
    done = bench.run(
        bench.write("l.patch", bench.upstream.git("log", "-p", "--reverse", f"v1..{two}"))
    )
    assert done.returncode == 0, done.stderr
    assert "no diff in it: skipped (Nothing at all)" in done.stderr
    assert len(bench.series().split()) == 2


def test_text_beside_a_diff_is_kept_and_said(bench: Bench) -> None:
    tail = b"Property changes on: src/app.py\n___\nAdded: svn:eol-style\n"
    done = bench.run(bench.write("x.patch", b"Say ten\n\n" + plain_diff(bench) + tail))
    assert "text beside its diff is now part of its message: 'Property changes" in done.stderr
    tree, message = bench.am("x.patch")
    assert tree == edited(bench)
    assert "Added: svn:eol-style" in message


@pytest.mark.parametrize(
    "line",
    [
        "Only in b: new.c",
        "Binary files a/b.bin and b/b.bin differ",
        "Files a/b.bin and b/b.bin differ",
        "Submodule third_party/sub 1111111...2222222:",
        "Submodule third_party/sub 0000000...2222222 (new submodule)",
        "Binary file b.bin has changed",
        "=== renamed file 'a' => 'b'",
    ],
)
def test_a_change_that_is_only_named_is_refused(bench: Bench, line: str) -> None:
    diff = plain_diff(bench)
    last = diff.count(b"\n") + 1
    for raw, number in ((diff + f"{line}\n".encode(), last), (f"{line}\n".encode() + diff, 1)):
        done = bench.run(bench.write("x.patch", raw))
        assert done.returncode == 2
        assert f"x.patch:{number}: a change without its content: {line!r}" in done.stderr
        assert "hint: The diff only names it" in done.stderr
    assert not (bench.root / "series").exists()


def test_prose_may_speak_of_such_lines(bench: Bench) -> None:
    prose = b"Fix it\n\nOnly in rare cases: it fails\n\n"
    assert bench.run(bench.write("x.patch", prose + plain_diff(bench))).returncode == 0


@pytest.mark.parametrize(
    ("old", "new", "options"),
    [
        ("app.py.orig", "app.py", "--strip 0 --directory src"),
        ("a/usr/lib/dist-packages/src/app.py", "b/usr/lib/dist-packages/src/app.py", "--strip 4"),
        ("orig/app-1.0/src/app.py", "new/app-1.0/src/app.py", "--strip 2"),
    ],
)
def test_paths_of_other_directories_are_found(
    bench: Bench, old: str, new: str, options: str
) -> None:
    raw = f"--- {old}\n+++ {new}\n".encode() + CHANGE
    file = bench.write("x.patch", raw)
    done = bench.run(file)
    assert done.returncode == 0, done.stderr
    assert f"its paths are those of the tree with {options}\n" in done.stderr
    assert bench.am("x.patch")[0] == edited(bench)
    (bench.root / "series/v1/series").unlink()
    (bench.root / "series/v1/x.patch").unlink()
    asked = bench.run(file, *options.split())
    assert asked.returncode == 0, asked.stderr
    assert bench.am("x.patch")[0] == edited(bench)


def test_of_two_places_none_is_taken(bench: Bench) -> None:
    both = {"one/app.py": LINES, "two/app.py": LINES, "src/app.py": None}
    bench.upstream.git("update-ref", "refs/heads/main", bench.upstream.detached("v1", "b", both))
    bench.upstream.tag("v2")
    assert bench.patchq("lock", "v2", cwd=bench.root).returncode == 0
    file = bench.write("x.patch", b"--- app.py.orig\n+++ app.py\n" + CHANGE)
    done = bench.patchq("import", file, "--tag", "v2", cwd=bench.root)
    assert done.returncode == 2
    assert "its context matches in 2 directories" in done.stderr
    assert "`--strip 0 --directory one` or `--strip 0 --directory two`" in done.stderr
    said = bench.patchq("import", file, "--tag", "v2", "--directory", "two", cwd=bench.root)
    assert said.returncode == 0, said.stderr
    assert b"+++ b/two/app.py\n" in (bench.root / "series/v2/x.patch").read_bytes()


@pytest.mark.parametrize(
    "above",
    [
        b"Index: src/app.py\n" + b"=" * 67 + b"\ndiff --git a/src/app.py b/src/app.py\n",
        b"Subject: [PATCH] Say ten\n---\nIndex: src/app.py\nIDEA additional info:\n"
        b"Subsystem: com.intellij.openapi.diff.impl.patch.CharsetEP\n<+>UTF-8\n"
        + b"=" * 67
        + b"\ndiff --git a/src/app.py b/src/app.py\n",
    ],
)
def test_an_index_line_above_a_git_diff(bench: Bench, above: bytes) -> None:
    pair = b"--- a/src/app.py\t(revision 12)\n+++ b/src/app.py\t(working copy)\n"
    done = bench.run(bench.write("say-ten.patch", above + pair + CHANGE))
    assert done.returncode == 0, done.stderr
    tree, message = bench.am("say-ten.patch")
    assert tree == edited(bench)
    assert message.splitlines()[1].lower() == "say ten"
    assert "IDEA" not in message


@pytest.mark.parametrize(
    "header",
    [
        b"Author: Jane Doe <j@x>, Joe Roe <r@x>\n",
        b"From: Jane Doe <j@x>, Joe Roe <r@x>\n",
        b"Author: Jane Doe <j@x>,\n Joe Roe <r@x>\n",
    ],
)
def test_all_authors_are_kept(bench: Bench, header: bytes) -> None:
    raw = b"Description: Say ten\n" + header + b"Forwarded: no\n\n" + plain_diff(bench)
    assert bench.run(bench.write("x.patch", raw)).returncode == 0
    head = bench.patch("x.patch").partition(b"diff --git")[0]
    assert b"\nFrom: Jane Doe <j@x>\n" in head
    assert b"\nForwarded: no\nAuthor: Jane Doe <j@x>, Joe Roe <r@x>\n" in head


def test_openembedded_fields_are_fields(bench: Bench) -> None:
    words = b"Say ten\n\nWhy.\n\nUpstream-Status: Pending\n\nSigned-off-by: A <a@x>\n---\n"
    assert bench.run(bench.write("x.patch", words + plain_diff(bench))).returncode == 0
    assert b"\nWhy.\n\nUpstream-Status: Pending\nSigned-off-by: A <a@x>\n" in bench.patch("x.patch")


def test_wrong_counts_are_mended_on_demand(bench: Bench) -> None:
    raw = plain_diff(bench).replace(b"@@ -7,7 +7,7 @@", b"@@ -7,9 +7,8 @@")
    file = bench.write("x.patch", raw)
    refused = bench.run(file)
    assert refused.returncode == 2
    assert "x.patch:3: corrupt hunk" in refused.stderr
    assert "`patchq import --recount`" in refused.stderr
    done = bench.run(file, "--recount")
    assert done.returncode == 0, done.stderr
    assert "x.patch:3: @@ said 9 old and 8 new lines, there are 7 and 7: recounted" in done.stderr
    assert bench.am("x.patch")[0] == edited(bench)


@pytest.mark.parametrize(
    ("pack", "end"), [(gzip.compress, "gz"), (lzma.compress, "xz"), (bz2.compress, "bz2")]
)
def test_compressed_patches_are_read(bench: Bench, pack: object, end: str) -> None:
    assert callable(pack)
    done = bench.run(bench.write(f"x.patch.{end}", pack(plain_diff(bench))))
    assert done.returncode == 0, done.stderr
    assert "read what is in it" in done.stderr
    assert bench.series() == "x.patch\n"


def test_mails_of_one_subject_are_named_apart(bench: Bench) -> None:
    """As git format-patch names them: 0001-Same.patch, 0002-Same.patch."""
    one = bench.upstream.detached("v1", "Same", EDIT)
    two = bench.upstream.detached(one, "Same", TWENTY)
    (bench.root / "mails").mkdir()
    files = [
        bench.write(f"mails/000{number}-Same.patch", bench.upstream.format(commit))
        for number, commit in enumerate((one, two), 1)
    ]
    done = bench.run("mails")
    assert done.returncode == 0, done.stderr
    assert bench.series() == "Same.patch\nSame-2.patch\n"
    shutil.rmtree(bench.root / "series/v1")
    assert bench.run(*files).returncode == 0
    assert bench.series() == "Same.patch\nSame-2.patch\n"


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_a_bomb_is_not_unpacked(
    pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_kind, "UNPACKED_LIMIT", 1 << 20)
    with pytest.raises(InputError, match="more than 1 MiB"):
        read.read_given("x.patch", pack(bytes(2 << 20)))


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("--- a/x\n".encode("utf-16"), "UTF-16 text"),
        (b"*** a/x\n--- b/x\n***************\n*** 1,2 ****\n! a\n", "a context diff"),
        (b"5c5\n< a\n---\n> b\n", "what plain diff(1) writes"),
        (b"\n<!DOCTYPE html>\n<html>", "a web page"),
        (b"PK\x03\x04...", "a zip archive"),
        (b"x.patch".ljust(257, b"\0") + b"ustar\0--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "a tar archive"),
        (b"# v2 git bundle\n" + b"0" * 40 + b" HEAD\n\nPACK", "a git bundle"),
        (b"\x1b[1mdiff --git a/x b/x\x1b[m\n", "in the colours of a terminal"),
        (b"> diff --git a/x b/x\n> --- a/x\n", "a diff that a mail quotes"),
        (b"\x1f\x8bbroken", "damaged gzip data"),
    ],
)
def test_what_is_no_unified_diff_is_named(bench: Bench, raw: bytes, words: str) -> None:
    done = bench.run(bench.write("x.patch", raw))
    assert done.returncode == 2
    assert words in done.stderr
    assert "hint: " in done.stderr or "damaged" in words


def test_a_patch_without_an_author_asks_who_made_it(bench: Bench) -> None:
    (bench.root.parent / "home/.gitconfig").write_text("")
    file = bench.write("x.patch", plain_diff(bench))
    done = bench.run(file)
    assert done.returncode == 2
    assert "it names no author, and git does not know who you are" in done.stderr
    assert bench.run(file, "--author", "Jo <jo@x>").returncode == 0
    assert b"From: Jo <jo@x>\n" in bench.patch("x.patch")


def test_what_is_said_of_many_patches_is_said_once(bench: Bench, tmp_path: Path) -> None:
    pile = tmp_path / "pile"
    pile.mkdir()
    for number in (1, 2, 3, 4, 5, 6, 7):
        changed = bench.upstream.bare_diff("v1", {f"New-{number}.txt": "new\n", "src/app.py": TEN})
        (pile / f"Fix_Number-{number}.patch").write_bytes(changed.replace(b"+new", b"+%d" % number))
    (bench.root.parent / "home/.gitconfig").write_text("")
    refused = bench.run(pile)
    assert refused.returncode == 2
    assert refused.stderr.count("it names no author") == 2
    assert "6 times, in " in refused.stderr
    done = bench.run(pile, "--author", "Jo <jo@x>", "--keep-going")
    assert done.stderr.count("no rule retires it") == 1, done.stderr
    assert "7 times, in " in done.stderr
    assert "Fix_Number-1.patch" in bench.series()  # names keep their case


def test_a_file_with_crlf_goes_through_git_am(bench: Bench, tmp_path: Path) -> None:
    """With the call that docs/reference/import.md shows."""
    bench.upstream.commit("CRLF", {"c.txt": LINES.replace("\n", "\r\n")})
    bench.upstream.tag("v2")
    assert bench.patchq("lock", "v2", cwd=bench.root).returncode == 0
    new = {"c.txt": TEN.replace("\n", "\r\n")}
    file = bench.write("x.patch", bench.upstream.bare_diff("v2", new))
    assert bench.patchq("import", file, "--tag", "v2", cwd=bench.root).returncode == 0
    clone = tmp_path / "am"
    subprocess.run(["git", "clone", "-q", bench.upstream.path, clone], check=True)
    who = ["-c", "user.name=A", "-c", "user.email=a@x"]
    patch = bench.root / "series/v2/x.patch"
    am = ["am", "-q", "--keep-non-patch", "--keep-cr", str(patch)]
    subprocess.run(["git", "-C", clone, *who, *am], check=True)
    assert (clone / "c.txt").read_bytes() == new["c.txt"].encode()


def test_a_file_that_an_earlier_section_makes_is_told(bench: Bench) -> None:
    raw = (
        b"diff --git a/n.txt b/n.txt\nnew file mode 100644\n--- /dev/null\n+++ b/n.txt\n"
        b"@@ -0,0 +1 @@\n+new\n"
        b"diff --git a/n.txt b/m.txt\nsimilarity index 100%\nrename from n.txt\nrename to m.txt\n"
    )
    done = bench.run(bench.write("x.patch", raw))
    assert done.returncode == 2
    assert "hint: n.txt comes with an earlier section of the same file" in done.stderr
    assert "Cut it in two before line 7" in done.stderr


def test_a_removal_is_not_lost_where_the_file_is_there_already(bench: Bench) -> None:
    """git apply leaves a file that one section creates and the next renames, if it was there."""
    new = b"diff --git a/n.txt b/n.txt\nnew file mode 100644\n--- /dev/null\n+++ b/n.txt\n"
    assert bench.run(bench.write("n.patch", new + b"@@ -0,0 +1 @@\n+old\n")).returncode == 0
    move = b"diff --git a/n.txt b/m.txt\nsimilarity index 100%\nrename from n.txt\n"
    raw = new + b"@@ -0,0 +1 @@\n+new\n" + move + b"rename to m.txt\n"
    done = bench.run(bench.write("x.patch", raw))
    assert done.returncode == 2
    assert "it removes n.txt in the end" in done.stderr
    assert "hint: n.txt comes with an earlier section of the same file" in done.stderr


def test_a_pile_with_one_wrong_count_comes_in_by_one_command(bench: Bench) -> None:
    """As large as a real one for RDNA4: 68 patches behind each other, one with a wrong count."""
    pile = bench.root / "pile"
    pile.mkdir()
    lines, commit = LINES.split("\n"), "v1"
    for number in range(1, 69):
        lines[number % 30] += f" and {number}"
        text = "\n".join(lines)
        edits = {"src/app.py": text} if number % 3 else {f"src/n{number}.py": f"n = {number}\n"}
        commit = bench.upstream.detached(commit, f"Step {number}", edits)
        raw = bench.upstream.format(commit)
        if number == 36:
            raw = raw.replace(b"@@ -0,0 +1 @@", b"@@ -0,0 +1,2 @@")
        (pile / f"step-{number:02}.patch").write_bytes(raw)
    refused = bench.run("pile")
    assert refused.returncode == 2
    assert "pile/step-36.patch:" in refused.stderr
    assert not (bench.root / "series/v1").exists()
    done = bench.run("pile", "--recount")
    assert done.returncode == 0, done.stderr
    assert "pile/step-36.patch:" in done.stderr
    assert ": recounted" in done.stderr
    names = [f"step-{number:02}.patch" for number in range(1, 69)]
    assert bench.series().split() == names
    tree = bench.upstream.git("rev-parse", f"{commit}^{{tree}}").decode().strip()
    assert bench.am(*names)[0] == tree


NEWEST_FIRST = "`git log` prints the newest first"


@pytest.mark.parametrize(
    "form", [(), ("--parents",), ("--format=raw",), ("--oneline",), ("--format=email",)]
)
def test_what_stands_newest_first_is_read_from_its_end(bench: Bench, form: tuple[str, ...]) -> None:
    """As the blobs prove: the one patch edits what the other one made."""
    newest = bench.upstream.git("log", "-p", *form, f"v1..{two_commits(bench)[1]}")
    done = bench.run("-", stdin=newest.decode())
    assert done.returncode == 0, done.stderr
    assert bench.series().splitlines()[-2:] == ["Say-ten.patch", "Say-twenty-77.patch"]
    assert "newest" in done.stderr
    assert "taken from its end, oldest first" in done.stderr


def test_commits_that_share_no_file_go_by_their_dates(bench: Bench) -> None:
    one = bench.upstream.detached("v1", "One", {"one.txt": "1\n"})
    two = bench.upstream.detached(one, "Two", {"two.txt": "2\n"})
    newest = bench.upstream.git("log", "-p", f"v1..{two}").decode()
    done = bench.run("-", "--dry-run", stdin=newest)
    assert f"{NEWEST_FIRST}, as its dates show: taken from its end, oldest first" in done.stderr
    oldest = bench.upstream.git("log", "-p", "--reverse", f"v1..{two}").decode()
    assert "first" not in bench.run("-", "--dry-run", stdin=oldest).stderr
    same = re.sub("Date: .*", "Date:   Tue Jan 7 08:00:00 2025 +0000", newest)
    done = bench.run("-", stdin=same)
    assert "nothing in it proves its order: taken in the order of the stream" in done.stderr
    assert "(`git log --reverse -p` prints the oldest first)" in done.stderr
    assert bench.series().splitlines()[-2:] == ["Two.patch", "One.patch"]


def test_a_pure_rename_comes_after_what_edits_the_file(bench: Bench) -> None:
    """It names no blobs, and all dates are the same."""
    edited, old = TWENTY["src/app.py"], "src/app.py"
    one = bench.upstream.detached("v1", "Edit", TWENTY)
    two = bench.upstream.detached(one, "Move", {old: None, "src/moved.py": edited})
    newest = bench.upstream.git("log", "-p", "-M", f"v1..{two}").decode()
    same = re.sub("Date: .*", "Date:   Tue Jan 7 08:00:00 2025 +0000", newest)
    done = bench.run("-", stdin=same)
    assert done.returncode == 0, done.stderr
    assert f"{NEWEST_FIRST}: taken from its end, oldest first" in done.stderr
    assert bench.series().splitlines()[-2:] == ["Edit.patch", "Move.patch"]


def test_a_path_that_is_left_and_made_anew_proves_no_order() -> None:
    gone = b"diff --git a/x b/x\ndeleted file mode 100644\n"
    made = b"diff --git a/x b/x\nnew file mode 100644\n"
    assert stream_order([(b"", gone), (b"", made)]) == StreamOrder()


@pytest.mark.parametrize("form", [(), ("--oneline",)])
def test_a_graph_is_no_diff(bench: Bench, form: tuple[str, ...]) -> None:
    graph = bench.upstream.git("log", "-p", "--graph", *form, f"v1..{two_commits(bench)[1]}")
    done = bench.run("-", stdin=graph.decode())
    assert (done.returncode, done.stdout) == (2, "")
    assert "this is the output of `git log --graph`, not a unified diff" in done.stderr
    assert "without the graph" in done.stderr


def test_what_holds_no_patch_among_others_is_skipped_and_said(bench: Bench) -> None:
    one = two_commits(bench)[0]
    mail = bench.upstream.format(one)
    head = mail.split(b"diff --git")[0].replace(b"[PATCH]", b"[PATCH 0/1]")
    (bench.root / "pile").mkdir()
    for name, content in {"0.patch": head, "1.patch": mail, "2.patch": b""}.items():
        bench.write(f"pile/{name}", content)
    bench.write("pile/series", b"# above\n0.patch\n1.patch\n# below\n2.patch\n")
    done = bench.run("pile", "--keep-going")
    assert done.returncode == 0, done.stderr
    assert "pile/0.patch: no diff in it: skipped" in done.stderr
    assert "pile/2.patch: it is empty: skipped" in done.stderr
    assert "it comes after the last patch: # below" in done.stderr
    assert bench.series() == "# above\n1.patch\n"
    alone = bench.run(bench.root / "pile/2.patch")
    assert (alone.returncode, alone.stdout) == (2, "")
    assert "the patch is empty" in alone.stderr


def test_a_requirement_that_names_no_patch_is_said(bench: Bench) -> None:
    """As one without its ending, one that comes later, and one that is nowhere."""
    one = bench.upstream.detached("v1", "One", {"one.txt": "1\n"})
    words = "Two\n\nX-Requires: One, gone.patch"
    two = bench.upstream.detached(one, words, {"two.txt": "2\n"})
    early = bench.upstream.detached(two, "Zero\n\nX-Requires: One.patch", {"zero.txt": "0\n"})
    bundle = b"".join(bench.upstream.format(commit) for commit in (early, one, two))
    done = bench.run(bench.write("x.mbox", bundle))
    assert done.returncode == 0, done.stderr
    assert "X-Requires: One names no patch of the series; is it One.patch? " in done.stderr
    fix = "header Two.patch --tag v1 --set 'X-Requires: One.patch, gone.patch'"
    assert f"`patchq {fix}`" in done.stderr
    assert "X-Requires: gone.patch names no patch of the series\n" in done.stderr
    assert "X-Requires: One.patch comes after it: `patchq move` puts it before" in done.stderr
    assert b"X-Requires: One, gone.patch\n" in bench.patch("Two.patch")
    fixed = ("header", "Two.patch", "--set", "X-Requires: One.patch", "--tag", "v1")
    assert bench.patchq(*fixed, cwd=bench.root).returncode == 0
