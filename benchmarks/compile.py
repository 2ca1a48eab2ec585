"""Compile the CUDA sources of an exported tree, and read what the objects hold.

``plan`` asks the probe which sources each target has, and how they are compiled; ``run`` compiles
them with nvcc, on a machine that needs neither git nor the workspace, and links a target.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from patchq.engine.verify.wheel.fatbin import read_library
from patchq.errors import InputError, Where

MANIFEST = "patchq-manifest.json"
CUDA = "CUDA"

STUBS = {
    "c10/cuda/impl/cuda_cmake_macros.h": "#pragma once\n",
    "THC/THCAtomics.cuh": "#pragma once\n#include <ATen/cuda/Atomic.cuh>\n",
}
"""What PyTorch's wheels without CUDA lack; searched last, so that real ones win."""


@dataclass(frozen=True)
class Unit:
    """One source of a target: ``archs`` are the GPU architectures that it is to be compiled for."""

    target: str
    language: str
    source: str
    flags: tuple[str, ...]
    archs: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What a tree builds for a machine; ``project`` is the directory of its CMake project."""

    tree: str
    machine: str
    project: str
    predicted: Mapping[str, Mapping[str, int]]
    units: tuple[Unit, ...]


@dataclass(frozen=True)
class Done:
    """One command: its exit (negative: the signal that ended it), and the end of what it said.

    ``peak`` is the memory of its largest process in bytes, ``holds`` are the cubins and PTX texts
    of what it made, by architecture.
    """

    target: str
    source: str
    exit: int
    seconds: float
    peak: int
    holds: Mapping[str, int]
    expected: tuple[str, ...]
    said: str

    @property
    def right(self) -> bool:
        """Whether it compiled, for just the architectures that it should."""
        return self.exit == 0 and sorted(self.holds) == sorted(self.expected)


def main() -> int:
    options = _options()
    try:
        return int(options.command(options))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    plan = commands.add_parser("plan", help="write what is to be compiled, as JSON")
    plan.set_defaults(command=_plan)
    plan.add_argument("tree", type=Path, help="an export (--format dir)")
    plan.add_argument("--workspace", type=Path, default=Path(), help="that it was exported from")
    plan.add_argument("--machine", required=True, help="a target of the workspace's settings")
    plan.add_argument("-o", "--output", type=Path, required=True)
    run = commands.add_parser("run", help="compile it")
    run.set_defaults(command=_run)
    run.add_argument("plan", type=Path)
    run.add_argument("tree", type=Path, help="the export, or at least the project's directory")
    run.add_argument(
        "--repository",
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="where a repository lies that the project fetches",
    )
    run.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="[TARGET=]DIR",
        help="where headers lie, for all targets or for one",
    )
    run.add_argument("--library", type=Path, action="append", default=[], metavar="DIR")
    run.add_argument("--link-with", nargs="*", default=[], metavar="NAME", help="as ld's -l")
    run.add_argument(
        "--link",
        action="append",
        default=[],
        metavar="TARGET",
        help="link it, no symbol left undefined",
    )
    run.add_argument("--torch", type=Path, default=_package("torch"), help="PyTorch's directory")
    run.add_argument("--only", action="append", metavar="GLOB", help="sources to compile")
    run.add_argument(
        "--first", action="append", default=[], metavar="GLOB", help="sources to begin with"
    )
    run.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    run.add_argument("--timeout", type=float, default=3600, help="seconds for one source")
    run.add_argument("--nvcc", default="nvcc")
    run.add_argument("--cxx", default="c++")
    run.add_argument("--objects", type=Path, required=True, help="where the objects go")
    run.add_argument("--json", type=Path, required=True, help="written after every source")
    return parser.parse_args()


def _package(name: str) -> Path | None:
    found = importlib.util.find_spec(name)
    return Path(found.origin).parent if found and found.origin else None


# What to compile


def _plan(options: argparse.Namespace) -> int:
    facts = json.loads((options.tree / MANIFEST).read_bytes())
    plan = _planned(options.tree, options.workspace, options.machine, facts)
    options.output.write_text(json.dumps(asdict(plan), indent=1), encoding="utf-8")
    cuda = Counter(unit.target for unit in plan.units if unit.language == CUDA)
    print(", ".join(f"{target}: {count} CUDA sources" for target, count in cuda.items()))
    return 0


def _planned(tree: Path, root: Path, machine: str, facts: Mapping[str, Any]) -> Plan:
    # here, as `run` must do without git and its package
    from patchq.engine.verify.build.evaluate import BuildQuestion, Prober
    from patchq.git.objects import Entry
    from patchq.git.store import open_store
    from patchq.model.recipe import read_recipe
    from patchq.model.workspace import RECIPE, Workspace

    workspace = Workspace(root)
    settings = workspace.settings()
    recipe_path = workspace.series_path(facts["base"]["name"]) / RECIPE
    directory = read_recipe(recipe_path.read_bytes(), Where(str(recipe_path))).project
    target = next((t for t in settings.targets if t.name == machine), None)
    build = next((b for b in facts.get("builds", ()) if b["machine"] == machine), None)
    if directory is None or target is None or build is None:
        raise InputError(f"neither the recipe nor the manifest predicts a build for {machine}")
    with tempfile.TemporaryDirectory(prefix="patchq-compile-") as scratch:
        store = open_store(Path(scratch, "store"))
        entries = {
            path: Entry(
                "100644", store.objects.write("blob", (tree / directory / path).read_bytes())
            )
            for path in _files(tree / directory)
        }
        question = BuildQuestion(store.objects.tree_of(entries), directory, target)
        built = Prober(store, settings.checks.build, Path(scratch, "cache")).probe(question)
    if built.problems:
        raise InputError(f"not evaluated: {built.problems[0]}")
    units = [
        Unit(
            made.name,
            group.language,
            source,
            (*(flag.text for flag in group.flags), *(f"-D{d.text}" for d in group.definitions)),
            group.archs,
        )
        for made in built.cuda_targets
        for group in made.groups
        for source in group.sources
    ]
    predicted = {
        library["target"]: {**library["cubins"], **library["ptx"]} for library in build["libraries"]
    }
    return Plan(facts["tree"], machine, directory, predicted, tuple(units))


def _files(directory: Path) -> Iterator[str]:
    """The regular files below it; the probe takes no links."""
    for path in directory.rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield str(path.relative_to(directory))


def _read_plan(file: Path) -> Plan:
    facts = json.loads(file.read_bytes())
    units = [
        Unit(
            unit["target"],
            unit["language"],
            unit["source"],
            tuple(unit["flags"]),
            tuple(unit["archs"]),
        )
        for unit in facts["units"]
    ]
    return Plan(**{**facts, "units": tuple(units)})


# Compiling it


@dataclass(frozen=True)
class Toolbox:
    """How sources become objects, and where what they need lies."""

    nvcc: str
    cxx: str
    project: Path
    repositories: Mapping[str, Path]
    include: tuple[tuple[str, Path], ...]
    objects: Path
    timeout: float

    def compile(self, unit: Unit) -> Done:
        """Make the object of ``unit``."""
        made = self.object_of(unit)
        made.parent.mkdir(parents=True, exist_ok=True)
        include = [f"-I{path}" for target, path in self.include if target in ("", unit.target)]
        if unit.language == CUDA:
            command = [self.nvcc, *unit.flags, "-Xcompiler=-fPIC"]
        else:
            command = [self.cxx, "-std=c++17", "-fPIC", *unit.flags]
        command += [*include, "-c", str(self.path_of(unit.source)), "-o", str(made)]
        return _timed(unit, command, made, self.timeout)

    def link(self, units: Sequence[Unit], libraries: Sequence[str]) -> Done:
        """The shared library of the target that ``units`` are all of."""
        name, archs = units[0].target, dict.fromkeys(a for unit in units for a in unit.archs)
        target = self.objects / f"{name}.so"
        # not with nvcc, which adds a cubin of its own for its default architecture
        command = [self.cxx, "-shared", "-Wl,-z,defs"]
        command += [*map(str, map(self.object_of, units)), *libraries, "-o", str(target)]
        whole = Unit(name, "link", target.name, (), tuple(archs))
        return _timed(whole, command, target, self.timeout)

    def object_of(self, unit: Unit) -> Path:
        """Where the object of ``unit`` goes."""
        return self.objects / unit.target / f"{unit.source.replace('/', '+')}.o"

    def path_of(self, source: str) -> Path:
        """Where a source lies: in a repository that the project fetches, or in the project."""
        name, _, rest = source.partition("/")
        return (
            self.repositories[name] / rest if name in self.repositories else self.project / source
        )


def _timed(unit: Unit, command: Sequence[str], target: Path, timeout: float) -> Done:
    """Run ``command`` in a process group of its own, so that all of it can be stopped."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        timer = threading.Timer(timeout, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - started
        output.seek(0)
        said = output.read().decode("utf-8", "replace")
    return Done(
        target=unit.target,
        source=unit.source,
        exit=process.returncode,
        seconds=round(seconds, 1),
        peak=usage.ru_maxrss * 1024,
        holds=_holds(target) if process.returncode == 0 else {},
        expected=unit.archs,
        said=said[-3000:] if process.returncode else "",
    )


def _holds(target: Path) -> dict[str, int]:
    library = read_library(target.name, target.read_bytes())
    return {**library.cubins, **library.ptx}


def _run(options: argparse.Namespace) -> int:
    plan = _read_plan(options.plan)
    wanted = [unit for unit in plan.units if _is_wanted(unit, options)]
    wanted.sort(key=lambda unit: not _matches(unit.source, options.first))
    done: list[Done] = []
    with tempfile.TemporaryDirectory(prefix="patchq-stubs-") as stubs:
        tools = _toolbox(options, plan, Path(stubs))
        with ThreadPoolExecutor(options.jobs) as pool:
            for future in as_completed([pool.submit(tools.compile, unit) for unit in wanted]):
                done.append(future.result())
                print(_line(done[-1]), flush=True)
                _write(options.json, plan, done)
        failed = {made.target for made in done if made.exit}
        for target in options.link:
            units = [unit for unit in wanted if unit.target == target]
            if units and target not in failed:
                done.append(tools.link(units, _libraries(options)))
                print(_line(done[-1]))
                _write(options.json, plan, done)
    _summarise(plan, done)
    return 0 if all(made.right for made in done) else 1


def _is_wanted(unit: Unit, options: argparse.Namespace) -> bool:
    # sources of the host are only of use to a library that is linked
    if unit.language != CUDA and unit.target not in options.link:
        return False
    return options.only is None or _matches(unit.source, options.only)


def _matches(source: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch(source, pattern) for pattern in patterns)


def _toolbox(options: argparse.Namespace, plan: Plan, stubs: Path) -> Toolbox:
    for path, content in STUBS.items():
        stub = stubs / path
        stub.parent.mkdir(parents=True, exist_ok=True)
        stub.write_text(content, encoding="utf-8")
    project = options.tree / plan.project
    headers = [_named(text) for text in options.include]
    if options.torch:
        torch = options.torch / "include"
        headers += [("", torch), ("", torch / "torch" / "csrc" / "api" / "include")]
    headers += [("", Path(sysconfig.get_path("include"))), ("", stubs)]
    return Toolbox(
        nvcc=options.nvcc,
        cxx=options.cxx,
        project=project,
        repositories=dict(map(_named, options.repository)),
        include=tuple(headers),
        objects=options.objects,
        timeout=options.timeout,
    )


def _named(text: str) -> tuple[str, Path]:
    """``NAME=DIR``; the name is empty where there is none."""
    name, _, place = text.rpartition("=")
    return name, Path(place)


def _libraries(options: argparse.Namespace) -> list[str]:
    places = [*options.library, *([options.torch / "lib"] if options.torch else [])]
    return [*(f"-L{place}" for place in places), *(f"-l{name}" for name in options.link_with)]


# What came of it


def _write(file: Path, plan: Plan, done: Sequence[Done]) -> None:
    facts = {
        "tree": plan.tree,
        "machine": plan.machine,
        "predicted": plan.predicted,
        "done": [asdict(made) for made in done],
    }
    aside = file.with_name(f"{file.name}.new")
    aside.write_text(json.dumps(facts, indent=1), encoding="utf-8")
    aside.replace(file)


def _line(made: Done) -> str:
    holds = " ".join(f"{arch}×{count}" for arch, count in made.holds.items()) or "-"
    outcome = f"exit {made.exit}" if made.exit else "ok" if made.right else "differs"
    return (
        f"{outcome:8} {made.seconds:7.1f} s {made.peak / 2**30:6.2f} GiB  {holds:12} "
        f"{made.target} {made.source}"
    )


def _summarise(plan: Plan, done: Sequence[Done]) -> None:
    units = {(unit.target, unit.source): unit for unit in plan.units}
    cuda = [
        made
        for made in done
        if (unit := units.get((made.target, made.source))) and unit.language == CUDA
    ]
    for target, predicted in plan.predicted.items():
        mine = [made for made in cuda if made.target == target]
        if not mine:
            continue
        found = Counter[str]()
        for made in mine:
            found.update(made.holds)
        print(
            f"{target}: {sum(made.exit == 0 for made in mine)} of {len(mine)} CUDA sources "
            f"compiled; predicted {dict(predicted)}, found {dict(found)}"
        )
    if compiled := [made for made in cuda if made.exit == 0]:
        seconds, peaks = [m.seconds for m in compiled], [m.peak / 2**30 for m in compiled]
        print(
            f"a source: median {statistics.median(seconds):.0f} s, at most {max(seconds):.0f} s; "
            f"median {statistics.median(peaks):.1f} GiB, at most {max(peaks):.1f} GiB"
        )
    for made in done:
        if made.exit:
            print(f"\n{made.target} {made.source}: exit {made.exit}\n{made.said}")


if __name__ == "__main__":
    raise SystemExit(main())
