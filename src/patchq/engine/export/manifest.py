"""The manifest of an export: what it was made from, and what its build is predicted to hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from patchq.engine.export.contents import set_hashes, survey
from patchq.engine.export.prepare import Prepared
from patchq.engine.export.vendor import Vendored
from patchq.engine.verify.pins import Compared
from patchq.engine.verify.subject import PatchStep
from patchq.engine.verify.wheel.check import MANIFEST_SCHEMA
from patchq.git.tarball import Differing, Packed
from patchq.model.prediction import predict, prediction_facts
from patchq.model.verification import Fetched

MANIFEST = "patchq-manifest.json"


def render_manifest(
    prepared: Prepared, packed: Packed, packing: Differing, vendored: tuple[Vendored, ...] = ()
) -> bytes:
    """What goes into an export ``packed``, as JSON; ``packing`` is what attributes made of it.

    What the build is predicted to hold stands in it, so that a wheel can be verified with it
    alone. Raises :class:`~patchq.errors.PatchqError` if there is no CMake to predict with.
    """
    project, subject = prepared.project, prepared.subject
    contents = survey(project.store, prepared.exported, packed)
    manifest: dict[str, Any] = {
        "schema": MANIFEST_SCHEMA,
        "upstream": project.lock.upstream,
        "base": _origin(prepared),
        "guards": sorted(subject.selection.guards),
        "patches": [_patch_facts(step) for step in subject.steps],
        "tree": subject.tree,
        "contents": {
            "modes": contents.modes,
            "symlinks": contents.symlinks,
            "submodules": contents.submodules,
            "lfs_pointers": list(contents.lfs_pointers),
            "export_ignored": list(packing.left_out),
            "export_changed": list(packing.changed),
        },
    }
    given = {item.source.name for item in vendored}
    optional = {
        "variants": list(prepared.choice.variants),
        "subdir": prepared.part.subdir,
        "outside": list(map(str, prepared.outside)),
        "version": prepared.version,
        "target": prepared.machine,
        "targets": [runtime.facts for runtime in prepared.runtimes],
        "pins": [_pin_facts(row) for row in prepared.pins],
        "sets": set_hashes(project.store, subject.tree, prepared.sets),
        "fetched": [_fetched_facts(item, given) for item in prepared.fetched],
        "builds": prediction_facts(predict(prepared.builds)),
    }
    return to_json({**manifest, **{name: value for name, value in optional.items() if value}})


def set_manifest(name: str) -> str:
    """The name of the manifest of a set: several sets may be unpacked in one place."""
    return f"patchq-manifest-{name}.json"


def render_set_manifest(prepared: Prepared, name: str) -> bytes:
    """The manifest of an export of the set ``name``: nothing that its files do not depend on."""
    hashes = set_hashes(prepared.project.store, prepared.subject.tree, {name: prepared.sets[name]})
    return to_json(
        {
            "schema": MANIFEST_SCHEMA,
            "upstream": prepared.project.lock.upstream,
            "base": _origin(prepared),
            "set": name,
            "sets": hashes,
        }
    )


def to_json(document: Mapping[str, Any]) -> bytes:
    """``document`` as a file."""
    return (json.dumps(document, indent=2) + "\n").encode("ascii")


def _origin(prepared: Prepared) -> dict[str, Any]:
    base = prepared.base
    origin: dict[str, Any] = {"name": base.name, "commit": base.commit, "tree": base.tree}
    if base.archive is not None:
        origin["archive"] = {"file": base.archive.file, "sha256": base.archive.sha256}
    return origin


def _patch_facts(step: PatchStep) -> dict[str, Any]:
    patch = step.patch
    facts = {"name": patch.name, "sha256": patch.sha256, "subject": patch.header.subject}
    return {**facts, "fuzz": step.fuzz} if step.fuzz else facts


def _pin_facts(row: Compared) -> dict[str, Any]:
    pin = row.pin
    facts = {
        "name": pin.name,
        "pin": pin.specifier,
        "upstream": row.asked.specifier if row.asked else None,
        "standing": row.standing.value,
    }
    more = {
        "reason": pin.reason,
        "index": pin.index,
        "group": pin.group,
        "sha256": list(pin.sha256),
    }
    return {**facts, **{name: value for name, value in more.items() if value}}


def _fetched_facts(item: Fetched, vendored: set[str]) -> dict[str, Any]:
    facts = {"name": item.name, "url": item.url, "hash": item.digest, "revision": item.revision}
    shown = {name: value for name, value in facts.items() if value is not None}
    return {**shown, "vendored": True} if item.name in vendored else shown
