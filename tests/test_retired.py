"""retired.yaml: content survives byte for byte, and the file reads well."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from patchq.errors import InputError, Where
from patchq.model.ids import commit_id
from patchq.model.retired import RecordState, Retired, read_retired, render_retired
from patchq.model.series import Guard
from patchq.model.verdict import Evidence, EvidenceKind, Verdict

WHERE = Where("retired.yaml")
PATCH = b"\n".join(
    [
        b"Subject: Prune",
        b" leading",
        b"",
        b"--- a/x.py",
        b"+++ b/x.py",
        b"@@ -1,4 +1,4 @@",
        b" def f():",
        b" ",
        b"-\treturn 1  ",
        b'+\treturn "\xc3\xa9" + "%s"',
        b" # " + b"x" * 300,
        b"",
    ]
)

RECORD = Retired(
    name="prune.patch",
    verdict=Verdict.UPSTREAMED,
    reason="upstream has it: all 2 hunks",
    evidence=(
        Evidence(
            EvidenceKind.MERGED,
            "has every added line",
            commit=commit_id("1" * 40),
            pr=12,
            subject="Prune (#12)",
            date="2026-10-01T12:00:00+00:00",
            first_tag="v0.5.17",
            paths=("x.py", "caf\udce9.py"),
        ),
        Evidence(EvidenceKind.HINT, "a plain hint"),
    ),
    content=PATCH,
    standing=RecordState.RETIRED,
    since="v0.5.17",
    base="v0.5.16",
    guards=(Guard("mtp", True), Guard("slim", False)),
    strip=0,
)


def test_a_patch_is_a_literal_block_with_unwrapped_lines() -> None:
    text = render_retired([RECORD]).decode()
    block = text.partition("    content: |\n")[2]
    lines = PATCH.decode().split("\n")[:-1]
    assert block == "".join(f"      {line}\n" if line else "\n" for line in lines)
    assert "      - +mtp\n      - -slim\n" in text
    assert "date: 2026-10-01T12:00:00+00:00\n" in text


def test_a_record_reads_back() -> None:
    held = replace(RECORD, standing=RecordState.HELD, name="other.patch", guards=(), evidence=())
    assert read_retired(render_retired([RECORD, held]), WHERE) == (RECORD, held)
    assert read_retired(render_retired([]), WHERE) == ()
    assert read_retired(b"", WHERE) == ()


nasty = st.lists(
    st.sampled_from(
        [
            *("\n", "\r\n", "\r", " ", "\t", "\x85", "\u2028", "\ufeff", "\udcff", "\0", "\x7f"),
            *("-", "+x", "---", "...", "#", ": ", "\U0001f600"),
        ]
    )
).map(lambda parts: "".join(parts).encode("utf-8", "surrogateescape"))


@given(st.binary() | nasty)
@example(b"")
@example(b" leading\n")
@example(b"\n\n  x\n\n\n")
@example(b"no newline")
@example(b"blank at the end\n  ")
@example(b"a\xc2\x85b\n")
@example(b"\ttab\nx\r\n")
@example(b"null")
@example(b"2026-01-01")
@example("\ufeffa\n".encode())
@example("a\n\ufffe".encode())
@example("a\n\U0001f600\n".encode())
def test_every_content_survives(content: bytes) -> None:
    records = (replace(RECORD, content=content), replace(RECORD, name="after"))
    assert read_retired(render_retired(records), WHERE) == records


@given(st.text(), st.text(), st.lists(st.text()).map(tuple))
@example("several\n lines \n", " x", ("a\udc80\nb",))
def test_every_text_survives(reason: str, words: str, paths: tuple[str, ...]) -> None:
    evidence = Evidence(EvidenceKind.HINT, words, paths=paths)
    record = replace(RECORD, reason=reason, evidence=(evidence,))
    assert read_retired(render_retired([record]), WHERE) == (record,)


@given(st.text(st.characters(codec="ascii", categories=["L", "P", "N", "Zs"]) | st.just("\t")))
def test_ordinary_text_is_never_binary(line: int) -> None:
    record = replace(RECORD, content=f"{line}\n{line}\n".encode())
    assert b"!!binary" not in render_retired([record])


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("upstreamed", "upstraemed", 5, "upstraemed"),
        ("standing: retired", "standing: gone", 4, "gone"),
        ("+mtp", "mtp", 10, "guard"),
        ("pr: 12", "pr: twelve", 17, "whole number"),
        ("name: ", "name: ../", 3, "not a path below the directory of the series"),
        ("name: ", 'name: "a\\0" #', 3, "holds a control character"),
        ("verdict:", "verdikt:", 5, "verdikt"),
        ("version: 1", "version: 3", 1, "version 3"),
        ("    content: |", "    content: !!binary |", 26, "not bytes"),
    ],
)
def test_malformed_files_are_refused_with_the_line(
    old: str, new: str, line: int, words: str
) -> None:
    text = render_retired([RECORD]).decode()
    assert old in text
    with pytest.raises(InputError) as caught:
        read_retired(text.replace(old, new, 1).encode(), WHERE)
    assert words in caught.value.message
    assert caught.value.where == Where("retired.yaml", line)


def test_a_patch_may_leave_twice_but_not_at_one_base() -> None:
    later = replace(RECORD, since="v0.5.19")
    assert read_retired(render_retired([RECORD, later]), WHERE) == (RECORD, later)
    with pytest.raises(InputError, match="twice"):
        read_retired(render_retired([RECORD, RECORD]), WHERE)
