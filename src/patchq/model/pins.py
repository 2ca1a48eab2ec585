"""Versions that a downstream pins beside an upstream that has requirements of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import yaml
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import VERSION_PATTERN, InvalidVersion, Version

from patchq.errors import InputError, Where
from patchq.model.regex import compile_regex, encoded
from patchq.model.yamlfile import YamlValue

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(rf"\s*{VERSION_PATTERN}\s*", re.VERBOSE | re.IGNORECASE)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FLOORS = (">=", ">", "~=", "==", "===")


@dataclass(frozen=True)
class VersionSource:
    """Where upstream says the version of what is no Python package: one group of ``pattern``."""

    file: str
    pattern: str


@dataclass(frozen=True)
class Pin:
    """One version, or a range of them (PEP 440), that the downstream wants.

    ``reason`` says why; ``index`` is the package index that has it, ``sha256`` are the hashes of
    its files. Pins of one ``group`` are released together and so have the same version.
    """

    name: str
    specifier: str
    source: VersionSource | None = None
    reason: str | None = None
    index: str | None = None
    group: str | None = None
    sha256: tuple[str, ...] = ()
    where: Where | None = field(default=None, compare=False)


class PinState(Enum):
    """How a pin stands to what upstream asks for."""

    EQUAL = "equal"
    INSIDE = "inside"  # of upstream's range, or its range holds upstream's version
    AHEAD = "ahead"
    BEHIND = "behind"
    OUTSIDE = "outside"  # of upstream's range
    FREE = "free"  # upstream asks for it in any version
    ABSENT = "absent"  # upstream does not ask for it
    UNKNOWN = "unknown"  # nothing is known of what upstream asks for
    INCOMPARABLE = "incomparable"  # the one or the other is no version, such as a commit


def compare_pin(ours: str, theirs: str | None) -> PinState:
    """How the specifier ``ours`` stands to upstream's; None: upstream does not ask for it.

    Versions are compared as PEP 440 orders them, a local part of ours aside.
    """
    if theirs is None:
        return PinState.ABSENT
    try:
        our_set, their_set = SpecifierSet(ours), SpecifierSet(theirs)
    except InvalidSpecifier:
        return PinState.INCOMPARABLE
    if not their_set:
        return PinState.FREE
    if our_set == their_set:
        return PinState.EQUAL
    if not (_has_order(our_set) and _has_order(their_set)):
        return PinState.INCOMPARABLE
    our_version, their_version = _exact(our_set), _exact(their_set)
    if our_version and their_version:
        return _order(our_version, their_version, PinState.EQUAL)
    if our_version:
        inside = their_set.contains(our_version, prereleases=True)
        return PinState.INSIDE if inside else PinState.OUTSIDE
    our_floor, their_floor = _floor(our_set), _floor(their_set)
    if their_version:
        if our_set.contains(their_version, prereleases=True):
            return PinState.INSIDE
        ahead = our_floor is not None and our_floor > their_version
        return PinState.AHEAD if ahead else PinState.BEHIND
    if our_floor is None or their_floor is None:
        return PinState.INSIDE
    if not (their_set.contains(our_floor, True) or our_set.contains(their_floor, True)):
        return PinState.OUTSIDE
    return _order(our_floor, their_floor, PinState.INSIDE)


def _order(ours: Version, theirs: Version, equal: PinState) -> PinState:
    if ours == theirs:
        return equal
    return PinState.AHEAD if ours > theirs else PinState.BEHIND


def _has_order(specifiers: SpecifierSet) -> bool:
    """Whether these are all versions; ``===`` takes any text (PEP 440, arbitrary equality)."""
    texts = (specifier.version for specifier in specifiers if specifier.operator == "===")
    return all(_VERSION.fullmatch(text) for text in texts)


def _exact(specifiers: SpecifierSet) -> Version | None:
    """The one version that ``specifiers`` allow, its local part left out."""
    for specifier in specifiers:
        if specifier.operator in ("==", "===") and not specifier.version.endswith(".*"):
            return Version(Version(specifier.version).public)
    return None


def _floor(specifiers: SpecifierSet) -> Version | None:
    floors = [
        Version(specifier.version.removesuffix(".*"))
        for specifier in specifiers
        if specifier.operator in _FLOORS
    ]
    return max(floors, default=None)


def compatible(ours: str, theirs: str | None) -> bool:
    """Whether some version may satisfy both specifiers, as far as two can be compared.

    Of an exact version (its local part counts as PEP 440 says) that is certain; of two ranges it is
    whether they lie apart. None, and what is no version, rules nothing out.
    """
    standing = compare_pin(ours, theirs)
    if theirs is None or standing in (PinState.EQUAL, PinState.INSIDE, PinState.FREE):
        return True
    if standing in (PinState.OUTSIDE, PinState.INCOMPARABLE):
        return standing is PinState.INCOMPARABLE
    # ahead and behind: two versions are apart, two floors are not
    return not (_exact(SpecifierSet(ours)) or _exact(SpecifierSet(theirs)))


def read_pins(entry: YamlValue) -> tuple[Pin, ...]:
    """A mapping of names to versions; raises :class:`InputError` with the line."""
    pins: dict[str, Pin] = {}
    for name, value in entry.items():
        if not _NAME.fullmatch(name):
            value.fail(f"{name!r} is not the name of a package")
        pin = _pin(canonicalize_name(name), value)
        if pin.name in pins:
            value.fail(f"{pin.name} is pinned twice")
        pins[pin.name] = pin
    check_groups(pins.values())
    return tuple(pins.values())


def check_groups(pins: Iterable[Pin]) -> None:
    """Raise :class:`InputError` if two pins of one group differ in their public version."""
    first: dict[str, Pin] = {}
    for pin in pins:
        if pin.group is None:
            continue
        other = first.setdefault(pin.group, pin)
        if compare_pin(pin.specifier, other.specifier) is not PinState.EQUAL:
            raise InputError(
                f"{pin.name}{pin.specifier} and {other.name}{other.specifier} are both of the "
                f"group {pin.group}, whose versions must be the same",
                where=pin.where,
            )


def _pin(name: str, entry: YamlValue) -> Pin:
    if not isinstance(entry.node, yaml.MappingNode):
        return Pin(name, _specifier(entry), where=entry.where)
    more = ("file", "pattern", "reason", "index", "group", "sha256")
    fields = entry.fields("version", optional=more)
    texts = {key: fields[key].text() for key in ("reason", "index", "group") if key in fields}
    hashes = fields["sha256"].sequence() if "sha256" in fields else ()
    return Pin(
        name,
        _specifier(fields["version"]),
        _source(entry, fields),
        sha256=tuple(_sha256(value) for value in hashes),
        where=entry.where,
        **texts,
    )


def _sha256(entry: YamlValue) -> str:
    if not _SHA256.fullmatch(entry.text()):
        entry.fail(f"expected a sha256 of 64 lower-case hex digits, found {entry.text()!r}")
    return entry.text()


def _source(entry: YamlValue, fields: Mapping[str, YamlValue]) -> VersionSource | None:
    if "file" not in fields and "pattern" not in fields:
        return None
    if "file" not in fields or "pattern" not in fields:
        entry.fail("file and pattern go together")
    if "index" in fields or "sha256" in fields:
        entry.fail("what is found by a pattern is no Python package: no index or sha256")
    pattern = fields["pattern"]
    groups = _or_fail(pattern, _groups, "a regular expression as RE2 has them")
    if groups != 1:
        pattern.fail(f"expected one group, around the version; found {groups}")
    return VersionSource(fields["file"].text(), pattern.text())


def _groups(pattern: str) -> int:
    return int(compile_regex(encoded(pattern)).groups)


def _specifier(entry: YamlValue) -> str:
    text = entry.text().strip()
    spelled = f"=={text}" if text[:1].isalnum() else text
    _or_fail(entry, lambda _: SpecifierSet(spelled), "a version or a range (PEP 440)")
    if not text:
        entry.fail("expected a version, found nothing")
    return spelled


def _or_fail(entry: YamlValue, read: Callable[[str], object], what: str) -> object:
    try:
        return read(entry.text())
    except (InvalidSpecifier, InvalidVersion, ValueError) as error:
        entry.fail(f"not {what}: {error}")
