"""patchq verify: what it checks, what each patch does to the build, and how it says so."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from commandline import CommandLine
from miniature import Edits, MakeMiniature, Miniature
from workspaces import make_workspace, open_project

from patchq.engine.build.cmake import program as cmake
from patchq.engine.rebase.beside import share
from patchq.engine.series.selection import select
from patchq.engine.verify import ahead
from patchq.engine.verify.build.effect import effects_on
from patchq.engine.verify.parse import reader_of
from patchq.engine.verify.verify import verify_series
from patchq.engine.workspace.project import Project
from patchq.errors import InputError, PatchqError, Where
from patchq.model.recipe import Recipe, read_recipe
from patchq.model.retired import RecordState, Retired, render_retired
from patchq.model.verdict import Verdict
from patchq.model.verification import Effect, Outcome, Verification
from patchq.model.workspace import Workspace

SCHEMA = json.loads(Path(__file__).parents[1].joinpath("docs/verify.schema.json").read_text())
LISTS = "kernel/CMakeLists.txt"

HEAD = """\
cmake_minimum_required(VERSION 3.26)
project(kernel LANGUAGES CXX CUDA)
find_package(Torch REQUIRED)
set(CMAKE_CUDA_FLAGS "")
set(FLAGS "-gencode=arch=compute_90,code=sm_90")
if ("${CUDA_VERSION}" VERSION_GREATER_EQUAL "13.0")
  if (CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    list(APPEND FLAGS "-gencode=arch=compute_121a,code=sm_121a")
  endif()
  list(APPEND FLAGS "-gencode=arch=compute_100a,code=sm_100a")
endif()
set(DEFAULT_FA ON)
"""
ARM_DEFAULT = """\
if (CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(DEFAULT_FA OFF)
endif()
"""
TAIL = """\
option(ENABLE_FA "Build the attention kernels" ${DEFAULT_FA})
add_library(ops MODULE a.cu b.cu host.cc)
target_compile_options(ops PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:${FLAGS}>)
if (ENABLE_FA)
  add_library(flash MODULE a.cu)
  target_compile_options(flash PRIVATE -gencode=arch=compute_90a,code=sm_90a)
endif()
add_library(sparse MODULE b.cu)
target_compile_options(sparse PRIVATE -gencode=arch=compute_120a,code=sm_120a)
"""
OLD, NEW = HEAD + TAIL, HEAD + ARM_DEFAULT + TAIL

SETTINGS = r"""
targets:
  board:
    processor: aarch64
    cuda: "13.0"
    archs: [sm_121a]
    present: [ops]
    absent: [flash]
  host:
    processor: x86_64
    cuda: "13.0"
checks:
  holds: ["contains {project}/CMakeLists.txt 'project[(]kernel'"]
  build:
    packages:
      Torch:
        CUDA_VERSION: "${CMAKE_CUDA_COMPILER_VERSION}"
        CMAKE_CUDA_ARCHITECTURES: "OFF"
        CMAKE_CUDA_FLAGS: "${CMAKE_CUDA_FLAGS} -gencode arch=compute_75,code=sm_75"
"""

BOARD = SETTINGS.replace('  host:\n    processor: x86_64\n    cuda: "13.0"\n', "")

NO_TARGETS = SETTINGS[SETTINGS.index("checks:") :]


def pruned(text: str) -> str:
    for arch in ("90", "100a"):
        flag = f'"-gencode=arch=compute_{arch},code=sm_{arch}"'
        text = text.replace(f"(FLAGS {flag})", "(FLAGS)").replace(
            f"  list(APPEND FLAGS {flag})\n", ""
        )
    return text


def sparse_for_board(text: str) -> str:
    return text.replace("compute_120a,code=sm_120a", "compute_121a,code=sm_121a")


def fa_off(text: str) -> str:
    return text.replace("set(DEFAULT_FA ON)", "set(DEFAULT_FA OFF)")


class Series:
    """Patches that stack on one another, at v2."""

    def __init__(self, upstream: Miniature):
        self.upstream = upstream
        self.patches: dict[str, bytes] = {}
        self._tip = "v2"

    def add(self, name: str, edits: Edits, **trailers: str | list[str]) -> None:
        lines = [
            f"{key.replace('_', '-')}: {value}"
            for key, values in trailers.items()
            for value in ([values] if isinstance(values, str) else values)
        ]
        message = "\n\n".join(["Change it", *(["\n".join(lines)] if lines else [])])
        self._tip = self.upstream.detached(self._tip, message, edits)
        self.patches[name] = self.upstream.format(self._tip)

    def edit(self, name: str, change: Any, **trailers: str | list[str]) -> None:
        text = self.upstream.read(self._tip, LISTS).decode()
        assert change(text) != text
        self.add(name, {LISTS: change(text)}, **trailers)

    def workspace(
        self, *, settings: str = SETTINGS, recipe: str = "project: kernel\n"
    ) -> Workspace:
        bases = ("v1", "v2")
        workspace = make_workspace(
            self.upstream, self.patches, bases=bases, on="v2", settings=settings
        )
        (workspace.series_path("v2") / "recipe.yaml").write_text(recipe)
        return workspace


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    made = miniature()
    sources = dict.fromkeys(("kernel/a.cu", "kernel/b.cu", "kernel/host.cc"), "")
    made.commit("Start", {LISTS: OLD, **sources, "app/main.py": "x = 1\n"})
    made.tag("v1")
    made.commit("Say hello (#6)", {LISTS: OLD.replace("kernels", "kernels,")})
    made.commit("Leave FA off on arm (#7)", {LISTS: NEW.replace("kernels", "kernels,")})
    made.commit("Fix a word (#8)", {LISTS: NEW})
    made.tag("v2")
    return made


@pytest.fixture
def series(upstream: Miniature) -> Series:
    return Series(upstream)


@pytest.fixture
def whole(series: Series) -> Series:
    """Patches that leave nothing but the board's architecture."""
    series.edit("prune.patch", pruned)
    series.edit("fa-off.patch", fa_off)
    series.edit("sparse.patch", sparse_for_board)
    return series


def verified(series: Series, workspace: Workspace | None = None) -> Verification:
    project = open_project(workspace or series.workspace(), series.upstream)
    return verify_project(project)


def verify_project(project: Project) -> Verification:
    selection = select(project.workspace.load("v2"), project.settings, ())
    return verify_series(project, selection)


def failures(verification: Verification, name: str) -> list[str]:
    section = next(section for section in verification.sections if section.name == name)
    return [failure.text for failure in section.failures]


def test_a_series_that_is_whole_passes(whole: Series) -> None:
    verification = verified(whole, whole.workspace(settings=BOARD))
    assert [section.failures for section in verification.sections if section.failures] == []
    assert verification.passed
    (build,) = verification.builds
    assert {target.name: target.archs for target in build.after.cuda_targets} == {
        "ops": ("sm_121a",),
        "sparse": ("sm_121a",),
    }


def test_processes_change_no_verification(whole: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = []

    def counted(*args: Any) -> None:
        shared.append(args)
        share(*args)

    found, workspace = [], whole.workspace()
    for processes in (1, 3):
        monkeypatch.setattr(ahead, "cores", lambda count=processes: count)
        monkeypatch.setattr(ahead, "share", counted)
        shutil.rmtree(workspace.cache_dir, ignore_errors=True)
        found += [verified(whole, workspace), verified(whole, workspace)]
    assert found[0].builds
    assert found[0].effects
    assert all(each == found[0] for each in found)
    assert len(shared) == 1, "what is kept is not asked ahead again"


def test_the_table_shows_before_and_after(patchq: CommandLine, whole: Series) -> None:
    done = patchq("verify", "v2", cwd=whole.workspace().root)
    assert done.returncode == 1  # the host's list of architectures is empty
    assert "  ops       2  sm_90 sm_100a sm_121a → sm_121a\n" in done.stdout
    assert "  sparse    1  sm_120a → sm_121a\n" in done.stdout
    assert "    board  none     inert: changes nothing here; acts on host" in done.stdout
    assert "flash gone; -DENABLE_FA=ON undoes it" in done.stdout
    assert "(#7)" in done.stdout
    assert "host: ops: no architecture for 2 CUDA sources; nvcc would choose one" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_a_patch_that_is_missing_is_missed(series: Series) -> None:
    series.edit("prune.patch", pruned)
    verification = verified(series)
    section = next(s for s in verification.sections if s.name == "build")
    found = [(f.target, f.text, str(f.where)) for f in section.failures if f.target == "board"]
    text = "sparse: 1 CUDA source for sm_120a, must be for sm_121a"
    assert found == [("board", text, "kernel/CMakeLists.txt:23")]


def test_an_empty_list_of_architectures_fails(whole: Series) -> None:
    found = failures(verified(whole), "build")
    assert found == ["ops: no architecture for 2 CUDA sources; nvcc would choose one"]


def test_targets_that_must_be_there_or_gone(series: Series) -> None:
    settings = SETTINGS.replace("present: [ops]", "present: [ops, other]").replace(
        "absent: [flash]", "absent: [sparse]"
    )
    found = failures(verified(series, series.workspace(settings=settings)), "build")
    assert "other is not built" in found
    assert "sparse is built, and must not be" in found


def effects(verification: Verification) -> dict[tuple[str, str], Effect]:
    return {(e.patch, e.target): e.effect for e in verification.effects}


def test_what_each_patch_does_to_each_target(whole: Series) -> None:
    whole.add("app.patch", {"app/main.py": "x = 2\n"})
    whole.add("source.patch", {"kernel/a.cu": "// faster\n"})
    found = effects(verified(whole))
    assert found == {
        ("prune.patch", "board"): Effect.CHANGED,
        ("prune.patch", "host"): Effect.CHANGED,
        ("fa-off.patch", "board"): Effect.NONE,
        ("fa-off.patch", "host"): Effect.DEFAULT,
        ("sparse.patch", "board"): Effect.CHANGED,
        ("sparse.patch", "host"): Effect.CHANGED,
        ("app.patch", "board"): Effect.OUTSIDE,
        ("app.patch", "host"): Effect.OUTSIDE,
        ("source.patch", "board"): Effect.OUTSIDE,
        ("source.patch", "host"): Effect.OUTSIDE,
    }


def test_an_inert_patch_names_the_commit_that_made_it_so(whole: Series) -> None:
    effect = next(e for e in verified(whole).effects if e.effect is Effect.NONE)
    assert effect.since
    assert (effect.since.subject, effect.since.pr) == ("Leave FA off on arm (#7)", 7)
    assert effect.since.first_tag == "v2"


def test_a_patch_that_acts_nowhere_has_no_commit(series: Series) -> None:
    series.edit("comment.patch", lambda text: f"# ours\n{text}")
    found = verified(series).effects
    assert [(e.effect, e.since) for e in found] == [(Effect.NONE, None)] * 2


def test_a_change_behind_a_default_that_the_option_does_not_undo(series: Series) -> None:
    series.edit("both.patch", lambda text: sparse_for_board(fa_off(text)))
    found = effects(verified(series))
    assert found["both.patch", "host"] is Effect.CHANGED


def test_a_patch_is_taken_apart_from_its_neighbours(series: Series) -> None:
    series.edit("first.patch", lambda text: text.replace("b.cu host.cc", "b.cu host.cc c.cu"))
    series.add("file.patch", {"kernel/c.cu": ""})
    series.edit("more.patch", lambda text: text.replace("host.cc c.cu", "host.cc c.cu a.cu"))
    series.edit("undo.patch", lambda text: text.replace("host.cc c.cu a.cu", "host.cc"))
    ways = {e.patch: e for e in verified(series).effects if e.target == "board"}
    first = ways["first.patch"]
    assert [change.sources_new for change in first.in_series] == [("c.cu",)]
    assert first.alone
    assert [change.sources_new for change in first.alone] == [("c.cu",)]
    assert ways["more.patch"].alone is None  # the line that it edits is the first one's
    assert ways["undo.patch"].in_series
    assert ways["undo.patch"].alone == ()
    assert ways["file.patch"].effect is Effect.OUTSIDE


def test_effects_of_patches_on_another_base(whole: Series) -> None:
    project = open_project(whole.workspace(), whole.upstream)
    patches = [project.workspace.load("v2").patches[name] for name in whole.patches]
    found = effects_on(project, "v1", patches)
    assert {name: [e.effect for e in each] for name, each in found.items()} == {
        "sparse.patch": [Effect.CHANGED, Effect.CHANGED],
    }  # the others do not apply there


def test_no_effects_where_nothing_can_be_evaluated(
    whole: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = open_project(whole.workspace(recipe=""), whole.upstream)
    patches = list(project.workspace.load("v2").patches.values())
    assert effects_on(project, "v2", patches) == {}
    project = open_project(
        make_workspace(
            whole.upstream,
            whole.patches,
            on="v2",
            settings=SETTINGS,
            root=project.workspace.root.parent / "other",
        ),
        whole.upstream,
    )
    (project.workspace.series_path("v2") / "recipe.yaml").write_text("project: kernel\n")
    assert effects_on(project, "v2", patches)
    monkeypatch.setattr("patchq.engine.verify.build.effect.has_cmake", lambda _cache: False)
    assert effects_on(project, "v2", patches) == {}


def test_what_could_not_be_evaluated_fails_with_its_line(series: Series) -> None:
    series.edit("odd.patch", lambda text: f"{text}unheard_of(ops)\n")
    verification = verified(series)
    section = next(s for s in verification.sections if s.name == "build")
    assert {(f.target, str(f.where)) for f in section.failures} == {
        ("board", "kernel/CMakeLists.txt:25"),
        ("host", "kernel/CMakeLists.txt:25"),
    }
    assert 'not evaluated: Unknown CMake command "unheard_of".' in failures(verification, "build")
    assert set(effects(verification).values()) == {Effect.UNKNOWN}


@pytest.mark.parametrize(
    ("recipe", "settings", "outcome", "words"),
    [
        ("", SETTINGS, Outcome.SKIPPED, "the recipe names no project"),
        ("project: kernel\n", "main: main\n", Outcome.SKIPPED, "the workspace has no targets"),
        ("project: app\n", SETTINGS, Outcome.FAILED, "there is no project to evaluate"),
    ],
)
def test_where_there_is_nothing_to_evaluate(
    whole: Series, recipe: str, settings: str, outcome: Outcome, words: str
) -> None:
    verification = verified(whole, whole.workspace(recipe=recipe, settings=settings))
    section = next(s for s in verification.sections if s.name == "build")
    assert (section.outcome, section.summary) == (outcome, words)


def test_predicates_of_headers(series: Series) -> None:
    series.add(
        "app.patch",
        {"app/main.py": "x = 2\n"},
        X_Expect=["contains app/main.py 'x = 1'", "contains app/main.py 'x = 7'"],
        X_Verify=["contains app/main.py 'x = 2'", "lacks app/main.py 'x = 2'"],
    )
    verification = verified(series, series.workspace(settings=NO_TARGETS))
    expected = "X-Expect does not hold on the unpatched tree: contains app/main.py 'x = 7'"
    verify = "X-Verify does not hold on the patched tree: lacks app/main.py 'x = 2'"
    assert failures(verification, "x-expect") == [expected]
    assert failures(verification, "x-verify") == [verify]
    places = [f.where for s in verification.sections for f in s.failures if s.name == "x-verify"]
    lines = series.patches["app.patch"].decode().splitlines()
    line = lines.index("X-Verify: lacks app/main.py 'x = 2'") + 1
    assert places == [Where("series/v2/app.patch", line)]


def test_an_end_that_has_come_on_its_own_base_fails(series: Series) -> None:
    series.add(
        "app.patch",
        {"app/main.py": "x = 2\n"},
        X_Retire_When=["always", "contains app/main.py 'x = 2'", "lacks app/main.py mine"],
    )
    verification = verified(series, series.workspace(settings=NO_TARGETS))
    words = "X-Retire-When holds on v2 itself: lacks app/main.py mine"
    assert failures(verification, "x-retire-when") == [words]


def test_a_malformed_field_fails_with_its_line(series: Series) -> None:
    series.add("app.patch", {"app/main.py": "x = 2\n"}, X_Upstream_PR="abc")
    verification = verified(series, series.workspace(settings=NO_TARGETS))
    section = verification.sections[-1]
    (failure,) = section.failures
    assert (section.name, failure.patch) == ("fields", "app.patch")
    line = series.patches["app.patch"].decode().splitlines().index("X-Upstream-PR: abc") + 1
    assert failure.where == Where("series/v2/app.patch", line)


def test_predicates_of_the_workspace(series: Series) -> None:
    series.edit("rename.patch", lambda text: text.replace("project(kernel", "project(core"))
    found = failures(verified(series, series.workspace(settings=NO_TARGETS)), "checks")
    assert found == [
        "does not hold on the patched tree: contains kernel/CMakeLists.txt 'project[(]kernel'"
    ]


def test_order_and_held_patches(series: Series) -> None:
    series.add("app.patch", {"app/main.py": "x = 2\n"}, X_Requires="base.patch")
    workspace = series.workspace(settings=NO_TARGETS)
    held = Retired(
        name="old.patch",
        standing=RecordState.HELD,
        verdict=Verdict.CONFLICT,
        since="v2",
        base="v1",
        reason="collides",
        evidence=(),
        content=series.patches["app.patch"],
    )
    (workspace.series_path("v2") / "retired.yaml").write_bytes(
        render_retired([held, replace(held, name="other.patch")])
    )
    found = failures(verified(series, workspace), "requires")
    assert found == [
        "is held for review: `patchq resolve old.patch v2` opens its conflict, "
        "`patchq drop old.patch --tag v2 --reason WHY` leaves it out",
        "is held for review as well",
        "app.patch requires base.patch, which is missing from the series",
    ]


def test_a_patch_that_does_not_apply_ends_it(series: Series) -> None:
    series.add("app.patch", {"app/main.py": "x = 2\n"})
    series.patches["again.patch"] = series.patches["app.patch"]
    verification = verified(series, series.workspace(settings=NO_TARGETS))
    assert [section.name for section in verification.sections] == [
        "continuity",
        "requires",
        "fields",
        "apply",
    ]
    assert verification.tree is None
    (failure,) = verification.sections[-1].failures
    assert failure.patch == "again.patch"


@pytest.mark.parametrize(
    ("path", "good", "bad", "line"),
    [
        ("a.py", "def f():\n    return 1\n", "def f():\nreturn 1\n", 2),
        ("a.toml", "[a]\nb = 1\n", "[a]\nb = \n", None),
        ("a.json", '{"a": 1}\n', '{"a": 1,\n}\n', 2),
        ("a.yaml", "a: !custom 1\n---\nb: 2\n", "a: [1\nb: 2\n", 2),
        ("a.cmake", "set(A 1)\n", "set(A 1\nset(B 2)\n", 1),
        ("sub/CMakeLists.txt", "if(A)\nendif()\n", "set(B 1)\nif(A)\n", 2),
    ],
)
def test_touched_files_parse(
    series: Series, path: str, good: str, bad: str, line: int | None
) -> None:
    assert reader_of(path)
    series.add("good.patch", {path: good})
    assert failures(verified(series, series.workspace(settings=NO_TARGETS)), "parse") == []
    series.add("bad.patch", {path: bad})
    root = series.upstream.path.parent / "bad"
    workspace = make_workspace(series.upstream, series.patches, on="v2", root=root)
    project = open_project(workspace, series.upstream)
    section = next(s for s in verify_project(project).sections if s.name == "parse")
    (failure,) = section.failures
    assert failure.text.startswith("does not parse: ")
    assert failure.patch == "bad.patch"
    assert failure.where
    assert failure.where.file == path
    assert line is None or failure.where.line == line


def test_what_did_not_parse_before_is_upstreams_affair(upstream: Miniature) -> None:
    upstream.commit("Comments in JSON", {"tool.json": "{ // yes\n}\n"})
    upstream.tag("v2")
    series = Series(upstream)
    series.add("tool.patch", {"tool.json": "{ // no\n}\n"})
    section = next(
        s
        for s in verified(series, series.workspace(settings=NO_TARGETS)).sections
        if s.name == "parse"
    )
    assert section.outcome is Outcome.PASSED
    assert "does not parse in upstream either" in section.notes[0].text


def test_json_has_the_shape_of_its_schema(patchq: CommandLine, whole: Series) -> None:
    done = patchq("verify", "v2", "--json", cwd=whole.workspace().root)
    document: Mapping[str, Any] = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMA)
    assert document["passed"] is False
    board = document["builds"][0]["targets"]
    ops = next(target for target in board if target["name"] == "ops")
    flags = ops["before"]["groups"][0]["flags"]
    assert {"text": flags[0]["text"], "file": LISTS, "line": 5} == flags[0]
    inert = next(e for e in document["effects"] if e["effect"] == "none")
    assert (inert["acts_on"], inert["since"]["pr"]) == (["host"], 7)


def test_the_exit_code_is_zero_where_all_is_well(patchq: CommandLine, whole: Series) -> None:
    done = patchq("verify", cwd=whole.workspace(settings=BOARD).root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("v2 · 3 patches: passed\n")


def test_without_cmake_the_error_says_so(whole: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    project = open_project(whole.workspace(), whole.upstream)
    cmake.find_cmake.cache_clear()
    monkeypatch.setattr(cmake, "_packaged", lambda: None)
    monkeypatch.setenv("PATH", "/usr/lib/git-core")
    monkeypatch.setattr("shutil.which", lambda _name: None)
    try:
        with pytest.raises(PatchqError, match="needs CMake"):
            verify_project(project)
    finally:
        cmake.find_cmake.cache_clear()


@pytest.mark.parametrize(
    ("raw", "line", "words"),
    [
        (b"\nprojekt: x", 2, "'projekt'"),
        (b"project: /x", 1, "'/x'"),
        (b"version: 1\nproject: a/../..", 2, "'a/../..'"),
        (b"version: 9", 1, "version 9"),
    ],
)
def test_a_malformed_recipe_is_refused_with_the_line(raw: bytes, line: int, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_recipe(raw, Where("series/v1/recipe.yaml"))
    assert words in caught.value.message
    assert caught.value.where == Where("series/v1/recipe.yaml", line)


@pytest.mark.parametrize("raw", [None, b"", b"version: 1\n"])
def test_a_recipe_may_be_empty(raw: bytes | None) -> None:
    assert read_recipe(raw, Where("recipe.yaml")) == Recipe()


def test_a_report_tells_how_upstreams_own_architectures_differ(
    patchq: CommandLine, upstream: Miniature
) -> None:
    newer = NEW.replace("compute_100a,code=sm_100a", "compute_100f,code=sm_100f")
    upstream.commit("Build for the family (#9)", {LISTS: newer})
    upstream.tag("v3")
    patches = {"main.patch": upstream.patch("v1", {"app/main.py": "x = 2\n"})}
    workspace = make_workspace(upstream, patches, bases=("v1", "v2", "v3"), settings=SETTINGS)
    (workspace.series_path("v1") / "recipe.yaml").write_text("project: kernel\n")
    done = patchq("report", "v1", "--onto", "v3", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "architectures: flash sm_90a, gone (board)" in said
    assert "ops sm_90 sm_100a sm_121a → sm_90 sm_100f sm_121a (board)" in said
    assert "ops sm_90 sm_100a → sm_90 sm_100f (host)" in said
    assert "sparse" not in said
    done = patchq("report", "v1", "--onto", "v3", "--format", "json", cwd=workspace.root)
    changes = json.loads(done.stdout)["requirements"]["changes"]
    assert {change["kind"] for change in changes} == {"architectures"}
