"""``series/patchq.yaml``: what holds for the whole workspace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from patchq.errors import Where
from patchq.model.yamlfile import Entry, parse

VERSION = 1
PR_PATTERN = r"\(#(\d+)\)"


@dataclass(frozen=True)
class Settings:
    """Conventions of upstream, guards and their meaning, and what checks are run against.

    ``main`` is the full or short ref of upstream's main branch (None: what its HEAD says).
    ``targets`` and ``checks`` are plain values, read by the engine parts that use them.
    """

    pr_pattern: str = PR_PATTERN
    main: str | None = None
    default_guards: frozenset[str] = frozenset()
    guards: Mapping[str, str] = field(default_factory=dict)
    targets: Mapping[str, Any] = field(default_factory=dict)
    checks: Mapping[str, Any] = field(default_factory=dict)

    def pull_requests(self, subject: str) -> tuple[int, ...]:
        """The pull requests that a commit's subject ends with, in the order written.

        Only what stands at the very end counts: a number further left, or inside the quotes of a
        ``Revert "…"``, speaks of another change.
        """
        numbers: list[int] = []
        rest = subject
        for match in reversed(list(re.finditer(self.pr_pattern, subject))):
            number = match[1] or ""
            if rest[match.end() :].strip() or not number.isdecimal():
                break
            numbers.insert(0, int(number))
            rest = subject[: match.start()]
        return tuple(numbers)


def read_settings(raw: bytes, where: Where) -> Settings:
    """The settings in ``raw``; what it does not mention has its default.

    Raises :class:`~patchq.errors.InputError` with the line for anything malformed.
    """
    document = parse(raw, where)
    if document is None:
        return Settings()
    document.check_version(VERSION)
    known = ("version", "pr_pattern", "main", "default_guards", "guards", "targets", "checks")
    fields = document.fields(optional=known)
    guards = _guards(fields["guards"]) if "guards" in fields else {}
    return Settings(
        pr_pattern=_pattern(fields["pr_pattern"]) if "pr_pattern" in fields else PR_PATTERN,
        main=fields["main"].text() if "main" in fields else None,
        default_guards=_default_guards(fields["default_guards"], guards)
        if "default_guards" in fields
        else frozenset(),
        guards=guards,
        targets=fields["targets"].plain() if "targets" in fields else {},
        checks=fields["checks"].plain() if "checks" in fields else {},
    )


def _pattern(entry: Entry) -> str:
    text = entry.text()
    try:
        groups = re.compile(text).groups
    except re.error as error:
        entry.fail(f"not a regular expression: {error}")
    if groups != 1:
        entry.fail(
            f"expected one group, around the number; found {groups}",
            hint=f"The default is {PR_PATTERN}",
        )
    return text


def _guards(entry: Entry) -> dict[str, str]:
    return {name: description.text() for name, description in entry.items()}


def _default_guards(entry: Entry, described: Mapping[str, str]) -> frozenset[str]:
    for item in entry.sequence():
        if described and item.text() not in described:
            item.fail(
                f"guard {item.text()!r} is not described under 'guards'",
                hint=f"Described are: {', '.join(described)}.",
            )
    return frozenset(entry.texts())
