"""Patches from anywhere into a series: what is kept, what is rewritten, what is refused."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import ENVIRONMENT, Edits, MakeMiniature, Miniature
from workspaces import make_workspace, pinned

from patchq.engine.importing.given.read import read_given
from patchq.engine.series.naming import patch_name
from patchq.errors import InputError, Where
from patchq.model.lock import Archive
from patchq.model.patch import Patch
from patchq.model.retired import RecordState, Retired, read_retired, render_retired
from patchq.model.verdict import Verdict

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
    (tmp_path / "home/.gitconfig").write_text("[user]\nname = Iris\nemail = iris@down.example\n")
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
        "Iris <iris@down.example>",
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
    assert "all.mbox, mail 1: no diff in it: skipped" in done.stderr
    assert bench.series() == "Say-ten.patch\nSay-twenty.patch\n"
    assert [bench.patch("Say-ten.patch"), bench.patch("Say-twenty.patch")] == mails


def test_a_quoted_printable_mail_is_decoded(bench: Bench) -> None:
    import quopri

    raw = bench.upstream.patch("v1", EDIT, body="Because of = signs.")
    head, _, body = raw.partition(b"\n\n")
    mime = b"\nMIME-Version: 1.0\nContent-Transfer-Encoding: quoted-printable\n\n"
    done = bench.run(bench.write("x.patch", head + mime + quopri.encodestring(body)))
    assert done.returncode == 0, done.stderr
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
    assert (again.returncode, again.stdout) == (0, "nothing to import onto v1\n")
    assert bench.series() == "a.patch\n"
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
    recipe = "version: 1\nvariants:\n  lean: {guards: [slim]}\n"
    (bench.root / "series/v1/recipe.yaml").write_text(recipe)
    variant = bench.run(plain, "--variant", "lean")
    assert variant.stderr == refused.stderr
    assert bench.run(plain).returncode == 0


SAYS = """X-Retire-When: contains src/long.py 'long = called\\('"'"'it'"'"'\\)'"""


@pytest.mark.parametrize(
    ("name", "words", "end"),
    [
        ("fix-pr24436.patch", b"As in #25000\n\n", "X-Upstream-PR: 24436"),
        ("fix.patch", b"See https://forge.example/a/b/pull/36186\n\n", "X-Upstream-PR: 36186"),
        ("fix.patch", b"Backport (#36186)\n\n", "X-Upstream-PR: 36186"),
        ("fix.patch", b"", SAYS),
        ("fix.patch", b"As PR 12 and PR 13 do\n\n", SAYS),
        ("fix.patch", b"Unlike old-pr12.patch\n\n", SAYS),
        ("fix.patch", b"Fix it\n\nPart of RFC #29630 of pull/29630.\n\n", SAYS),
        ("fix.patch", b"Fix it\n\nSource: https://f.example/a/b/pull/77\n\n", "X-Upstream-PR: 77"),
        ("fix.patch", b"Backport #36186 and #36187\n\n", SAYS),
    ],
)
def test_an_end_is_proposed_and_written_only_on_demand(
    bench: Bench, name: str, words: bytes, end: str
) -> None:
    old = bench.upstream.read("v1", "src/long.py")
    new = old.replace(b"short = 1\nlong = call(", b"import long_enough_for_it\nlong = called(")
    file = bench.write(name, words + bench.upstream.bare_diff("v1", {"src/long.py": new}))
    assert f"proposed: {end} (" in bench.run(file, "--dry-run").stderr
    assert not (bench.root / "series").exists()
    done = bench.run(file, "--propose-end")
    assert f"added: {end}\n" in done.stderr
    header = Patch(name, bench.patch(name)).header
    assert [str(one) for one in header.trailers if one.key.startswith("X-")] == [end]
    for predicate in header.retire_when:
        assert not predicate.holds_on(old)
        assert predicate.holds_on(new)


def test_a_number_that_landed_before_the_base_is_no_end(bench: Bench) -> None:
    bench.upstream.commit("Say it (#77)", {"src/new.py": "pass\n"})
    bench.upstream.tag("v2")
    assert bench.patchq("lock", "v2", cwd=bench.root).returncode == 0
    new = {"src/app.py": TEN.replace("line 25\n", "line twenty-five\n")}
    file = bench.write("fix-pr77.patch", bench.upstream.bare_diff("v2", new))
    done = bench.patchq("import", file, "--tag", "v2", "--propose-end", cwd=bench.root)
    assert done.returncode == 0, done.stderr
    assert "#77 landed before v2: no end" in done.stderr
    assert b"X-Upstream-PR" not in (bench.root / "series/v2/fix-pr77.patch").read_bytes()
    (kept,) = (bench.root / ".patchq/cache/landed").rglob("*.json")
    kept.write_bytes(kept.read_bytes().replace(b"77", b"78"))  # damaged: it is found anew
    other = {"src/app.py": TEN.replace("line 3\n", "line three\n")}
    more = bench.write("more-pr77.patch", bench.upstream.bare_diff("v2", other))
    done = bench.patchq("import", more, "--tag", "v2", cwd=bench.root)
    assert "#77 landed before v2: no end" in done.stderr


NO_END = "none is safe to propose"


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ({"src/new.py": "pass\n"}, "X-Retire-When: path-exists src/new.py"),
        ({"src/app.py": "if (FALSE)\n" + LINES}, NO_END),  # says nothing of this patch
        ({"src/long.py": "end = 2\n"}, NO_END),  # upstream may say the removed line otherwise
        ({"src/app.py": LINES + "line 10\n"}, NO_END),  # what upstream says already
        ({"src/app.py": TEN.replace("line 25\n", "line twenty-five\n")}, NO_END),
        ({"src/app.py": "# the (GB10) kernel = none here\n" + LINES}, NO_END),  # our own words
        ({"src/app.py": "number = 1  # the kernel's (GB10) limit\n" + LINES}, NO_END),
        ({"src/app.py": TEN, "src/new.py": "pass\n"}, NO_END),  # half of it would end it all
    ],
)
def test_an_end_is_proposed_only_where_it_says_the_whole_patch(
    bench: Bench, edits: Edits, said: str
) -> None:
    file = bench.write("fix.patch", bench.upstream.bare_diff("v1", edits))
    done = bench.run(file, "--propose-end")
    assert done.returncode == 0, done.stderr
    assert said in done.stderr
    assert (b"X-Retire-When" in bench.patch("fix.patch")) is (said != NO_END)


def test_no_end_is_proposed_from_lines_of_an_earlier_patch(bench: Bench) -> None:
    first = {"src/new.py": "one = 'a telling line'\n"}
    second = {"src/new.py": "one = 'another telling line'\n"}
    one = bench.upstream.detached("v1", "one", first)
    two = bench.upstream.bare_diff(one, second)
    assert bench.run(bench.write("one.patch", bench.upstream.format(one))).returncode == 0
    done = bench.run(bench.write("two.patch", two), "--propose-end")
    assert NO_END in done.stderr
    assert b"X-Retire-When" not in bench.patch("two.patch")


def test_an_end_that_has_come_already_is_said(bench: Bench) -> None:
    file = bench.write(
        "x.patch", b"Fix\n\nX-Retire-When: lacks src/app.py mine\n\n" + plain_diff(bench)
    )
    done = bench.run(file)
    assert done.returncode == 0, done.stderr
    assert "X-Retire-When holds on v1 itself: lacks src/app.py mine" in done.stderr


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (b"X-Retire-When: frob src/app.py", "unknown predicate 'frob'"),
        (b"X-Upstream-PR: abc", "'abc' in X-Upstream-PR is not a PR number"),
        (b"X-Expect: contains src/app.py", "contains lacks its REGEX"),
    ],
)
def test_a_malformed_field_is_refused_with_its_line(bench: Bench, field: bytes, words: str) -> None:
    file = bench.write("x.patch", b"Fix\n\n" + field + b"\n\n" + plain_diff(bench))
    done = bench.run(file)
    assert done.returncode == 2
    assert f"x.patch:3: {words}" in done.stderr
    assert not (bench.root / "series").exists()


@pytest.mark.parametrize(
    "sender",
    [
        '"J. \\"Bob\\" Doe" <r@x>',
        "=?UTF-8?q?J=C3=B6_=22Bob=22_Doe?= <r@x>",
        "X <>",
        '"Doe, John" <j@x>',
        "j@x (John Doe)",
        "John (zzz) Doe <j@x>",
    ],
)
def test_git_am_names_the_author_that_the_mail_had(bench: Bench, sender: str) -> None:
    raw = bench.upstream.patch("v1", EDIT, trailers={"X-Upstream-PR": "7"})
    head, _, rest = raw.partition(b"From: ")
    mail = head + b"From: " + sender.encode() + b"\n" + rest.partition(b"\n")[2]
    crlf = mail.replace(b"\n", b"\r\n")
    files = [bench.write("as-it-is.patch", mail), bench.write("rewritten.patch", crlf)]
    for file in files:
        done = bench.run(file, "--guard", file.partition(".")[0])
        assert done.returncode == 0, done.stderr
    assert bench.patch("as-it-is.patch") == mail
    wanted, found = (bench.am(file)[1].splitlines()[0] for file in files)
    assert found == wanted


@pytest.mark.parametrize("form", ["medium", "full", "fuller", "raw", "email"])
def test_git_show_names_author_and_date_in_each_format(bench: Bench, form: str) -> None:
    commit = bench.upstream.detached("v1", "Say ten", EDIT, author='É "Jr <e@x>')
    shown = bench.upstream.git("show", f"--format={form}", "--stat", "-p", commit)
    date = bench.upstream.git("show", "-s", "--format=%aD", commit).decode().strip()
    done = bench.run(bench.write("x.patch", shown))
    assert done.returncode == 0, done.stderr
    header = Patch("x.patch", bench.patch("x.patch")).header
    assert header.subject == "Say ten"
    assert "|" not in header.body
    if form != "email":  # git's own reader takes the quote out of a mail
        assert header.raw.startswith(b"From 0000000000000000000000000000000000000000 ")
        assert b"=?UTF-8?q?=C3=89=20=22Jr?= <e@x>" in header.raw
    if form != "full":  # which tells no date
        assert header.date == date


def test_a_diffstat_and_a_commits_id_do_not_come_along(bench: Bench) -> None:
    commit = bench.upstream.detached("v1", "Say ten\n\nX-Upstream-PR: 7", EDIT)
    mail = bench.upstream.git("format-patch", "--stdout", "-1", commit)
    assert b" src/app.py | 2 +-\n" in mail
    assert bench.run(bench.write("x.patch", mail)).returncode == 0
    raw = bench.patch("x.patch")
    assert raw.startswith(b"From " + b"0" * 40)
    assert b" | 2 +-" not in raw
    assert b"1 file changed" not in raw
    assert bench.am("x.patch")[0] == edited(bench)


def test_a_diffstat_is_no_prose(bench: Bench) -> None:
    stat = b" src/app.py | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n"
    assert bench.run(bench.write("say-ten.patch", stat + plain_diff(bench))).returncode == 0
    assert bench.am("say-ten.patch")[1].splitlines()[1:] == ["say ten", ""]


def test_a_byte_order_mark_is_taken_away(bench: Bench) -> None:
    mail = bench.upstream.patch("v1", EDIT, trailers={"X-Upstream-PR": "7"})
    done = bench.run(bench.write("x.patch", b"\xef\xbb\xbf" + mail))
    assert done.returncode == 0, done.stderr
    assert "x.patch:1: a byte order mark" in done.stderr
    assert bench.patch("x.patch").partition(b"-- \n")[0] == mail


def test_prose_that_looks_like_a_diff_is_prose(bench: Bench) -> None:
    prose = b"Some prose.\n\ndiff --git a/foo b/foo in prose\n--- not a header\n\n"
    index = b"Index: src/app.py\n" + b"=" * 67 + b"\n"
    done = bench.run(bench.write("x.patch", prose + index + plain_diff(bench)))
    assert done.returncode == 0, done.stderr
    tree, message = bench.am("x.patch")
    assert tree == edited(bench)
    assert "  | diff --git a/foo b/foo in prose\n  | --- not a header" in message


def test_the_hint_of_a_refusal_fits_its_cause(bench: Bench) -> None:
    def hint(raw: bytes) -> str:
        done = bench.run(bench.write("x.patch", raw))
        assert done.returncode == 2
        return done.stderr.partition("hint: ")[2]

    diff = plain_diff(bench)
    bare = b"--- a/src/app.py\n+++ b/src/app.py\n@@ -10 +10 @@\n-line 10\n+line ten, as a word\n"
    binary = (
        b"diff --git a/logo.png b/logo.png\nnew file mode 100644\nindex 0000000..1234567\n"
        b"Binary files /dev/null and b/logo.png differ\n"
    )
    assert "-U0" in hint(bare)
    assert "git diff --binary" in hint(binary)
    assert "blanks" in hint(diff.replace(b" line 8\n", b" line    8\n"))
    assert "inside the tree" not in hint(diff.replace(b" line 8\n", b" line eight\n"))
    assert "--tag" in hint(diff.replace(b" line 8\n", b" line eight\n"))
    context = next(line for line in diff.split(b"\n") if line.startswith(b" "))
    fuzzy = hint(diff.replace(context, b" another line", 1))
    assert fuzzy.startswith("It applies to v1 with fuzz 1 alone")
    assert "`quilt refresh`" in fuzzy
    assert "Import it" not in hint(added_file("git~1/config"))


def added_file(path: str) -> bytes:
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n".encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("path", ["a:b", "C:/x", "caf\udce9"])
def test_every_path_that_git_takes_is_taken(bench: Bench, path: str) -> None:
    raw = added_file(path)
    assert bench.run(bench.write("one.patch", raw)).returncode == 0
    again = raw.replace(b"/dev/null", b"a/" + raw.split(b"b/")[1].partition(b"\n")[0])
    second = again.replace(b"@@ -0,0 +1 @@\n+x", b"@@ -1 +1 @@\n-x\n+y")
    done = bench.run(bench.write("two.patch", second))
    assert done.returncode == 0, done.stderr
    tree, _ = bench.am("one.patch", "two.patch")
    assert tree == edited(bench, {path: "y\n"})


def test_a_record_of_the_name_is_settled(bench: Bench) -> None:
    raw = bench.upstream.patch("v1", EDIT, trailers={"X-Upstream-PR": "7"})
    records = [
        retired("x.patch", RecordState.HELD, raw),
        retired("y.patch", RecordState.RETIRED, raw),
    ]
    directory = bench.root / "series/v1"
    directory.mkdir(parents=True)
    (directory / "series").write_text("")
    (directory / "retired.yaml").write_bytes(render_retired(records))
    done = bench.run(bench.write("x.patch", raw))
    assert done.returncode == 0, done.stderr
    assert "x.patch: settles the held patch of that name in retired.yaml" in done.stderr
    left = read_retired((directory / "retired.yaml").read_bytes(), Where("retired.yaml"))
    assert [record.name for record in left] == ["y.patch"]


def retired(name: str, standing: RecordState, content: bytes) -> Retired:
    verdict = Verdict.CONFLICT if standing is RecordState.HELD else Verdict.UPSTREAMED
    return Retired(name, verdict, "why", (), content, standing, since="v1", base="v0")


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
    assert "no diff in it" in bench.run("-", stdin="x").stderr
    assert "needs --name" in bench.run("-", stdin=plain_diff(bench).decode()).stderr
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


def test_a_patch_that_an_archive_does_not_cover_is_passed_over(
    bench: Bench, kernel_patch: bytes
) -> None:
    archive = Archive("pypi:app==1", "app.tar.gz", "d" * 64, covers=("/src/**",))
    base = replace(pinned(bench.upstream, "v1"), archive=archive)
    workspace = make_workspace(
        bench.upstream, {"kernel.patch": kernel_patch}, bases=(base,), root=bench.root
    )
    file = bench.write("ten.patch", bench.upstream.patch("v1", EDIT))
    done = bench.run(file)
    assert done.returncode == 0, done.stderr
    assert workspace.series("v1").names == ("kernel.patch", "ten.patch")


@pytest.fixture
def kernel_patch(miniature: MakeMiniature) -> bytes:
    """A patch on a file that the archive never had."""
    whole = miniature("whole")
    whole.commit("Begin", {"kernel/CMakeLists.txt": "project(kernel)\n"})
    return whole.patch("main", {"kernel/CMakeLists.txt": "project(kernel CUDA)\n"})


def test_no_word_behind_a_nul_byte_is_lost(bench: Bench) -> None:
    """git reads a message up to it."""
    mail = b"From: A <a@b>\nSubject: s\0x\n\nbo\0dy\n---\n" + bench.upstream.bare_diff("v1", EDIT)
    done = bench.run(bench.write("nul.patch", mail))
    assert done.returncode == 0, done.stderr
    _, message = bench.am("nul.patch")
    assert "s\ufffdx\n\nbo\ufffddy\n" in message


@pytest.mark.parametrize(
    "date",
    ["Mon, 33 Aug 99999999999999 10:00:00 +0200", "Mon, 3 Aug 1812 10:00:00 +0200", "9" * 5_000],
)
def test_a_date_that_git_cannot_write_is_said(bench: Bench, date: str) -> None:
    mail = f"From: A <a@b>\nDate: {date}\nSubject: s\n\nwords\n---\n".encode()
    done = bench.run(bench.write("x.patch", mail + bench.upstream.bare_diff("v1", EDIT)))
    assert done.returncode == 0, done.stderr
    assert "cannot be read: the current one is used" in done.stderr


def test_a_file_in_the_place_of_a_directory_is_refused(bench: Bench) -> None:
    """As git apply refuses it: all below the directory would be gone."""
    added = b"diff --git a/src b/src\nnew file mode 100644\n--- /dev/null\n+++ b/src\n"
    done = bench.run(
        bench.write("x.patch", added + b"@@ -0,0 +1 @@\n+one\n"), "--author", "J <j@x>"
    )
    assert done.returncode == 2
    assert "src" in done.stderr
    assert not (bench.root / "series/v1/x.patch").exists()
