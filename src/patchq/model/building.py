"""How an exported tree is built, and which of its paths belong together: ``export`` in settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from patchq.model.yamlfile import YamlValue

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SYSTEM_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+(=\S+)?")  # Debian Policy, 5.6.1


@dataclass(frozen=True)
class Runtime:
    """What a build is for and runs in: a version of PyTorch, the index that has it, an image.

    What is None is not said here: the target's own counts, then what the tag pins.
    """

    torch: str | None = None
    torch_index: str | None = None
    image: str | None = None

    def over(self, other: Runtime) -> Runtime:
        """This, with what it does not say taken from ``other``."""
        # an index belongs to the version that was named with it
        named = self if self.torch else other
        return Runtime(self.torch or other.torch, named.torch_index, self.image or other.image)


@dataclass(frozen=True)
class Jobs:
    """How many compilers run at once: at most ``most``, and one for each ``memory`` GiB free.

    ``variables`` are the environment variables that say so to the build.
    """

    most: int = 8
    memory: int = 10
    variables: tuple[str, ...] = ("CMAKE_BUILD_PARALLEL_LEVEL", "MAX_JOBS")


@dataclass(frozen=True)
class Step:
    """One part of a build: commands that run at the root of the export.

    ``of`` is the set of paths that all it reads is in, ``copy`` what a container file copies for
    it, ``wheel`` a glob of what it makes. ``system`` are Debian packages that it needs beyond
    those of the build, ``network`` says what it fetches in words.
    """

    name: str
    commands: tuple[str, ...]
    of: str | None = None
    copy: tuple[str, ...] = (".",)
    wheel: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    system: tuple[str, ...] = ()
    network: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportSettings:
    """Sets of paths that get a hash each, and how an export is built.

    A set is a list of gitignore(5) patterns from the root of the tree. In patterns, values and
    commands ``{project}`` and the like stand for what belongs to the tag and the target.
    ``requires`` are the Python packages that are installed before the first step.
    """

    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    jobs: Jobs | None = None
    system: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()


def read_export_settings(entry: YamlValue) -> ExportSettings:
    """The settings in ``entry``; raises :class:`InputError` with the line."""
    known = ("sets", "environment", "jobs", "system", "requires", "commands", "steps")
    fields = entry.fields(optional=known)
    sets = dict(fields["sets"].items()) if "sets" in fields else {}
    for name, value in sets.items():
        _check(value, name, _NAME, "a set's name")
    if "commands" in fields and "steps" in fields:
        fields["commands"].fail("commands is one step without a name; put it into steps")
    if "commands" in fields:
        steps: tuple[Step, ...] = (Step("build", fields["commands"].texts()),)
    else:
        steps = _steps(fields["steps"], sets) if "steps" in fields else ()
    return ExportSettings(
        sets={name: value.texts() for name, value in sets.items()},
        environment=_environment(fields.get("environment")),
        jobs=_jobs(fields["jobs"]) if "jobs" in fields else None,
        system=_system(fields.get("system")),
        requires=_requirements(fields.get("requires")),
        steps=steps,
    )


def _steps(entry: YamlValue, sets: Mapping[str, YamlValue]) -> tuple[Step, ...]:
    steps: dict[str, Step] = {}
    for item in entry.sequence():
        step = _step(item)
        if step.name in steps:
            item.fail(f"step {step.name} is given twice")
        if step.of is not None and step.of not in sets:
            item.fail(f"step {step.name} is of the set {step.of!r}, which there is not")
        steps[step.name] = step
    return tuple(steps.values())


def _step(entry: YamlValue) -> Step:
    more = ("of", "copy", "wheel", "environment", "system", "network")
    fields = entry.fields("name", "commands", optional=more)
    _check(fields["name"], fields["name"].text(), _NAME, "a step's name")
    return Step(
        fields["name"].text(),
        fields["commands"].texts(),
        of=fields["of"].text() if "of" in fields else None,
        copy=fields["copy"].texts() if "copy" in fields else (".",),
        wheel=fields["wheel"].text() if "wheel" in fields else None,
        environment=_environment(fields.get("environment")),
        system=_system(fields.get("system")),
        network=fields["network"].texts() if "network" in fields else (),
    )


def _environment(entry: YamlValue | None) -> dict[str, str]:
    items = dict(entry.items()) if entry else {}
    for name, value in items.items():
        _check(value, name, _VARIABLE, "a variable's name")
    return {name: value.text() for name, value in items.items()}


def _system(entry: YamlValue | None) -> tuple[str, ...]:
    items = entry.sequence() if entry else ()
    for item in items:
        _check(item, item.text(), _SYSTEM_PACKAGE, "the name of a Debian package")
    return tuple(item.text() for item in items)


def _requirements(entry: YamlValue | None) -> tuple[str, ...]:
    from packaging.requirements import InvalidRequirement, Requirement

    items = entry.sequence() if entry else ()
    for item in items:
        try:
            Requirement(item.text())
        except InvalidRequirement as error:
            item.fail(f"not a requirement (PEP 508): {error}")
    return tuple(item.text() for item in items)


def _jobs(entry: YamlValue) -> Jobs:
    fields = entry.fields(optional=("most", "memory", "variables"))
    default = Jobs()
    numbers = {key: fields[key].integer() for key in ("most", "memory") if key in fields}
    for key, number in numbers.items():
        if not number:
            fields[key].fail(f"{key} must be at least 1")
    variables = fields["variables"].sequence() if "variables" in fields else ()
    for item in variables:
        _check(item, item.text(), _VARIABLE, "a variable's name")
    return Jobs(
        numbers.get("most", default.most),
        numbers.get("memory", default.memory),
        tuple(item.text() for item in variables) or default.variables,
    )


RUNTIME_FIELDS = ("torch", "torch_index", "image")


def read_runtime(fields: Mapping[str, YamlValue]) -> Runtime:
    """The keys :data:`RUNTIME_FIELDS` of ``fields``; raises :class:`InputError` with the line."""
    if "torch" in fields:
        from packaging.version import InvalidVersion, Version

        try:
            Version(fields["torch"].text())
        except InvalidVersion:
            fields["torch"].fail(f"expected a version, found {fields['torch'].text()!r}")
    elif "torch_index" in fields:
        fields["torch_index"].fail("torch_index goes with torch: name the version that it has")
    texts = {name: fields[name].text() for name in RUNTIME_FIELDS if name in fields}
    return Runtime(**texts)


def read_runtimes(entry: YamlValue) -> dict[str, Runtime]:
    """A mapping of targets to what they run in; raises :class:`InputError` with the line."""
    return {
        name: read_runtime(value.fields(optional=RUNTIME_FIELDS)) for name, value in entry.items()
    }


def _check(entry: YamlValue, text: str, pattern: re.Pattern[str], what: str) -> None:
    if not pattern.fullmatch(text):
        entry.fail(f"expected {what}, found {text!r}")


_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def fill(text: str, values: Mapping[str, str]) -> str:
    """``text`` with ``{name}`` replaced where ``values`` has the name; all else stays.

    >>> fill("cd {project} && echo ${HOME} {}", {"project": "kernel"})
    'cd kernel && echo ${HOME} {}'
    """
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)
