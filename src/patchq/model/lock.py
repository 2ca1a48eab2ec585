"""``upstream.lock``: which upstream, and which bases of it in which order, pinned."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from patchq.errors import InputError, UpstreamError, Where
from patchq.model.ids import CommitId, TreeId, commit_id, tree_id
from patchq.model.nearest import did_you_mean
from patchq.model.yamlfile import YamlValue, dump, parse

if TYPE_CHECKING:
    from patchq.model.coverage import Coverage

VERSION = 1
_SHOWN = 8  # of the newest bases, in a hint
COMMENT = "# The upstream and its bases, in order. `patchq lock` adds to it.\n"

# a directory here and a ref in git, which holds not every name (git-check-ref-format(1))
_NAME = re.compile(r"(?!.*\.\.)(?!.*\.lock$)[A-Za-z0-9]([A-Za-z0-9._+-]*[A-Za-z0-9_+-])?")
_NAME_WORDS = "letters, digits and . _ + -, usable as a directory and as a tag"
_OBJECT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LIBRARY = re.compile(r".+: \d+ (sm|compute)_\w+(, \d+ (sm|compute)_\w+)*")


class NoSuchBaseError(InputError):
    """The lock has no base of this name."""

    def __init__(self, name: str, *, hint: str):
        super().__init__(f"{name} is not a base in upstream.lock", hint=hint)
        self.name = name


@dataclass(frozen=True)
class BuiltWheel:
    """A wheel that upstream built from ``directory`` of the base.

    ``libraries`` are the lines that say what GPU code each of its libraries holds
    (:func:`patchq.model.wheel.library_line`): what the base's archive does not tell of the build.
    """

    directory: str
    source: str
    file: str
    sha256: str
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Archive:
    """The file that a base was imported from, and what of upstream it covers (globs).

    ``requires`` are the lines of ``Requires-Dist`` in its metadata, None if they are not known;
    ``built`` are wheels that upstream made of what the archive does not cover.
    """

    source: str
    file: str
    sha256: str
    prefix: str = ""
    covers: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    requires: tuple[str, ...] | None = None
    built: tuple[BuiltWheel, ...] = ()


@dataclass(frozen=True)
class Base:
    """A pinned state of upstream: a tag, or any commit that was given a name."""

    name: str
    commit: CommitId
    tree: TreeId
    date: str
    archive: Archive | None = None

    @cached_property
    def coverage(self) -> Coverage:
        """The part of upstream that the base knows: all of it, except for archives."""
        from patchq.model.coverage import Coverage  # pathspec, which few commands need

        archive = self.archive
        return Coverage(archive.covers, archive.excludes) if archive else Coverage()

    def covers(self, path: str) -> bool:
        """Whether the base can tell anything about ``path``."""
        return self.archive is None or self.coverage.covers_path(path)


@dataclass(frozen=True)
class Lock:
    """The bases of one upstream; their order here is their order everywhere."""

    upstream: str
    bases: tuple[Base, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all bases, in order."""
        return tuple(base.name for base in self.bases)

    def position(self, name: str) -> int:
        """The index of base ``name``; raises :class:`InputError` if there is none."""
        if name in self.names:
            return self.names.index(name)
        older = len(self.names) - _SHOWN
        more = f" and {older} older ones" if older > 0 else ""
        locked = f"Locked are {', '.join(self.names[-_SHOWN:])}{more}. " if self.names else ""
        last = name.rstrip("/").rpartition("/")[2]
        if last in self.names:
            hint = f"Did you mean {last}?"
        elif name.endswith((".patch", ".diff")):
            hint = f"It names a patch. {locked}"
        else:
            known = did_you_mean(name, self.names) or locked.rstrip()
            hint = f"{known} `patchq lock {name}` adds a base."
        raise NoSuchBaseError(name, hint=hint.strip())

    def base(self, name: str) -> Base:
        """The base ``name``; raises :class:`InputError` if there is none."""
        return self.bases[self.position(name)]

    def previous(self, name: str) -> tuple[Base, ...]:
        """The bases strictly before ``name``, in order."""
        return self.bases[: self.position(name)]

    def following(self, name: str) -> tuple[Base, ...]:
        """The bases strictly after ``name``, in order."""
        return self.bases[self.position(name) + 1 :]

    def with_base(self, base: Base, *, after: str | None = None, before: str | None = None) -> Lock:
        """This lock with ``base`` added behind ``after``, else before ``before``, or at the end.

        A base that is there already is left as it is, but that what its archive requires and the
        wheels built of it are filled in if they were not known. Raises :class:`UpstreamError` if
        its pins differ (a tag that moved, another archive), and names both values.
        """
        if base.name in self.names:
            known = self.base(base.name)
            _compare(known, base)
            filled = _filled(known.archive, base.archive)
            if filled == known.archive:
                return self
            return self.replacing(replace(known, archive=filled))
        if after is not None:
            place = self.position(after) + 1
        else:
            place = len(self.bases) if before is None else self.position(before)
        return Lock(self.upstream, (*self.bases[:place], base, *self.bases[place:]))

    def replacing(self, base: Base) -> Lock:
        """This lock with ``base`` in the place of the one that has its name."""
        place = self.position(base.name)
        return Lock(self.upstream, (*self.bases[:place], base, *self.bases[place + 1 :]))


def _filled(known: Archive | None, found: Archive | None) -> Archive | None:
    """``known`` with what only ``found`` tells: requirements, and wheels built of the base."""
    if known is None or found is None:
        return known
    directories = {wheel.directory for wheel in known.built}
    more = tuple(wheel for wheel in found.built if wheel.directory not in directories)
    requires = found.requires if known.requires is None else known.requires
    return replace(known, requires=requires, built=(*known.built, *more))


def _pins(base: Base) -> dict[str, str]:
    pins: dict[str, str] = {"commit": base.commit, "tree": base.tree}
    if base.archive is not None:
        pins["archive sha256"] = base.archive.sha256
        pins["archive prefix"] = base.archive.prefix
        pins["archive covers"] = " ".join(base.archive.covers)
        pins["archive excludes"] = " ".join(base.archive.excludes)
    return pins


def _wheel_pins(base: Base) -> dict[str, str]:
    """What is pinned of the wheels built of the base; one side may not know of a wheel."""
    pins = {}
    for wheel in base.archive.built if base.archive else ():
        pins[f"sha256 of the wheel built from {wheel.directory}"] = wheel.sha256
        pins[f"GPU code of the wheel built from {wheel.directory}"] = "; ".join(wheel.libraries)
    return pins


def _compare(locked: Base, found: Base) -> None:
    ours, theirs = _pins(locked), _pins(found)
    known, now = _wheel_pins(locked), _wheel_pins(found)
    both = [pin for pin in known if pin in now]
    ours.update((pin, known[pin]) for pin in both)
    theirs.update((pin, now[pin]) for pin in both)
    for pin in {**ours, **theirs}:
        if ours.get(pin) != theirs.get(pin):
            raise UpstreamError(
                f"{locked.name} changed upstream: {pin} is {theirs.get(pin) or 'none'}, "
                f"upstream.lock has {ours.get(pin) or 'none'}",
                hint="Nothing was overwritten. If the change is meant, remove the base from "
                "upstream.lock and lock it again.",
            )


@lru_cache(maxsize=64)
def read_lock(raw: bytes, where: Where) -> Lock:
    """The lock in ``raw``; raises :class:`InputError` with the line for anything malformed."""
    document = parse(raw, where)
    if document is None:
        raise InputError("the file is empty", where=where, hint="`patchq init` makes a workspace.")
    document.check_version(VERSION)
    fields = document.fields("version", "upstream", optional=("bases",))
    bases: dict[str, Base] = {}
    for entry in fields["bases"].sequence() if "bases" in fields else ():
        base = _read_base(entry)
        if base.name in bases:
            entry.fail(f"base {base.name} is given twice")
        bases[base.name] = base
    return Lock(_checked(fields["upstream"], _is_location, "a URL or path"), tuple(bases.values()))


def check_base_name(name: str) -> None:
    """Raise :class:`InputError` if ``name`` cannot be the name of a base."""
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} cannot be the name of a base: must be {_NAME_WORDS}")


def _read_base(entry: YamlValue) -> Base:
    fields = entry.fields("name", "commit", "tree", "date", optional=("archive",))
    return Base(
        name=_checked(fields["name"], _NAME.fullmatch, _NAME_WORDS),
        commit=commit_id(_checked(fields["commit"], _OBJECT.fullmatch, "40 lower-case hex digits")),
        tree=tree_id(_checked(fields["tree"], _OBJECT.fullmatch, "40 lower-case hex digits")),
        date=_checked(fields["date"], _is_date, "an ISO 8601 date and time with zone"),
        archive=_read_archive(fields["archive"]) if "archive" in fields else None,
    )


def _read_archive(entry: YamlValue) -> Archive:
    more = ("prefix", "covers", "excludes", "requires", "built")
    fields = entry.fields("source", "file", "sha256", optional=more)
    return Archive(
        source=_checked(fields["source"], bool, "a path, a URL or pypi:NAME==VERSION"),
        file=_checked(fields["file"], _is_file_name, "a file name without directories"),
        sha256=_checked(fields["sha256"], _SHA256.fullmatch, "64 lower-case hex digits"),
        prefix=_checked(fields["prefix"], _is_inside, "a path inside the tree")
        if "prefix" in fields
        else "",
        covers=fields["covers"].texts() if "covers" in fields else (),
        excludes=fields["excludes"].texts() if "excludes" in fields else (),
        requires=tuple(fields["requires"].text().splitlines()) if "requires" in fields else None,
        built=tuple(map(_read_built, fields["built"].sequence())) if "built" in fields else (),
    )


def _read_built(entry: YamlValue) -> BuiltWheel:
    fields = entry.fields("directory", "source", "file", "sha256", "libraries")
    lines = tuple(fields["libraries"].text().splitlines())
    if not all(map(_LIBRARY.fullmatch, lines)):
        fields["libraries"].fail("expected lines such as 'k/ops.so: 4 sm_90, 4 sm_120a'")
    return BuiltWheel(
        directory=_checked(fields["directory"], _is_inside, "a path inside the tree"),
        source=_checked(fields["source"], bool, "a path, a URL or pypi:NAME==VERSION"),
        file=_checked(fields["file"], _is_file_name, "a file name without directories"),
        sha256=_checked(fields["sha256"], _SHA256.fullmatch, "64 lower-case hex digits"),
        libraries=lines,
    )


def _checked(entry: YamlValue, accepts: Callable[[str], object], wanted: str) -> str:
    value = entry.text()
    if not accepts(value):
        entry.fail(f"expected {wanted}, found {value!r}")
    return value


def _is_location(value: str) -> bool:
    return bool(value.strip()) and not value.startswith("-")  # git must not take it for an option


def _is_file_name(value: str) -> bool:
    return value not in ("", ".", "..") and "/" not in value


def _is_inside(value: str) -> bool:
    path = PurePosixPath(value)
    return not path.is_absolute() and ".." not in path.parts


def _is_date(value: str) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def leading_comment(raw: bytes) -> str:
    """The ``#`` and blank lines that a lock file begins with, for :func:`render_lock`."""
    kept = []
    for line in raw.decode("utf-8-sig", "replace").replace("\r\n", "\n").split("\n"):
        if line.strip() and not line.startswith("#"):
            break
        kept.append(line)
    return "".join(f"{line}\n" for line in kept)


def render_lock(lock: Lock, *, comment: str = COMMENT) -> bytes:
    """``lock`` as a file under ``comment``; reading it gives ``lock`` again."""
    document = {
        "version": VERSION,
        "upstream": lock.upstream,
        "bases": [_render_base(base) for base in lock.bases],
    }
    return comment.encode("utf-8") + dump(document)


def _render_base(base: Base) -> dict[str, Any]:
    pins = {"name": base.name, "commit": base.commit, "tree": base.tree, "date": base.date}
    return pins if base.archive is None else {**pins, "archive": _render_archive(base.archive)}


def _render_archive(archive: Archive) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "source": archive.source,
        "file": archive.file,
        "sha256": archive.sha256,
        "prefix": archive.prefix,
        "covers": list(archive.covers),
        "excludes": list(archive.excludes),
    }
    shown = {name: value for name, value in fields.items() if value}
    if archive.built:
        shown["built"] = [_render_built(wheel) for wheel in archive.built]
    if archive.requires is None:
        return shown
    # one text: a lock is read by every command, and a list of as many items takes longer
    return {**shown, "requires": _lines(archive.requires)}


def _render_built(wheel: BuiltWheel) -> dict[str, str]:
    return {
        "directory": wheel.directory,
        "source": wheel.source,
        "file": wheel.file,
        "sha256": wheel.sha256,
        "libraries": _lines(wheel.libraries),
    }


def _lines(texts: tuple[str, ...]) -> str:
    return "".join(f"{text}\n" for text in texts)
