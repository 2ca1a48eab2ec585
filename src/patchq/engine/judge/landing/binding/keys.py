"""The keys that YAML, JSON, TOML and INI bind."""

from __future__ import annotations

import re
from collections.abc import Iterator

from patchq.engine.judge.landing.binding.bound import Bound
from patchq.engine.judge.landing.binding.code import for_commands

_KEY = re.compile(r"[\"']?([^\s\"':{}\[\],#][^\"':]*)[\"']?\s*:(?:\s|$)")
_SECTION = re.compile(r"\s*(\[\[?)([^\]]+)\]")
_SETTING = re.compile(r"\s*[\"']?([\w.-]+)[\"']?\s*=(?!=)")


def keys_by_indentation(_path: str, text: bytes) -> Iterator[Bound]:
    """The keys of YAML and JSON, by indentation."""
    lines = text.decode("latin-1").split("\n")
    open_: list[tuple[int, int, bool, str]] = []  # column, line, whether an item, key
    last = document = 0

    def closed(column: int, *, item: bool) -> Iterator[Bound]:
        while open_ and (open_[-1][0], open_[-1][2] or not item) >= (column, True):
            _, first, is_item, key = open_.pop()
            block = (document, *(~line if dash else line for _, line, dash, _ in open_))
            if key and not is_item:
                yield Bound(key, first, last, block, len(block))

    for number, line in enumerate(lines):
        said = line.strip()
        if not said or said.startswith("#"):
            continue
        if "=" in line or "-u" in line:
            yield from for_commands(lines, number, ())  # the commands of a workflow
        column = len(line) - len(line.lstrip())
        yield from closed(column, item=said.startswith("- "))
        last = number
        if said == "---":
            document = number
        while said.startswith("- "):
            open_.append((column, number, True, ""))
            rest = said[2:].lstrip()
            column, said = column + len(said) - len(rest), rest
        match = _KEY.match(said)
        open_.append((column, number, False, match[1] if match else ""))
    yield from closed(0, item=False)


def keys_by_section(_path: str, text: bytes) -> Iterator[Bound]:
    """The keys of TOML and INI, each qualified by its section."""
    section, array, entry = "", "", 0
    for number, line in enumerate(text.decode("latin-1").split("\n")):
        if match := _SECTION.match(line):
            section = match[2].strip()
            if len(match[1]) > 1:
                array, entry = section, number
            if array and f"{section}.".startswith(f"{array}."):
                section = f"{section}#{entry}"
        elif match := _SETTING.match(line):
            yield Bound(f"{section}\n{match[1]}", number, number)
