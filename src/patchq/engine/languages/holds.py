"""Whether a predicate holds on the content of a file, gates in source code included."""

from __future__ import annotations

import re

from patchq.engine.languages.conditions import admits, python_conditions
from patchq.model.predicate import Predicate, PredicateKind
from patchq.model.settings import Settings


def holds(predicate: Predicate, content: bytes | None, settings: Settings) -> bool | None:
    """Whether ``predicate`` holds where its path has ``content`` (None: there is no such file).

    None if that is not known: a gate whose function is not there, of a target that the settings
    say nothing of, or whose conditions hang on more than the target.
    """
    if predicate.kind is not PredicateKind.GATE:
        return predicate.holds_on(content)
    function, target, wanted = predicate.operands
    facts = settings.release.facts(target)
    if content is None or facts is None or not _defines(content, function):
        return None
    admitted = admits(python_conditions(content, facts.helpers), function)
    return None if admitted is None else admitted is (wanted == "admits")


def _defines(content: bytes, function: str) -> bool:
    name = re.escape(function.rpartition(".")[2].encode())
    return (
        re.search(rb"^[ \t]*(?:async[ \t]+)?def[ \t]+" + name + rb"\b", content, re.M) is not None
    )
