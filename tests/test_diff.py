from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchq.errors import InputError, Where
from patchq.model.diff import ChangeKind, scan
from patchq.model.diff_layout import find_diff
from patchq.model.hunk_lines import hunk_lines, hunk_lines_of_many

SIMPLE = b"""\
diff --git a/f.py b/f.py
index 1234567..89abcde 100644
--- a/f.py
+++ b/f.py
@@ -1,3 +1,3 @@ def f():
 one
-two
+TWO
 three
"""


def plain(old: bytes, new: bytes, hunk: bytes = b"@@ -1 +1 @@\n-a\n+b\n") -> bytes:
    return b"--- " + old + b"\n+++ " + new + b"\n" + hunk


def test_a_hunk_is_read_with_its_place() -> None:
    (change,) = scan(SIMPLE)
    (hunk,) = change.hunks
    assert (change.kind, change.old, change.new) == (ChangeKind.MODIFY, "f.py", "f.py")
    assert (change.old_blob, change.new_blob) == ("1234567", "89abcde")
    assert (change.old_mode, change.new_mode) == ("100644", "100644")
    assert (hunk.index, hunk.old_start, hunk.old_count, hunk.line) == (1, 1, 3, 5)
    assert hunk.preimage == (b"one\n", b"two\n", b"three\n")
    assert hunk.postimage == (b"one\n", b"TWO\n", b"three\n")
    assert (hunk.removed, hunk.added) == ((b"two\n",), (b"TWO\n",))


@pytest.mark.parametrize(
    ("diff", "kind", "paths"),
    [
        (
            b"diff --git a/x y b/x y\nnew file mode 100644\nindex 0000000..e69de29\n",
            ChangeKind.ADD,
            (None, "x y"),
        ),
        (
            b"diff --git a/x b/x\ndeleted file mode 100644\nindex 78981922..00000000\n"
            b"--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
            ChangeKind.DELETE,
            ("x", None),
        ),
        (
            b"diff --git a/old/x b/new/x\nsimilarity index 100%\nrename from old/x\n"
            b"rename to new/x\n",
            ChangeKind.RENAME,
            ("old/x", "new/x"),
        ),
        (
            b"diff --git a/x b/y\nsimilarity index 90%\ncopy from x\ncopy to y\n",
            ChangeKind.COPY,
            ("x", "y"),
        ),
        (b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", ChangeKind.MODIFY, ("x", "x")),
        (
            b'diff --git "a/\\303\\244 \\"q\\"" "b/\\303\\244 \\"q\\""\nold mode 100644\n'
            b"new mode 100755\n",
            ChangeKind.MODIFY,
            ('ä "q"', 'ä "q"'),
        ),
        (
            b"diff --git a/x b/x\r\nindex 12..34 100644\r\n" + plain(b"a/x\r", b"b/x\r"),
            ChangeKind.MODIFY,
            ("x", "x"),
        ),
        (plain(b"a/x\t2020-01-01 00:00:00 +0000", b"b/x\t2020"), ChangeKind.MODIFY, ("x", "x")),
        (plain(b"a/x.orig", b"b/x"), ChangeKind.MODIFY, ("x", "x")),
        (plain(b"a/x", b"b/x.new"), ChangeKind.MODIFY, ("x", "x")),
        (plain(b"/dev/null", b"b/x", b"@@ -0,0 +1 @@\n+a\n"), ChangeKind.ADD, (None, "x")),
        (
            plain(b"a/x\t1969-12-31 16:00:00.000 -0800", b"b/x\t2020", b"@@ -0,0 +1 @@\n+a\n"),
            ChangeKind.ADD,
            (None, "x"),
        ),
        (
            plain(b"a/x", b"b/x\t1970-01-01 02:00:00 +0200", b"@@ -1 +0,0 @@\n-a\n"),
            ChangeKind.DELETE,
            ("x", None),
        ),
        (
            b"Index: b/x\n" + b"=" * 67 + b"\n" + plain(b"a/x", b"b/x"),
            ChangeKind.MODIFY,
            ("x", "x"),
        ),
        (b"diff -Naur a/x b/x\n" + plain(b"a/x", b"b/x"), ChangeKind.MODIFY, ("x", "x")),
    ],
)
def test_every_way_to_name_a_file(
    diff: bytes, kind: ChangeKind, paths: tuple[str | None, str | None]
) -> None:
    (change,) = scan(diff)
    assert (change.kind, (change.old, change.new)) == (kind, paths)


def test_binary_sections_hold_no_hunks() -> None:
    head = b"diff --git a/x.png b/x.png\nindex 12..34 100644\n"
    data = head + b"GIT binary patch\nliteral 4\nLcmZQzWMT#Y01f~L\n\nliteral 0\nHcmV?d00001\n\n"
    named = head + b"Binary files a/x.png and b/x.png differ\n"
    for diff in (data, named):
        (change,) = scan(diff)
        assert change.binary
        assert not change.hunks
        assert change.paths == ("x.png",)


def test_strip_takes_as_many_directories_as_said() -> None:
    diff = plain(b"one/two/x", b"one/two/x")
    assert [scan(diff, strip=n)[0].new for n in range(3)] == ["one/two/x", "two/x", "x"]
    with pytest.raises(InputError, match="3 leading directories"):
        scan(diff, strip=3)


def test_lines_without_newline_and_with_carriage_return_stay_what_they_are() -> None:
    hunk = (
        b"@@ -1,3 +1,3 @@\n a\r\n\n-b\n\\ No newline at end of file\n"
        b"+c\n\\ Kein Zeilenumbruch am Dateiende\n"
    )
    (change,) = scan(plain(b"a/x", b"b/x", hunk))
    assert change.hunks[0].lines == (b" a\r\n", b" \n", b"-b", b"+c")


def test_content_that_looks_like_a_header_is_content() -> None:
    hunk = b"@@ -1,2 +1,2 @@\n--- a/sql\n+++ b/sql\n-diff --git a/x b/x\n+@@ -1 +1 @@\n"
    (change,) = scan(plain(b"a/x", b"b/x", hunk))
    assert change.hunks[0].removed == (b"-- a/sql\n", b"diff --git a/x b/x\n")


def test_what_follows_the_last_hunk_belongs_to_its_section() -> None:
    diff = SIMPLE + b"-- \n2.39.5\n\n" + SIMPLE + b"\n-- \n2.39.5\n"
    first, second = scan(diff)
    assert (first.start, first.end, second.end) == (0, second.start, len(diff))
    assert diff[second.start :].startswith(b"diff --git")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (b" three\n", b"", "found 2 and 2"),
        (b" three\n", b"-- \n2.39.5\n", "found 2 and 2"),
        (b"+TWO\n", b"+TWO\n+2\n", "found 3 and 4"),
        (b" three\n", b" three\n+four\n", "found 3 and 4"),
    ],
)
def test_wrong_counts_are_named_with_file_and_line(old: bytes, new: bytes, found: str) -> None:
    with pytest.raises(InputError, match=f"@@ says 3 old and 3 new lines, {found}") as caught:
        scan(SIMPLE.replace(old, new), where=Where("p.patch", 10))
    assert caught.value.where == Where("p.patch", 15)


@pytest.mark.parametrize(
    ("diff", "message"),
    [
        (SIMPLE + b"\n@@ -9 +9 @@\n-a\n+b\n", "does not follow"),
        (SIMPLE + b"@@ -9 9 @@\n", "malformed hunk header"),
        (b"diff --cc f\nindex 1,2..3\n--- a/f\n+++ b/f\n@@@ -1 -1 +1 @@@\n", "combined diff"),
        (b"diff --git a/x b/x\nindex 12..34 100644\n", "cut short"),
        (plain(b"a/../x", b"b/../x"), "inside the tree"),
        (plain(b"a/.git/config", b"b/.git/config"), "inside the tree"),
        (plain(b"a//etc/x", b"/dev/null", b"@@ -1 +0,0 @@\n-a\n").replace(b"a//", b"//", 1), ""),
    ],
)
def test_what_git_refuses_is_refused(diff: bytes, message: str) -> None:
    if not message:
        assert scan(diff)[0].paths == ("etc/x",)
        return
    with pytest.raises(InputError, match=message):
        scan(diff, where=Where("p.patch"))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (b"@@ -1,1 +1,1 @@\n\\ No newline at end of file\n-1\n+x\n", "backslash"),
        (b"@@ -1,1 +1,1 @@\n-1\n+x\n\\ No\n", "backslash"),
        # git sees it only if more follows, GNU patch always
        (b"@@ -1,1 +1,1 @@\n-1\n+x\n\\ No newile\n", "backslash"),
        (b"@@ -" + b"9" * 5000 + b",1 +1 @@\n-1\n+x\n", "malformed hunk header"),
        (b"@@ -9999999999 +1 @@\n-1\n+x\n", "malformed hunk header"),
    ],
)
def test_a_hunk_that_is_none_is_refused(lines: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        scan(b"diff --git a/f b/f\n--- a/f\n+++ b/f\n" + lines)


@pytest.mark.parametrize("mode", ["040000", "644", "0", "777777", "1" * 5000, "x", "100644x"])
def test_a_mode_that_git_has_not_is_refused(mode: str) -> None:
    diff = f"diff --git a/f b/f\nnew file mode {mode}\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n"
    with pytest.raises(InputError, match="mode"):
        scan(diff.encode())


@pytest.mark.parametrize(("mode", "as_git_has_it"), [("100664", "100644"), ("100775", "100755")])
def test_an_old_mode_is_read_as_git_does(mode: str, as_git_has_it: str) -> None:
    diff = f"diff --git a/f b/f\nnew file mode {mode}\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n"
    (change,) = scan(diff.encode())
    assert change.new_mode == as_git_has_it


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        "a/.GIT/x",
        "GIT~1/x",
        "git~1",
        ".git ./x",
        ".git::$INDEX_ALLOCATION/x",
        ".g\u200cit/x",
        "a\\.git\\x",
        "\ufeff.git",
        "../x",
        "a//../b",
        "d/" * 1100 + "x",
        "n" * 4096,
    ],
)
def test_a_path_that_leads_out_or_into_git_is_refused(path: str) -> None:
    diff = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
    with pytest.raises(InputError, match="path"):
        scan(diff.encode())


@pytest.mark.parametrize("name", [".gitmodules", "GITMOD~1", "d/.gitmodules.", ".GitModules"])
def test_gitmodules_is_no_symbolic_link(name: str) -> None:
    diff = (
        f"diff --git a/{name} b/{name}\nnew file mode 120000\n"
        f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
    )
    with pytest.raises(InputError, match="symbolic link"):
        scan(diff.encode())


def test_a_header_that_git_takes_is_a_header() -> None:
    renamed = (
        b"diff --git a/a b/m\nsimilarity index 98\nrename from a\nrename to m\n"
        b"--- a/a\n+++ b/m\n@@ -1 +1,2 @@\n 1\n+2\n"
    )
    (change,) = scan(renamed)
    assert (change.old, change.new, change.kind) == ("a", "m", ChangeKind.RENAME)
    odd = (
        b"diff --git a/f b/f\nindex GONE..NEW 100644\nold mode 100644\nnew mode 100755\n"
        b"--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n 1\n+2\n"
    )
    (change,) = scan(odd)
    assert (change.old_mode, change.new_mode) == ("100644", "100755")
    assert (change.old_blob, change.new_blob) == (None, None)


def test_a_time_that_is_none_is_no_epoch() -> None:
    diff = (
        b"--- f\t2026-99-99 00:00:00 +0000\n+++ f\t0001-01-01 00:00:00 +2300\n@@ -1 +1 @@\n-1\n+x\n"
    )
    (change,) = scan(diff, strip=0)
    assert change.kind is ChangeKind.MODIFY


@pytest.mark.parametrize(
    "prose",
    [
        b"",
        b"The command diff --git a/x b/x shows it.\n",
        b"diff --git is what git writes\n\n",
        b"Subject: x\n---\n f.py | 2 +-\n 1 file changed\n\n",
        b"--- old\n+++ new\n\nare names\n",
        b"Index: of the thing\n",
        b"diff -u is better than diff -c\n",
        b"Binary files a and b differ\n",
        b"diff --git a/foo b/foo in prose\n--- not a header\n\n",
        b"diff --git a/foo b/foo\nindex of it\n",
        b"diff --git a/foo b/foo\nnew mode of thinking\n",
    ],
)
def test_prose_is_not_diff(prose: bytes) -> None:
    assert find_diff(prose + SIMPLE) == len(prose)
    assert find_diff(prose) == len(prose)


contents = st.lists(
    st.sampled_from(
        [b"a", b"b", b"", b"-- ", b"--- x", b"+++ y", b"@@ -1 +1 @@", b"\xff\r", b"\\"]
    ),
    max_size=12,
)


@settings(max_examples=25, deadline=None)
@given(old=contents, new=contents, last=st.booleans())
def test_git_and_scan_agree(
    old: list[bytes], new: list[bytes], last: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder: Path = tmp_path_factory.mktemp("diff")
    before = b"\n".join(old) + (b"\n" if last else b"")
    after = b"\n".join(new)
    (folder / "old").write_bytes(before)
    (folder / "new").write_bytes(after)
    diff = subprocess.run(
        ["git", "diff", "--no-index", "--text", "--no-color", "old", "new"],
        cwd=folder,
        capture_output=True,
        check=False,
    ).stdout
    changes = scan(diff)
    assert (before == after) is (changes == ())
    for change in changes:
        assert change.end == len(diff)
        for left, right in pairwise(change.hunks):
            assert left.line < right.line
        for hunk in change.hunks:
            start = max(hunk.old_start - 1, 0)
            assert b"".join(hunk.preimage) in before
            assert before.split(b"\n")[start : start + hunk.old_count] == [
                line.removesuffix(b"\n") for line in hunk.preimage
            ]
            assert b"".join(hunk.postimage) in after


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(" +-"), st.text("ab-+\\@ \r\t\v\f\x85é", max_size=6), st.booleans()
        ),
        min_size=1,
        max_size=8,
    )
)
def test_a_long_diff_is_read_as_a_short_one(
    body: list[tuple[str, str, bool]],
) -> None:
    """An empty line may stand without its blank; the last may lack its newline."""
    lines = [
        "\n" if bare and mark == " " and not text.strip("\r") else f"{mark}{text}\n"
        for mark, text, bare in body
    ]
    old = sum(mark != "+" for mark, _, _ in body)
    new = sum(mark != "-" for mark, _, _ in body)
    ends = ["\\ No newline at end of file\n"] if body[-1][2] else []
    text = [f"@@ -1,{old} +1,{new} @@\n", *lines, *ends]
    raw = [line.encode("latin-1") for line in text]
    read = hunk_lines(raw)
    assert hunk_lines_of_many(raw) == read
    unended = [*raw[:-1], raw[-1].removesuffix(b"\n")]
    assert hunk_lines_of_many(unended) == hunk_lines(unended)
    (change,) = scan(b"".join([b"--- a/f\n", b"+++ b/f\n", *raw]))
    assert change.hunks[0].lines == read
