"""The pages: what stands in them, that nothing from upstream acts, and how they are used."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.ui import WebDriverWait

from patchq.errors import InputError
from patchq.model.ids import commit_id
from patchq.model.patch import Patch, read_patch
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
    TargetEffect,
    Verdict,
)
from patchq.report.commit import CommitLinks
from patchq.report.diffs import Diffs, same_change
from patchq.report.html import Made, render_html, render_matrix_html
from patchq.report.roots import roots

COMMIT = commit_id("81c7a54ec" + "0" * 31)
FILE = "kernel/CMakeLists.txt"
ADDRESS = "https://example.org/commit/{}"
EVIL = (
    "</script></style></title><img src=x onerror=\"document.title='owned'\">"
    "<script>document.title='owned'</script>{{ 7*7 }}\"' onfocus=alert(1) \x1b[2J"
)


def patch(
    name: str,
    verdict: Verdict = Verdict.CLEAN,
    subject: str = "Build for more (#33433)",
    kind: str | None = "strip",
) -> PatchReport:
    evidence = Evidence(
        EvidenceKind.CONFLICTING_CHANGE,
        f"changed the lines of {FILE} hunk 2",
        COMMIT,
        33433,
        subject,
        "2026-08-05T01:36:46-07:00",
        "v3",
        (FILE,),
    )
    hunks = (
        HunkOutcome(FILE, 1, HunkState.CARRIED, 4),
        HunkOutcome(FILE, 2, HunkState.CONFLICTING, commit=COMMIT),
    )
    shown = () if verdict is Verdict.CLEAN else (evidence,)
    return PatchReport(name, verdict, (PathChange(FILE, "py/" + FILE),), hunks, shown, kind=kind)


def report(onto: str, *patches: PatchReport, remembered: tuple[Remembered, ...] = ()) -> Report:
    return Report(
        "v1", onto, commit_id("a" * 40), commit_id("b" * 40), ("slim",), patches, remembered
    )


def matrix(subject: str = "Build for more (#33433)", name: str = "c.patch") -> Matrix:
    gone = Remembered("b.patch", Verdict.UPSTREAMED, "v2", Memory.SETTLED)
    second = report("v2", patch("a.patch"), patch("b.patch", Verdict.UPSTREAMED, kind="backport"))
    third = report(
        "v3",
        patch("a.patch", Verdict.MOVED),
        patch(name, Verdict.CONFLICT, subject),
        remembered=(gone,),
    )
    date = "2026-08-05T00:00:00Z"
    return Matrix(
        (
            Column("v1", commit_id("a" * 40), date, True, None, ("a.patch", "b.patch")),
            Column("v2", commit_id("b" * 40), date, True, second, (name,)),
            Column("v3", commit_id("c" * 40), date, False, third),
        )
    )


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, key, value or "") for key, value in attrs]

    def values(self, key: str) -> list[str]:
        return [value for _, found, value in self.attributes if found == key]


def pages() -> list[str]:
    return [
        render_html(report("v3", patch("a.patch"), patch("c.patch", Verdict.CONFLICT))),
        render_matrix_html(matrix()),
    ]


def outside(text: str) -> set[str]:
    """The addresses that a page leads to."""
    return {value for value in Page(text).values("href") if not value.startswith("#")}


# -- structure ---------------------------------------------------------------------------------


@pytest.mark.parametrize("text", pages())
def test_a_page_loads_nothing(text: str) -> None:
    page = Page(text)
    assert not page.values("src")
    assert not {"link", "img", "iframe", "object", "embed", "base"} & set(page.tags)
    assert not re.search(r"url\(|@import|\bfetch\(|XMLHttpRequest|https?://", text)
    assert "default-src 'none'" in text
    assert "'unsafe-inline'" not in text


@pytest.mark.parametrize("text", pages())
def test_nothing_is_styled_or_scripted_from_within_an_element(text: str) -> None:
    keys = {key for _, key, _ in Page(text).attributes}
    assert "style" not in keys
    assert not any(key.startswith("on") for key in keys)


def test_every_link_of_the_matrix_leads_somewhere_in_it() -> None:
    page = Page(render_matrix_html(matrix()))
    anchors = page.values("id")
    assert len(anchors) == len(set(anchors))
    links = [value for value in page.values("href") if value.startswith("#")]
    assert links
    assert {link[1:] for link in links} <= set(anchors)
    assert "c.patch@v3" in anchors


def test_commits_are_links_only_by_a_template() -> None:
    bases = {ADDRESS.format(letter * 40) for letter in "abc"}
    for given, expected in ((None, set()), (ADDRESS, {ADDRESS.format(COMMIT)})):
        for text in (
            render_html(matrix().columns[2].report or report("v3"), links=CommitLinks(given)),
            render_matrix_html(matrix(), links=CommitLinks(given)),
        ):
            assert outside(text) - bases == expected
    with pytest.raises(InputError):
        render_matrix_html(matrix(), links=CommitLinks("javascript:alert('{}')"))


def test_the_report_puts_decisions_first() -> None:
    back = Remembered(
        "back.patch", Verdict.UPSTREAMED, "v0", Memory.RESURFACED, patch("back.patch")
    )
    done = Remembered("done.patch", Verdict.EXPIRED, "v0", Memory.SETTLED)
    watch = Evidence(EvidenceKind.WATCH, "mentions GB10", COMMIT, 9, "Touch it", first_tag="v3")
    found = report(
        "v3",
        replace(patch("w.patch"), evidence=(watch,)),
        patch("out.patch", Verdict.UNREACHABLE),
        patch("bad.patch", Verdict.CONFLICT),
        remembered=(done, back),
    )
    text = render_html(found)
    order = [
        "<b>2</b> to decide",
        ">back<",
        ">bad<",
        "1 to look at",
        "mentions GB10",
        "1 retired patch settled",
        "Needs a decision <",
        "Leaves the series <",
        ">out<",
        "Carried <",
        "Left earlier <",
        ">done<",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_a_page_of_nothing() -> None:
    assert "0 patches" in render_html(report("v3"))
    assert "The series has no patches." in render_html(report("v3"))
    assert "Nothing to decide: there is no series yet." in render_matrix_html(Matrix(()))


def raw(
    name: str, *lines: str, subject: str = "Build less", body: str = "", **fields: str
) -> Patch:
    """A patch file whose diff has these lines."""
    head = [f"Subject: [PATCH] {subject}", "", *filter(None, [body]), ""]
    head += [f"{key.replace('_', '-')}: {value}" for key, value in fields.items()]
    count = sum(line[0] != "-" for line in lines), sum(line[0] != "+" for line in lines)
    diff = [f"--- a/{FILE}", f"+++ b/{FILE}", f"@@ -1,{count[1]} +1,{count[0]} @@", *lines]
    return read_patch(name, "\n".join([*head, "", *diff, ""]).encode())


def told(**changes: object) -> Matrix:
    """A patch that was adapted on v3, and another that is skipped there; both have their texts."""
    old = raw("a.patch", " one", "-two", "+three", body="Because of #77.", X_Upstream_PR="33433")
    new = raw("a.patch", " uno", "-two", "+three", body="Because of #77.", X_Upstream_PR="33433")
    other = raw("b.patch", " one", "-six", "+seven", "+</script><script>document.title='owned'")
    effects = (TargetEffect("gb10", "flags"),)
    adapted = replace(patch("a.patch", Verdict.ADAPTED), effects=effects)
    skipped = replace(
        patch("b.patch", Verdict.CONFLICT), skipped="no such host", notes=("skipped: no such host",)
    )
    date = "2026-08-05T00:00:00Z"
    contents = {"a.patch": old, "b.patch": other}
    first = Column("v1", commit_id("a" * 40), date, True, None, tuple(contents), contents=contents)
    third = Column(
        "v3",
        commit_id("b" * 40),
        date,
        True,
        report("v3", adapted, skipped),
        contents={"a.patch": new},
    )
    return Matrix((first, replace(third, **changes)))  # type: ignore[arg-type]


def test_a_cell_tells_all_that_was_decided() -> None:
    links = CommitLinks(pull="https://e.org/pull/{}", compare="https://e.org/compare/{}...{}")
    text = render_matrix_html(told(), links=links)
    for words in (
        "Build less",
        "pull request <a",
        "<b>Decided</b> skipped: no such host",
        "<dt>gb10</dt><dd>flags</dd>",
        "<code>patchq why a.patch --onto v3</code>",
        "<code>patchq show a.patch v3</code>",
        "Because of <a",
    ):
        assert words in text
    assert outside(text) == {
        "https://e.org/pull/77",
        "https://e.org/pull/33433",
        f"https://e.org/compare/{'a' * 40}...{'b' * 40}",
    }
    archive = render_matrix_html(told(is_archive=True), links=links)
    assert "compare" not in "".join(outside(archive))


def test_files_lead_to_upstream_by_template() -> None:
    links = CommitLinks(file="https://e.org/blob/{}/{}")
    assert f"https://e.org/blob/{'b' * 40}/py/{FILE}" in outside(
        render_matrix_html(told(), links=links)
    )
    hostile = replace(patch("a"), paths=(PathChange("x", 'a b/?q=#"><img>'),))
    (address,) = outside(render_html(report("v3", hostile), links=links))
    assert address == f"https://e.org/blob/{'b' * 40}/a%20b/%3Fq%3D%23%22%3E%3Cimg%3E"


def test_what_stands_on_another_waits_below_it() -> None:
    top = patch("top.patch", Verdict.CONFLICT)
    middle = replace(patch("mid.patch", Verdict.CONFLICT), blocked_by=("top.patch",))
    last = replace(patch("last.patch", Verdict.CONFLICT), blocked_by=("mid.patch", "gone.patch"))
    alone = replace(patch("alone.patch", Verdict.CONFLICT), blocked_by=("gone.patch",))
    ring = [
        replace(patch(name, Verdict.CONFLICT), blocked_by=(other,))
        for name, other in (("x.patch", "y.patch"), ("y.patch", "x.patch"))
    ]
    found = {
        root.patch.name: [p.name for p in root.followers]
        for root in roots([top, last, middle, alone])
    }
    assert found == {"top.patch": ["last.patch", "mid.patch"], "alone.patch": []}
    assert sum(1 + len(root.followers) for root in roots(ring)) == 2
    text = render_html(report("v3", top, last, middle, alone))
    assert "<b>2</b> to decide" in text
    assert "<b>2</b> stand on them" in text
    assert "2 stand on it" in text
    assert "patchq rebase --onto v3" in text


def test_a_base_that_is_not_fetched_is_grey() -> None:
    text = render_matrix_html(told(report=None, unfetched=("v3",)))
    assert "Not fetched, so not judged: v3" in text
    assert "<code>patchq fetch v3</code>" in text
    assert 'aria-label="a.patch on v3: not-fetched"' in text


def test_how_a_page_was_made_is_told() -> None:
    made = Made("1.2", 1_700_000_000, "c" * 40, changed=True)
    for text in (render_matrix_html(matrix(), made=made), render_html(report("v3"), made=made)):
        assert (
            "Made by patchq 1.2 from ccccccccc and changes that are not committed, "
            "2023-11-14 22:13 UTC" in text
        )


def test_a_diff_stands_in_the_page_once_and_not_without_bounds() -> None:
    diffs = Diffs(most=70_000)
    one, other = raw("a.patch", " a", "+b"), raw("b.patch", " a", "+b")
    assert diffs.add(one) == diffs.add(other) == 0
    long = raw("c.patch", *(f"+{number}" for number in range(2_000)))
    huge = raw("d.patch", *(f"+{number:100}" for number in range(700)))
    assert (diffs.add(long), diffs.add(huge)) == (1, 2)
    first, second, third = json.loads(diffs.as_json())
    assert first.endswith("\n a\n+b")
    assert second.endswith("\n+1496\n\\ 503 more lines are left out here: see patchq show")
    assert third == "\\ 703 lines, for which the page has no room: see patchq show"


def test_two_versions_of_a_diff_are_compared_but_for_their_places() -> None:
    diffs = Diffs()
    old = raw("a.patch", " one", "-two", "+three")
    moved = replace(old, raw=old.raw.replace(b"@@ -1,2 +1,2 @@", b"@@ -9,2 +9,2 @@"))
    assert same_change(old, moved)
    assert diffs.change(old, moved) is None
    new = raw("a.patch", " uno", "-two", "+three")
    assert not same_change(old, new)
    assert diffs.change(old, new) == 0
    assert json.loads(diffs.as_json())[0].split("\n")[-4:] == ["- one", "+ uno", " -two", " +three"]


def test_a_page_of_thousands_of_cells_keeps_its_evidence_as_text() -> None:
    columns = tuple(
        Column(
            f"v{n}",
            commit_id("a" * 40),
            "2026-01-01",
            True,
            report(f"v{n}", *(patch(f"{p}.patch") for p in range(40))),
        )
        for n in range(12)
    )
    text = render_matrix_html(Matrix(columns))
    shown = re.sub(r"(?s)<noscript id=.*?</noscript>|<script>.*?</script>", "", text)
    assert "<article" not in shown
    assert Page(shown).tags.total() < 4 * 40 * 12
    assert Page(text).tags["article"] == 40 * 12 + 40 + 12


# -- hostile text ------------------------------------------------------------------------------


def test_text_from_upstream_is_text() -> None:
    calm = Page(render_matrix_html(matrix())), Page(render_html(report("v3", patch("a"))))
    evil_patch = replace(
        patch(EVIL, Verdict.CONFLICT, EVIL, EVIL),
        notes=(EVIL,),
        blocked_by=(EVIL,),
        paths=(PathChange(EVIL, EVIL),),
        hunks=(HunkOutcome(EVIL, 1, HunkState.GONE),),
    )
    for calm_page, text in zip(
        calm,
        (render_matrix_html(matrix(EVIL, EVIL), title=EVIL), render_html(report("v3", evil_patch))),
        strict=True,
    ):
        page = Page(text)
        assert page.tags["img"] == 0
        assert (page.tags["script"], page.tags["style"]) == (2, 1)
        assert set(page.tags) <= set(calm_page.tags) | {"p", "ol"}
        assert "{{ 7*7 }}" in text
        assert "\x1b" not in text
    assert any(
        unquote(anchor).startswith("</script>")
        for anchor in Page(render_matrix_html(matrix(EVIL, EVIL))).values("id")
    )


def test_paths_of_any_bytes_can_be_written() -> None:
    name = b"caf\xe9.patch".decode("utf-8", "surrogateescape")
    for text in (render_matrix_html(matrix(name=name)), render_html(report("v3", patch(name)))):
        assert "caf\\xe9" in text.encode("utf-8").decode()


# -- in a browser ------------------------------------------------------------------------------

CHROMIUM = shutil.which("chromium")
CHROMEDRIVER = shutil.which("chromedriver")
browser = pytest.mark.skipif(not (CHROMIUM and CHROMEDRIVER), reason="no Chromium installed")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


class Browser:
    """A page in Chromium, as somebody with a keyboard or a phone has it."""

    def __init__(self, driver: webdriver.Chrome, folder: Path):
        self.driver = driver
        self._folder = folder

    def show(self, text: str, fragment: str = "", *, script: bool = True, **media: str) -> None:
        file = self._folder / "page.html"
        file.write_text(text, encoding="utf-8")
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
        features = [{"name": name.replace("_", "-"), "value": v} for name, v in media.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.get("about:blank")
        self.driver.get(file.as_uri() + fragment)

    def size(self, width: int, height: int, *, mobile: bool = False) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def choose(self, name: str, text: str) -> None:
        Select(self.one(f"#{name}")).select_by_visible_text(text)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    @property
    def focused(self) -> str:
        return self.driver.switch_to.active_element.get_attribute("aria-label") or ""

    @property
    def fragment(self) -> str:
        return str(self.driver.execute_script("return location.hash"))

    @property
    def panel(self) -> str:
        """What the panel shows, nothing where it is closed."""
        return self.one("#panel").text

    @property
    def names(self) -> list[str]:
        return [item.text for item in self.all("#grid tbody .name") if item.is_displayed()]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(CHROMEDRIVER))
    yield started
    started.quit()


@pytest.fixture
def chromium(driver: webdriver.Chrome, tmp_path: Path) -> Iterator[Browser]:
    opened = Browser(driver, tmp_path)
    opened.size(1440, 900)
    yield opened
    complaints = [entry["message"] for entry in driver.get_log("browser")]  # type: ignore[no-untyped-call]
    assert complaints == []


@pytest.mark.browser
@browser
class TestInABrowser:
    def test_a_click_opens_the_evidence_and_escape_closes_it(self, chromium: Browser) -> None:
        chromium.show(render_matrix_html(matrix()))
        assert chromium.panel == ""
        chromium.one("#grid [href='#c.patch@v3']").click()
        assert chromium.fragment == "#c.patch@v3"
        for shown in ("c.patch", "conflict", COMMIT[:9], "Build for more", FILE):
            assert shown in chromium.panel
        chromium.press(Keys.ESCAPE)
        assert chromium.panel == ""
        assert chromium.fragment == ""
        assert chromium.focused == "c.patch on v3: conflict"

    @pytest.mark.parametrize("key", [Keys.ENTER, Keys.SPACE])
    def test_the_keyboard_opens_the_evidence(self, chromium: Browser, key: str) -> None:
        chromium.show(render_matrix_html(matrix()))
        chromium.driver.execute_script("document.querySelector('#grid td a').focus()")
        chromium.press(key)
        assert "joined the series here" in chromium.panel

    def test_arrows_walk_the_grid_and_tab_stops_there_once(self, chromium: Browser) -> None:
        chromium.show(render_matrix_html(matrix()))
        assert len(chromium.all("#grid [tabindex='0']")) == 1
        chromium.driver.execute_script(
            "document.querySelector(\"#grid [href='#a.patch@v1']\").focus()"
        )
        assert chromium.focused == "a.patch on v1: new"
        chromium.press(Keys.ARROW_RIGHT)
        assert chromium.focused == "a.patch on v2: clean"
        chromium.press(Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
        assert chromium.focused == "b.patch on v3: settled"
        chromium.press(Keys.ARROW_UP, Keys.ARROW_UP)
        assert chromium.focused == "c.patch on v3: conflict"
        chromium.press(Keys.ARROW_RIGHT, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
        assert chromium.driver.switch_to.active_element.tag_name == "td"
        chromium.press(Keys.HOME)
        assert "c" in chromium.driver.switch_to.active_element.text
        chromium.press(Keys.END)
        assert chromium.focused == "c.patch on v3: conflict"
        assert len(chromium.all("#grid [tabindex='0']")) == 1

    def test_a_link_opens_its_cell_and_back_goes_back(self, chromium: Browser) -> None:
        chromium.show(render_matrix_html(matrix()), "#c.patch@v3")
        assert "Build for more" in chromium.panel
        assert len(chromium.all("#grid [aria-current]")) == 1
        chromium.one(".grid tbody th a").click()
        assert "Base by base" in chromium.panel
        chromium.driver.back()
        assert "Build for more" in chromium.panel

    def test_a_strange_name_can_be_opened_too(self, chromium: Browser) -> None:
        chromium.show(render_matrix_html(matrix(name="ü b%20#?&.patch")))
        chromium.one("#grid .conflict").click()
        assert "ü b%20#?&.patch" in chromium.panel

    def test_filters(self, chromium: Browser) -> None:
        chromium.show(render_matrix_html(matrix()))
        assert chromium.names == ["c", "a", "b"]
        chromium.one("button[data-word='conflict']").click()
        assert chromium.names == ["c"]
        assert chromium.one("#count").text == "1 of 3 patches"
        chromium.one("button[data-word='upstreamed']").click()
        assert chromium.names == ["c", "b"]
        chromium.choose("kind", "backport")
        assert chromium.names == ["b"]
        chromium.one("#search").send_keys("nothing has this")
        assert chromium.names == []
        assert chromium.one("#none").is_displayed()

    def test_the_search_looks_into_paths_and_subjects(self, chromium: Browser) -> None:
        chromium.show(render_matrix_html(matrix("Something else (#33433)")))
        chromium.one("#search").send_keys("some ELSE #33433 py/kernel")
        assert chromium.names == ["c"]

    def test_the_keyboard_passes_over_rows_that_are_filtered_out(self, chromium: Browser) -> None:
        chromium.show(render_matrix_html(matrix()))
        chromium.one("#search").send_keys("b.patch")
        chromium.driver.execute_script("document.querySelectorAll('#grid thead a')[1].focus()")
        chromium.press(Keys.ARROW_DOWN)
        assert chromium.focused == "b.patch on v2: upstreamed"

    def test_hostile_text_stays_text(self, chromium: Browser) -> None:
        for text in (
            render_matrix_html(matrix(EVIL, EVIL)),
            render_html(report("v3", patch(EVIL, Verdict.CONFLICT, EVIL))),
        ):
            chromium.show(text)
            assert chromium.driver.title != "owned"
            assert chromium.all("img") == []
        chromium.show(render_matrix_html(matrix(EVIL, EVIL)))
        chromium.one("#grid .conflict").click()
        assert "onerror" in chromium.panel
        assert chromium.all("img") == []
        assert chromium.driver.title != "owned"

    def test_the_panel_tells_the_patch_and_its_diff(self, chromium: Browser) -> None:
        chromium.show(render_matrix_html(told()), "#a.patch@v3")
        for shown in ("Build less", "Because of #77.", "pull request #33433 is merged", "gb10"):
            assert shown in chromium.panel
        assert [button.text for button in chromium.all(".views button")] == [
            "Patch",
            "Changed since v1",
            "On v1",
        ]
        changed = chromium.one(".diff pre").text
        assert "- one" in changed
        assert "+ uno" in changed
        chromium.all(".views button")[2].click()
        assert [line.text for line in chromium.all(".diff .del")] == ["-two"]
        assert chromium.one(".diff .path").text == FILE
        assert " one" in chromium.one(".diff pre").text

    def test_a_command_can_be_copied(self, chromium: Browser) -> None:
        chromium.show(render_matrix_html(told()), "#a.patch@v3")
        chromium.one(".commands .copy").click()
        waiting = WebDriverWait(chromium.driver, 10, poll_frequency=0.05)
        waiting.until(lambda _: chromium.one(".commands .copy").text == "Copied")
        chromium.one("#search").click()
        chromium.press(Keys.CONTROL + "v")
        assert chromium.one("#search").get_attribute("value") == "patchq why a.patch --onto v3"

    def test_a_hostile_diff_stays_text(self, chromium: Browser) -> None:
        chromium.show(render_matrix_html(told()), "#b.patch@v3")
        assert "+</script><script>document.title='owned'" in chromium.panel
        assert chromium.driver.title != "owned"

    def test_groups_and_order(self, chromium: Browser) -> None:
        def heads() -> list[str]:
            return [head.text for head in chromium.all("#grid .group") if head.is_displayed()]

        chromium.show(render_matrix_html(matrix()))
        assert heads() == ["Needs a decision 1", "Carried 1", "Left earlier 1"]
        chromium.choose("group", "kind")
        assert heads() == ["strip 2", "backport 1"]
        assert chromium.names == ["c", "a", "b"]
        chromium.choose("sort", "name")
        assert chromium.names == ["a", "c", "b"]
        chromium.choose("group", "nothing")
        assert heads() == []
        assert chromium.names == ["a", "b", "c"]
        chromium.choose("group", "outcome")
        chromium.one(".group button").click()
        assert chromium.names == ["a", "b"]
        assert chromium.one(".group button").get_attribute("aria-expanded") == "false"

    def test_followers_are_grouped_by_their_root(self, chromium: Browser) -> None:
        top = patch("top.patch", Verdict.CONFLICT)
        other = replace(patch("before.patch", Verdict.CONFLICT), blocked_by=("top.patch",))
        chromium.show(render_html(report("v3", other, top, patch("fine.patch"))))
        chromium.choose("group", "root")
        assert [head.text for head in chromium.all("#grid .group")] == [
            "top and what stands on it 2",
            "by themselves 1",
        ]
        assert chromium.names == ["top", "before", "fine"]
        chromium.one("#search").send_keys("before")
        assert chromium.names == ["before"]

    def test_paper_has_what_is_not_fine(self, chromium: Browser) -> None:
        chromium.show(render_matrix_html(matrix()))
        chromium.driver.execute_script("dispatchEvent(new Event('beforeprint'))")
        heads = [head.get_attribute("textContent") for head in chromium.all("#paper .where")]
        assert heads == ["c on v3"]
        chromium.driver.execute_script("dispatchEvent(new Event('afterprint'))")
        assert chromium.all("#paper .article") == []

    def test_light_dark_and_the_toggle(self, chromium: Browser) -> None:
        def paper() -> str:
            return chromium.one("body").value_of_css_property("background-color")

        text = render_matrix_html(matrix())
        chromium.show(text, prefers_color_scheme="dark")
        dark = paper()
        chromium.show(text, prefers_color_scheme="light")
        light = paper()
        assert light != dark
        chromium.one("#theme").click()
        assert paper() == light
        chromium.one("#theme").click()
        assert paper() == dark
        chromium.one("#theme").click()
        assert chromium.one("#theme").text == "Theme: auto"

    def test_without_scripts_the_evidence_stands_below(self, chromium: Browser) -> None:
        chromium.show(render_matrix_html(matrix()), script=False)
        assert not chromium.one("#filters").is_displayed()
        assert not chromium.one("#theme").is_displayed()
        assert chromium.one("[id='c.patch@v3']").is_displayed()
        assert "it collides with upstream" in chromium.one("body").text

    @pytest.mark.parametrize("page", ["report", "matrix"])
    def test_a_phone_shows_it_without_scrolling_sideways(
        self, chromium: Browser, page: str
    ) -> None:
        chromium.size(390, 844, mobile=True)
        many = matrix(name="a-rather-long-name-for-a-patch-of-the-kernel.patch")
        last = many.columns[2].report
        assert last is not None
        chromium.show(render_html(last) if page == "report" else render_matrix_html(many))
        width = chromium.driver.execute_script("return document.documentElement.scrollWidth")
        assert width == 390

    def test_on_a_phone_the_evidence_comes_up_from_below(self, chromium: Browser) -> None:
        chromium.size(390, 844, mobile=True)
        chromium.show(render_matrix_html(matrix()), "#c.patch@v3")
        box = chromium.driver.execute_script(
            "return document.getElementById('panel').getBoundingClientRect().toJSON()"
        )
        assert (box["left"], box["right"], box["bottom"]) == (0, 390, 844)
        assert box["top"] > 844 / 4

    def test_the_newest_judged_base_is_in_sight(self, chromium: Browser) -> None:
        chromium.size(390, 844, mobile=True)
        first, second, third = matrix().columns
        away = [
            replace(third, base=f"v{n}", report=None, unfetched=(f"v{n}",)) for n in range(4, 16)
        ]
        chromium.show(render_matrix_html(Matrix((first, second, third, *away))))
        edges = chromium.driver.execute_script(
            "return [...document.querySelectorAll('#grid thead th')].map("
            "(head) => head.getBoundingClientRect().right)"
        )
        assert edges[3] <= 390 < edges[-1]

    def test_heads_stay_in_sight(self, chromium: Browser) -> None:
        bases = tuple(
            Column(
                f"v{number}",
                commit_id("a" * 40),
                "2026-01-01",
                True,
                report(f"v{number}", *(patch(f"p{p}.patch") for p in range(60))),
            )
            for number in range(60)
        )
        chromium.show(render_matrix_html(Matrix(bases)))
        corners = chromium.driver.execute_script(
            "const frame = document.querySelector('.frame');"
            "frame.scrollTo(500, 500);"
            "const box = (e) => e.getBoundingClientRect(), view = box(frame);"
            "return [box(document.querySelectorAll('#grid thead th')[40]).top - view.top,"
            "        box(document.querySelectorAll('#grid tbody th')[40]).left - view.left,"
            "        frame.scrollTop, frame.scrollLeft]"
        )
        assert corners == [0, 0, 500, 500]
