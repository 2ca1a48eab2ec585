"""How an exported tree is built, and which of its paths belong together: ``export`` in settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from patchq.model.yamlfile import YamlValue

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class ExportSettings:
    """Sets of paths that get a hash each, and the environment and commands of a build.

    A set is a list of gitignore(5) patterns from the root of the tree. In patterns, values and
    commands ``{project}`` and the like stand for what belongs to the tag.
    """

    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()


def read_export_settings(entry: YamlValue) -> ExportSettings:
    """The settings in ``entry``; raises :class:`InputError` with the line."""
    fields = entry.fields(optional=("sets", "environment", "commands"))
    sets = dict(fields["sets"].items()) if "sets" in fields else {}
    environment = dict(fields["environment"].items()) if "environment" in fields else {}
    for names, pattern, what in (
        (sets, _NAME, "a set's name"),
        (environment, _VARIABLE, "a variable's name"),
    ):
        for name, value in names.items():
            if not pattern.fullmatch(name):
                value.fail(f"expected {what}, found {name!r}")
    return ExportSettings(
        sets={name: value.texts() for name, value in sets.items()},
        environment={name: value.text() for name, value in environment.items()},
        commands=fields["commands"].texts() if "commands" in fields else (),
    )


_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def fill(text: str, values: Mapping[str, str]) -> str:
    """``text`` with ``{name}`` replaced where ``values`` has the name; all else stays.

    >>> fill("cd {project} && echo ${HOME} {}", {"project": "kernel"})
    'cd kernel && echo ${HOME} {}'
    """
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)
