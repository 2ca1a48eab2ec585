"""Versions that a downstream pins beside an upstream that has requirements of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import yaml
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import VERSION_PATTERN, InvalidVersion, Version

from patchq.errors import Where
from patchq.model.yamlfile import YamlValue

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(rf"\s*{VERSION_PATTERN}\s*", re.VERBOSE | re.IGNORECASE)
_FLOORS = (">=", ">", "~=", "==", "===")


@dataclass(frozen=True)
class Source:
    """Where upstream says the version of what is no Python package: one group of ``pattern``."""

    file: str
    pattern: str


@dataclass(frozen=True)
class Pin:
    """One version, or a range of them (PEP 440), that the downstream wants."""

    name: str
    specifier: str
    source: Source | None = None
    where: Where | None = field(default=None, compare=False)

    @property
    def line(self) -> str:
        """The pin as a line of a constraints file; a comment where pip knows nothing of it."""
        return f"{'# ' if self.source else ''}{self.name}{self.specifier}"


class PinState(Enum):
    """How a pin stands to what upstream asks for."""

    EQUAL = "equal"
    INSIDE = "inside"  # of upstream's range, or its range holds upstream's version
    AHEAD = "ahead"
    BEHIND = "behind"
    OUTSIDE = "outside"  # of upstream's range
    FREE = "free"  # upstream asks for it in any version
    ABSENT = "absent"  # upstream does not ask for it
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
    return tuple(pins.values())


def _pin(name: str, entry: YamlValue) -> Pin:
    if not isinstance(entry.node, yaml.MappingNode):
        return Pin(name, _specifier(entry), where=entry.where)
    fields = entry.fields("version", "file", "pattern")
    return Pin(name, _specifier(fields["version"]), _source(fields), entry.where)


def _source(fields: Mapping[str, YamlValue]) -> Source:
    pattern = fields["pattern"]
    groups = _or_fail(pattern, lambda text: re.compile(text).groups, "a regular expression")
    if groups != 1:
        pattern.fail(f"expected one group, around the version; found {groups}")
    return Source(fields["file"].text(), pattern.text())


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
    except (InvalidSpecifier, InvalidVersion, re.error) as error:
        entry.fail(f"not {what}: {error}")
