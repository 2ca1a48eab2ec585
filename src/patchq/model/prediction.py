"""What a build is predicted to hold of GPU code: the part of an export's manifest about wheels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from patchq.errors import InputError, Where
from patchq.model.verification import BuiltTarget, TargetBuild


@dataclass(frozen=True)
class PredictedLibrary:
    """A target of the project with CUDA code, and how many units it compiles for what.

    Each CUDA source gives one cubin for every ``sm_…`` and one PTX text for every ``compute_…``.
    """

    target: str
    cubins: Mapping[str, int] = field(default_factory=dict)
    ptx: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Prediction:
    """What the build for one machine holds.

    ``reads`` are the files of the project that names and architectures may have come from, not
    being CMake code.
    """

    machine: str
    processor: str
    cuda: str
    libraries: tuple[PredictedLibrary, ...]
    reads: tuple[str, ...] = ()


def predict(builds: Iterable[TargetBuild]) -> tuple[Prediction, ...]:
    """What each build holds with the series in place, if it could be evaluated."""
    return tuple(
        Prediction(
            build.target.name,
            build.target.processor,
            build.target.cuda,
            tuple(_library(target) for target in build.after.cuda_targets),
            build.after.reads,
        )
        for build in builds
        if not build.after.problems
    )


def prediction_facts(predictions: Iterable[Prediction]) -> list[dict[str, Any]]:
    """``predictions`` as JSON takes them."""
    return [
        {
            "machine": prediction.machine,
            "processor": prediction.processor,
            "cuda": prediction.cuda,
            "libraries": [
                {
                    "target": library.target,
                    "cubins": dict(library.cubins),
                    "ptx": dict(library.ptx),
                }
                for library in prediction.libraries
            ],
            **({"reads": list(prediction.reads)} if prediction.reads else {}),
        }
        for prediction in predictions
    ]


def read_predictions(facts: Sequence[Any], where: Where) -> tuple[Prediction, ...]:
    """What :func:`prediction_facts` gave; raises :class:`InputError` if it is not that."""
    try:
        return tuple(
            Prediction(
                str(item["machine"]),
                str(item["processor"]),
                str(item["cuda"]),
                tuple(
                    PredictedLibrary(
                        str(library["target"]), _counts(library["cubins"]), _counts(library["ptx"])
                    )
                    for library in item["libraries"]
                ),
                tuple(map(str, item.get("reads", ()))),
            )
            for item in facts
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"its builds are malformed: {error!r}", where=where) from error


def _counts(facts: Mapping[str, Any]) -> dict[str, int]:
    return {str(arch): int(count) for arch, count in facts.items()}


def _library(target: BuiltTarget) -> PredictedLibrary:
    counts = Counter[str]()
    for group in target.cuda:
        # Counter.update sums: two groups may be compiled for the same architecture
        counts.update(dict.fromkeys(group.archs, len(group.sources)))
    archs = sorted(counts, key=_number)
    return PredictedLibrary(
        target.name,
        {arch: counts[arch] for arch in archs if arch.startswith("sm_")},
        {arch: counts[arch] for arch in archs if arch.startswith("compute_")},
    )


def _number(arch: str) -> tuple[int, str]:
    """What to sort ``sm_90a`` by: it comes before ``sm_100``."""
    digits = "".join(filter(str.isdigit, arch))
    return int(digits or 0), arch
