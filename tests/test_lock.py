"""upstream.lock: order, pins, and what is said about a malformed file."""

import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchq.errors import InputError, UpstreamError, Where
from patchq.model.ids import commit_id, tree_id
from patchq.model.lock import (
    COMMENT,
    Archive,
    Base,
    Lock,
    check_base_name,
    leading_comment,
    read_lock,
    render_lock,
)

WHERE = Where("upstream.lock")
A, B, C = "a" * 40, "b" * 40, "c" * 40

V16 = Base("v0.5.16", commit_id(A), tree_id(B), "2026-10-01T12:00:00+00:00")
V17 = Base("v0.5.17", commit_id(B), tree_id(C), "2026-10-15T12:00:00+02:00")
ARCHIVE = Archive(
    "pypi:demo==0.5.18", "demo-0.5.18.tar.gz", "d" * 64, "python", ("python/**",), ("*.so",)
)
V18 = Base("v0.5.18", commit_id(C), tree_id(A), "2026-11-01T12:00:00Z", ARCHIVE)
LOCK = Lock("https://example.org/demo.git", (V16, V17, V18))

TEXT = f"""\
version: 1
upstream: https://example.org/demo.git
bases:
  - name: v0.5.16
    commit: {A}
    tree: {B}
    date: 2026-10-01T12:00:00+00:00
"""


def test_the_rendered_file_is_plain_to_read() -> None:
    lock = Lock("https://example.org/demo.git", (V16,))
    assert render_lock(lock).decode() == COMMENT + TEXT


def test_an_archive_reads_back() -> None:
    assert read_lock(render_lock(LOCK), WHERE) == LOCK
    assert b"'" not in render_lock(LOCK).replace(b"'*.so'", b"")


def test_order() -> None:
    assert LOCK.position("v0.5.17") == 1
    assert LOCK.previous("v0.5.17") == (V16,)
    assert LOCK.following("v0.5.17") == (V18,)
    assert LOCK.previous("v0.5.16") == ()


def test_an_unknown_base_names_near_ones() -> None:
    with pytest.raises(InputError) as caught:
        LOCK.base("v0.5.19")
    assert "v0.5.19" in caught.value.message
    assert "v0.5.18" in (caught.value.hint or "")
    assert "patchq lock v0.5.19" in (caught.value.hint or "")


def test_a_base_goes_to_the_end_or_behind_another() -> None:
    new = replace(V17, name="main-ahead")
    assert LOCK.with_base(new).names[-1] == "main-ahead"
    assert LOCK.with_base(new, after="v0.5.16").position("main-ahead") == 1
    with pytest.raises(InputError):
        LOCK.with_base(new, after="v9")


def test_the_same_base_again_changes_nothing() -> None:
    assert LOCK.with_base(V18) is LOCK


@pytest.mark.parametrize(
    ("found", "ours", "theirs"),
    [
        (replace(V17, commit=commit_id(C)), B, C),
        (replace(V17, tree=tree_id(A)), C, A),
        (replace(V18, archive=replace(ARCHIVE, sha256="e" * 64)), "d" * 64, "e" * 64),
        (replace(V18, archive=replace(ARCHIVE, covers=("x/**",))), "python/**", "x/**"),
        (replace(V18, archive=None), "d" * 64, "none"),
    ],
)
def test_a_base_that_moved_is_an_error_naming_both(found: Base, ours: str, theirs: str) -> None:
    with pytest.raises(UpstreamError) as caught:
        LOCK.with_base(found)
    assert ours in caught.value.message
    assert theirs in caught.value.message


def test_the_leading_comment_survives_a_rewrite() -> None:
    raw = b"# ours\r\n# and theirs\n\n" + TEXT.encode() + b"# lost\n"
    again = render_lock(read_lock(raw, WHERE), comment=leading_comment(raw))
    assert again.decode() == "# ours\n# and theirs\n\n" + TEXT


def test_names_that_look_like_numbers_stay_text() -> None:
    raw = TEXT.replace("v0.5.16", "1.10").replace(A, "1" * 40).encode()
    lock = read_lock(raw, WHERE)
    assert lock.base("1.10").commit == "1" * 40
    assert read_lock(render_lock(lock), WHERE) == lock


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("version: 1", "version: 2", 1, "version 2"),
        ("version: 1", "version: 1.0", 1, "whole number"),
        ("version: 1\n", "", 1, "'version' is missing"),
        ("version: 1", "version: 2\nfuture: x", 1, "version 2"),
        ("upstream: https", "upstraem: https", 2, "upstraem"),
        ("https://example.org/demo.git", "--upload-pack=x", 2, "URL"),
        ("https://example.org/demo.git", "", 2, "nothing"),
        ("v0.5.16", "../v0.5.16", 4, "usable as a directory"),
        ("v0.5.16", "a/b", 4, "usable as a directory"),
        ("v0.5.16", "[a]", 4, "a list"),
        ("v0.5.16", "v1..2", 4, "usable as a directory and as a tag"),
        (A, "A" * 40, 5, "40 lower-case hex"),
        (B, "b" * 39, 6, "40 lower-case hex"),
        ("+00:00", "", 7, "zone"),
        ("2026-10-01T", "yesterday", 7, "zone"),
        ("    date", "    dale", 7, "dale"),
        (f"    tree: {B}\n", "", 4, "'tree' is missing"),
        ("    tree", "    commit", 6, "given twice"),
        ("    tree", "  tree", 6, "expected"),
        ("https://example.org/demo.git", "*x", 2, "alias"),
        ("v0.5.16", "v0\x07", 4, "control character"),
        ("v0.5.16", "v0\udcff", 4, "UTF-8"),
    ],
)
def test_malformed_files_are_refused_with_the_line(
    old: str, new: str, line: int, words: str
) -> None:
    raw = TEXT.replace(old, new, 1).encode("utf-8", "surrogateescape")
    with pytest.raises(InputError) as caught:
        read_lock(raw, WHERE)
    assert words in caught.value.message
    assert caught.value.where == Where("upstream.lock", line)


@pytest.mark.parametrize(
    "name", ["v1", "v0.5.16", "1.10", "main-ahead", "v1.0+cu130", "a.locks", "v1-"]
)
def test_what_a_base_may_be_called(name: str) -> None:
    subprocess.run(["git", "check-ref-format", f"refs/tags/{name}"], check=True)
    check_base_name(name)


@pytest.mark.parametrize("name", ["v1..2", "a.lock", "v1.", "-v1", ".v1", "v1~2", "v1\n", ""])
def test_what_git_cannot_hold_is_no_name_of_a_base(name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name of a base"):
        check_base_name(name)


def test_a_base_given_twice_is_refused_at_the_second() -> None:
    with pytest.raises(InputError, match="given twice") as caught:
        read_lock((TEXT + TEXT.partition("bases:\n")[2]).encode(), WHERE)
    assert caught.value.where == Where("upstream.lock", 8)


@pytest.mark.parametrize(
    ("archive", "value"),
    [
        (replace(ARCHIVE, sha256="d" * 63), "d" * 63),
        (replace(ARCHIVE, file="a/b.tar"), "a/b.tar"),
        (replace(ARCHIVE, prefix="../up"), "../up"),
        (replace(ARCHIVE, prefix="/abs"), "/abs"),
    ],
)
def test_malformed_archives_are_refused(archive: Archive, value: str) -> None:
    bad = replace(V18, archive=archive)
    with pytest.raises(InputError) as caught:
        read_lock(render_lock(Lock("u", (bad,)), comment=""), WHERE)
    assert value in caught.value.message


@pytest.mark.parametrize("raw", [b"", b"# only this\n", b"[1]", b"a: [" + b"[" * 5000, b"a: b: c"])
def test_what_is_no_lock_at_all_is_refused(raw: bytes) -> None:
    with pytest.raises(InputError):
        read_lock(raw, WHERE)


objects = st.text("0123456789abcdef", min_size=40, max_size=40)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
archives = st.builds(
    Archive,
    source=texts,
    file=texts.filter(lambda t: "/" not in t and t not in (".", "..")),
    sha256=st.text("0123456789abcdef", min_size=64, max_size=64),
    prefix=st.sampled_from(["", "python", "a b/c"]),
    covers=st.lists(texts, max_size=2).map(tuple),
    excludes=st.lists(texts, max_size=2).map(tuple),
)
bases = st.builds(
    Base,
    name=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._+-]*", fullmatch=True).filter(
        lambda name: ".." not in name and not name.endswith((".", ".lock"))
    ),
    commit=objects,
    tree=objects,
    date=st.datetimes(timezones=st.timezones()).map(lambda d: d.isoformat()),
    archive=st.none() | archives,
)
locks = st.builds(
    Lock,
    upstream=texts.filter(lambda t: t.strip() and not t.startswith("-")),
    bases=st.lists(bases, max_size=3, unique_by=lambda b: b.name).map(tuple),
)


@given(locks)
def test_every_lock_reads_back(lock: Lock) -> None:
    assert read_lock(render_lock(lock), WHERE) == lock
