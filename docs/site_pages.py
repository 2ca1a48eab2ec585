"""A hook of MkDocs: the pages that are made from the code, and links that leave docs/."""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from patchq.cli.commands import GROUPS
from patchq.cli.help_command import topics
from patchq.cli.main import app

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
INCLUDED = {
    "benchmarks/README.md": "benchmarks.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
"""Pages outside of docs/ that the site has too."""
TOPIC_PAGES = ("verdicts", "exit-codes", "glossary")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def pages() -> dict[str, str]:
    """The Markdown of every generated page by its place in the site."""
    made = {"reference/cli.md": _commands()}
    known = topics()
    made |= {f"reference/{name}.md": _topic(known[name]) for name in TOPIC_PAGES}
    others = [
        _topic(text).replace("# ", "## ", 1)
        for name, text in known.items()
        if name not in TOPIC_PAGES
    ]
    made["reference/topics.md"] = "\n".join(("# Topics of `patchq help`\n", *others))
    made |= {to: (ROOT / source).read_text(encoding="utf-8") for source, to in INCLUDED.items()}
    return made


def _commands() -> str:
    """The help of every command, as it is printed."""
    root = typer.main.get_command(app)
    context = typer.Context(root, info_name="patchq")
    parts = ["# Commands\n", "What `patchq COMMAND --help` prints.\n"]
    parts.append(f"```text\n{_help(root, context)}\n```\n")
    for group, names in GROUPS.items():
        parts.append(f"## {group}\n")
        for name in names:
            command = root.commands[name]  # type: ignore[attr-defined]
            below = typer.Context(command, info_name=name, parent=context)
            parts.append(f"### patchq {name}\n\n```text\n{_help(command, below)}\n```\n")
    return "\n".join(parts)


def _help(command: object, context: typer.Context) -> str:
    context.terminal_width = 100
    text: str = command.get_help(context)  # type: ignore[attr-defined]
    return text.rstrip()


def _topic(text: str) -> str:
    """A topic of ``patchq help`` with its columns as a table."""
    lines = []
    for line in text.splitlines():
        row = re.split(r" {2,}", line.replace("|", r"\|"))
        if len(row) < 2:
            lines.append(line)
            continue
        if not lines[-1].startswith("|"):
            heads = row if row[0] == "verdict" else [""] * len(row)
            lines += ["", f"| {' | '.join(heads)} |", "|---" * len(row) + "|"]
            if heads is row:
                continue
        lines.append(f"| **{row[0]}** | {' | '.join(row[1:])} |")
    return "\n".join(lines) + "\n"


def localized(markdown: str, page: str) -> str:
    """``markdown`` of the ``page`` with links that lead out of the site as plain text."""
    source = next((src for src, to in INCLUDED.items() if to == page), f"docs/{page}")

    def link(match: re.Match[str]) -> str:
        text, url, anchor = match[1], match[2], match[3] or ""
        if ":" in url:
            return match[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), url))
        inside = INCLUDED.get(target, target.removeprefix("docs/"))
        if inside == target:
            return text
        return f"[{text}]({os.path.relpath(inside, posixpath.dirname(page) or '.')}{anchor})"

    return _LINK.sub(link, markdown)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    for place, content in pages().items():
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Mend the links of one page."""
    return localized(markdown, page.file.src_uri)
