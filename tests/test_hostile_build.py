"""Hostile CMake code in upstream: nothing of the host is touched, and what it tried is said."""

from __future__ import annotations

import json
import re
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from commandline import SOURCES, CommandLine
from miniature import MakeMiniature, Miniature
from probing import Bench, lists
from workspaces import make_workspace

from patchq.engine.build.cmake import program
from patchq.engine.build.cmake.lists import harmless
from patchq.engine.build.cmake.program import find_cmake
from patchq.engine.build.cmake.standins import find_escape
from patchq.engine.build.evaluate import BuildQuestion
from patchq.engine.build.values import LIMIT
from patchq.errors import InputError, PatchqError, Where
from patchq.model.ids import tree_id
from patchq.model.prediction import predict, prediction_facts, read_predictions
from patchq.model.settings import BuildSettings, Target
from patchq.model.trust import TrustedTree, read_trust, render_trust
from patchq.model.verification import Build, TargetBuild
from patchq.model.workspace import Workspace
from patchq.sandbox.command import Limits
from patchq.sandbox.runner import CHOICE, NoSandboxError

SECRET = "root-of-all-secrets"
MACHINE = Target("machine", "aarch64", "13.0")


@pytest.fixture
def bench(miniature: MakeMiniature, tmp_path: Path) -> Bench:
    host = tmp_path / "host"
    host.mkdir()
    (host / "victim").write_text(SECRET)
    (host / "evil.cmake").write_text(f"add_library({SECRET} a.cu)\n")
    (host / "CMakeLists.txt").write_text(f"add_library({SECRET} a.cu)\n")
    return Bench(miniature(), tmp_path)


def evaluated(bench: Bench, body: str, files: Mapping[str, str] | None = None) -> Build:
    host = str(bench.directory / "host")
    contents = {"CMakeLists.txt": lists(body), "a.cu": "", **(files or {})}
    return bench.probe({name: text.replace("@host@", host) for name, text in contents.items()})


def state(bench: Bench) -> dict[str, tuple[str, int, int]]:
    found = {}
    for path in (bench.directory / "host").iterdir():
        facts = path.lstat()
        found[path.name] = (path.read_text(), facts.st_mode, facts.st_mtime_ns)
    return found


WRITE = 'WRITE "@host@/new" x'
HOSTILE = {
    # the four ways that were found first
    "include": ("include(evil.inc)\n", {"evil.inc": f"\n__file({WRITE})\n"}, "evil.inc:2"),
    "continuation": (f'cmake_language(CALL "__fi\\\nle" {WRITE})\n', {}, "CMakeLists.txt:3"),
    "environment": (
        f"set(ENV{{Y}} file)\ncmake_language(CALL __$ENV{{Y}} {WRITE})\n",
        {},
        "CMakeLists.txt:4",
    ),
    "watch": ("variable_watch(X __file)\nset(X 1)\n", {}, "CMakeLists.txt:3"),
    # behind the stand-ins by name
    "original": (f"__file({WRITE})\n", {}, "CMakeLists.txt:3"),
    "spaced": (f" \t__FILE \t({WRITE})\n", {}, "CMakeLists.txt:3"),
    "after a bracket": (f'set(x a""[[)\n__file({WRITE})\nset(y ]])\n', {}, "CMakeLists.txt:4"),
    "eval": (
        f"cmake_language(EVAL CODE [[file({WRITE})\n__file({WRITE})]])\n",
        {},
        "CMakeLists.txt:3",
    ),
    "defer": (f"cmake_language(DEFER CALL __file {WRITE})\n", {}, "CMakeLists.txt:3"),
    "forged": ('patchq_created("90")\n', {}, "CMakeLists.txt:3"),
    "redefined": (
        "set(n patchq)\nfunction(${n}_inside path)\nendfunction()\n"
        'file(READ "@host@/victim" X)\nadd_library("${X}" a.cu)\n',
        {},
        "CMakeLists.txt:6",
    ),
    "moved": (
        'set(PATCHQ_PROJECT "@host@")\nfile(READ "@host@/victim" X)\nadd_library("${X}" a.cu)\n',
        {},
        "CMakeLists.txt:4",
    ),
    # outside of the project
    "read": ('file(READ "@host@/victim" X)\nadd_library("${X}" a.cu)\n', {}, "CMakeLists.txt:3"),
    "strings": (
        'file(STRINGS "@host@/victim" X)\nadd_library("${X}" a.cu)\n',
        {},
        "CMakeLists.txt:3",
    ),
    "hash": ('file(SHA256 "@host@/victim" X)\nadd_library("${X}" a.cu)\n', {}, "CMakeLists.txt:3"),
    "glob": ('file(GLOB X "@host@/*")\nadd_library("${X}" a.cu)\n', {}, "CMakeLists.txt:3"),
    "absolute include": ('include("@host@/evil.cmake")\n', {}, "CMakeLists.txt:3"),
    "upwards": ('include("../../../../../../../../@host@/evil.cmake")\n', {}, "CMakeLists.txt:3"),
    "a module": (
        'list(APPEND CMAKE_MODULE_PATH "@host@")\ninclude(evil)\n',
        {},
        "CMakeLists.txt:4",
    ),
    "a root": ('set(CMAKE_ROOT "@host@")\ninclude("@host@/evil.cmake")\n', {}, "CMakeLists.txt:4"),
    "subdirectory": ('add_subdirectory("@host@" x)\n', {}, "CMakeLists.txt:3"),
    "real path": ('get_filename_component(X "@host@/victim" REALPATH)\n', {}, "CMakeLists.txt:3"),
    "exists": (
        'if(EXISTS "@host@/victim")\nadd_library(seen a.cu)\nendif()\n',
        {},
        "CMakeLists.txt:3",
    ),
    "newer": ('if("@host@/victim" IS_NEWER_THAN x)\nendif()\n', {}, "CMakeLists.txt:3"),
    "link": ("file(READ link X)\n", {}, "CMakeLists.txt:3"),
    "home": ("add_library($ENV{HOME} a.cu)\n", {}, "CMakeLists.txt:3"),
    "host": ("cmake_host_system_information(RESULT X QUERY FQDN)\n", {}, "CMakeLists.txt:3"),
    "cache": ('load_cache("@host@" READ_WITH_PREFIX x y)\n', {}, "CMakeLists.txt:3"),
    "time": ("file(TIMESTAMP a.cu X)\n", {}, "CMakeLists.txt:3"),
    "name": ('add_library("a b" a.cu)\n', {}, "CMakeLists.txt:3"),
    # another answer each time
    "site": ("site_name(X)\nadd_library(${X} a.cu)\n", {}, "CMakeLists.txt:3"),
    "random": ("string(RANDOM X)\nadd_library(${X} a.cu)\n", {}, "CMakeLists.txt:3"),
    "a place": (
        'string(REPLACE / _ X "${CMAKE_SOURCE_DIR}")\nadd_library(l a.cu)\n'
        'target_compile_definitions(l PRIVATE "X=${X}")\n',
        {},
        "CMakeLists.txt:5",
    ),
    "a digest of a place": (
        'string(SHA1 X "${CMAKE_SOURCE_DIR}")\nadd_library(l${X} a.cu)\n',
        {},
        "CMakeLists.txt:3",
    ),
}


READ = 'file(READ "@host@/victim" X)\nadd_library("${X}" a.cu)\n'
QUIET = {
    # what a project asks for every day, in hostile hands: done by nobody, or an error
    "download": ('file(DOWNLOAD "file://@host@/victim" v.txt)\nfile(READ v.txt X)\n', {}),
    "copy of a link": ('file(COPY link DESTINATION "@host@/new" FOLLOW_SYMLINK_CHAIN)\n', {}),
    "unpack": ('file(ARCHIVE_EXTRACT INPUT a.tar DESTINATION "@host@")\n', {"a.tar": "x"}),
    "a process": (
        'execute_process(COMMAND cat "@host@/victim" OUTPUT_VARIABLE X)\n'
        'add_library("l${X}" a.cu)\n',
        {},
    ),
    "try_run": (
        'try_run(R C "@host@/new" a.cpp RUN_OUTPUT_VARIABLE X)\nadd_library("l${X}" a.cu)\n',
        {"a.cpp": "int main() {}\n"},
    ),
    "try_compile": ('try_compile(C "@host@/new" a.cpp COPY_FILE "@host@/new2")\n', {"a.cpp": ""}),
    "compile check": (
        'include(CheckCXXSourceRuns)\ncheck_cxx_source_runs("int main() {}" RUNS)\n'
        'add_library("l${RUNS}" a.cu)\n',
        {},
    ),
    "external project": (
        "include(ExternalProject)\n"
        'ExternalProject_Add(e URL "file://@host@" CONFIGURE_COMMAND touch "@host@/new")\n',
        {},
    ),
    "fetched at configure time": (
        'include(FetchContent)\nFetchContent_Declare(e SOURCE_DIR "@host@" URL "file://@host@/victim"\n'
        ' PATCH_COMMAND touch "@host@/new")\nFetchContent_MakeAvailable(e)\n',
        {},
    ),
    "populated": (
        "include(FetchContent)\n"
        'FetchContent_Populate(e SOURCE_DIR "@host@/new" DOWNLOAD_COMMAND touch "@host@/new")\n',
        {},
    ),
    "toolchain": (
        'set(CMAKE_TOOLCHAIN_FILE "@host@/evil.cmake")\nproject(again LANGUAGES CXX)\n',
        {"CMakePresets.json": '{"version": 3, "configurePresets": [{"name": "x", "toolchainFile":'
         ' "@host@/evil.cmake"}]}'},
    ),
    "injected": (
        'set(CMAKE_PROJECT_INCLUDE "@host@/evil.cmake")\n'
        'set(CMAKE_PROJECT_TOP_LEVEL_INCLUDES "@host@/evil.cmake")\n'
        'set(CMAKE_USER_MAKE_RULES_OVERRIDE "@host@/evil.cmake")\nproject(again LANGUAGES CXX)\n',
        {},
    ),
    "package": (
        'set(Evil_DIR "@host@")\nfind_package(Evil CONFIG PATHS "@host@" NO_DEFAULT_PATH)\n'
        'list(APPEND CMAKE_PREFIX_PATH "@host@")\nfind_package(evil)\n',
        {},
    ),
    "shadowed": (
        'function(file)\nendfunction()\n_file(WRITE "@host@/new" x)\n'
        'macro(_file)\nendmacro()\n_file(WRITE "@host@/new" x)\n', {},
    ),
    "found": ('find_file(X victim PATHS "@host@")\nadd_library("l${X}" a.cu)\n', {}),
    "home": ('file(READ "~/victim" X)\nadd_library("l${X}" a.cu)\n', {}),
    "proc": ('file(READ "/proc/self/root@host@/victim" X)\nadd_library("l${X}" a.cu)\n', {}),
    "upwards": (READ.replace("@host@", "../../../../../../../..@host@"), {}),
    "a cut word": (f"set(PATCHQ_PROJECT /)\nset(PATCHQ_ELSEWHERE /)\n{READ}", {}),
    "unset": (f"unset(PATCHQ_PROJECT)\nunset(PATCHQ_PROJECT CACHE)\n{READ}", {}),
    "copied in": (
        'configure_file("@host@/victim" v.txt COPYONLY)\nfile(READ v.txt X)\n'
        'add_library("l${X}" a.cu)\n', {},
    ),
    "a symlink of a directory": (f'add_subdirectory(linked)\n{READ}', {}),
    "install": ('install(CODE "file(WRITE \\"@host@/new\\" x)")\n', {}),
    "exported": ('export(TARGETS x FILE "@host@/new")\n', {}),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["the sandbox", "none, trusted"])
@pytest.mark.parametrize("name", QUIET)
def test_what_is_asked_of_the_machine_is_not_done(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    if kind == "none, trusted":
        monkeypatch.setenv(CHOICE, "none")
    monkeypatch.setenv("HOME", str(bench.directory / "host"))
    body, files = QUIET[name]
    host = bench.directory / "host"
    (host / "EvilConfig.cmake").write_text(f"add_library({SECRET} a.cu)\n")
    before = state(bench)
    if "link" in body:
        bench.upstream.path.joinpath("link").symlink_to(host / "victim")
    build = evaluated(bench, body, files)
    assert state(bench) == before
    assert SECRET not in repr(build).replace(str(bench.directory), "")


def test_a_loop_without_end_is_ended(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(seconds=1, memory=256 << 20, output=1 << 20)
    monkeypatch.setattr(program, "LIMITS", limits)
    for body, words in (
        ("while(TRUE)\nendwhile()\n", "in 1 s"),
        ('while(TRUE)\nmessage(STATUS "more")\nendwhile()\n', "wrote more than 1 MiB|in 1 s"),
        ('string(REPEAT "0123456789" 60000000 X)\nstring(APPEND X "${X}")\n', "signal|memory"),
        ("function(again)\nagain()\nendfunction()\nagain()\n", "in 1 s|signal|recursion|wrote"),
        ('string(REPEAT a 40 X)\nstring(REGEX MATCH "(a*)*b" Y "${X}")\n', ""),
    ):
        told = ""
        try:
            told = repr(evaluated(bench, body).problems)
        except PatchqError as error:
            told = str(error)
        assert re.search(words, told), (body, told)


@pytest.mark.parametrize("kind", ["the sandbox", "none, trusted"])
@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_is_touched_and_the_line_is_said(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    if kind == "none, trusted":
        monkeypatch.setenv(CHOICE, "none")
    monkeypatch.setenv("HOME", f"/{SECRET}")
    body, files, where = HOSTILE[name]
    before = state(bench)
    if name == "link":
        bench.upstream.path.joinpath("link").symlink_to(bench.directory / "host/victim")
    build = evaluated(bench, body, files)
    assert [str(problem.where) for problem in build.problems][:1] == [where], build.problems
    assert state(bench) == before
    told = repr(build).replace(str(bench.directory), "")
    assert SECRET not in told


def test_what_is_written_and_run_by_ordinary_commands_is_not(bench: Bench) -> None:
    before = state(bench)
    build = evaluated(
        bench,
        'file(WRITE "@host@/new" x)\nfile(REMOVE "@host@/victim")\n'
        'file(DOWNLOAD "file://@host@/victim" "@host@/new")\n'
        'configure_file(a.cu "@host@/new")\nexecute_process(COMMAND touch "@host@/new")\n'
        "add_library(ops a.cu)\n",
    )
    assert build.problems == ()
    assert [target.name for target in build.targets] == ["ops"]
    assert state(bench) == before


def test_ways_that_are_not_taken_are_no_error(bench: Bench) -> None:
    build = evaluated(
        bench,
        "if(WIN32)\n  cmake_language(CALL x)\n  __file(WRITE y)\nendif()\n"
        "# cmake_language(EVAL)\nset(X [[\n__file(WRITE z)\n]])\nadd_library(ops a.cu)\n",
    )
    assert build.problems == ()


def test_modules_of_cmake_and_of_the_project_are_read(bench: Bench) -> None:
    build = evaluated(
        bench,
        'include(CMakeDependentOption)\ncmake_dependent_option(FAST "" ON "NOT WIN32" OFF)\n'
        "list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_SOURCE_DIR}/cmake)\ninclude(Helper)\n"
        "include(nowhere OPTIONAL)\nadd_ops()\n",
        {"cmake/Helper.cmake": "function(add_ops)\n  add_library(ops a.cu)\nendfunction()\n"},
    )
    assert build.problems == ()
    assert [target.name for target in build.targets] == ["ops"]


def test_what_was_read_is_marked_and_short(bench: Bench) -> None:
    body = (
        'file(READ words.txt X)\nstring(STRIP "${X}" X)\nadd_library(ops a.cu)\n'
        "target_compile_definitions(ops PRIVATE VALUE=${X} PLAIN)\n"
    )
    build = evaluated(bench, body, {"words.txt": f"{'w' * (LIMIT + 1)}\n"})
    (definition, plain) = build.targets[0].groups[0].definitions
    assert len(definition.text) < LIMIT
    assert definition.text.startswith("VALUE=www")
    assert f"{LIMIT + 7} characters" in definition.text
    assert build.reads == ("words.txt",)
    (prediction,) = predict([TargetBuild(MACHINE, build, build)])
    (facts,) = prediction_facts([prediction])
    assert facts["reads"] == ["words.txt"]
    assert read_predictions([facts], Where("manifest")) == (prediction,)
    notes = [str(note)[:60] for note in build.notes]
    assert notes[0].startswith("words.txt: read by the project")
    assert any("VALUE=www" in note for note in notes)
    assert not any(plain.text in note for note in notes)


PLACES = """
add_library(l a.cu "${CMAKE_COMMAND}.cu" "${CMAKE_CURRENT_BINARY_DIR}/made.cu")
target_compile_options(l PRIVATE "-I${CMAKE_SOURCE_DIR}/include" "-I${CMAKE_CURRENT_LIST_FILE}")
target_compile_definitions(l PRIVATE "A=${CMAKE_COMMAND} ${CMAKE_ARGV0} ${CMAKE_ARGV3}"
  "B=${CMAKE_ROOT}" "C=${CMAKE_BINARY_DIR}/.." "D=${PATCHQ_PROJECT} ${PATCHQ_MACHINE}"
  "E=${CMAKE_SCRIPT_MODE_FILE}")
get_filename_component(above "${CMAKE_SOURCE_DIR}/.." ABSOLUTE)
string(TIMESTAMP time)
string(RANDOM RANDOM_SEED 7 number)
target_compile_definitions(l PRIVATE "F=${above} ${time} ${number}")
option(here "x" "${CMAKE_SOURCE_DIR}/x")
include(FetchContent)
FetchContent_Declare(f URL "file://${CMAKE_CTEST_COMMAND}/${CMAKE_SOURCE_DIR}")
FetchContent_MakeAvailable(f)
message(WARNING "${CMAKE_COMMAND} ${CMAKE_SOURCE_DIR}")
"""


def test_a_result_says_nothing_of_the_place_and_the_time(
    miniature: MakeMiniature, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream = miniature()
    found = []
    for name in ("one", "another/place"):
        home = tmp_path / name
        home.mkdir(parents=True)
        monkeypatch.setattr(tempfile, "tempdir", str(home))
        found.append(evaluated(Bench(upstream, home), PLACES))
    assert found[0] == found[1]
    assert not found[0].problems
    texts = repr(found[0])
    assert "-I${CMAKE_SOURCE_DIR}/include" in texts
    for private in (tmp_path, SOURCES, Path.home(), find_cmake().program.parent):
        assert str(private) not in texts


def test_a_trace_that_shows_an_escape_is_no_answer() -> None:
    project, modules = Path("/p"), Path("/m")
    calls = [
        {"file": "/p/CMakeLists.txt", "line": 7, "cmd": "file", "args": ["READ", "/etc/x", "X"]},
        {"file": "/s/standins.cmake", "line": 1, "cmd": "__file", "args": ["READ", "/etc/x", "X"]},
    ]
    found = find_escape(calls, project=project, others=(modules,))
    assert found
    assert (found.where, "/etc/x" in found.text) == (Where("CMakeLists.txt", 7), True)
    calls[1]["args"] = ["READ", "/p/../etc/x", "X"]
    assert find_escape(calls, project=project, others=(modules,)) is not None
    calls[1]["args"] = ["READ", "/p/x", "X"]
    assert find_escape(calls, project=project, others=(modules,)) is None
    evaled = {"file": "/p/CMakeLists.txt:9:EVAL", "line": 1, "cmd": "__file", "args": []}
    found = find_escape([evaled], project=project, others=())
    assert found
    assert found.where == Where("CMakeLists.txt", 9)


@pytest.mark.parametrize(
    ("code", "called"),
    [
        (b"__file()", True),
        (b"x()\n__FILE\t ( )", True),
        (b"__file\n()", False),
        (b"x(__file ())", False),
        (b"# __file()\n", False),
        (b"#[[ __file() ]]__file()", True),
        (b"x([=[ ]] ) __file() ]=])", False),
        (b'x("a\\") __file( \n")', False),
        (b'x(a"b c"[[)\n__file()', True),
        (b"x($(a))\n__file()", True),
        (b"x(\\))\n__file()", True),
        (b'x(")\n__file()', False),
        (b"a__file()", False),
        (b"cmake_language(EVAL CODE x)", True),
        (b"patchq_anything()", True),
    ],
)
def test_calls_are_found_as_cmake_finds_them(code: bytes, called: bool) -> None:
    assert (harmless(code) != code) is called
    assert harmless(code).replace(b"patchq_refused_", b"") == code


# --- without a sandbox ------------------------------------------------------------------------


def test_without_a_sandbox_only_what_is_trusted_is_evaluated(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CHOICE, "none")
    tree = bench.tree({"CMakeLists.txt": lists("add_library(ops a.cu)\n"), "a.cu": ""})
    trusted = BuildQuestion(tree, ".", MACHINE, trusted=True)
    with pytest.raises(NoSandboxError):
        bench.prober(BuildSettings()).probe(BuildQuestion(tree, ".", MACHINE))
    assert bench.prober(BuildSettings()).probe(trusted).problems == ()


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    made = miniature()
    body = "set(CMAKE_CUDA_ARCHITECTURES 90-real)\nadd_library(ops a.cu)\n"
    made.commit("Start", {"k/CMakeLists.txt": lists(body), "k/a.cu": "", "README": "1\n"})
    made.tag("v1")
    made.commit("Go on", {"k/CMakeLists.txt": lists(f"{body}# and on\n")})
    made.tag("v2")
    return made


@pytest.fixture
def workspace(upstream: Miniature) -> Workspace:
    settings = 'targets:\n  t: {processor: aarch64, cuda: "13.0"}\n'
    made = make_workspace(upstream, {}, settings=settings, on="v1")
    for path in (made.series_path("v1"), made.series_path("v2")):
        path.mkdir(exist_ok=True)
        (path / "series").write_text("")
        (path / "recipe.yaml").write_text("project: k\n")
    made.trust_path.unlink()
    return made


def test_trust_is_given_to_one_tree_and_recorded(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, tmp_path: Path
) -> None:
    none = {CHOICE: "none"}
    for command in (("verify", "v1"), ("export", "v1"), ("export", "v1", "--no-verify")):
        refused = patchq(*command, cwd=workspace.root, env=none)
        assert refused.returncode == 3, refused.stderr
        assert "there is no sandbox to evaluate the build of v1 in" in refused.stderr
        assert "`patchq verify v1 --trust-upstream`" in refused.stderr
    told = patchq("report", "v1", "--onto", "v2", cwd=workspace.root, env=none)
    assert told.returncode == 0, told.stderr
    assert "which architectures v1 is built for: there is no sandbox" in told.stdout
    given = patchq("verify", "v1", "--trust-upstream", cwd=workspace.root, env=none)
    assert given.returncode == 0, given.stderr
    tree = upstream.tree_id("v1")
    assert f"(tree {tree}) is trusted: recorded in upstream.trust" in given.stderr
    assert workspace.trust() == (TrustedTree("v1", tree),)
    written = workspace.trust_path.read_bytes()
    archive = tmp_path / "tree.tar.gz"
    done = patchq("export", "v1", "-o", archive, "--trust-upstream", cwd=workspace.root, env=none)
    assert done.returncode == 0, done.stderr
    with tarfile.open(archive) as packed:
        assert any(name.endswith("manifest.json") for name in packed.getnames())
    assert workspace.trust_path.read_bytes() == written  # said once
    assert patchq("verify", "v2", cwd=workspace.root, env=none).returncode == 3
    assert patchq("undo", cwd=workspace.root).returncode == 0
    assert workspace.trust() == ()


def test_where_there_is_a_sandbox_trust_changes_nothing(
    patchq: CommandLine, workspace: Workspace
) -> None:
    first = patchq("verify", "v1", "--json", cwd=workspace.root)
    assert first.returncode == 0, first.stderr
    again = patchq("verify", "v1", "--json", "--trust-upstream", cwd=workspace.root)
    assert json.loads(again.stdout) == json.loads(first.stdout)


def test_trust_goes_without_a_wheel(patchq: CommandLine, workspace: Workspace) -> None:
    done = patchq("verify", "--wheel", "x.whl", "--trust-upstream", cwd=workspace.root)
    assert (done.returncode, "without --wheel" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("raw", "line", "words"),
    [
        (b"version: 2\ntrees: []\n", 1, "version 2"),
        (b"version: 1\ntrees:\n- {base: v1, tree: abc}\n", 3, "'abc'"),
        (b"version: 1\ntrees:\n- {base: v1}\n", 3, "tree"),
    ],
)
def test_a_malformed_record_is_refused_with_the_line(raw: bytes, line: int, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_trust(raw, Where("upstream.trust"))
    assert caught.value.where == Where("upstream.trust", line)
    assert words in caught.value.message


def test_a_record_is_read_as_it_was_written() -> None:
    records = (TrustedTree("v1", tree_id("a" * 40)), TrustedTree("main", tree_id("0" * 40)))
    assert read_trust(render_trust(records), Where("upstream.trust")) == records
    assert read_trust(b"", Where("upstream.trust")) == ()


def test_cmake_says_what_it_is() -> None:
    found = find_cmake()
    assert found.program.is_absolute()
    assert (found.root / "Modules").is_dir()
    assert {"file", "include", "add_library"} <= set(found.commands)
