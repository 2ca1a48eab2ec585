"""How an export is built: one list of steps, as a shell script or as a container file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from patchq.engine.export.constraints import install_options, pin_files
from patchq.engine.export.manifest import MANIFEST
from patchq.engine.export.prepare import Prepared
from patchq.engine.export.vendor import VENDOR, Vendored
from patchq.engine.export.wheel_cache import FACTS, SUMS, CachedWheel
from patchq.engine.verify.runtime import TORCH, TargetRuntime
from patchq.errors import InputError
from patchq.model.building import Jobs, Step, fill
from patchq.model.export_format import BuildMode

_HERE = "$PWD"
_SOURCE = "/src"
_CACHE = "${XDG_CACHE_HOME:-$HOME/.cache}"
_CONTAINER_CACHE = "/var/cache/build"
_CCACHE = "CCACHE_DIR"
_ENVIRONMENT = "/opt/build"
_MACHINES = {"aarch64": "linux/arm64", "x86_64": "linux/amd64"}
_IMAGE_VARIABLES = "PIP_CONSTRAINT, PIP_BUILD_CONSTRAINT, UV_CONSTRAINT, UV_BUILD_CONSTRAINT, " + (
    "UV_OVERRIDE"
)


@dataclass(frozen=True)
class Building:
    """A prepared export with what its build can take from elsewhere.

    ``cached`` are wheels that need not be built again, by step; ``cache`` is where new ones go.
    """

    prepared: Prepared
    vendored: tuple[Vendored, ...] = ()
    cached: Mapping[str, CachedWheel] | None = None
    cache: Path | None = None

    @property
    def runtime(self) -> TargetRuntime | None:
        """The target that it is for."""
        return self.prepared.runtime

    @property
    def title(self) -> str:
        """What is built, for what, in words."""
        name, runtime = self.prepared.prefix, self.runtime
        if runtime is None:
            return name
        torch = f", PyTorch {runtime.torch} (from the {runtime.said_by})" if runtime.torch else ""
        target = runtime.target
        return f"{name} for {target.name}: {target.processor}, CUDA {target.cuda}{torch}"

    def filled(self, text: str, values: Mapping[str, str]) -> str:
        """``text`` with its placeholders replaced.

        Raises :class:`InputError` if it asks for what the recipe or the target does not say.
        """
        sources = " ".join(option for item in self.vendored for option in item.options)
        pins = install_options(tuple(pin_files(self.prepared)))
        known = {**self.prepared.placeholders, "sources": sources, "pins": pins}
        # twice: the options of vendored sources name the place where they lie
        filled = fill(fill(text, known), values)
        for name, hint in _NEEDED.items():
            if f"{{{name}}}" in filled:
                raise InputError(
                    f"export in patchq.yaml uses {{{name}}}, which this tag does not have",
                    hint=hint,
                )
        return filled.strip()

    @property
    def network(self) -> Iterator[str]:
        """What the build fetches, in words."""
        settings = self.prepared.project.settings.export
        if settings.requires or self.runtime:
            yield "Python packages that the build requires"
        vendored = {item.source.name for item in self.vendored}
        for item in self.prepared.fetched:
            if item.name not in vendored:
                yield f"{item.name}: {item.url}"
        for step in settings.steps:
            yield from (f"{text} (step {step.name})" for text in step.network)


_NEEDED = {
    "project": "Name the project in the series' recipe.yaml.",
    "project_version": "Name the project in the series' recipe.yaml; its version is that of its "
    "pyproject.toml.",
    "torch": "Name torch of the target in patchq.yaml or in the series' recipe.yaml.",
    "target": "Name targets in patchq.yaml.",
    "cuda": "Name targets in patchq.yaml.",
    "processor": "Name targets in patchq.yaml.",
}


def render_build(building: Building, mode: BuildMode = BuildMode.VENV) -> str:
    """The build of the settings for this export, as a shell script or a container file.

    Raises :class:`InputError` if the settings ask for what the recipe or the target does not say.
    """
    lines = _container(building) if mode is BuildMode.CONTAINER else _script(building, mode)
    return "".join(f"{line}\n" for line in lines)


# A script


def _script(building: Building, mode: BuildMode) -> Iterator[str]:
    prepared = building.prepared
    settings, values = prepared.project.settings.export, {"cwd": _HERE, "cache": _CACHE}
    yield "#!/bin/sh"
    yield f"# Builds {building.title}"
    yield from (f"# {remark}" for remark in prepared.outside)
    yield from _needs(building)
    yield "set -eu"
    yield f"cd {shlex.quote(prepared.prefix)}"
    yield from _python(building, mode)
    for name, text in settings.environment.items():
        yield f"export {name}={_quoted(building, text, values)}"
    if settings.jobs:
        yield from _jobs(settings.jobs)
    yield from (command for item in building.vendored for command in item.unpack)
    for step in settings.steps:
        yield ""
        yield f"# step {step.name}"
        yield from _step(building, step, values)
    yield from _proof(building)


def _proof(building: Building) -> Iterator[str]:
    """How to see that the wheels hold what was predicted, and can be loaded, as comments."""
    prepared, runtime = building.prepared, building.runtime
    wheels = [s.wheel for s in prepared.project.settings.export.steps if s.wheel and s.of]
    if runtime is None or not wheels or not prepared.builds:
        return
    yield ""
    yield "# Then, where patchq is:"
    for wheel in wheels:
        yield (
            f"#   patchq verify --wheel {wheel} --manifest {MANIFEST} "
            f"--target {runtime.target.name} --torch DIRECTORY_OF_PYTORCH"
        )


def _needs(building: Building) -> Iterator[str]:
    """What has to be on the machine, and what is fetched, as comments."""
    settings, runtime = building.prepared.project.settings.export, building.runtime
    if runtime:
        yield f"# Needs: the CUDA toolkit {runtime.target.cuda} with nvcc on the PATH"
    if settings.system:
        yield f"# Needs the Debian packages: {' '.join(settings.system)}"
    for step in settings.steps:
        if step.system:
            yield f"# Needs for step {step.name}: {' '.join(step.system)}"
    fetched = list(building.network)
    if fetched:
        yield "# Fetches from the network:"
        yield from (f"#   {text}" for text in fetched)


def _python(building: Building, mode: BuildMode) -> Iterator[str]:
    settings, runtime = building.prepared.project.settings.export, building.runtime
    torch = runtime.torch if runtime else None
    if mode is BuildMode.VENV and (torch or settings.requires):
        environment = shlex.quote(f"../{building.prepared.prefix}-build")
        yield f"python3 -m venv {environment}"
        yield f". {environment}/bin/activate"
        yield from (_install(line) for line in _torch(runtime))
    elif mode is BuildMode.IMAGE:
        yield f"# Of the image, these variables hold for pip and uv: {_IMAGE_VARIABLES}."
        yield "# Without build isolation, those for builds have no effect. Set are:"
        yield "env | grep -E '^(PIP|UV)_(BUILD_)?(CONSTRAINT|OVERRIDE)=' || true"
    if runtime and torch:
        yield _torch_check(runtime)
    yield from map(_install, _joined(settings.requires))


# Without CUDA in PyTorch the project configures all the same, and for another architecture.
_TORCH_CHECK = (
    'import sys, torch; found = torch.__version__.split("+")[0]; cuda = torch.version.cuda; '
    'right = found == "{torch}" and str(cuda).split(".")[0] == "{major}"; '
    'sys.exit(None if right else f"PyTorch here is {found} for CUDA {cuda}, the export is for '
    "{torch} and CUDA {wanted}: name torch and torch_index of the target in patchq.yaml or "
    'recipe.yaml, and export again")'
)


def _torch_check(runtime: TargetRuntime) -> str:
    """A command that fails unless PyTorch is the version of the target, for its CUDA."""
    cuda = runtime.target.cuda
    facts = {"torch": runtime.torch or "", "wanted": cuda, "major": cuda.partition(".")[0]}
    return f"python3 -c {shlex.quote(fill(_TORCH_CHECK, facts))}"


def _install(what: str) -> str:
    return f"python3 -m pip install {what}"


def _torch(runtime: TargetRuntime | None) -> Iterator[str]:
    if runtime and runtime.torch:
        index = f" --index-url {shlex.quote(runtime.torch_index)}" if runtime.torch_index else ""
        yield f"{TORCH}=={runtime.torch}{index}"


def _jobs(jobs: Jobs) -> Iterator[str]:
    """At most ``most``, and one for each ``memory`` GiB that is free; JOBS says otherwise."""
    yield "free=$(awk '/^MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)"
    yield f"jobs=$((free / {jobs.memory}))"
    yield f'if [ "$jobs" -gt {jobs.most} ]; then jobs={jobs.most}; fi'
    yield 'if [ "$jobs" -lt 1 ]; then jobs=1; fi'
    yield "jobs=${JOBS:-$jobs}"
    yield "export " + " ".join(f'{name}="$jobs"' for name in jobs.variables)


def _step(building: Building, step: Step, values: Mapping[str, str]) -> Iterator[str]:
    cached = (building.cached or {}).get(step.name)
    if cached and cached.reuse:
        yield f"# {cached.text}"
        yield f"mkdir -p {shlex.quote(cached.directory)}"
        yield f"cp {shlex.quote(str(cached.reuse))} {shlex.quote(cached.directory)}/"
        return
    for name, text in step.environment.items():
        yield f"export {name}={_quoted(building, text, values)}"
    yield from (building.filled(command, values) for command in step.commands)
    if step.environment:
        yield f"unset {' '.join(step.environment)}"
    if building.cache and cached and step.wheel:
        place = shlex.quote(str(building.cache / cached.key))
        yield f"mkdir -p {place}"
        yield f"cp {step.wheel} {place}/"
        yield f"(cd {place} && sha256sum ./*.whl > {SUMS})"
        yield f"cat > {place}/{FACTS} <<'END'"
        yield json.dumps(cached.facts, indent=2)
        yield "END"


def _quoted(building: Building, text: str, values: Mapping[str, str]) -> str:
    """``text`` as one word of the shell, what it says of places left to the shell."""
    marks = {name: f"\0{name}\0" for name in values}
    parts = building.filled(text, marks).split("\0")
    return "".join(
        f'"{values[part]}"' if number % 2 else shlex.quote(part) if part else ""
        for number, part in enumerate(parts)
    )


# A container file


def _container(building: Building) -> Iterator[str]:
    prepared, runtime = building.prepared, building.runtime
    if runtime is None or runtime.image is None:
        raise InputError(
            "there is no image to build in",
            hint="Name image of the target in patchq.yaml or in the series' recipe.yaml.",
        )
    settings = prepared.project.settings.export
    values = {"cwd": _SOURCE, "cache": _CONTAINER_CACHE}
    platform = _MACHINES.get(runtime.target.processor, runtime.target.processor)
    yield "# syntax=docker/dockerfile:1"
    yield f"# Builds {building.title}"
    yield "# In the directory of the export:"
    yield f"#   docker build --platform {platform} -f FILE --output dist ."
    yield from (f"#   fetches {text}" for text in building.network)
    yield f"FROM {runtime.image} AS build"
    yield 'SHELL ["/bin/bash", "-euo", "pipefail", "-c"]'
    yield f'RUN test "$(uname -m)" = {shlex.quote(runtime.target.processor)}'
    yield from _packages(settings.system)
    yield f"RUN python3 -m venv {_ENVIRONMENT}"
    yield f"ENV PATH={_ENVIRONMENT}/bin:$PATH"
    pip = "python3 -m pip install --no-cache-dir"
    installed = [f"{pip} {what}" for what in (*_torch(runtime), *_joined(settings.requires))]
    if runtime.torch:
        installed.append(_torch_check(runtime))
    if installed:
        yield "RUN " + " \\\n && ".join(installed)
    yield f"WORKDIR {_SOURCE}"
    for name, text in settings.environment.items():
        yield f"ENV {name}={json.dumps(building.filled(text, values))}"
    copied: list[str] = []
    for step in settings.steps:
        yield f"# step {step.name}"
        yield from _packages(step.system)
        for path in step.copy:
            place = building.filled(path, values)
            copied.append(place)
            yield f"COPY {place} {place if place != '.' else './'}"
        if step is settings.steps[0] and building.vendored:
            yield f"COPY {VENDOR} {VENDOR}"
        yield from _run(building, step, values)
    yield "FROM scratch AS wheels"
    yield f"COPY --from=build {_SOURCE}/dist /"


def _joined(requires: Sequence[str]) -> Iterator[str]:
    if requires:
        yield " ".join(map(shlex.quote, requires))


def _packages(names: Sequence[str]) -> Iterator[str]:
    if names:
        yield "# the packages are those of the image's release"
        yield "# hadolint ignore=DL3008"
        yield "RUN apt-get update \\"
        yield f" && apt-get install -y --no-install-recommends {' '.join(names)} \\"
        yield " && rm -rf /var/lib/apt/lists/*"


def _run(building: Building, step: Step, values: Mapping[str, str]) -> Iterator[str]:
    """One RUN with all of the step, so that it is cached as a whole."""
    settings = building.prepared.project.settings.export
    cache = settings.environment.get(_CCACHE)
    mount = f"--mount=type=cache,target={building.filled(cache, values)} " if cache else ""
    lines = list(_jobs(settings.jobs)) if settings.jobs else []
    if step is settings.steps[0]:
        lines += [command for item in building.vendored for command in item.unpack]
    for name, text in step.environment.items():
        lines.append(f"export {name}={shlex.quote(building.filled(text, values))}")
    lines += [building.filled(command, values) for command in step.commands]
    lines = [line for text in lines for line in text.splitlines()]
    yield f"RUN {mount}{'; '.join(lines[:1])}{_next(lines)}"
    yield from (f"    {line}{_next(lines[number:])}" for number, line in enumerate(lines[1:], 1))


def _next(lines: Sequence[str]) -> str:
    return "; \\" if len(lines) > 1 else ""
