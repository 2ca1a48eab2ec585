"""The table of an import without a tag: files against bases, and what to do with each."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from patchq.model.triage import Fits, Triage, TriagedFile
from patchq.report.cells import short_bases
from patchq.report.look import Look
from patchq.report.terminal import INDENT, Writer

SCHEMA = "patchq.triage/1"

_LOOKS = {
    Fits.APPLIES: (Look("✔", "=", "green"), "applies"),
    Fits.OFFSET: (Look("~", "~", "green"), "applies with offset"),
    Fits.ELSEWHERE: (Look("≈", "&", "yellow"), "applies at other paths (--strip, --directory)"),
    Fits.MERGES: (Look("→", ">", "yellow"), "by three-way merge from where it applies"),
    Fits.THERE: (Look("↑", "^", "blue"), "upstream has it"),
    Fits.NO: (Look("✖", "x", "red"), "does not apply"),
    Fits.UNKNOWN: (Look("?", "?", "magenta"), "not known: base not here, or not covered"),
}


def render_triage(triage: Triage, console: Console) -> None:
    """Print which file fits which base, what the signs mean, and what is for elsewhere."""
    writer = Writer(console)
    files = [file for file in triage.ours if file.fits]
    names = [writer.say(_short(file.place)) for file in files]
    width = max(map(cell_len, names), default=0)
    heads = tuple(map(writer.say, short_bases(triage.bases)))
    if files:
        writer.row(_line(" " * width, heads, ["bold"] * len(heads), heads))
    for name, file in zip(names, files, strict=True):
        looks = [_LOOKS[file.fits[base]][0] for base in triage.bases]
        line = _line(
            name + " " * (width - cell_len(name)),
            [writer.sign(look) for look in looks],
            [look.style for look in looks],
            heads,
        )
        line.append(f"  {_best(file)}", style="" if file.best else "bold red")
        writer.row(line)
    seen = {fits for file in files for fits in file.fits.values()}
    writer.items(
        [
            Text.assemble((writer.sign(look), look.style), f" {word}")
            for fits, (look, word) in _LOOKS.items()
            if fits in seen
        ]
    )
    for title, chosen in (
        ("for another repository", [file for file in triage.files if file.other]),
        ("fits no base", list(triage.unplaced)),
    ):
        if chosen:
            writer.blank()
            writer.words(f"{title}: {len(chosen)}", style="bold")
            for file in chosen:
                told = (file.problem or "").removeprefix(f"{file.place}: ")
                problem = f": {told}" if told else ""
                writer.words(f"{_short(file.place)}{problem}", INDENT)


def commands(triage: Triage) -> Iterator[str]:
    """The commands that take each file onto the base that it fits best."""
    for base in triage.bases:
        files = triage.taken(base)
        places = [file.place for file in files]
        if files:
            yield f"patchq import {' '.join(map(quote, places))} --tag {base}"


def triage_document(triage: Triage) -> dict[str, Any]:
    """The table as JSON has it."""
    return {
        "schema": SCHEMA,
        "bases": list(triage.bases),
        "files": [
            {
                "file": file.place,
                "name": file.name,
                "best": file.best,
                "other_repository": file.other,
                "onto": file.onto,
                "read_as": file.read_as,
                "problem": file.problem,
                "fits": {base: fits.value for base, fits in file.fits.items()},
            }
            for file in triage.files
        ],
        "commands": list(commands(triage)),
    }


def _best(file: TriagedFile) -> str:
    if file.best is None:
        return "upstream" if file.there else "-"
    onto = f" on {file.onto}" if file.onto else ""
    return f"{file.best}{onto}"


def _line(
    name: str, cells: list[str] | tuple[str, ...], styles: list[str], heads: tuple[str, ...]
) -> Text:
    line = Text(name)
    for cell, style, head in zip(cells, styles, heads, strict=True):
        line.append(f"  {cell:>{cell_len(head)}}", style=style)
    return line


def _short(place: str) -> str:
    return place.rpartition("/")[2]
