"""``retired.yaml``: patches that left a series, or are held, with all that brings them back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar

from patchq.errors import Where
from patchq.model.ids import commit_id
from patchq.model.patch_names import check_name
from patchq.model.series import Guard, SeriesEntry
from patchq.model.verdict import Evidence, EvidenceKind, Verdict
from patchq.model.yamlfile import YamlValue, dump, parse

VERSION = 1

_GUARD = re.compile(r"([-+])([^-+#\s][^#\s]*)")
_Choice = TypeVar("_Choice", bound=Enum)


class RecordState(Enum):
    """Whether the patch is out for good reason, waits for review, or the user dropped it."""

    RETIRED = "retired"
    HELD = "held"
    DROPPED = "dropped"


@dataclass(frozen=True)
class Retired:
    """A patch out of the series: why, and its content byte for byte.

    ``since`` is the base on which it was judged; ``base`` the one that its content stands on.
    ``guards``, ``strip`` and ``remark`` are what its line in the series said, ``comment`` the lines
    above it.
    """

    name: str
    verdict: Verdict
    reason: str
    evidence: tuple[Evidence, ...]
    content: bytes
    standing: RecordState
    since: str
    base: str
    guards: tuple[Guard, ...] = ()
    strip: int = 1
    comment: bytes = b""
    remark: bytes = b""

    @property
    def entry(self) -> SeriesEntry:
        """Its line in a series, if it comes back."""
        return SeriesEntry(
            self.name, self.strip, self.guards, comment=self.comment, remark=self.remark
        )


@dataclass(frozen=True)
class Lineage:
    """How the patches of a series go on from those of the series before.

    ``begins`` says why it does not go on from it at all. ``successors`` names for each patch that
    was renamed, folded or split in this series what goes on with it.
    """

    begins: str | None = None
    successors: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __bool__(self) -> bool:
        return self.begins is not None or bool(self.successors)

    def succeed(self, names: Iterable[str], by: tuple[str, ...]) -> Lineage:
        """With a record that the patches ``by`` go on with each of ``names``."""
        records = dict(self.successors)
        for name in names:
            records[name] = tuple(dict.fromkeys((*records.get(name, ()), *by)))
        return replace(self, successors=tuple(records.items()))

    def successors_of(self, name: str) -> frozenset[str]:
        """All that goes on with the patch ``name``, over any number of steps."""
        return _reached(name, dict(self.successors))

    def ancestors(self, name: str) -> frozenset[str]:
        """All patches that ``name`` goes on with, over any number of steps."""
        back: dict[str, tuple[str, ...]] = {}
        for old, new in self.successors:
            for each in new:
                back[each] = (*back.get(each, ()), old)
        return _reached(name, back)


def _reached(name: str, steps: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for each in steps.get(waiting.pop(), ()):
            if each not in found:
                found.add(each)
                waiting.append(each)
    return frozenset(found)


def provided_by_upstream(records: Iterable[Retired]) -> frozenset[str]:
    """The patches that left because upstream has all of them: the base has what they did.

    A patch that requires one of these has what it requires.
    """
    return frozenset(
        record.name
        for record in records
        if record.standing is RecordState.RETIRED and record.verdict is Verdict.UPSTREAMED
    )


_document = lru_cache(maxsize=8)(parse)
"""Records and lineage are in one file."""


@lru_cache(maxsize=64)
def read_retired(raw: bytes, where: Where) -> tuple[Retired, ...]:
    """The records in ``raw``, in order.

    Raises :class:`~patchq.errors.InputError` with the line for anything malformed, and for a
    patch that left twice at the same base.
    """
    document = _document(raw, where)
    if document is None:
        return ()
    records: dict[tuple[str, str], Retired] = {}
    for entry in _fields(document)["patches"].sequence():
        record = _read_record(entry)
        if records.setdefault((record.name, record.since), record) is not record:
            entry.fail(f"{record.name} is given twice for {record.since}")
    return tuple(records.values())


@lru_cache(maxsize=64)
def read_lineage(raw: bytes, where: Where) -> Lineage:
    """What ``raw`` says of how the series goes on from the one before it; raises as above."""
    document = _document(raw, where)
    if document is None:
        return Lineage()
    fields = _fields(document)
    begins = fields["begins"].text() if "begins" in fields else None
    rows = fields["successors"].items() if "successors" in fields else ()
    return Lineage(begins, tuple((name, value.texts()) for name, value in rows))


def _fields(document: YamlValue) -> dict[str, YamlValue]:
    document.check_version(VERSION)
    return document.fields("version", "patches", optional=("begins", "successors"))


def _read_record(entry: YamlValue) -> Retired:
    fields = entry.fields(
        *("name", "standing", "verdict", "since", "base", "reason", "content"),
        optional=("guards", "strip", "comment", "remark", "evidence"),
    )
    name = fields["name"].text()
    check_name(name, fields["name"].where)
    return Retired(
        name=name,
        verdict=_choice(fields["verdict"], Verdict),
        reason=fields["reason"].text(),
        evidence=tuple(map(_read_evidence, fields["evidence"].sequence()))
        if "evidence" in fields
        else (),
        content=fields["content"].content(),
        standing=_choice(fields["standing"], RecordState),
        since=fields["since"].text(),
        base=fields["base"].text(),
        guards=tuple(map(_read_guard, fields["guards"].sequence())) if "guards" in fields else (),
        strip=fields["strip"].integer() if "strip" in fields else 1,
        comment=fields["comment"].content() if "comment" in fields else b"",
        remark=fields["remark"].content() if "remark" in fields else b"",
    )


def _read_evidence(entry: YamlValue) -> Evidence:
    words = ("subject", "date", "first_tag")
    fields = entry.fields("kind", "text", optional=("commit", *words, "pr", "paths"))
    return Evidence(
        kind=_choice(fields["kind"], EvidenceKind),
        text=fields["text"].text(),
        commit=commit_id(fields["commit"].text()) if "commit" in fields else None,
        pr=fields["pr"].integer() if "pr" in fields else None,
        paths=fields["paths"].texts() if "paths" in fields else (),
        **{word: fields[word].text() for word in words if word in fields},
    )


def _choice(entry: YamlValue, choices: type[_Choice]) -> _Choice:
    try:
        return choices(entry.text())
    except ValueError:
        known = ", ".join(choice.value for choice in choices)
        entry.fail(f"unknown value {entry.text()!r}", hint=f"One of: {known}.")


def _read_guard(entry: YamlValue) -> Guard:
    match = _GUARD.fullmatch(entry.text())
    if match is None:
        entry.fail(f"expected a guard, +NAME or -NAME, found {entry.text()!r}")
    return Guard(match[2], match[1] == "+")


def render_retired(records: Iterable[Retired], lineage: Lineage | None = None) -> bytes:
    """``records`` and ``lineage`` as a file; reading it gives them again."""
    known = lineage or Lineage()
    fields = {
        "version": VERSION,
        "begins": known.begins,
        "successors": {name: list(by) for name, by in known.successors} or None,
        "patches": [_render_record(record) for record in records],
    }
    return dump(_given(fields))


def _render_record(record: Retired) -> dict[str, Any]:
    fields = {
        "name": record.name,
        "standing": record.standing.value,
        "verdict": record.verdict.value,
        "since": record.since,
        "base": record.base,
        "strip": None if record.strip == 1 else record.strip,
        "guards": [str(guard).removeprefix("#") for guard in record.guards] or None,
        "comment": record.comment or None,
        "remark": record.remark or None,
        "reason": record.reason,
        "evidence": [_render_evidence(evidence) for evidence in record.evidence] or None,
        "content": record.content,
    }
    return _given(fields)


def _render_evidence(evidence: Evidence) -> dict[str, Any]:
    fields = {
        "kind": evidence.kind.value,
        "text": evidence.text,
        "commit": evidence.commit,
        "pr": evidence.pr,
        "subject": evidence.subject,
        "date": evidence.date,
        "first_tag": evidence.first_tag,
        "paths": list(evidence.paths) or None,
    }
    return _given(fields)


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
