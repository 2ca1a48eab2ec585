"""Wheels that were built before, and whether one of them is what this export would build.

A directory of wheels has one directory for each of them: the wheel, its sha256, and the facts that
decide what it holds. They are written by the build script.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from patchq.archives.reader import sha256_of
from patchq.engine.export.contents import set_hashes
from patchq.engine.export.prepare import Prepared
from patchq.model.building import Step

FACTS = "build.json"
SUMS = "SHA256SUMS"
SCHEMA = "patchq.wheel/1"

_SHOWN = {"set": "the files of the set", "torch": "PyTorch", "cuda": "CUDA"}


@dataclass(frozen=True)
class CachedWheel:
    """What the cache has for a step: ``reuse`` is the wheel to take, None if it must be built.

    ``text`` says which, or what differs from the one that comes nearest.
    """

    key: str
    facts: Mapping[str, Any]
    directory: str
    text: str
    reuse: Path | None = None


def look_up(prepared: Prepared, cache: Path) -> dict[str, CachedWheel]:
    """What ``cache`` has for each step that makes a wheel of a set of paths, by step."""
    steps = [step for step in prepared.project.settings.export.steps if step.wheel and step.of]
    return {step.name: _look_up(prepared, step, cache) for step in steps}


def _look_up(prepared: Prepared, step: Step, cache: Path) -> CachedWheel:
    facts = step_facts(prepared, step)
    key = f"{step.name}-{_digest(facts)[:16]}"
    directory = str(PurePosixPath(step.wheel or "").parent)
    known = [(place, kept) for place in _places(cache, step) if (kept := _facts(place))]
    for place, kept in known:
        if _deciding(kept) == _deciding(facts):
            wheel, problem = _wheel(place)
            if wheel is None:
                return CachedWheel(key, facts, directory, f"{step.name}: {problem}; built again")
            text = (
                f"{step.name} unchanged since {kept.get('base')} (set, torch, CUDA, flags equal): "
                f"reuse {wheel}"
            )
            return CachedWheel(key, facts, directory, text, wheel)
    if not known:
        text = f"{step.name} is built: there is no wheel in {cache} yet"
        return CachedWheel(key, facts, directory, text)
    place, kept = min(known, key=lambda item: len(_differences(item[1], facts)))
    words = "; ".join(_differences(kept, facts))
    text = f"{step.name} is built: it differs from {place.name} of {kept.get('base')} in {words}"
    return CachedWheel(key, facts, directory, text)


def step_facts(prepared: Prepared, step: Step) -> dict[str, Any]:
    """All that decides what the wheel of ``step`` holds; ``base`` is only said."""
    settings, runtime = prepared.project.settings.export, prepared.runtime
    hashes = set_hashes(
        prepared.project.store, prepared.subject.tree, {step.of or "": prepared.sets[step.of or ""]}
    )
    values = prepared.placeholders
    return {
        "schema": SCHEMA,
        "base": prepared.base.name,
        "step": step.name,
        "set": hashes[step.of or ""],
        "processor": runtime.target.processor if runtime else None,
        "cuda": runtime.target.cuda if runtime else None,
        "torch": runtime.torch if runtime else None,
        "torch_index": runtime.torch_index if runtime else None,
        "image": runtime.image if runtime else None,
        "version": values.get("project_version"),
        "requires": list(settings.requires),
        "environment": {**settings.environment, **step.environment},
        "commands": list(step.commands),
    }


def _deciding(facts: Mapping[str, Any]) -> dict[str, Any]:
    # an image gives the compiler of the host, but a build without one says nothing of it
    return {name: value for name, value in facts.items() if name not in ("base", "image")}


def _differences(kept: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    words = []
    for name, value in _deciding(facts).items():
        before = kept.get(name)
        if before == value:
            continue
        shown = _SHOWN.get(name, name)
        plain = isinstance(value, str) and isinstance(before, str) and name != "set"
        words.append(f"{shown} ({before}, now {value})" if plain else shown)
    return words


def _digest(facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(_deciding(facts), sort_keys=True).encode()).hexdigest()


def _places(cache: Path, step: Step) -> list[Path]:
    if not cache.is_dir():
        return []
    return sorted(path for path in cache.glob(f"{step.name}-*") if path.is_dir())


def _facts(place: Path) -> dict[str, Any] | None:
    try:
        facts = json.loads((place / FACTS).read_bytes())
    except (OSError, ValueError):
        return None
    return facts if isinstance(facts, dict) and facts.get("schema") == SCHEMA else None


def _wheel(place: Path) -> tuple[Path | None, str]:
    """The wheel in ``place`` if it is what was recorded, else why it is not taken."""
    wheels = sorted(place.glob("*.whl"))
    if len(wheels) != 1:
        return None, f"{place} holds {len(wheels)} wheels"
    try:
        recorded = (place / SUMS).read_text(encoding="utf-8").split()[0]
    except (OSError, IndexError):
        return None, f"{place} has no {SUMS}"
    found = sha256_of(wheels[0])
    if found != recorded:
        return None, f"sha256 of {wheels[0]} is {found}, recorded was {recorded}"
    return wheels[0], ""
