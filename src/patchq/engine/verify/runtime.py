"""What each target is built against and runs in, on one base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from packaging.specifiers import SpecifierSet

from patchq.engine.verify.requirements import Requirements
from patchq.model.building import Runtime
from patchq.model.recipe import Recipe
from patchq.model.settings import Target

TORCH = "torch"


@dataclass(frozen=True)
class TargetRuntime:
    """A target on one base; ``said_by`` is what names its version of PyTorch, in words."""

    target: Target
    torch: str | None
    torch_index: str | None
    image: str | None
    said_by: str

    @property
    def own(self) -> bool:
        """Whether the version is the downstream's choice and not the tag's own."""
        return self.said_by != _TAG

    @property
    def facts(self) -> dict[str, Any]:
        """It as JSON takes it, without what is not known."""
        facts = {
            "name": self.target.name,
            "processor": self.target.processor,
            "cuda": self.target.cuda,
            "torch": self.torch,
            "torch_from": self.said_by if self.torch else None,
            "torch_index": self.torch_index,
            "image": self.image,
        }
        return {name: value for name, value in facts.items() if value is not None}


_TAG = "tag"


def runtimes(
    targets: Sequence[Target], recipe: Recipe, requirements: Requirements
) -> tuple[TargetRuntime, ...]:
    """Each target: as the recipe says, else as the target says, else with what the tag pins."""
    tags = _pinned(requirements)
    found = []
    for target in targets:
        of_recipe = recipe.targets.get(target.name, Runtime())
        both = of_recipe.over(target.runtime)
        said_by = "recipe" if of_recipe.torch else "target" if target.runtime.torch else _TAG
        found.append(
            TargetRuntime(target, both.torch or tags, both.torch_index, both.image, said_by)
        )
    return tuple(found)


def _pinned(requirements: Requirements) -> str | None:
    """The one version of PyTorch that the tag asks for, None if it takes several."""
    asked = requirements.asked.get(TORCH)
    for specifier in SpecifierSet(asked.specifier) if asked else ():
        if specifier.operator == "==" and not specifier.version.endswith(".*"):
            return specifier.version
    return None
