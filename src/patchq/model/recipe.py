"""``series/<base>/recipe.yaml``: what belongs to one base of the upstream, and not to all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from patchq.errors import InputError, Where
from patchq.model.building import Runtime, read_runtimes
from patchq.model.pins import Pin, check_groups, read_pins
from patchq.model.yamlfile import YamlValue, parse

VERSION = 1

_LOCAL_VERSION = re.compile(r"[a-z0-9]+([.][a-z0-9]+)*")  # PEP 440, normalised


@dataclass(frozen=True)
class Variant:
    """A named choice of guards and pins, for a series that has the patches of ``requires``.

    It does not go with any of ``excludes``.
    """

    name: str
    description: str = ""
    guards: tuple[str, ...] = ()
    pins: tuple[Pin, ...] = ()
    excludes: frozenset[str] = frozenset()
    requires: tuple[str, ...] = ()
    where: Where | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Chosen:
    """What variants come to: guards to turn on, and all pins that then hold."""

    variants: tuple[str, ...]
    guards: tuple[str, ...]
    pins: tuple[Pin, ...]


@dataclass(frozen=True)
class Recipe:
    """What a base needs beside its patches.

    ``project`` is the directory of the CMake project whose build is evaluated, from the root of
    the tree; None if there is none to evaluate. ``where`` is the place that names it.
    ``local_version`` is what is put behind the project's own version (``local.1``, PEP 440);
    ``pyprojects`` are the files in which upstream says what it requires, the project's own aside.
    ``targets`` says what a target of the settings runs in on this base, if not what it says itself.
    """

    project: str | None = None
    where: Where = field(default=Where("recipe.yaml"), compare=False)
    local_version: str | None = None
    pyprojects: tuple[str, ...] = ()
    pins: tuple[Pin, ...] = ()
    variants: Mapping[str, Variant] = field(default_factory=dict)
    targets: Mapping[str, Runtime] = field(default_factory=dict)

    def choose(self, names: Iterable[str]) -> Chosen:
        """The guards and pins of the variants ``names`` together.

        Raises :class:`InputError` if one is not known, or two exclude each other or pin the
        same package differently.
        """
        chosen = [self._variant(name) for name in dict.fromkeys(names)]
        pins = {pin.name: pin for pin in self.pins}
        pinned: dict[str, tuple[str, Pin]] = {}
        for number, variant in enumerate(chosen):
            for other in chosen[:number]:
                if other.name in variant.excludes or variant.name in other.excludes:
                    raise InputError(
                        f"variants {other.name} and {variant.name} exclude each other",
                        where=variant.where,
                    )
            for pin in variant.pins:
                holder, known = pinned.setdefault(pin.name, (variant.name, pin))
                if known.specifier != pin.specifier:
                    raise InputError(
                        f"variants {holder} and {variant.name} pin {pin.name} differently: "
                        f"{known.specifier} and {pin.specifier}",
                        where=pin.where,
                    )
                pins[pin.name] = pin
        check_groups(pins.values())
        return Chosen(
            tuple(variant.name for variant in chosen),
            tuple(dict.fromkeys(guard for variant in chosen for guard in variant.guards)),
            tuple(pins.values()),
        )

    def _variant(self, name: str) -> Variant:
        if name not in self.variants:
            known = ", ".join(self.variants)
            raise InputError(
                f"no variant {name!r} in the recipe",
                where=Where(self.where.file),
                hint=f"Variants are: {known}." if known else "The recipe has no variants.",
            )
        return self.variants[name]


@lru_cache(maxsize=64)
def read_recipe(raw: bytes | None, where: Where) -> Recipe:
    """The recipe in ``raw``; an empty one where there is no file.

    Raises :class:`~patchq.errors.InputError` with the line for anything malformed.
    """
    document = None if raw is None else parse(raw, where)
    if document is None:
        return Recipe(where=where)
    document.check_version(VERSION)
    known = ("version", "project", "local_version", "pyprojects", "pins", "variants", "targets")
    fields = document.fields(optional=known)
    project = fields.get("project")
    return Recipe(
        project=directory(project) if project else None,
        where=project.where if project else where,
        local_version=_local_version(fields.get("local_version")),
        pyprojects=fields["pyprojects"].texts() if "pyprojects" in fields else (),
        pins=read_pins(fields["pins"]) if "pins" in fields else (),
        variants=_variants(fields["variants"]) if "variants" in fields else {},
        targets=read_runtimes(fields["targets"]) if "targets" in fields else {},
    )


def _local_version(entry: YamlValue | None) -> str | None:
    if entry is None:
        return None
    if not _LOCAL_VERSION.fullmatch(entry.text()):
        entry.fail(f"{entry.text()!r} is not a local version, such as local.1 (PEP 440)")
    return entry.text()


def _variants(entry: YamlValue) -> dict[str, Variant]:
    variants = {name: _variant(name, value) for name, value in entry.items()}
    for variant in variants.values():
        for other in sorted(variant.excludes - variants.keys()):
            raise InputError(
                f"variant {variant.name} excludes {other!r}, which there is not",
                where=variant.where,
                hint=f"Variants are: {', '.join(variants)}.",
            )
    return variants


def _variant(name: str, entry: YamlValue) -> Variant:
    fields = entry.fields(optional=("description", "guards", "pins", "excludes", "requires"))
    return Variant(
        name,
        description=fields["description"].text() if "description" in fields else "",
        guards=fields["guards"].texts() if "guards" in fields else (),
        pins=read_pins(fields["pins"]) if "pins" in fields else (),
        excludes=frozenset(fields["excludes"].texts() if "excludes" in fields else ()),
        requires=fields["requires"].texts() if "requires" in fields else (),
        where=entry.where,
    )


def directory(entry: YamlValue) -> str:
    """A directory of the upstream's tree, without a slash at its end; ``.`` is the root."""
    text = entry.text().rstrip("/")
    if not text or text.startswith("/") or ".." in text.split("/"):
        entry.fail(
            f"{entry.text()!r} is not a directory inside the tree",
            hint="Give it from the root of the upstream tree, without a leading slash.",
        )
    return text
