from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchq.errors import InputError, Where
from patchq.model.series import Guard, Series, SeriesEntry, read_series, render_entry

RAW = b"""\
# the kernel
arch-prune.patch
sub/old.patch -p0   # cut with svn

gate.patch #+nemotron #-slim
last.patch  #+a #+b no comment sign needed"""


def series(raw: bytes = RAW) -> Series:
    return read_series(raw, Where("series"))


def test_names_options_and_guards() -> None:
    read = series()
    assert read.names == ("arch-prune.patch", "sub/old.patch", "gate.patch", "last.patch")
    assert [entry.strip for entry in read.entries] == [1, 0, 1, 1]
    assert read.entry("gate.patch").guards == (Guard("nemotron", True), Guard("slim", False))
    assert [entry.line for entry in read.entries] == [2, 3, 5, 6]
    assert read.guards == ("a", "b", "nemotron", "slim")


@pytest.mark.parametrize(
    ("selected", "active"),
    [
        (set(), []),
        ({"nemotron"}, ["gate.patch"]),
        ({"nemotron", "slim"}, []),
        ({"b"}, ["last.patch"]),
    ],
)
def test_a_negative_guard_wins(selected: set[str], active: list[str]) -> None:
    always = ["arch-prune.patch", "sub/old.patch"]
    assert [entry.name for entry in series().active(selected)] == always + active


def test_edits_keep_every_other_byte() -> None:
    read = series()
    entry = SeriesEntry("new.patch", 0, (Guard("x", True),))
    assert read.append(entry).raw == RAW + b"\nnew.patch -p0 #+x\n"
    assert (
        read.without(["gate.patch"]).raw
        == RAW.replace(b"gate.patch #+nemotron #-slim\n", b"") + b"\n"
    )
    inserted = read.insert(entry, before="gate.patch")
    assert inserted.raw == RAW.replace(b"gate", b"new.patch -p0 #+x\ngate") + b"\n"
    assert read.rename("sub/old.patch", "x.patch").raw == RAW.replace(b"sub/old", b"x") + b"\n"
    with pytest.raises(InputError, match="twice"):
        read.append(SeriesEntry("gate.patch"))


def test_names_of_any_bytes_that_can_be_read() -> None:
    names = series("größe.patch\n".encode() + b"caf\xe9.patch\n").names
    assert names == ("größe.patch", "caf\udce9.patch")


def test_a_name_goes_without_its_ending_where_that_is_one_patch() -> None:
    read = series(b"a.patch\nb.diff\nc.patch\nc.diff\nd\nd.patch\n")
    assert [read.entry(name).name for name in ("a", "b", "d")] == ["a.patch", "b.diff", "d"]
    with pytest.raises(InputError) as caught:
        read.entry("c")
    assert "c.patch" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("line", "always", "can"),
    [
        ("p", (), True),
        ("p #+x #-y", (), True),
        ("p #+x #-x", (), False),
        ("p #+x #+y #-x", (), True),
        ("p #-x", ("x",), False),
        ("p #+y #-x", ("x",), False),
    ],
)
def test_a_patch_that_no_selection_has(line: str, always: tuple[str, ...], can: bool) -> None:
    (entry,) = series(line.encode()).entries
    assert entry.can_be_active(always) is can


def test_an_unknown_name_gets_near_matches() -> None:
    with pytest.raises(InputError) as caught:
        series().entry("gates.patch")
    assert "gate.patch" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"arch-prune.patch", "twice"),
        (b"x.patch -R", "bad option '-R'"),
        (b"x.patch -p1 -p1", "bad option"),
        (b"x.patch -pab", "bad option"),
        (b"x.patch -p" + b"9" * 20, "bad option"),
        (b"x.patch #+", "bad guard '#\\+'"),
        (b"x.patch #--y", "bad guard"),
        (b"x.patch # see #+y", "after a comment"),
        (b"x.patch#+y", "cannot be a patch's name"),
        (b"x\0.patch", "holds a control character"),
        (b"x\x1b[31m.patch", "holds a control character"),
        ("x\x80.patch".encode(), "holds a control character"),
        (b"x.patch #+a\x7f", "bad guard"),
        (b"/x.patch", "not a path below"),
        (b"../x.patch", "not a path below"),
        (b"a/../../x.patch", "not a path below"),
    ],
)
def test_a_broken_line_is_named(line: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        series(b"arch-prune.patch\n\n" + line + b"\n")
    assert caught.value.where == Where("series", 3)


word = st.text("abcdefgh.-_+", min_size=1, max_size=8).filter(
    lambda text: text[0] not in "+-" and text not in (".", "..")
)
entries = st.builds(
    SeriesEntry,
    name=word,
    strip=st.integers(0, 3),
    guards=st.lists(st.builds(Guard, st.text("abcxyz", min_size=1), st.booleans()), max_size=3).map(
        tuple
    ),
)


@given(wanted=st.lists(entries, unique_by=lambda entry: entry.name))
def test_what_is_rendered_is_read(wanted: list[SeriesEntry]) -> None:
    raw = b"".join(map(render_entry, wanted))
    assert list(series(raw).entries) == wanted


@given(wanted=st.lists(entries, unique_by=lambda entry: entry.name, min_size=1))
def test_append_and_without_undo_each_other(wanted: list[SeriesEntry]) -> None:
    *before, last = wanted
    raw = b"# top\n" + b"".join(map(render_entry, before))
    assert series(raw).append(last).without([last.name]).raw == raw
