"""Builds as they are kept: plain values, with places relative to the project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from patchq.errors import Where
from patchq.kept_answers import KeptAnswers
from patchq.model.verification import Build, BuiltTarget, Fetched, Flag, Remark, SourceGroup


@dataclass(frozen=True)
class KeptBuild:
    """A build, and the blobs it was read from by path; it holds as long as they are the same."""

    reads: Mapping[str, str | None]
    build: Build


def kept_builds(cache: Path) -> KeptAnswers[KeptBuild]:
    """The builds kept below ``cache``."""
    return KeptAnswers(cache / "probe", "patchq.build/3", _read, _write)


def _write(kept: KeptBuild) -> dict[str, Any]:
    return {"reads": dict(kept.reads), "build": asdict(kept.build)}


def _read(kept: Mapping[str, Any]) -> KeptBuild:
    return KeptBuild(dict(kept["reads"]), _read_build(kept["build"]))


def placed(build: Build, directory: str) -> Build:
    """``build`` with its places in the whole tree, where the project lies in ``directory``."""

    def place(where: Where | None) -> Where | None:
        if where is None or directory == ".":
            return where
        return Where(f"{directory}/{where.file}", where.line)

    def flags(items: tuple[Flag, ...]) -> tuple[Flag, ...]:
        return tuple(Flag(flag.text, place(flag.where)) for flag in items)

    def remarks(items: tuple[Remark, ...]) -> tuple[Remark, ...]:
        return tuple(Remark(item.text, place(item.where)) for item in items)

    return replace(
        build,
        targets=tuple(
            BuiltTarget(
                target.name,
                tuple(
                    replace(group, flags=flags(group.flags), definitions=flags(group.definitions))
                    for group in target.groups
                ),
                place(target.where),
            )
            for target in build.targets
        ),
        fetched=tuple(replace(item, where=place(item.where)) for item in build.fetched),
        reads=tuple(path if directory == "." else f"{directory}/{path}" for path in build.reads),
        problems=remarks(build.problems),
        notes=remarks(build.notes),
    )


def _read_build(kept: Mapping[str, Any]) -> Build:
    return Build(
        targets=tuple(
            BuiltTarget(
                target["name"],
                tuple(_read_group(group) for group in target["groups"]),
                _read_where(target["where"]),
            )
            for target in kept["targets"]
        ),
        defaults=tuple((name, value) for name, value in kept["defaults"]),
        fetched=tuple(
            Fetched(**{**item, "where": _read_where(item["where"])}) for item in kept["fetched"]
        ),
        reads=tuple(kept["reads"]),
        problems=_read_remarks(kept["problems"]),
        notes=_read_remarks(kept["notes"]),
    )


def _read_group(kept: dict[str, Any]) -> SourceGroup:
    return SourceGroup(
        kept["language"],
        tuple(kept["sources"]),
        _read_flags(kept["flags"]),
        _read_flags(kept["definitions"]),
        tuple(kept["archs"]),
    )


def _read_flags(kept: list[dict[str, Any]]) -> tuple[Flag, ...]:
    return tuple(Flag(flag["text"], _read_where(flag["where"])) for flag in kept)


def _read_remarks(kept: list[dict[str, Any]]) -> tuple[Remark, ...]:
    return tuple(Remark(item["text"], _read_where(item["where"])) for item in kept)


def _read_where(kept: dict[str, Any] | None) -> Where | None:
    return None if kept is None else Where(**kept)
