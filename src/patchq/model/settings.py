"""``series/patchq.yaml``: what holds for the whole workspace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from patchq.errors import Where
from patchq.model.building import (
    RUNTIME_FIELDS,
    ExportSettings,
    Runtime,
    read_export_settings,
    read_runtime,
)
from patchq.model.predicate import ARCH, Predicate, parse_predicate
from patchq.model.regex import compile_regex, encoded
from patchq.model.release import ReleaseSettings, read_claims, read_gates, read_live, read_uses
from patchq.model.web import Web, read_web
from patchq.model.yamlfile import YamlValue, parse

VERSION = 1
PR_PATTERN = r"\(#(\d+)\)"
MERGE_PATTERN = r"^Merge pull request (?:#|'.*' \(#)(\d+)|^See merge request \S*!(\d+)"
"""What the merges of GitHub, Gitea and GitLab say."""
PROJECT = "{project}"

_BOOLEAN = "tag:yaml.org,2002:bool"
_CMAKE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.+-]*")
_VERSION = re.compile(r"\d+(\.\d+)*")


@dataclass(frozen=True)
class Target:
    """A machine that the tree is built for, and what must hold of the build for it.

    ``cuda`` is the toolkit's version, ``options`` are given to CMake as ``-D``. Every CUDA target
    of the project is built for ``archs`` and nothing else (empty: for anything, but something);
    the targets ``present`` are there, those in ``absent`` are not. ``runtime`` is what it is built
    against and in.
    """

    name: str
    processor: str
    cuda: str
    options: Mapping[str, str] = field(default_factory=dict)
    archs: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    runtime: Runtime = field(default_factory=Runtime)

    @property
    def description(self) -> str:
        """Processor, CUDA and options, in words."""
        options = [f"-D{name}={value}" for name, value in self.options.items()]
        return ", ".join([self.processor, f"CUDA {self.cuda}", *options])


class CommandKind(Enum):
    """What a command that CMake does not know by itself amounts to."""

    LIBRARY = "library"  # makes a target, as add_library does: name, then keywords and sources
    IGNORE = "ignore"  # changes nothing in what is compiled, and how


@dataclass(frozen=True)
class BuildSettings:
    """What the build of the project finds on the machine, for a probe that has none of it.

    ``packages`` are the variables that ``find_package`` sets, by package; a value is CMake text
    and may refer to variables. ``commands`` are those of modules that are not read.
    """

    packages: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    commands: Mapping[str, CommandKind] = field(default_factory=dict)


@dataclass(frozen=True)
class Checks:
    """What ``verify`` checks of every series.

    ``holds`` are predicates on the patched tree; a path in them may begin with ``{project}``,
    which is the directory that the base's recipe names.
    """

    holds: tuple[Predicate, ...] = ()
    build: BuildSettings = field(default_factory=BuildSettings)


@dataclass(frozen=True)
class Settings:
    """Conventions of upstream, guards and their meaning, and what checks are run against.

    ``main`` is the full or short ref of upstream's main branch (None: what its HEAD says);
    ``backport_exclude`` are patterns (gitignore(5)) of files that a backport leaves out.
    ``targets`` are the machines that the tree is built for, ``release`` what else a new tag is
    looked at for, ``web`` where upstream's commits are shown.
    """

    pr_pattern: str = PR_PATTERN
    merge_pattern: str = MERGE_PATTERN
    main: str | None = None
    default_guards: frozenset[str] = frozenset()
    guards: Mapping[str, str] = field(default_factory=dict)
    targets: tuple[Target, ...] = ()
    checks: Checks = field(default_factory=Checks)
    export: ExportSettings = field(default_factory=ExportSettings)
    backport_exclude: tuple[str, ...] = ()
    release: ReleaseSettings = field(default_factory=ReleaseSettings)
    web: Web | None = None

    def target(self, name: str) -> Target | None:
        """The target of this name, if there is one."""
        return next((target for target in self.targets if target.name == name), None)

    def pull_requests(self, subject: str) -> tuple[int, ...]:
        """The pull requests that a commit's subject ends with, in the order written.

        Only what stands at the very end counts: a number further left, or inside the quotes of a
        ``Revert "…"``, speaks of another change.
        """
        numbers: list[int] = []
        rest = text = encoded(subject)
        for match in reversed(list(compile_regex(encoded(self.pr_pattern)).finditer(text))):
            number = _number(match[1])
            if rest[match.end() :].strip() or number is None:
                break
            numbers.insert(0, number)
            rest = text[: match.start()]
        return tuple(numbers)

    def merged_pull_requests(self, message: str) -> tuple[int, ...]:
        """The pull request that the message of a merge names."""
        match = compile_regex(b"(?m)" + encoded(self.merge_pattern)).search(encoded(message))
        number = _number(next(filter(None, match.groups()), None)) if match else None
        return () if number is None else (number,)


_DIGITS = 18


@lru_cache(maxsize=64)
def read_settings(raw: bytes, where: Where) -> Settings:
    """The settings in ``raw``; what it does not mention has its default.

    Raises :class:`~patchq.errors.InputError` with the line for anything malformed.
    """
    document = parse(raw, where)
    if document is None:
        return Settings()
    document.check_version(VERSION)
    known = (
        "version",
        "pr_pattern",
        "merge_pattern",
        "main",
        "default_guards",
        "guards",
        "targets",
        "checks",
        "export",
        "backport",
        "uses",
        "gates",
        "claims",
        "watch",
        "live",
        "web",
    )
    fields = document.fields(optional=known)
    guards = _guards(fields["guards"]) if "guards" in fields else {}
    return Settings(
        pr_pattern=_pattern(fields["pr_pattern"]) if "pr_pattern" in fields else PR_PATTERN,
        merge_pattern=_merge_pattern(fields["merge_pattern"])
        if "merge_pattern" in fields
        else MERGE_PATTERN,
        main=fields["main"].text() if "main" in fields else None,
        default_guards=_default_guards(fields["default_guards"], guards)
        if "default_guards" in fields
        else frozenset(),
        guards=guards,
        targets=_targets(fields["targets"]) if "targets" in fields else (),
        checks=_checks(fields["checks"]) if "checks" in fields else Checks(),
        export=read_export_settings(fields["export"]) if "export" in fields else ExportSettings(),
        backport_exclude=_exclude(fields["backport"]) if "backport" in fields else (),
        web=read_web(fields["web"]) if "web" in fields else None,
        release=ReleaseSettings(
            uses=read_uses(fields["uses"]) if "uses" in fields else (),
            gates=read_gates(fields["gates"]) if "gates" in fields else (),
            claims=read_claims(fields["claims"]) if "claims" in fields else (),
            watch=fields["watch"].texts() if "watch" in fields else (),
            live=read_live(fields["live"]) if "live" in fields else {},
        ),
    )


def _pattern(entry: YamlValue) -> str:
    text, groups = _expression(entry)
    if groups != 1:
        entry.fail(
            f"expected one group, around the number; found {groups}",
            hint=f"The default is {PR_PATTERN}",
        )
    return text


def _merge_pattern(entry: YamlValue) -> str:
    text, groups = _expression(entry)
    if not groups:
        entry.fail(
            "expected a group around the number; found none",
            hint=f"The default is {MERGE_PATTERN}",
        )
    return text


def _expression(entry: YamlValue) -> tuple[str, int]:
    """A regular expression, and how many groups it has."""
    text = entry.text()
    try:
        return text, compile_regex(encoded(text)).groups
    except ValueError as error:
        entry.fail(f"not a regular expression as RE2 has them: {error}")


def _number(digits: bytes | None) -> int | None:
    """The number of a pull request, None if it is none, or none that a forge would give."""
    return int(digits) if digits and digits.isdigit() and len(digits) <= _DIGITS else None


def _exclude(entry: YamlValue) -> tuple[str, ...]:
    fields = entry.fields(optional=("exclude",))
    return fields["exclude"].texts() if "exclude" in fields else ()


def _guards(entry: YamlValue) -> dict[str, str]:
    return {name: description.text() for name, description in entry.items()}


def _default_guards(entry: YamlValue, described: Mapping[str, str]) -> frozenset[str]:
    for item in entry.sequence():
        if described and item.text() not in described:
            item.fail(
                f"guard {item.text()!r} is not described under 'guards'",
                hint=f"Described are: {', '.join(described)}.",
            )
    return frozenset(entry.texts())


def _targets(entry: YamlValue) -> tuple[Target, ...]:
    return tuple(_target(name, fields) for name, fields in entry.items())


def _target(name: str, entry: YamlValue) -> Target:
    known = ("options", "archs", "present", "absent", *RUNTIME_FIELDS)
    fields = entry.fields("processor", "cuda", optional=known)
    return Target(
        name,
        processor=fields["processor"].text(),
        cuda=_matching(fields["cuda"], _VERSION, "a version such as 13.0"),
        options=_variables(fields["options"]) if "options" in fields else {},
        archs=_each(fields.get("archs"), ARCH, "an architecture such as sm_90a"),
        present=_each(fields.get("present"), _CMAKE_NAME, "a target's name"),
        absent=_each(fields.get("absent"), _CMAKE_NAME, "a target's name"),
        runtime=read_runtime(fields),
    )


def _checks(entry: YamlValue) -> Checks:
    fields = entry.fields(optional=("holds", "build"))
    return Checks(
        holds=_predicates(fields["holds"]) if "holds" in fields else (),
        build=_build(fields["build"]) if "build" in fields else BuildSettings(),
    )


def _predicates(entry: YamlValue) -> tuple[Predicate, ...]:
    return tuple(parse_predicate(item.text(), item.where) for item in entry.sequence())


def _build(entry: YamlValue) -> BuildSettings:
    fields = entry.fields(optional=("packages", "commands"))
    packages = dict(fields["packages"].items()) if "packages" in fields else {}
    commands = dict(fields["commands"].items()) if "commands" in fields else {}
    for name, value in (*packages.items(), *commands.items()):
        _check(value, name, _CMAKE_NAME, "a name")
    return BuildSettings(
        packages={name: _variables(variables) for name, variables in packages.items()},
        commands={name: _command(kind) for name, kind in commands.items()},
    )


def _command(entry: YamlValue) -> CommandKind:
    kinds = {kind.value: kind for kind in CommandKind}
    if entry.text() not in kinds:
        entry.fail(
            f"a command cannot be {entry.text()!r}", hint=f"It is one of: {', '.join(kinds)}."
        )
    return kinds[entry.text()]


def _variables(entry: YamlValue) -> dict[str, str]:
    for name, value in entry.items():
        _check(value, name, _CMAKE_NAME, "a variable's name")
    return {name: _spelled(value) for name, value in entry.items()}


def _spelled(entry: YamlValue) -> str:
    """A value for CMake as it is written: ``ON`` is no truth value there."""
    return str(entry.node.value) if entry.node.tag == _BOOLEAN else entry.text()


def _each(entry: YamlValue | None, pattern: re.Pattern[str], what: str) -> tuple[str, ...]:
    items = entry.sequence() if entry else ()
    return tuple(_matching(item, pattern, what) for item in items)


def _matching(entry: YamlValue, pattern: re.Pattern[str], what: str) -> str:
    _check(entry, entry.text(), pattern, what)
    return entry.text()


def _check(entry: YamlValue, text: str, pattern: re.Pattern[str], what: str) -> None:
    if not pattern.fullmatch(text):
        entry.fail(f"expected {what}, found {text!r}")
