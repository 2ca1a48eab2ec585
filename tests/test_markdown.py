"""The Markdown of a report: what it shows, and that nothing from upstream acts in it."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from patchq.errors import InputError
from patchq.model.ids import commit_id
from patchq.model.verdict import (
    Column,
    Evidence,
    EvidenceKind,
    HunkOutcome,
    HunkState,
    Matrix,
    Memory,
    PatchReport,
    PathChange,
    Remembered,
    Report,
    Verdict,
)
from patchq.report.commit import CommitLinks
from patchq.report.markdown import (
    COMMENT_LIMIT,
    escape,
    render_markdown,
    render_matrix_markdown,
)

COMMIT = commit_id("81c7a54ec" + "0" * 31)
FILE = "kernel/CMakeLists.txt"
ADDRESS = "https://example.org/commit/{}"
EVIL = (
    "</details></script><img src=x onerror=alert(1)> @root #1 GH-2 https://evil.example "
    "www.evil.example [a](javascript:x) ![i](//e) `c` | *b* __u__ ~~s~~ $x$ &lt; \\ "
    "%1 :tada: fixes #3 \\"
)


def patch(
    name: str = "bad.patch",
    verdict: Verdict = Verdict.CONFLICT,
    subject: str = "Build (#7)",
) -> PatchReport:
    evidence = Evidence(
        EvidenceKind.CONFLICTING_CHANGE,
        f"changed the lines of {FILE} hunk 1",
        COMMIT,
        7,
        subject,
        "2026-08-05T01:36:46-07:00",
        "v2",
        (FILE,),
    )
    hunk = HunkOutcome(FILE, 1, HunkState.CONFLICTING)
    return PatchReport(name, verdict, (PathChange(FILE, FILE),), (hunk,), (evidence,))


def report(*patches: PatchReport, remembered: tuple[Remembered, ...] = ()) -> Report:
    return Report("v1", "v2", commit_id("a" * 40), commit_id("b" * 40), (), patches, remembered)


def fine(name: str) -> PatchReport:
    return PatchReport(name, Verdict.CLEAN, hunks=(HunkOutcome(FILE, 1, HunkState.CARRIED, 0),))


class _Page(HTMLParser):
    """The elements, links and text outside code of rendered Markdown."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.pieces: list[str] = []
        self._code = 0
        html = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(text)
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for key, value in attrs if key in ("href", "src")]
        self._code += tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag == "code"

    def handle_data(self, data: str) -> None:
        if not self._code:
            self.pieces.append(data)


def test_decisions_come_before_the_table_and_the_rest_is_folded() -> None:
    gone = replace(patch("gone.patch", Verdict.UNREACHABLE), hunks=())
    text = render_markdown(report(fine("fine.patch"), gone, patch()))
    order = [
        "### v1 → v2 · 3 patches",
        "**Needs a decision**",
        "✖ **conflict** `bad.patch`",
        "| ✔ | `fine.patch` | clean | carry |",
        "<details>",
        "∅ unreachable `gone.patch`",
        "</details>",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "fine.patch" not in text[text.index("<details>") :]


def test_remembered_and_watched_come_first() -> None:
    back = Remembered("back.patch", Verdict.UPSTREAMED, "v0", Memory.RESURFACED, fine("back.patch"))
    held = Remembered("held.patch", Verdict.CONFLICT, "v1", Memory.HELD)
    done = Remembered("done.patch", Verdict.EXPIRED, "v0", Memory.SETTLED)
    watch = Evidence(EvidenceKind.WATCH, "mentions GB10", COMMIT, 9, "Touch it", first_tag="v2")
    watching = replace(fine("w.patch"), evidence=(watch,))
    text = render_markdown(report(watching, patch(), remembered=(done, held, back)))
    order = ["back.patch", "held.patch", "bad.patch", "**To look at**", "mentions GB10", "| |"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "done.patch" not in text
    assert text.endswith("1 retired patch settled\n")


def test_commits_are_links_only_by_a_template() -> None:
    assert _Page(render_markdown(report(patch()))).links == []
    page = _Page(render_markdown(report(patch()), links=CommitLinks(ADDRESS)))
    assert page.links == [ADDRESS.format(COMMIT)]


@pytest.mark.parametrize(
    "template", ["javascript:{}", "https://example.org/", "{}", "https://{}{}"]
)
def test_a_template_has_to_be_a_web_address(template: str) -> None:
    with pytest.raises(InputError):
        render_markdown(report(), links=CommitLinks(template))


def test_nothing_from_upstream_acts() -> None:
    evil = replace(patch(EVIL, subject=EVIL), notes=(EVIL,), paths=(PathChange(EVIL, FILE),))
    calm = _Page(render_markdown(report(replace(patch(), paths=(PathChange("p", FILE),)))))
    page = _Page(render_markdown(report(evil)))
    assert page.links == []
    assert set(page.tags) == set(calm.tags)
    assert page.tags.count("tr") == 2
    assert page.tags.count("td") == 5


def test_nobody_is_called_and_no_issue_is_touched() -> None:
    # a forge looks for these in the text between elements and comments
    pieces = " ".join(_Page(escape(EVIL)).pieces).split()
    text = render_markdown(report(patch(subject=EVIL)))
    for whole in (
        "@root",
        "#1",
        "GH-2",
        "https://evil.example",
        "www.evil.example",
        "$x$",
        "%1",
        ":tada:",
        "#3",
    ):
        assert whole not in pieces
        assert whole not in text


@pytest.mark.parametrize("text", ["- a", "1. a", "# a", "> a", "=", "+ a", EVIL, "a\nb", "\x1b[2J"])
def test_escaped_text_reads_as_it_was(text: str) -> None:
    page = _Page(escape(text))
    assert set(page.tags) <= {"p"}
    expected = text.replace("\n", "\\n").replace("\x1b", "\\x1b")
    assert "".join(page.pieces).strip() == expected


def test_the_matrix_fits_a_comment() -> None:
    columns = tuple(
        Column(name, commit_id("0" * 40), "2026-01-01", False, replace(report(patch()), onto=name))
        for name in ("v2", "v3")
    )
    text = render_matrix_markdown(Matrix(columns))
    assert "| patch | v3 | v2 |" in text
    assert "| `bad.patch` | ✖ | ✖ |" in text
    assert "**v3**" in text
    many = tuple(replace(patch(), name=f"{'long' * 30}-{number}.patch") for number in range(800))
    long = render_matrix_markdown(
        Matrix((Column("v2", commit_id("0" * 40), "2026-01-01", False, report(*many)),))
    )
    assert len(long) <= COMMENT_LIMIT
    assert long.endswith("`--format html` has all of it.\n")
    assert long.count("<details>") == long.count("</details>")
    assert "1 base\n" in long


def test_what_makes_a_comment_too_long_is_left_out_by_rank_and_told() -> None:
    def many(count: int, verdict: Verdict, name: str) -> list[PatchReport]:
        return [patch(f"{name}-{number}.patch", verdict) for number in range(count)]

    def told(**counts: int) -> str:
        words = {
            "adapted": Verdict.ADAPTED,
            "upstreamed": Verdict.UPSTREAMED,
            "conflict": Verdict.CONFLICT,
        }
        patches = [p for name, count in counts.items() for p in many(count, words[name], name)]
        text = render_markdown(report(*patches))
        assert len(text) <= COMMENT_LIMIT
        assert text.count("<details>") == text.count("</details>")
        return text

    assert "Left out" not in told(adapted=100, conflict=20)
    assert "may not be longer: the evidence for patches that are carried." in told(adapted=350)
    some = told(adapted=100, upstreamed=350)
    assert "longer: the evidence for patches that need no decision." in some
    assert "`adapted-99.patch`" in some
    more = told(adapted=1000, conflict=100)
    assert "and the table's rows of carried patches" in more
    assert "Build" in more
    assert "`adapted-1.patch`" not in more
    most = told(adapted=100, conflict=300)
    assert "longer: all evidence" in most
    assert most.count("**conflict** `conflict-") == 300
    assert "The rest is left out" in told(conflict=3000)


def test_followers_stand_with_their_root_and_long_lists_are_folded() -> None:
    follower = replace(patch("after.patch"), blocked_by=("bad.patch",))
    text = render_markdown(report(patch(), follower, fine("fine.patch")))
    assert "  - 1 stands on it: `after.patch`" in text
    assert "- ✖ **conflict** `after.patch`" not in text
    assert "<summary>Evidence for 1 more</summary>\n\n- ✖ conflict `after.patch`" in text
    text = render_markdown(report(*(patch(f"{number}.patch") for number in range(12))))
    assert "<summary>2 more to decide</summary>\n\n- ✖ **conflict** `10.patch`" in text


def test_no_pull_request_of_github_is_told_of_the_comment() -> None:
    links = CommitLinks(pull="https://github.com/o/r/pull/{}")
    text = render_markdown(report(patch()), links=links)
    assert "https://redirect.github.com/o/r/pull/7" in text
    assert "https://github.com/" not in text
    other = CommitLinks(pull="https://gitlab.com/o/r/-/merge_requests/{}")
    assert "<https://gitlab.com/o/r/-/merge_requests/7>" in render_markdown(
        report(patch()), links=other
    )
