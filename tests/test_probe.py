"""The build effect probe on miniature CMake/CUDA projects, and what CMake makes of them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from miniature import MakeMiniature
from probing import SETTINGS, Bench, configure, lists, shape

from patchq.engine.build.architectures import property_flags
from patchq.engine.build.cmake import program as cmake
from patchq.engine.build.cmake.program import CMake, Evaluation, find_cmake
from patchq.engine.build.evaluate import BuildQuestion
from patchq.engine.build.expressions import Context, UnknownExpressionError, evaluate
from patchq.errors import PatchqError, Where
from patchq.model.ids import TreeId
from patchq.model.settings import BuildSettings, CommandKind, Target
from patchq.model.verification import Build
from patchq.sandbox.runner import Runner, open_unconfined


@dataclass(frozen=True)
class Case:
    """A project, and the architectures of its CUDA targets; ``plain``: CMake needs no help."""

    files: Mapping[str, str]
    archs: Mapping[str, tuple[str, ...]]
    processor: str = "aarch64"
    cuda: str = "13.0"
    options: Mapping[str, str] = field(default_factory=dict)


KERNELS = {"a.cu": "", "b.cu": "", "host.cc": ""}


def case(body: str, files: Mapping[str, str] | None = None, **archs: str) -> Case:
    return Case(
        {"CMakeLists.txt": lists(body), **KERNELS, **(files or {})},
        {name: tuple(text.split()) for name, text in archs.items()},
    )


VERSIONS = """\
find_package(Torch REQUIRED)
macro(clear_arches)
  string(REGEX REPLACE "-gencode arch=[^ ]+ *" "" CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS}")
endmacro()
clear_arches()
set(FLAGS "-O3" "-gencode=arch=compute_90,code=sm_90")
if ("${CUDA_VERSION}" VERSION_GREATER_EQUAL "13.0")
  list(APPEND FLAGS "-gencode=arch=compute_103a,code=sm_103a")
  if (CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    list(APPEND FLAGS "-gencode=arch=compute_121a,code=sm_121a")
  endif()
elseif ("${CUDA_VERSION}" VERSION_GREATER_EQUAL "12.8")
  list(APPEND FLAGS "-gencode=arch=compute_101a,code=sm_101a")
endif()
add_library(ops MODULE a.cu host.cc)
target_compile_options(ops PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:${FLAGS} -use_fast_math>)
"""

OPTIONS = """\
find_package(Torch REQUIRED)
set(CMAKE_CUDA_FLAGS "")
set(DEFAULT_FA OFF)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(DEFAULT_FA ON)
endif()
option(ENABLE_FA "Build the attention kernels" ${DEFAULT_FA})
if(ENABLE_FA)
  add_library(attention MODULE b.cu)
  target_compile_options(attention PRIVATE -gencode=arch=compute_90a,code=sm_90a)
endif()
add_library(ops MODULE a.cu)
target_compile_options(ops PRIVATE -gencode=arch=compute_121a,code=sm_121a)
"""

CASES = {
    "versions": case(VERSIONS, ops="sm_90 sm_103a sm_121a"),
    "an older toolkit": Case(
        case(VERSIONS).files, {"ops": ("sm_90", "sm_101a")}, processor="x86_64", cuda="12.9"
    ),
    "an option's default": case(OPTIONS, ops="sm_121a"),
    "an option's default elsewhere": Case(
        case(OPTIONS).files, {"attention": ("sm_90a",), "ops": ("sm_121a",)}, processor="x86_64"
    ),
    "an option that is given": Case(
        case(OPTIONS).files,
        {"attention": ("sm_90a",), "ops": ("sm_121a",)},
        options={"ENABLE_FA": "ON"},
    ),
    "flags that a package adds": case(
        "find_package(Torch REQUIRED)\nadd_library(ops MODULE a.cu)\n", ops="sm_75"
    ),
    "what nvcc builds by itself": case("add_library(ops MODULE a.cu)\n", ops="compute_75 sm_75"),
    "what an older nvcc builds by itself": Case(
        case("add_library(ops MODULE a.cu)\n").files,
        {"ops": ("compute_52", "sm_52")},
        cuda="12.9",
    ),
    "the property": case(
        "set(CMAKE_CUDA_ARCHITECTURES 90-real)\n"
        "add_library(ops MODULE a.cu)\n"
        "add_library(more MODULE b.cu)\n"
        'set_target_properties(more PROPERTIES CUDA_ARCHITECTURES "80-real;90a-virtual")\n'
        "add_library(none MODULE b.cu)\n"
        "set_property(TARGET none PROPERTY CUDA_ARCHITECTURES OFF)\n",
        ops="sm_90",
        more="sm_80 compute_90a",
        none="",
    ),
    "a function and foreach": case(
        "set(CMAKE_CUDA_ARCHITECTURES OFF)\n"
        "function(add_ops name)\n"
        '  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "ARCHS;SOURCES")\n'
        "  add_library(${name} MODULE ${ARG_SOURCES})\n"
        "  foreach(arch IN LISTS ARG_ARCHS)\n"
        "    target_compile_options(${name} PRIVATE\n"
        "      $<$<COMPILE_LANGUAGE:CUDA>:-gencode=arch=compute_${arch},code=sm_${arch}>)\n"
        "  endforeach()\n"
        "endfunction()\n"
        "add_ops(one ARCHS 90a 121a SOURCES a.cu host.cc)\n"
        "add_ops(two ARCHS 80 SOURCES b.cu)\n",
        one="sm_90a sm_121a",
        two="sm_80",
    ),
    "generator expressions": case(
        "set(CMAKE_CUDA_ARCHITECTURES OFF)\n"
        "add_library(ops MODULE a.cu host.cc)\n"
        "target_compile_options(ops PRIVATE\n"
        '  "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<CONFIG:Release>>:'
        '-gencode=arch=compute_80,code=sm_80>"\n'
        '  "$<IF:$<VERSION_LESS:$<CUDA_COMPILER_VERSION>,13>,-DOLD,'
        '$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-gencode=arch=compute_121a$<COMMA>code=sm_121a>>"\n'
        '  "$<$<NOT:$<BOOL:ON>>:-gencode=arch=compute_10,code=sm_10>"\n'
        "  $<BUILD_INTERFACE:-Wall>)\n"
        "target_compile_definitions(ops PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:ON_GPU=1> BOTH)\n",
        ops="sm_80 sm_121a",
    ),
    "options of directories": case(
        "set(CMAKE_CUDA_ARCHITECTURES OFF)\n"
        "add_library(before MODULE a.cu)\n"
        "add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:-gencode=arch=compute_80,code=sm_80>)\n"
        "add_compile_definitions(ALL=1)\n"
        "add_definitions(-DLEGACY)\n"
        "add_subdirectory(sub)\n"
        "add_library(after MODULE a.cu)\n",
        {
            "sub/CMakeLists.txt": 'set(CMAKE_CUDA_FLAGS "-gencode arch=compute_90,code=sm_90")\n'
            "file(GLOB KERNELS *.cu)\n"
            "add_library(below MODULE ${KERNELS})\n"
            "set(SEEN below PARENT_SCOPE)\n",
            "sub/k.cu": "",
            "sub/l.cu": "",
        },
        before="",
        below="sm_90 sm_80",
        after="sm_80",
    ),
    "what a linked library asks for": case(
        "set(CMAKE_CUDA_ARCHITECTURES OFF)\n"
        "add_library(flags INTERFACE)\n"
        "target_compile_options(flags INTERFACE -gencode=arch=compute_121a,code=sm_121a)\n"
        "target_compile_definitions(flags INTERFACE FROM_FLAGS)\n"
        "add_library(middle OBJECT b.cu)\n"
        "target_link_libraries(middle PUBLIC flags)\n"
        "add_library(ops MODULE a.cu)\n"
        "target_link_libraries(ops PRIVATE middle m)\n"
        "add_library(alone MODULE a.cu)\n",
        middle="sm_121a",
        ops="sm_121a",
        alone="",
    ),
    "sources of their own kind": case(
        "set(CMAKE_CUDA_ARCHITECTURES OFF)\n"
        "add_library(ops MODULE a.cu host.cc)\n"
        "target_sources(ops PRIVATE b.cu)\n"
        "target_compile_options(ops PRIVATE -gencode=arch=compute_80,code=sm_80)\n"
        "set_source_files_properties(b.cu PROPERTIES\n"
        '  COMPILE_OPTIONS "-gencode=arch=compute_90a,code=sm_90a" COMPILE_DEFINITIONS B=1)\n'
        "set_source_files_properties(host.cc PROPERTIES LANGUAGE CUDA)\n",
        ops="sm_80 sm_90a",
    ),
    "options that CMake passes once": case(
        "set(CMAKE_CUDA_ARCHITECTURES OFF)\n"
        "add_library(ops MODULE a.cu)\n"
        'target_compile_options(ops PRIVATE "SHELL:-gencode arch=compute_80,code=sm_80"\n'
        '  "SHELL:-gencode arch=compute_90,code=sm_90")\n'
        "add_library(wrong MODULE a.cu)\n"
        "target_compile_options(wrong PRIVATE -gencode arch=compute_80,code=sm_80\n"
        "  -gencode arch=compute_90,code=sm_90)\n",
        ops="sm_80 sm_90",
        wrong="sm_80",
    ),
    "an included file and what is fetched": case(
        "include(${CMAKE_CURRENT_LIST_DIR}/cmake/flags.cmake)\n"
        "include(FetchContent)\n"
        "set(CMAKE_CUDA_ARCHITECTURES OFF)\n"
        "FetchContent_Declare(fetched URL https://example.org/x.tar.gz)\n"
        "FetchContent_Populate(fetched)\n"
        "set(SOURCES a.cu ${fetched_SOURCE_DIR}/x.cu)\n"
        "find_package(Python COMPONENTS Interpreter REQUIRED)\n"
        "Python_add_library(ops MODULE WITH_SOABI ${SOURCES})\n"
        "target_compile_options(ops PRIVATE ${OPS_FLAGS})\n"
        "install(TARGETS ops LIBRARY DESTINATION lib)\n",
        {"cmake/flags.cmake": 'set(OPS_FLAGS "-gencode=arch=compute_121a,code=[sm_121a]")\n'},
        ops="sm_121a",
    ),
}


@pytest.fixture
def bench(miniature: MakeMiniature, tmp_path: Path) -> Bench:
    return Bench(miniature(), tmp_path)


def probed(bench: Bench, project: Case) -> Build:
    return bench.probe(
        project.files, processor=project.processor, cuda=project.cuda, options=project.options
    )


@pytest.mark.parametrize("name", CASES)
def test_the_architectures_are_those_that_a_full_configure_has(
    bench: Bench, tmp_path: Path, name: str
) -> None:
    project = CASES[name]
    build = probed(bench, project)
    assert build.problems == ()
    assert {target.name: target.archs for target in build.cuda_targets} == project.archs
    assert shape(build) == configure(
        project.files,
        tmp_path / "full",
        processor=project.processor,
        cuda=project.cuda,
        options=project.options,
    )


def places(build: Build, name: str) -> dict[str, str]:
    target = build.target(name)
    assert target
    return {flag.text: str(flag.where) for group in target.cuda for flag in group.flags}


def test_each_flag_has_the_line_that_it_is_written_on(bench: Bench) -> None:
    found = places(probed(bench, CASES["versions"]), "ops")
    assert found["-gencode=arch=compute_90,code=sm_90"] == "CMakeLists.txt:8"
    assert found["-gencode=arch=compute_103a,code=sm_103a"] == "CMakeLists.txt:10"
    assert found["-gencode=arch=compute_121a,code=sm_121a"] == "CMakeLists.txt:12"
    assert found["-use_fast_math"] == "CMakeLists.txt:18"


def test_a_flag_put_together_from_parts_has_the_line_that_does_so(bench: Bench) -> None:
    found = places(probed(bench, CASES["a function and foreach"]), "one")
    assert found["-gencode=arch=compute_121a,code=sm_121a"] == "CMakeLists.txt:8"


def test_a_flag_handed_to_a_function_has_the_line_of_the_call(bench: Bench) -> None:
    body = (
        "function(add_ops name)\n"
        "  add_library(${name} MODULE a.cu)\n"
        "  target_compile_options(${name} PRIVATE ${ARGN})\n"
        "endfunction()\n"
        "add_ops(one -gencode=arch=compute_90,code=sm_90)\n"
    )
    found = places(probed(bench, case(body)), "one")
    assert found["-gencode=arch=compute_90,code=sm_90"] == "CMakeLists.txt:7"


def test_a_flag_of_an_included_file_has_that_files_line(bench: Bench) -> None:
    found = places(probed(bench, CASES["an included file and what is fetched"]), "ops")
    assert found["-gencode=arch=compute_121a,code=[sm_121a]"] == "cmake/flags.cmake:1"


def test_places_are_in_the_whole_tree(bench: Bench) -> None:
    files = {"deep/kernel/CMakeLists.txt": lists("add_library(ops MODULE a.cu)\nnonsense()\n")}
    bench.tree(files)
    tree = TreeId(bench.upstream.id("main:deep/kernel"))
    build = bench.prober().probe(BuildQuestion(tree, "deep/kernel", Target("m", "aarch64", "13.0")))
    assert [remark.where for remark in build.problems] == [Where("deep/kernel/CMakeLists.txt", 4)]
    assert build.targets[0].where == Where("deep/kernel/CMakeLists.txt", 3)


@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        ("set(X 1)\nunheard_of(x)\n", 4, "unheard_of"),
        ("include(cmake/missing.cmake)\n", 3, "missing.cmake"),
        ("include(NoSuchModule)\n", 3, "NoSuchModule"),
        ("add_subdirectory(nowhere)\n", 3, "nowhere"),
        ('message(FATAL_ERROR "CUDA is too old")\n', 3, "CUDA is too old"),
        ("file(READ settings.txt S)\n", 3, "settings.txt"),
        (
            "add_library(o MODULE a.cu)\nget_target_property(X o SOURCES)\n",
            4,
            "get_target_property",
        ),
        ("add_library(o MODULE a.cu)\nif(TARGET o)\nendif()\n", 4, "whether o is a target"),
        ("if(NOT TARGET CUDA::cudart)\nendif()\n", 3, "CUDA::cudart"),
        ("try_compile(WORKS d ${CMAKE_SOURCE_DIR}/a.cu)\n", 3, "try_compile"),
        ("target_compile_options(none PRIVATE -O3)\n", 3, "none is not a target"),
        (
            "add_library(o MODULE a.cu)\n"
            "target_compile_options(o PRIVATE $<TARGET_PROPERTY:o,X>)\n",
            4,
            "TARGET_PROPERTY",
        ),
        ("function(f)\n  unheard_of()\nendfunction()\nf()\n", 4, "unheard_of"),
        ('set(X "unfinished)\n', 4, "Parse error"),
        ("option(ALONE)\n", 3, "option"),
        ("set_property(TARGET PROPERTY)\n", 3, "set_property does not have the arguments"),
        (
            """set(CMAKE_CUDA_FLAGS "-DX='open")\nadd_library(o MODULE a.cu)\n""",
            4,
            "are no flags for a shell: No closing quotation",
        ),
        (
            "add_library(o MODULE a.cu)\n"
            """target_compile_options(o PRIVATE "SHELL:-DX='open")\n""",
            4,
            "No closing quotation",
        ),
        (
            "add_library(o MODULE a.cu)\ntarget_compile_options(o PRIVATE $<IF:1,-a>)\n",
            4,
            "$<IF:1,-a> does not have the arguments",
        ),
        (
            f"add_library(o MODULE {'$<1:' * 1000}a.cu{'>' * 1000})\n",
            3,
            "is nested too deeply",
        ),
    ],
)
def test_what_is_not_known_is_said_with_its_line(
    bench: Bench, body: str, line: int, words: str
) -> None:
    problems = probed(bench, case(body)).problems
    assert [remark.where for remark in problems][:1] == [Where("CMakeLists.txt", line)]
    assert words in problems[0].text


@pytest.mark.parametrize(
    "text",
    ["EQUAL:,1", "EQUAL:1", "IF:1,a", "STREQUAL:a", "JOIN:a", "VERSION_LESS:1", "TARGET_EXISTS"],
)
def test_an_expression_that_is_not_well_formed_has_no_value(text: str) -> None:
    with pytest.raises(UnknownExpressionError, match="does not have the arguments"):
        evaluate(f"-a$<{text}>", Context("CUDA", "13.0", "Release"))


def test_an_architecture_without_a_number_is_handed_on() -> None:
    assert property_flags("-real;90-real") == (
        "-arch=-real",
        "-gencode=arch=compute_90,code=sm_90",
    )


def test_a_flag_handed_on_many_times_has_its_line(bench: Bench) -> None:
    body = (
        "set(FLAGS -gencode=arch=compute_90,code=sm_90)\n"
        'foreach(n RANGE 1200)\n  set(FLAGS "${FLAGS}")\nendforeach()\n'
        "add_library(o MODULE a.cu)\ntarget_compile_options(o PRIVATE ${FLAGS})\n"
    )
    found = places(probed(bench, case(body)), "o")
    assert found["-gencode=arch=compute_90,code=sm_90"] == "CMakeLists.txt:3"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit 0", "no complete trace"),
        ('printf \'{"cmd": "set", "ar\' > trace', "no complete trace"),
        ("printf 'x\\n' > trace", "no complete trace"),
        ("kill -9 $$", "ended by signal 9"),
    ],
)
def test_a_cmake_that_is_cut_off_is_an_error(tmp_path: Path, script: str, words: str) -> None:
    with pytest.raises(PatchqError, match=words) as caught:
        stand_in(tmp_path, script).evaluate({}, open_unconfined())
    assert caught.value.hint


def test_a_cmake_that_fails_without_a_word_has_failed(tmp_path: Path) -> None:
    program = stand_in(tmp_path, "echo '{}' > trace; exit 7")
    evaluation = program.evaluate({}, open_unconfined())
    assert evaluation == Evaluation([], "CMake failed with exit code 7")


def test_a_cmake_that_does_not_start_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PatchqError, match="cannot be started"):
        CMake(tmp_path / "none", "3.30.0", tmp_path).evaluate({}, open_unconfined())


def stand_in(directory: Path, script: str) -> CMake:
    """A program that CMake's trace is expected of."""
    program = directory / "cmake"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return CMake(program, "3.30.0", directory)


def test_a_branch_that_is_not_taken_is_not_looked_at(bench: Bench) -> None:
    body = (
        "if(WIN32)\n  unheard_of()\nendif()\n"
        "add_library(o MODULE a.cu)\n"
        "target_compile_options(o PRIVATE $<$<COMPILE_LANGUAGE:HIP>:$<TARGET_PROPERTY:o,X>>)\n"
    )
    assert probed(bench, case(body)).problems == ()


@pytest.mark.parametrize(
    "body",
    [
        'execute_process(COMMAND touch "@marker@")\n',
        '_execute_process(COMMAND touch "@marker@")\n',
        'file(WRITE "@marker@" x)\n',
        '_file(WRITE "@marker@" x)\n',
        '__file(WRITE "@marker@" x)\n',
        'set(n __fi)\ncmake_language(CALL ${n}le WRITE "@marker@" x)\n',
        'file(DOWNLOAD "file:///etc/hostname" "@marker@")\n',
        'file(COPY a.cu DESTINATION "@marker@")\n',
        'configure_file(a.cu "@marker@")\n',
        'add_custom_command(OUTPUT x COMMAND touch "@marker@")\n',
        'try_run(A B d a.cu ARGS "@marker@")\n',
    ],
)
def test_nothing_of_the_tree_is_run_and_nothing_is_written(
    bench: Bench, tmp_path: Path, body: str
) -> None:
    marker = tmp_path / "marker"
    probed(bench, case(body.replace("@marker@", str(marker))))
    assert not marker.exists()


def test_the_environment_is_not_seen(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNEL_ARCH", "80")
    body = (
        "add_library(ops MODULE a.cu)\n"
        'target_compile_definitions(ops PRIVATE "A=$ENV{KERNEL_ARCH}")\n'
    )
    build = probed(bench, case(body))
    assert [flag.text for flag in build.targets[0].groups[0].definitions] == ["A="]
    assert [remark.where for remark in build.problems] == [Where("CMakeLists.txt", 4)]
    assert "$ENV{…}" in build.problems[0].text


def test_what_was_taken_for_granted_is_noted(bench: Bench) -> None:
    body = (
        "find_package(Torch REQUIRED)\n"
        "find_package(Doxygen)\n"
        "execute_process(COMMAND git describe OUTPUT_VARIABLE V)\n"
        "FetchContent_Populate(dep)\n"
        "file(GLOB G ${dep_SOURCE_DIR}/*.cu)\n"
        "add_subdirectory(${dep_SOURCE_DIR} dep)\n"
        "FetchContent_MakeAvailable(other)\n"
    )
    notes = [str(note) for note in probed(bench, case(body)).notes]
    assert notes == [
        "CMakeLists.txt:4: Doxygen is optional; taken for absent unless set up",
        "CMakeLists.txt:5: runs a program; taken to succeed and to print nothing",
        "CMakeLists.txt:7: dep/*.cu is fetched by the build; what is there is not known",
        "CMakeLists.txt:8: dep is fetched by the build; what is there is not known",
        "CMakeLists.txt:9: what other builds itself is not evaluated",
    ]


def test_the_settings_say_what_a_modules_command_is(bench: Bench) -> None:
    body = "nanobind_add_module(ops STABLE a.cu)\nset_up_docs(x)\n"
    settings = BuildSettings(
        commands={"nanobind_add_module": CommandKind.LIBRARY, "set_up_docs": CommandKind.IGNORE}
    )
    build = bench.probe(case(body).files, settings=settings)
    assert build.problems == ()
    assert [target.sources for target in build.targets] == [("a.cu",)]


def test_the_defaults_of_options_are_known(bench: Bench) -> None:
    build = bench.probe(CASES["an option that is given"].files, options={"ENABLE_FA": "ON"})
    assert build.defaults == (("ENABLE_FA", "OFF"),)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each time that CMake is run."""
    seen: list[str] = []
    evaluate = CMake.evaluate

    def counted(
        self: CMake, variables: Mapping[str, str], runner: Runner, reads: Sequence[Path]
    ) -> Evaluation:
        seen.append(variables["PATCHQ_PROCESSOR"])
        return evaluate(self, variables, runner, reads)

    monkeypatch.setattr(CMake, "evaluate", counted)
    return seen


def test_only_what_cmake_reads_decides_so_an_answer_is_kept(bench: Bench, runs: list[str]) -> None:
    body = "file(GLOB K *.cu)\nadd_library(ops MODULE ${K})\n"
    first = probed(bench, case(body))
    assert len(runs) == 1
    assert probed(bench, case(body, {"a.cu": "__global__ void f() {}\n"})) == first
    assert len(runs) == 1
    more = probed(bench, case(body, {"c.cu": ""}))
    assert len(runs) == 2
    assert more.targets[0].cuda_sources == first.targets[0].cuda_sources + 1
    probed(bench, case(f"{body}# a comment\n"))
    assert len(runs) == 3


def test_a_file_that_the_project_reads_decides_too(bench: Bench, runs: list[str]) -> None:
    body = (
        "file(STRINGS archs.txt ARCH)\nadd_library(ops MODULE a.cu)\n"
        "target_compile_options(ops PRIVATE -gencode=arch=compute_${ARCH},code=sm_${ARCH})\n"
    )
    no_default = "set(CMAKE_CUDA_ARCHITECTURES OFF)\n" + body
    archs = [
        [target.archs for target in probed(bench, case(no_default, {"archs.txt": text})).targets]
        for text in ("90\n", "121a\n", "121a\n")
    ]
    assert archs == [[("sm_90",)], [("sm_121a",)], [("sm_121a",)]]
    assert len(runs) == 4  # twice where the file turns out to be read


def test_a_spoilt_answer_is_found_again(bench: Bench, runs: list[str]) -> None:
    project = CASES["the property"]
    first = probed(bench, project)
    for kept in (bench.directory / "cache").rglob("*.json"):
        kept.write_bytes(kept.read_bytes()[:100])
    assert probed(bench, project) == first
    assert len(runs) == 2


def test_one_prober_answers_for_many_trees_and_machines(bench: Bench) -> None:
    trees = [bench.tree(CASES[name].files) for name in ("versions", "options of directories")]
    machines = [Target("a", "aarch64", "13.0"), Target("x", "x86_64", "13.0")]
    questions = [BuildQuestion(tree, ".", machine) for tree in trees for machine in machines]
    builds = bench.prober().probe_all([*questions, questions[0]])
    found = [{target.name: len(target.archs) for target in build.targets} for build in builds]
    below = {"before": 0, "below": 2, "after": 1}
    assert found == [{"ops": 3}, {"ops": 2}, below, below, {"ops": 3}]


def test_without_a_cmake_the_error_says_what_to_install(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_cmake.cache_clear()
    monkeypatch.setattr(cmake, "_packaged", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    try:
        with pytest.raises(
            PatchqError, match=r"needs CMake 3\.25 or newer: there is none"
        ) as caught:
            bench.probe(CASES["versions"].files, settings=SETTINGS)
    finally:
        find_cmake.cache_clear()
    assert caught.value.hint
    assert "cmake>=3.25" in caught.value.hint
