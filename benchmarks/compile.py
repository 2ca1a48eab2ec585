"""Build the kernel of an exported tree with the real CMake and ninja, and read what came of it.

``pack`` puts what a build needs into one folder: the project, the sources that it would fetch, and
if asked CMake and ninja. ``run`` builds in such a folder, on a machine with nvcc and PyTorch that
needs neither network, git nor a GPU, and compares each library with the export's prediction.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from patchq.engine.verify.wheel.check import compare_libraries
from patchq.engine.verify.wheel.fatbin import read_library
from patchq.errors import InputError, PatchqError, Where
from patchq.model.prediction import Prediction, read_predictions
from patchq.model.wheel import WheelRow, counts_of

MANIFEST = "patchq-manifest.json"
PLAN = "plan.json"
PROJECT = "project"
SOURCES = "sources"
TOOLS = "tools"
PROCESSOR = "processor.cmake"


def main() -> int:
    options = _options()
    try:
        return int(options.command(options))
    except PatchqError as error:
        print(error, file=sys.stderr)
        return 2


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    pack = commands.add_parser("pack", help="put what a build needs into a folder")
    pack.set_defaults(command=_pack)
    pack.add_argument("tree", type=Path, help="an export (--format dir)")
    pack.add_argument("folder", type=Path, help="where to; made anew")
    pack.add_argument("--machine", required=True, help="a target of the export's manifest")
    pack.add_argument("--project", required=True, help="the project's directory in the tree")
    pack.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="NAME=PLACE[@REVISION][#PATH,…]",
        help="what stands for a fetched source: a git directory, the archive itself, or `none` for "
        "one that nothing is compiled from; the revision in a git directory is the one of the "
        "manifest, unless one is named; only the paths are taken, if some are",
    )
    pack.add_argument(
        "--tool", action="append", default=[], metavar="WHEEL", help="wheels of cmake and ninja"
    )
    run = commands.add_parser("run", help="build it")
    run.set_defaults(command=_run)
    run.add_argument("folder", type=Path)
    run.add_argument("--build", type=Path, required=True, help="where the build goes; made anew")
    run.add_argument("--json", type=Path, required=True, help="what came of it")
    run.add_argument("--jobs", type=int, default=0, help="default: one for 10 GiB, at most a CPU")
    run.add_argument("--tools", type=Path, help="wheels of cmake and ninja; default: the folder's")
    run.add_argument("--python", default=sys.executable, help="a Python that has PyTorch")
    run.add_argument("--arch-list", default="12.1a", help="TORCH_CUDA_ARCH_LIST")
    run.add_argument("-D", dest="defines", action="append", default=[], metavar="NAME=VALUE")
    run.add_argument("--only", action="append", default=[], help="CMake targets; default: all")
    return parser.parse_args()


# Packing


def _pack(options: argparse.Namespace) -> int:
    manifest = json.loads((options.tree / MANIFEST).read_bytes())
    builds = [item for item in manifest.get("builds", ()) if item["machine"] == options.machine]
    if not builds:
        raise InputError(f"the manifest predicts no build for {options.machine}")
    shutil.rmtree(options.folder, ignore_errors=True)
    (options.folder / SOURCES).mkdir(parents=True)
    shutil.copytree(options.tree / options.project, options.folder / PROJECT, symlinks=True)
    given = dict(text.split("=", 1) for text in options.source)
    known = {item["name"]: item for item in manifest.get("fetched", ())}
    sources = {}
    for name, item in known.items():
        if name not in given:
            raise InputError(f"--source {name}=… is missing: {item['url']}")
        sources[name] = _pack_source(name, item, given[name], options.folder / SOURCES)
        print(f"{name}: {sources[name]}")
    (options.folder / TOOLS).mkdir()
    for wheel in options.tool:
        shutil.copy(wheel, options.folder / TOOLS)
    plan = {"tree": manifest["tree"], "base": manifest["base"]["name"], "build": builds[0]}
    (options.folder / PLAN).write_text(json.dumps({**plan, "sources": sources}, indent=1))
    size = sum(file.stat().st_size for file in options.folder.rglob("*") if file.is_file())
    print(f"{size / 2**20:.1f} MiB in {options.folder}")
    return 0


def _pack_source(name: str, item: Mapping[str, str], place: str, to: Path) -> str:
    """Pack a source as ``NAME.tar.xz``; what it is, in words."""
    file = Path(place)
    if place == "none":
        with tarfile.open(to / f"{name}.tar.xz", "w:xz"):
            return "nothing"
    if file.is_file():
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        if item.get("hash", "").lower() != f"sha256={digest}":
            raise InputError(f"{file}: sha256 is {digest}, the project has {item.get('hash')}")
        _repack(file, to / f"{name}.tar.xz")
        return "the archive that the project names"
    place, _, paths = place.partition("#")
    place, _, named = place.partition("@")
    asked = re.sub(r"\.(tar\.gz|tgz|zip)$", "", item["url"].rpartition("/")[2])
    revision = named or asked
    archive = subprocess.run(
        [
            "git",
            f"--git-dir={place}",
            "archive",
            f"--prefix={name}/",
            revision,
            *filter(None, paths.split(",")),
        ],
        capture_output=True,
        check=False,
    )
    if archive.returncode:
        raise InputError(f"{name}: {archive.stderr.decode(errors='replace').strip()}")
    subprocess.run(
        ["xz", "-6", "-T2", "-c"],
        input=archive.stdout,
        stdout=(to / f"{name}.tar.xz").open("wb"),
        check=True,
    )
    return f"{revision}, which the project names" if not named else f"{named} in place of {asked}"


def _repack(file: Path, to: Path) -> None:
    with tarfile.open(file) as old, tarfile.open(to, "w:xz") as new:
        for member in old:
            new.addfile(member, old.extractfile(member) if member.isfile() else None)


# Building


def _run(options: argparse.Namespace) -> int:
    plan = json.loads((options.folder / PLAN).read_bytes())
    [prediction] = read_predictions([plan["build"]], Where(PLAN))
    shutil.rmtree(options.build, ignore_errors=True)
    options.build.mkdir(parents=True)
    build = options.build.resolve()
    facts: dict[str, Any] = {**plan, "machine": _machine(options), "steps": []}
    environment = _environment(options, build)
    shutil.copytree(options.folder / PROJECT, build / PROJECT, symlinks=True)
    for name in plan["sources"]:
        _unpack(options.folder / SOURCES / f"{name}.tar.xz", build / SOURCES / name)
    configure = _configure(options, build, prediction, plan["sources"])
    targets = options.only or ["all"]
    jobs = options.jobs or _jobs()
    make = ["ninja", "-C", str(build / "out"), f"-j{jobs}", *targets]
    for name, command in (("configure", configure), ("build", make)):
        facts["steps"].append(_step(name, command, environment, build))
        _write(options.json, facts)
        if facts["steps"][-1]["exit"]:
            print(facts["steps"][-1]["said"])
            return 1
    every = compare_libraries(_libraries(build / "out"), prediction)
    rows = [row for row in every if not options.only or row.library is not None]
    facts["libraries"] = [_row(row) for row in rows]
    _write(options.json, facts)
    for row in rows:
        print(f"{'equal' if row.equal else 'DIFFERS':8} {row.name}: {counts_of(row.library)}")
        if not row.equal:
            print(f"{'':8} predicted: {counts_of(row.predicted)}")
    for name, source in plan["sources"].items():
        print(f"{name}: {source}")
    return 0 if all(row.equal for row in rows) else 1


def _configure(
    options: argparse.Namespace, build: Path, prediction: Prediction, sources: Sequence[str]
) -> list[str]:
    """CMake's own command; a project include sets the processor, so no toolchain file is needed."""
    lists = (build / PROJECT / "CMakeLists.txt").read_text(encoding="utf-8")
    match = re.search(r"^\s*project\s*\(\s*([\w.+-]+)", lists, re.MULTILINE | re.IGNORECASE)
    if match is None:
        raise InputError("its CMakeLists.txt names no project")
    include = build / PROCESSOR
    include.write_text(f'set(CMAKE_SYSTEM_PROCESSOR "{prediction.processor}")\n')
    prefix = _torch(options.python)[0]
    return [
        "cmake",
        *("-G", "Ninja", "-S", str(build / PROJECT), "-B", str(build / "out")),
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_PROJECT_{match[1]}_INCLUDE={include}",
        f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DPython_EXECUTABLE={options.python}",
        f"-DPython3_EXECUTABLE={options.python}",
        # as scikit-build-core says it for a wheel of the stable ABI
        "-DSKBUILD_SABI_COMPONENT=Development.SABIModule",
        "-DSKBUILD_SABI_VERSION=3.10",
        "-DSGL_KERNEL_COMPILE_THREADS=1",
        "-DFETCHCONTENT_FULLY_DISCONNECTED=ON",
        *(f"-DFETCHCONTENT_SOURCE_DIR_{n.upper()}={build / SOURCES / n}" for n in sources),
        *(f"-D{define}" for define in options.defines),
    ]


def _torch(python: str) -> tuple[str, str]:
    """Where PyTorch's CMake files lie, and its version; it is not imported."""
    code = (
        "import importlib.util as u, importlib.metadata as m, pathlib as p; "
        "print(p.Path(u.find_spec('torch').origin).parent / 'share/cmake', m.version('torch'))"
    )
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    if found.returncode:
        raise InputError(f"{python} has no PyTorch: {found.stderr.strip()}")
    place, _, version = found.stdout.strip().rpartition(" ")
    if version.endswith("+cpu"):
        raise InputError(f"PyTorch {version} has no CUDA: the project would ignore its own flags")
    return place, version


def _environment(options: argparse.Namespace, build: Path) -> dict[str, str]:
    """The user's, with the folder's CMake and ninja first on the path."""
    programs = []
    for wheel in sorted((options.tools or options.folder / TOOLS).glob("*.whl")):
        place = build / TOOLS / wheel.name
        shutil.unpack_archive(wheel, place, "zip")
        for directory in place.glob("**/bin"):
            programs.append(str(directory))
        for scripts in place.glob("*.data/scripts"):
            programs.append(str(scripts))
        for file in place.rglob("*"):
            if file.is_file() and file.parent.name in ("bin", "scripts"):
                file.chmod(0o755)
    path = os.pathsep.join([*programs, os.environ["PATH"]])
    return {**os.environ, "PATH": path, "TORCH_CUDA_ARCH_LIST": options.arch_list}


def _unpack(packed: Path, to: Path) -> None:
    """Unpack a source without the directory that holds all of it."""
    to.mkdir(parents=True)
    command = ["tar", "-xf", str(packed), "--strip-components=1", "-C", str(to)]
    subprocess.run(command, check=True)


def _step(
    name: str, command: Sequence[str], environment: Mapping[str, str], build: Path
) -> dict[str, Any]:
    """Run one command; how it ended, how long it took, and the memory of its largest process."""
    started, log = time.monotonic(), build / f"{name}.log"
    program = shutil.which(command[0], path=environment["PATH"])
    if program is None:
        raise InputError(f"there is no {command[0]}; pack one with --tool")
    with log.open("wb") as output:
        done = subprocess.run(
            [program, *command[1:]],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    seconds = round(time.monotonic() - started, 1)
    said = log.read_text(encoding="utf-8", errors="replace")
    steps = re.findall(r"^\[(\d+)/(\d+)\]", said, re.MULTILINE)
    made = f", {steps[-1][0]} of {steps[-1][1]} steps" if steps else ""
    print(f"{name}: exit {done.returncode} in {seconds} s{made}", flush=True)
    return {
        "name": name,
        "command": list(command),
        "exit": done.returncode,
        "seconds": seconds,
        "steps": list(map(int, steps[-1])) if steps else None,
        "peak_bytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
        "said": said[-4000:] if done.returncode else "",
    }


def _libraries(out: Path) -> Iterator[Any]:
    for file in sorted(out.rglob("*.so")):
        library = read_library(str(file.relative_to(out)), file.read_bytes())
        if library.cubins or library.ptx:
            yield library


def _row(row: WheelRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "target": row.predicted.target if row.predicted else None,
        "equal": row.equal,
        "holds": {**row.library.cubins, **row.library.ptx} if row.library else {},
        "predicted": {**row.predicted.cubins, **row.predicted.ptx} if row.predicted else {},
    }


def _jobs() -> int:
    text = Path("/proc/meminfo").read_text(encoding="ascii")
    found = re.search(r"^MemAvailable:\s+(\d+)", text, re.MULTILINE)
    free = int(found[1]) // 2**20 if found else 10
    return max(1, min(os.cpu_count() or 1, free // 10))


def _machine(options: argparse.Namespace) -> dict[str, str]:
    nvcc = shutil.which("nvcc")
    said = subprocess.run([nvcc, "--version"], capture_output=True, text=True) if nvcc else None
    return {
        "nvcc": said.stdout.strip().splitlines()[-1] if said and said.stdout else "none",
        "torch": _torch(options.python)[1],
        "cpus": str(os.cpu_count()),
    }


def _write(file: Path, facts: Mapping[str, Any]) -> None:
    aside = file.with_name(f"{file.name}.new")
    aside.write_text(json.dumps(facts, indent=1), encoding="utf-8")
    aside.replace(file)


if __name__ == "__main__":
    raise SystemExit(main())
