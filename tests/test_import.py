"""Patches from anywhere into a series: what is kept, what is rewritten, what is refused."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import ENVIRONMENT, Edits, MakeMiniature, Miniature

from patchq.engine.importing import patch_name, read_given
from patchq.errors import InputError
from patchq.model.patch import Patch

LINES = "".join(f"line {number}\n" for number in range(1, 31))
TREE: Edits = {
    "src/app.py": LINES,
    "src/latin.txt": "caf\xe9\n".encode("latin-1"),
    "src/long.py": "# a comment that is the longest\nshort = 1\nlong = call('it')\nend = 2\n",
}
TEN = LINES.replace("line 10\n", "line ten, as a word\n")
EDIT: Edits = {"src/app.py": TEN}


@dataclass(frozen=True)
class Bench:
    """A workspace with base ``v1``, and the command line in it."""

    upstream: Miniature
    root: Path
    patchq: CommandLine

    def run(
        self, *args: str | Path, stdin: str = "", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return self.patchq("import", *args, "--tag", "v1", cwd=self.root, stdin=stdin, env=env)

    def write(self, name: str, raw: bytes) -> str:
        (self.root / name).write_bytes(raw)
        return name

    def series(self) -> str:
        return (self.root / "series/v1/series").read_text()

    def patch(self, name: str) -> bytes:
        return (self.root / "series/v1" / name).read_bytes()

    def am(self, *names: str, at: str = "v1") -> tuple[str, str]:
        """The tree and the last message after ``git am`` of the written patches."""
        clone = self.root.parent / f"clone-{len(list(self.root.parent.iterdir()))}"
        environment = {**ENVIRONMENT, "HOME": str(self.root)}

        def git(*args: str) -> str:
            done = subprocess.run(
                ["git", "-C", str(clone), *args], env=environment, capture_output=True, check=False
            )
            assert done.returncode == 0, done.stderr.decode()
            return done.stdout.decode("utf-8", "surrogateescape")

        clone.mkdir()
        git("clone", "--quiet", str(self.upstream.path), ".")
        git("checkout", "--quiet", "--detach", at)
        git("am", "--keep-non-patch", *(str(self.root / "series/v1" / name) for name in names))
        return git("rev-parse", "HEAD^{tree}").strip(), git("show", "-s", "--format=%an <%ae>%n%B")


@pytest.fixture
def bench(tmp_path: Path, miniature: MakeMiniature, patchq: CommandLine) -> Bench:
    upstream = miniature()
    commit = upstream.commit("Begin", TREE)
    upstream.tag("v1")
    root = tmp_path / "workspace"
    root.mkdir()
    tree = upstream.id("v1^{tree}")
    (root / "upstream.lock").write_text(
        f"version: 1\nupstream: {upstream.path}\nbases:\n- name: v1\n  commit: {commit}\n"
        f"  tree: {tree}\n  date: '2025-01-06T08:00:00+00:00'\n"
    )
    return Bench(upstream, root, patchq)


def edited(bench: Bench, edits: Edits = EDIT) -> str:
    """The tree of v1 with the edit."""
    commit = bench.upstream.detached("v1", "edit", edits)
    return bench.upstream.id(f"{commit}^{{tree}}")


def plain_diff(bench: Bench) -> bytes:
    """What ``diff -u`` gives for the edit: neither ``diff --git`` nor index line."""
    lines = bench.upstream.bare_diff("v1", EDIT).splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith((b"diff --git", b"index ")))


def test_a_git_mail_that_applies_is_kept_byte_for_byte(bench: Bench) -> None:
    raw = bench.upstream.patch("v1", EDIT, trailers={"X-Upstream-PR": "7"})
    done = bench.run(bench.write("0001-fix.patch", raw))
    assert (done.returncode, done.stderr) == (0, "")
    assert bench.patch("fix.patch") == raw
    assert bench.series() == "fix.patch\n"


def test_prose_above_a_plain_diff_becomes_a_message_that_git_am_reads(bench: Bench) -> None:
    prose = (
        "# Föhn: no more [draft] lines\n#\n# It used to say:\n# --- a/src/app.py\n"
        "# From here on, words.\n"
    )
    file = bench.write("fix.diff", prose.encode() + plain_diff(bench))
    (bench.root.parent / "home/.gitconfig").write_text(
        "[user]\nname = Jörg Down\nemail = j@down.example\n[diff]\nnoprefix = true\n"
    )
    done = bench.run(file, env={"SOURCE_DATE_EPOCH": "1700000000"})
    assert done.returncode == 0, done.stderr
    tree, message = bench.am("fix.patch")
    assert tree == edited(bench)
    assert message.rstrip("\n").split("\n") == [
        "Jörg Down <j@down.example>",
        "Föhn: no more [draft] lines",
        "",
        "It used to say:",
        "  | --- a/src/app.py",
        "  From here on, words.",
    ]
    assert b"Date: Tue, 14 Nov 2023 22:13:20 +0000\n" in bench.patch("fix.patch")


def test_a_tag_in_brackets_survives_in_the_subject(bench: Bench) -> None:
    bench.run(bench.write("x.patch", b"[sm_121] one arch\n\n" + plain_diff(bench)))
    assert bench.am("x.patch")[1].splitlines()[1] == "[sm_121] one arch"


def test_author_and_date_of_dep3_and_its_fields_are_kept(bench: Bench) -> None:
    header = (
        b"Description: One word\n More of it.\nAuthor: Ada Varga <ada@upstream.example>\n"
        b"Date: Mon, 3 Aug 2026 10:00:00 +0200\nOrigin: vendor\nX-Upstream-PR: 7\n\n"
    )
    done = bench.run(bench.write("x.patch", header + plain_diff(bench)))
    assert (done.returncode, done.stderr) == (0, "")
    raw = bench.patch("x.patch")
    assert b"From: Ada Varga <ada@upstream.example>\n" in raw
    assert b"Date: Mon, 3 Aug 2026 10:00:00 +0200\n" in raw
    assert b"\nMore of it.\n\nOrigin: vendor\nX-Upstream-PR: 7\n" in raw
    assert b"Last-Update" not in raw


def test_a_patch_without_words_is_named_by_its_file(bench: Bench) -> None:
    done = bench.run("-", "--name", "say-ten_out", stdin=plain_diff(bench).decode())
    assert done.returncode == 0, done.stderr
    assert bench.am("say-ten_out.patch")[1].splitlines()[:2] == [
        "Unknown <unknown@localhost>",
        "say ten out",
    ]


def test_a_quilt_patch_without_prefixes_is_read_with_p0(bench: Bench) -> None:
    raw = plain_diff(bench).replace(b"--- a/", b"--- ").replace(b"+++ b/", b"+++ ")
    quilt = b"Index: src/app.py\n" + b"=" * 67 + b"\n" + raw
    new = b"--- /dev/null\n+++ src/new.py\n@@ -0,0 +1 @@\n+pass\n"
    done = bench.run(bench.write("q.patch", quilt), bench.write("n.patch", new), "--json")
    assert done.returncode == 0, done.stderr
    assert [one["strip"] for one in json.loads(done.stdout)["patches"]] == [0, 0]
    assert bench.series() == "q.patch\nn.patch\n"
    assert bench.am("q.patch", "n.patch")[0] == edited(bench, {**EDIT, "src/new.py": "pass\n"})


def test_a_new_file_that_exists_does_not_land_under_its_prefix(bench: Bench) -> None:
    raw = b"--- /dev/null\n+++ b/src/app.py\n@@ -0,0 +1 @@\n+pass\n"
    done = bench.run(bench.write("n.patch", raw))
    assert done.returncode == 2
    assert "already exists" in done.stderr


def test_crlf_and_lost_lines_are_mended_with_a_notice(bench: Bench) -> None:
    done = bench.run(bench.write("x.patch", plain_diff(bench).replace(b"\n", b"\r\n")))
    assert done.returncode == 0, done.stderr
    assert "x.patch:1: every line ended in CRLF" in done.stderr
    assert bench.am("x.patch")[0] == edited(bench)


def test_bytes_that_are_no_utf8_survive(bench: Bench) -> None:
    latin = "caf\xe9 noir\n".encode("latin-1")
    raw = bench.upstream.bare_diff("v1", {"src/latin.txt": latin})
    done = bench.run(bench.write("x.patch", "Caf\xe9 au lait\n\n".encode("latin-1") + raw))
    assert done.returncode == 0, done.stderr
    tree, message = bench.am("x.patch")
    assert tree == edited(bench, {"src/latin.txt": latin})
    assert message.splitlines()[1] == "Café au lait"


def test_a_mailbox_gives_a_patch_for_each_mail_and_passes_over_the_cover_letter(
    bench: Bench,
) -> None:
    second = {"src/app.py": TEN.replace("line 20\n", "line twenty\n")}
    one = bench.upstream.detached("v1", "Say ten\n\nX-Upstream-PR: 7", EDIT)
    two = bench.upstream.detached(one, "Say twenty\n\nX-Upstream-PR: 8", second)
    mails = [bench.upstream.format(one), bench.upstream.format(two)]
    cover = mails[0].split(b"diff --git")[0].replace(b"Say ten", b"Cover")
    done = bench.run(bench.write("all.mbox", b"".join([cover, *mails])))
    assert done.returncode == 0, done.stderr
    assert "all.mbox, mail 1: no diff in it: passed over" in done.stderr
    assert bench.series() == "Say-ten.patch\nSay-twenty.patch\n"
    assert [bench.patch("Say-ten.patch"), bench.patch("Say-twenty.patch")] == mails


def test_a_quoted_printable_mail_is_decoded(bench: Bench) -> None:
    import quopri

    raw = bench.upstream.patch("v1", EDIT, body="Because of = signs.")
    head, _, body = raw.partition(b"\n\n")
    mime = b"\nMIME-Version: 1.0\nContent-Transfer-Encoding: quoted-printable\n\n"
    bench.run(bench.write("x.patch", head + mime + quopri.encodestring(body)))
    tree, message = bench.am("x.patch")
    assert tree == edited(bench)
    assert "Because of = signs." in message


def test_all_or_nothing(bench: Bench) -> None:
    good = bench.write("good.patch", plain_diff(bench))
    bad = bench.write("bad.patch", plain_diff(bench).replace(b" line 8\n", b" line eight\n"))
    done = bench.run(good, bad)
    assert done.returncode == 2
    assert "bad.patch:3: bad.patch does not apply to v1" in done.stderr
    assert "patch failed: src/app.py:7" in done.stderr
    assert "hunk 1 of src/app.py" in done.stderr
    assert "hint: Import it with --tag" in done.stderr
    assert not (bench.root / "series").exists()


def test_what_is_there_already_is_said(bench: Bench) -> None:
    file = bench.write("a.patch", plain_diff(bench))
    assert bench.run(file).returncode == 0
    again = bench.run(file, "--name", "b")
    assert again.returncode == 2
    assert "all of it is in v1 with the patches below it already" in again.stderr


def test_a_patch_cut_from_elsewhere_is_merged(bench: Bench) -> None:
    newer = bench.upstream.commit("Go on", {"src/app.py": LINES.replace("line 8\n", "line VIII\n")})
    both = {"src/app.py": TEN.replace("line 8\n", "line VIII\n")}
    raw = bench.upstream.bare_diff(newer, both)
    done = bench.run(bench.write("x.patch", raw), "--json")
    assert done.returncode == 0, done.stderr
    assert "x.patch: applied by three-way merge" in done.stderr
    assert json.loads(done.stdout)["patches"][0]["form"] == "merged"
    assert bench.am("x.patch")[0] == edited(bench)


def test_a_merge_that_conflicts_is_refused(bench: Bench) -> None:
    newer = bench.upstream.commit("Go on", {"src/app.py": LINES.replace("line 10\n", "line X\n")})
    edits = {"src/app.py": LINES.replace("line 10\n", "line 0x0a\n")}
    done = bench.run(bench.write("x.patch", bench.upstream.bare_diff(newer, edits)))
    assert done.returncode == 2
    assert "a three-way merge conflicts in src/app.py" in done.stderr


def test_a_patch_stands_on_what_its_guards_select(bench: Bench) -> None:
    second = {"src/app.py": TEN.replace("line 11\n", "line eleven\n")}
    one = bench.upstream.detached("v1", "one", EDIT)
    first = bench.write("one.patch", bench.upstream.format(one))
    two = bench.write(
        "two.patch", bench.upstream.format(bench.upstream.detached(one, "two", second))
    )
    assert bench.run(first, "--guard", "slim").returncode == 0
    assert bench.run(two).returncode == 2
    assert bench.run(two, "--guard", "slim").returncode == 0
    assert bench.series() == "one.patch #+slim\ntwo.patch #+slim\n"
    assert bench.patch("two.patch") == (bench.root / "two.patch").read_bytes()


def test_with_wants_a_fit_under_other_guards_too(bench: Bench) -> None:
    other = {"src/app.py": LINES.replace("line 11\n", "line eleven\n")}
    guarded = bench.write("one.patch", plain_diff(bench))
    plain = bench.write("two.patch", bench.upstream.bare_diff("v1", other))
    assert bench.run(guarded, "--guard=+slim").returncode == 0
    refused = bench.run(plain, "--with", "slim")
    assert refused.returncode == 2
    assert "does not apply together with slim" in refused.stderr
    assert bench.run(plain).returncode == 0


LACKS = """X-Retire-When: lacks src/long.py 'long = call\\('"'"'it'"'"'\\)'"""


@pytest.mark.parametrize(
    ("name", "words", "end"),
    [
        ("fix-pr24436.patch", b"As in #25000\n\n", "X-Upstream-PR: 24436"),
        ("fix.patch", b"See https://forge.example/a/b/pull/36186\n\n", "X-Upstream-PR: 36186"),
        ("fix.patch", b"Backport (#36186)\n\n", "X-Upstream-PR: 36186"),
        ("fix.patch", b"", LACKS),
        ("fix.patch", b"As PR 12 and PR 13 do\n\n", LACKS),
        ("fix.patch", b"Unlike old-pr12.patch\n\n", LACKS),
    ],
)
def test_an_end_is_proposed_and_written_only_on_demand(
    bench: Bench, name: str, words: bytes, end: str
) -> None:
    diff = bench.upstream.bare_diff("v1", {"src/long.py": "end = 2\n"})
    file = bench.write(name, words + diff)
    assert f"proposed: {end} (" in bench.run(file, "--dry-run").stderr
    assert not (bench.root / "series").exists()
    done = bench.run(file, "--propose-end")
    assert f"added: {end}\n" in done.stderr
    header = Patch(name, bench.patch(name)).header
    assert [str(trailer) for trailer in header.trailers] == [end]
    for predicate in header.retire_when:
        assert not predicate.holds_on(bench.upstream.read("v1", "src/long.py"))
        assert predicate.holds_on(b"end = 2\n")


def test_names_that_are_taken_are_refused(bench: Bench) -> None:
    file = bench.write("0007-fix.diff", plain_diff(bench))
    assert bench.run(file).returncode == 0
    again = bench.run(file)
    assert again.returncode == 2
    assert "fix.patch is in the series on v1 already" in again.stderr
    (bench.root / "series/v1/stray.patch").write_bytes(b"mine")
    stray = bench.run(file, "--name", "stray")
    assert stray.returncode == 2
    assert bench.patch("stray.patch") == b"mine"


def test_usage(bench: Bench) -> None:
    assert "needs --name" in bench.run("-", stdin="x").stderr
    empty = bench.run(bench.write("x.patch", b"only words\n"))
    assert empty.returncode == 2
    assert "x.patch: no diff in it" in empty.stderr
    assert bench.run("nowhere.patch").returncode == 2


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("dir/0001-fix-it.patch", "fix-it.patch"),
        ("12345.diff", "12345.patch"),
        ("my fix #2.txt", "my-fix-2.patch"),
        ("-x", "x.patch"),
        ("v1.2", "v1.2.patch"),
    ],
)
def test_patch_name(file: str, name: str) -> None:
    assert patch_name(file) == name


def test_a_name_for_several_mails_is_refused() -> None:
    mail = b"From 0 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: x\n\nbody\n"
    with pytest.raises(InputError, match="2 mails"):
        read_given("x.mbox", mail * 2, "name")
