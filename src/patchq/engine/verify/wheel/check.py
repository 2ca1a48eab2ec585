"""A built wheel against what was predicted of it: architectures and cubins of every library."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from patchq.engine.verify.wheel.fatbin import read_wheel
from patchq.errors import InputError, Where
from patchq.model.prediction import PredictedLibrary, Prediction, read_predictions
from patchq.model.wheel import Library, WheelReport, WheelRow

MANIFEST_SCHEMA = "patchq.manifest/1"

_PLATFORM = re.compile(r"-(?:[^-.]+\.)*[^-]*?_(x86_64|aarch64|ppc64le|s390x|armv7l)\.whl$")


def manifest_predictions(manifest: Path) -> tuple[Prediction, ...]:
    """The predictions in an export's manifest.

    Raises :class:`InputError` if it is none, or holds no prediction.
    """
    where = Where(str(manifest))
    try:
        facts = json.loads(manifest.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read it as a manifest: {error}", where=where) from error
    if not isinstance(facts, dict) or facts.get("schema") != MANIFEST_SCHEMA:
        raise InputError(
            f"not a manifest ({MANIFEST_SCHEMA})",
            where=where,
            hint="It is the file patchq-manifest.json of an export.",
        )
    builds = facts.get("builds")
    if not isinstance(builds, list) or not builds:
        raise InputError(
            "the manifest predicts no build",
            where=where,
            hint="Name the project in the recipe and targets in patchq.yaml, then export again.",
        )
    return read_predictions(builds, where)


def processor_of(file: str) -> str | None:
    """The processor in the name of a wheel, None if it is for any."""
    platform = _PLATFORM.search(file)
    return platform[1] if platform else None


def verify_wheel(
    file: Path, predictions: Sequence[Prediction], machine: str | None = None
) -> WheelReport:
    """Compare a wheel with the prediction for ``machine``, else for its platform's processor.

    Raises :class:`InputError` if ``file`` is no wheel, or where it is not certain which
    prediction is the one.
    """
    chosen = _chosen(file, predictions, machine)
    return WheelReport(file.name, chosen.machine, compare_libraries(read_wheel(file), chosen))


def compare_libraries(libraries: Iterable[Library], prediction: Prediction) -> tuple[WheelRow, ...]:
    """Each library beside the target that makes it, then the targets without a library."""
    return tuple(_rows(libraries, prediction.libraries))


def _chosen(file: Path, predictions: Sequence[Prediction], machine: str | None) -> Prediction:
    names = ", ".join(prediction.machine for prediction in predictions)
    processor = processor_of(file.name)
    fitting = [
        prediction
        for prediction in predictions
        if (prediction.machine == machine if machine else processor in (None, prediction.processor))
    ]
    if fitting and all(other.libraries == fitting[0].libraries for other in fitting):
        return fitting[0]
    raise InputError(
        f"there is no prediction for {machine}"
        if machine
        else f"{len(fitting)} predictions fit the wheel's platform",
        where=Where(str(file)),
        hint=f"Name one with --target: {names}.",
    )


def _rows(libraries: Iterable[Library], predicted: Iterable[PredictedLibrary]) -> list[WheelRow]:
    """Each library with its target, then the targets without a library."""
    waiting = {item.target: item for item in predicted}
    rows = []
    # those with a name of their own first, so that no other takes theirs
    for library in sorted(libraries, key=lambda item: _stem(item.path) not in waiting):
        target = _target(library, waiting)
        rows.append(WheelRow(library, waiting.pop(target) if target else None))
    rows.sort(key=lambda row: row.name)
    return [*rows, *(WheelRow(None, item) for item in waiting.values())]


def _target(library: Library, waiting: Mapping[str, PredictedLibrary]) -> str | None:
    """The target whose name is the library's, or holds it and most names of its directories.

    CMake names the file by OUTPUT_NAME and puts it where the project installs it, which is how
    two libraries of one name, made by two targets, are told apart.
    """
    stem = _stem(library.path)
    if stem in waiting:
        return stem
    directories = library.path.split("/")[:-1]
    holding = {name: sum(part in name for part in directories) for name in waiting if stem in name}
    ranked = sorted(holding, key=lambda name: (-holding[name], name))
    if len(ranked) > 1 and holding[ranked[0]] == holding[ranked[1]]:
        return None
    return ranked[0] if ranked else None


def _stem(path: str) -> str:
    """``common_ops`` of ``sm100/common_ops.abi3.so``."""
    return path.rpartition("/")[2].partition(".")[0].removeprefix("lib")
