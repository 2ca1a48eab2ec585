"""Miniature CMake/CUDA projects, probed, and configured in full for comparison."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miniature import Miniature

from patchq.engine.build.architectures import architectures
from patchq.engine.build.cmake.program import find_cmake
from patchq.engine.build.evaluate import BuildQuestion, Prober
from patchq.git.lender import find_lender
from patchq.git.store import open_store
from patchq.model.ids import TreeId
from patchq.model.settings import BuildSettings, Target
from patchq.model.verification import Build

TORCH = {
    "CUDA_VERSION": "${CMAKE_CUDA_COMPILER_VERSION}",
    "CMAKE_CUDA_ARCHITECTURES": "OFF",
    "CMAKE_CUDA_FLAGS": "${CMAKE_CUDA_FLAGS} -gencode arch=compute_75,code=sm_75",
    "TORCH_LIBRARIES": "torch",
}
SETTINGS = BuildSettings(packages={"Torch": TORCH})

Shape = dict[str, list[tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]]]
"""By target: language, sources, architectures and definitions of each group of sources."""


def lists(body: str) -> str:
    """A CMakeLists.txt for CUDA with ``body`` after its first two lines."""
    return f"cmake_minimum_required(VERSION 3.20)\nproject(demo LANGUAGES CXX CUDA)\n{body}"


@dataclass(frozen=True)
class Bench:
    """Projects as trees of a miniature repository, and a prober of them."""

    upstream: Miniature
    directory: Path

    def prober(self, settings: BuildSettings = SETTINGS) -> Prober:
        """A prober that has seen nothing but what is kept."""
        store = open_store(self.directory / "store.git", find_lender(self.upstream.path))
        return Prober(store, settings, self.directory / "cache")

    def tree(self, files: Mapping[str, str]) -> TreeId:
        """The tree of just these files."""
        self.upstream.commit("project", {**dict.fromkeys(self._there()), **files})
        return self.upstream.tree_id("main")

    def probe(
        self,
        files: Mapping[str, str],
        *,
        processor: str = "aarch64",
        cuda: str = "13.0",
        options: Mapping[str, str] | None = None,
        settings: BuildSettings = SETTINGS,
    ) -> Build:
        """What the project made of ``files`` builds."""
        target = Target("machine", processor, cuda, options or {})
        question = BuildQuestion(self.tree(files), ".", target, trusted=True)
        return self.prober(settings).probe(question)

    def _there(self) -> list[str]:
        tip = self.upstream.git("for-each-ref", "refs/heads/main")
        return self.upstream.paths("main") if tip else []


def shape(build: Build) -> Shape:
    """What of a build a full configure shows too."""
    return {
        target.name: sorted(
            (
                group.language,
                tuple(sorted(group.sources)),
                tuple(sorted(group.archs)),
                tuple(sorted(flag.text for flag in group.definitions)),
            )
            for group in target.groups
        )
        for target in build.targets
    }


_TOOLCHAIN = """\
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR @processor@)
foreach(language C CXX CUDA)
  set(CMAKE_${language}_COMPILER /bin/true)
  set(CMAKE_${language}_COMPILER_FORCED TRUE)
  set(CMAKE_${language}_COMPILER_WORKS TRUE)
  set(CMAKE_${language}_COMPILER_ID_RUN TRUE)
  set(CMAKE_${language}_COMPILER_ID GNU)
  set(CMAKE_${language}_COMPILER_VERSION @cuda@)
  set(CMAKE_${language}_STANDARD_COMPUTED_DEFAULT 17)
endforeach()
set(CMAKE_CUDA_COMPILER_ID NVIDIA)
set(CMAKE_CUDA_COMPILER_TOOLKIT_ROOT /nowhere)
set(CMAKE_CUDA_COMPILER_TOOLKIT_VERSION @cuda@)
set(CMAKE_CUDA_COMPILER_LIBRARY_ROOT /nowhere)
# what nvcc would have printed, as far as CMake asks
set(CMAKE_CUDA_COMPILER_PRODUCED_OUTPUT "#$ PATH=/nowhere
#$ LIBRARIES= \\"-L/nowhere/lib\\"
#$ INCLUDES=\\"-I/nowhere/include\\"
#$ cudafe++ -arch compute_@default@
/nowhere/g++ \\"-L/nowhere/lib\\" -lcudart_static
")
"""

_FETCH = """\
macro(FetchContent_Declare)
endmacro()
macro(FetchContent_Populate name)
  set(${name}_SOURCE_DIR "${CMAKE_BINARY_DIR}/${name}")
endmacro()
"""

_PYTHON = """\
set(Python_FOUND TRUE)
function(Python_add_library name)
  set(words ${ARGN})
  list(REMOVE_ITEM words WITH_SOABI)
  add_library(${name} ${words})
endfunction()
"""


def configure(
    files: Mapping[str, str],
    scratch: Path,
    *,
    processor: str = "aarch64",
    cuda: str = "13.0",
    options: Mapping[str, str] | None = None,
) -> Shape:
    """What CMake itself makes of the project: a full configure, read by its File API.

    The toolchain is forced, so that no compiler runs; packages are find-modules of our own.
    """
    source, build, modules = (scratch / name for name in ("source", "build", "modules"))
    packages = "".join(f'set({name} "{value}")\n' for name, value in TORCH.items())
    found = {
        "FindTorch.cmake": f"{packages}set(Torch_FOUND TRUE)\n",
        "FindPython.cmake": _PYTHON,
        "FetchContent.cmake": _FETCH,
    }
    toolchain = _TOOLCHAIN.replace("@processor@", processor).replace("@cuda@", cuda)
    default = "75" if cuda.startswith("13") else "52"
    placed = {
        **{source / path: content for path, content in files.items()},
        **{modules / path: content for path, content in found.items()},
        scratch / "toolchain.cmake": toolchain.replace("@default@", default),
        build / ".cmake/api/v1/query/codemodel-v2": "",
        **{build / "fetched" / name: "" for name in ("x.cu", "y.cpp")},
    }
    for path, content in placed.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    done = subprocess.run(
        [
            find_cmake().program,
            *("-S", source, "-B", build, "-G", "Unix Makefiles"),
            "-DCMAKE_MAKE_PROGRAM=/bin/true",
            "-DCMAKE_BUILD_TYPE=Release",
            f"-DCMAKE_MODULE_PATH={modules}",
            f"-DCMAKE_TOOLCHAIN_FILE={scratch / 'toolchain.cmake'}",
            *(f"-D{name}={value}" for name, value in (options or {}).items()),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    replies = (build / ".cmake/api/v1/reply").glob("target-*.json")
    targets = [json.loads(reply.read_text()) for reply in replies]
    return {
        target["name"]: sorted(_group(group, target["sources"], build) for group in groups)
        for target in targets
        if (groups := target.get("compileGroups"))
    }


def _group(
    group: Mapping[str, Any], sources: list[dict[str, str]], build: Path
) -> tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    language = group["language"]
    fragments = [
        part["fragment"].replace('"', "") for part in group.get("compileCommandFragments", ())
    ]
    definitions = [item["define"] for item in group.get("defines", ())]
    paths = [sources[index]["path"] for index in group["sourceIndexes"]]
    return (
        language,
        tuple(sorted(path.removeprefix(f"{build}/") for path in paths)),
        tuple(sorted(architectures(fragments))) if language == "CUDA" else (),
        # CMake's own, of every shared library
        tuple(sorted(text for text in definitions if not text.endswith("_EXPORTS"))),
    )
