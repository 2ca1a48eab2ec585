"""The pages: links lead somewhere, commands and options exist, the navigation has every page."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
import typer
import yaml
from markdown_it import MarkdownIt

from patchq.cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAGES += [ROOT / "benchmarks/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def anchors(page: Path) -> set[str]:
    """The ids of the headings, as forges and MkDocs make them."""
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    found: list[str] = []
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", inline.content).lower()
            found.append(re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-"))
    return set(found)


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    links = []
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        for child in token.children or ():
            if child.type in ("link_open", "image"):
                links.append(str(child.attrs.get("href") or child.attrs.get("src")))
    for link in links:
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name}: {link}"
        assert target.is_relative_to(ROOT), f"{name}: {link}"
        if anchor:
            assert anchor in anchors(target), f"{name}: {link}"


def shell_lines(page: Path) -> list[str]:
    """Every command line of the page: in blocks, and in the text."""
    text = page.read_text(encoding="utf-8")
    lines = []
    for token in MarkdownIt().enable("table").parse(text):
        if token.type == "fence":
            body = token.content.replace("\\\n", " ")
            lines += [line.strip().removeprefix("$ ") for line in body.splitlines()]
        for child in token.children or ():
            if child.type == "code_inline":
                lines.append(child.content.replace("\\|", "|"))
    return [line for line in lines if re.match(r"patchq(\s|$)", line)]


@pytest.mark.parametrize("name", NAMES)
def test_commands_and_options_are_there(name: str) -> None:
    for line in shell_lines(ROOT / name):
        words = re.split(r"\s[|>;&]|\s#", line)[0].split()[1:]
        while words and words[0].startswith("-"):
            words = words[2:] if words[0] in ("-C", "--upstream", "--color") else words[1:]
        if not words or not re.fullmatch(r"[a-z-]+", words[0]):
            continue
        assert words[0] in COMMANDS, f"{name}: {line}"
        command = COMMANDS[words[0]]
        known = {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
        for word in words[1:]:
            option = re.match(r"--[a-z-]+", word.lstrip("[("))
            assert not option or option[0] in known | {"--help"}, f"{name}: {line}"


def nav(entries: list[object]) -> list[str]:
    found: list[str] = []
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            found += nav(value) if isinstance(value, list) else [str(value)]
    return found


def test_every_page_is_in_the_navigation() -> None:
    config = yaml.load((ROOT / "mkdocs.yml").read_text(), yaml.BaseLoader)
    listed = nav(config["nav"])
    assert len(listed) == len(set(listed))
    written = {str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")}
    assert written <= set(listed)


def test_the_page_on_json_has_every_document() -> None:
    """Every schema that a command prints; what only caches and journals hold is left out."""
    internal = {"build", "edit", "endings", "landed", "operation", "renamed-since", "renames"}
    internal |= {"cmake", "verdicts", "verified", "whole", "words"}
    made = set()
    for file in (ROOT / "src/patchq").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        made |= {f"{kind}/1" for kind in re.findall(r'\bdocument\(\s*"([a-z-]+)"', text)}
        if file.parts[-3:-1] != ("engine", "release"):  # what it keeps of gates is internal too
            made |= set(re.findall(r"patchq\.([a-z-]+/\d+)", text))
    page = (ROOT / "docs/reference/json.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"`patchq\.([a-z-]+/\d+)`", page))
    assert shown == {kind for kind in made if kind.partition("/")[0] not in internal}
