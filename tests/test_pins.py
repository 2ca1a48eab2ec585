"""Pins and variants of a recipe, and how they stand to what the tag itself asks for."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from commandline import CommandLine
from miniature import MakeMiniature
from workspaces import make_workspace, open_project

from patchq.engine.series.selection import select
from patchq.engine.verify import pins
from patchq.engine.verify.requirements import Asked, Requirements, own_version
from patchq.engine.verify.runtime import runtimes
from patchq.engine.verify.subject import put_in_place
from patchq.errors import InputError, Where
from patchq.model.building import Runtime
from patchq.model.pins import Pin, PinState, compare_pin, compatible
from patchq.model.recipe import Recipe, read_recipe
from patchq.model.settings import Target
from patchq.model.verification import Outcome, Section

WHERE = Where("series/v1/recipe.yaml")

PYPROJECT = """\
[build-system]
requires = ["setuptools>=61", "torch>=2.8.0"]
[project]
name = "demo"
dependencies = [
  "flashinfer_python[cu13]==0.6.15.post1", # aligned
  "kernels>=0.14.1,<0.15",
  "Transformers==5.12.1",
  "av==16.1.0 ; platform_machine == 'aarch64'",
  "decord==1.0 ; platform_machine == 'x86_64'",
  "torch==2.11.0",
  "requests",
]
[project.optional-dependencies]
more = ["addict==2.4.0", "transformers==1.0"]
"""
KERNEL = '[build-system]\nrequires = ["ninja>=1.11"]\n[project]\nname = "k"\nversion = "0.4.5"\n'
DOCKER = "# base\nARG CUDA_VERSION=13.0.1\n"

RECIPE = """\
version: 1
project: kernel
local_version: sm121.3
pyprojects: [python/pyproject.toml]
pins:
  flashinfer-python: 0.6.16
  kernels: ">=0.15"
  torch: 2.11.0+cu130
  cuda: {version: "13.0.1", file: docker/Dockerfile, pattern: 'CUDA_VERSION=([\\d.]+)'}
variants:
  nemotron:
    description: a model of its own
    guards: [nemotron]
    excludes: [plain]
    pins: {transformers: 5.13.0}
  plain: {pins: {transformers: 5.12.1}}
  other: {pins: {transformers: 5.14.0}}
"""


@pytest.mark.parametrize(
    ("ours", "theirs", "standing"),
    [
        ("==1.2", "==1.2", PinState.EQUAL),
        ("==1.2.0", "==1.2", PinState.EQUAL),
        ("==1.2+cu130", "==1.2", PinState.EQUAL),
        (">=1,<2", "<2,>=1", PinState.EQUAL),
        ("==1.10", "==1.9", PinState.AHEAD),
        ("==1.2", "==1.2.post1", PinState.BEHIND),
        ("==1.2rc1", "==1.2", PinState.BEHIND),
        ("==1.2", ">=1,<2", PinState.INSIDE),
        ("==1.2", "==1.*", PinState.INSIDE),
        ("==2.0rc1", ">=1", PinState.INSIDE),
        ("==2.0", ">=1,<2", PinState.OUTSIDE),
        ("==1.2", "!=1.2", PinState.OUTSIDE),
        (">=1", "==1.2", PinState.INSIDE),
        (">=1.3", "==1.2", PinState.AHEAD),
        ("<1.2", "==1.2", PinState.BEHIND),
        (">=2", ">=1", PinState.AHEAD),
        (">=1", ">=2", PinState.BEHIND),
        (">=0.15", ">=0.14.1,<0.15", PinState.OUTSIDE),
        (">=1,<3", ">=1", PinState.INSIDE),
        ("==1.2", "", PinState.FREE),
        ("==1.2", None, PinState.ABSENT),
        ("===57e3cfb", "===57e3cfb", PinState.EQUAL),
        ("===57e3cfb", "===abcdef0", PinState.INCOMPARABLE),
        ("===57e3cfb", "==1.2", PinState.INCOMPARABLE),
        ("==1.2", "===main", PinState.INCOMPARABLE),
        ("==1.2", "===1.2", PinState.EQUAL),
        ("==1.2", "===a word", PinState.INCOMPARABLE),
    ],
)
def test_how_a_pin_stands(ours: str, theirs: str | None, standing: PinState) -> None:
    assert compare_pin(ours, theirs) is standing


def recipe(text: str = RECIPE) -> Recipe:
    return read_recipe(text.encode(), WHERE)


def required(target: Target) -> Mapping[str, Asked]:
    return Requirements("v1", recipe(), TREE.get, targets=(target,)).asked


NOTHING: Mapping[str, bytes] = {}
TREE: Mapping[str, bytes] = {
    "python/pyproject.toml": PYPROJECT.encode(),
    "kernel/pyproject.toml": KERNEL.encode(),
    "docker/Dockerfile": DOCKER.encode(),
}


def test_a_recipe_is_compared_with_the_tag() -> None:
    read = recipe()
    compared = pins.compare_pins(read.pins, Requirements("v1", read, TREE.get))
    assert [row.text for row in compared] == [
        "flashinfer-python==0.6.16: ahead of upstream, upstream has ==0.6.15.post1",
        "kernels>=0.15: outside upstream's range, upstream has <0.15,>=0.14.1",
        "torch==2.11.0+cu130: equal, upstream has ==2.11.0",
        "cuda==13.0.1: equal, upstream has ==13.0.1",
    ]
    asked = [row.asked.where for row in compared if row.asked]
    assert asked[0] == Where("python/pyproject.toml", 6)
    assert asked[3] == Where("docker/Dockerfile", 2)
    assert compared[0].pin.where == Where(WHERE.file, 6)


def pin_of(content: bytes, pattern: str = "TAG (.*)") -> pins.Compared:
    text = f"pins:\n  cutlass: {{version: '4.2', file: a.cmake, pattern: '{pattern}'}}\n"
    read = recipe(text)
    [compared] = pins.compare_pins(
        read.pins, Requirements("v1", read, {"a.cmake": content}.get, ())
    )
    return compared


@pytest.mark.parametrize(
    "said", ["57e3cfb47a2d", "main", "v 4.2", "4.2;x", "\N{REPLACEMENT CHARACTER}"]
)
def test_a_pattern_that_finds_no_version_is_said_with_its_line(said: str) -> None:
    row = pin_of(f"# one\nTAG {said}\n".encode())
    assert row.standing is PinState.INCOMPARABLE
    assert row.text == (
        f"cutlass==4.2: cannot be compared as a version, upstream has ==={said} (a.cmake:2)"
    )


def test_a_pattern_that_finds_nothing() -> None:
    assert pin_of(b"TAG 4.2\n").standing is PinState.EQUAL
    for content, pattern in ((b"TAG \n", "TAG (.*)"), (b"TAG \n", "TAG (x)?"), (b"", "(x)")):
        assert pin_of(content, pattern).standing is PinState.ABSENT


def test_requirements_that_only_their_author_understands_are_passed_over() -> None:
    markers = ("os_name ~= 'x'", "'a' in dependency_groups", "os_name == 'posix'")
    lines = [f'"p{number}==1 ; {marker}"' for number, marker in enumerate(markers)]
    content = f'[project]\ndependencies = [{", ".join(lines)}, "q===main"]\n'.encode()
    read = recipe("pyprojects: [p.toml]\n")
    assert Requirements("v1", read, {"p.toml": content}.get).asked.keys() == {"p2", "q"}


def test_toml_without_end_is_not_read() -> None:
    deep = b"a = " + b"[" * 5000 + b"]" * 5000
    assert own_version(recipe(), {"kernel/pyproject.toml": deep}.get) is None


def test_what_the_tag_requires_follows_the_machine() -> None:
    arm = required(Target("gb10", "aarch64", "13.0"))
    intel = required(Target("pc", "x86_64", "13.0"))
    assert arm.keys() - intel.keys() == {"av"}
    assert intel.keys() - arm.keys() == {"decord"}
    assert arm["transformers"].specifier == "==5.12.1"
    assert arm["ninja"].where.file == "kernel/pyproject.toml"
    assert arm["requests"].specifier == ""


def test_the_project_says_its_own_version() -> None:
    assert own_version(recipe(), TREE.get) == "0.4.5"
    assert recipe().local_version == "sm121.3"
    assert own_version(Recipe(), TREE.get) is None
    assert own_version(recipe(), {"kernel/pyproject.toml": b"["}.get) is None


def test_variants_choose_guards_and_pins() -> None:
    choice = recipe().choose(["nemotron"])
    assert choice.guards == ("nemotron",)
    assert Pin("transformers", "==5.13.0") in choice.pins
    assert len(choice.pins) == 5
    assert recipe().choose([]).pins == recipe().pins
    for names, words in (
        (["plain", "nemotron"], "variants plain and nemotron exclude each other"),
        (["nemotron", "other"], "pin transformers differently: ==5.13.0 and ==5.14.0"),
        (["none"], "no variant 'none'"),
    ):
        with pytest.raises(InputError, match=words):
            recipe().choose(names)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("pins:\n  torch: nightly\n", 2, "not a version or a range"),
        ("pins:\n  torch: ''\n", 2, "expected a version"),
        ("pins:\n  torch: 1\n  Torch: 2\n", 3, "pinned twice"),
        ("pins:\n  'a b': 1\n", 2, "not the name of a package"),
        ("pins:\n  cuda: {version: 1, file: f, pattern: x}\n", 2, "expected one group"),
        ("pins:\n  cuda: {version: 1, file: f, pattern: '('}\n", 2, "not a regular expression"),
        ("local_version: SM-121\n", 1, "not a local version"),
        ("variants:\n  a: {excludes: [b]}\n", 2, "excludes 'b', which there is not"),
        ("variants:\n  a: {guard: b}\n", 2, "unknown key 'guard'"),
    ],
)
def test_mistakes_are_named_with_their_line(text: str, line: int, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        recipe(text)
    assert caught.value.where == Where(WHERE.file, line)


def test_what_a_recipe_that_was_carried_on_no_longer_fits() -> None:
    said = [str(remark) for remark in pins.misfits(recipe(), lambda _: None, lambda _: False)]
    assert said == [
        f"{WHERE.file}:2: the tag has no directory kernel",
        f"{WHERE.file}: the tag has no python/pyproject.toml",
        f"{WHERE.file}:9: docker/Dockerfile of the tag does not say the version of cuda",
    ]
    assert list(pins.misfits(recipe(), TREE.get, lambda _: True)) == []
    # of what an archive does not cover nothing is known
    nothing = pins.misfits(recipe(), lambda _: None, lambda _: False, lambda _: False)
    assert list(nothing) == []


def test_verify_shows_every_pin(miniature: MakeMiniature) -> None:
    upstream = miniature()
    upstream.commit("Begin", {**TREE, "a.txt": "a\n"})
    upstream.tag("v1")
    patches = {"a.patch": upstream.patch("v1", {"a.txt": "b\n"})}
    workspace = make_workspace(upstream, patches, bases=("v1",))
    path = workspace.series_path("v1") / "recipe.yaml"
    project = open_project(workspace, upstream)

    def check() -> Section:
        selection = select(workspace.load("v1"), project.settings, ())
        return pins.check(put_in_place(project, selection))

    found = check()
    assert found.outcome is Outcome.SKIPPED
    path.write_text(RECIPE)
    found = check()
    assert found.outcome is Outcome.PASSED
    assert found.summary == "4 pins, 1 behind or outside of upstream's range"
    assert len(found.notes) == 7
    assert str(found.notes[4]).endswith("upstream has ==5.12.1 (variant nemotron)")
    path.write_text("project: elsewhere\n")
    assert check().outcome is Outcome.SKIPPED
    path.write_text(RECIPE.replace("python/", "gone/"))
    found = check()
    assert [failure.text for failure in found.failures] == [
        "the tag has no gone/pyproject.toml, where it is to say what it requires"
    ]


def test_what_upstream_itself_requires_is_compared(
    patchq: CommandLine, miniature: MakeMiniature
) -> None:
    lists = "FetchContent_Declare(\n  repo-x # a comment (\n  URL https://e.org/x/v{}.tar.gz)\n"
    upstream = miniature()
    upstream.commit("Begin", {**TREE, "kernel/CMakeLists.txt": lists.format(1), "a.txt": "a\n"})
    upstream.tag("v1")
    newer = (
        PYPROJECT.replace("torch==2.11.0", "torch==2.13.0")
        .replace('  "requests",\n', "")
        .replace("av==16.1.0", "av==16.2.0")
        .replace("flashinfer_python[cu13]==0.6.15.post1", "flashinfer_python[cu13]==0.6.17")
    )
    upstream.commit("Raise what is required (#7)", {"python/pyproject.toml": newer})
    upstream.commit("Fetch the newer (#8)", {"kernel/CMakeLists.txt": lists.format(2)})
    upstream.tag("v2")
    ends = {"X-Upstream-PR": "7"}
    patches = {"a.patch": upstream.patch("v1", {"a.txt": "b\n"}, "Say b", trailers=ends)}
    workspace = make_workspace(upstream, patches)
    (workspace.series_path("v1") / "recipe.yaml").write_text(RECIPE)
    done = patchq("report", "v1", "--onto", "v2", "--format", "json", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    one = json.loads(done.stdout)
    every = patchq("report", "--all", "--format", "json", cwd=workspace.root)
    assert json.loads(every.stdout)["bases"][1]["report"] == one
    assert one["patches"][0]["notes"][-1].startswith("ends: in v2 (")
    comment = patchq("report", "--all", "--format", "markdown", cwd=workspace.root).stdout
    assert "- **torch ==2.11.0 → ==2.13.0, the recipe pins ==2.11.0+cu130**" in comment
    found = one["requirements"]
    assert found["unknown"] == []
    rows = [
        (row["name"], row["kind"], row["old"], row["new"], row["pin"]) for row in found["changes"]
    ]
    assert rows == [
        ("flashinfer-python", "package", "==0.6.15.post1", "==0.6.17", "==0.6.16"),
        ("torch", "package", "==2.11.0", "==2.13.0", "==2.11.0+cu130"),
        ("av", "package", "==16.1.0", "==16.2.0", None),
        ("requests", "package", "", None, None),
        ("repo-x", "fetched", "v1", "v2", None),
    ]
    done = patchq("rebase", "--onto", "v2", cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert "torch ==2.11.0 → ==2.13.0, the recipe pins ==2.11.0+cu130" in done.stdout

    def listed() -> dict[str, tuple[str, str, int]]:
        shown = patchq("next", "v2", "--from", "v1", "--json", cwd=workspace.root).stdout
        return {
            item["text"].split()[0]: (item["section"], item["text"], item["evidence"][0]["pr"])
            for item in json.loads(shown)["items"]
            if item["subject"] == "upstream requires"
        }

    items = listed()
    assert items["torch"][0] == "decide"
    assert items["torch"][1].endswith("series/v2/recipe.yaml pins ==2.11.0+cu130")
    assert (items["av"][0], items["av"][2], items["fetched:"][2]) == ("read", 7, 8)
    own = workspace.series_path("v2") / "recipe.yaml"
    own.write_text(RECIPE.replace("2.11.0+cu130", "{version: 2.13.0+cu130, reason: our wheels}"))
    assert listed()["torch"][0] == "read"
    notes = patchq("notes", "v2", "--from", "v1", cwd=workspace.root).stdout
    torch = next(line for line in notes.splitlines() if line.startswith("- torch"))
    assert torch.endswith("==2.13.0+cu130: our wheels")


def test_metadata_of_an_archive_says_what_it_requires() -> None:
    lines = ("Torch==2.14.1", 'addict==2.4.0; extra == "more"', "kernels<0.15,>=0.14.1")
    read = recipe()
    asked = Requirements("v1", read, NOTHING.get, lines, "demo.whl")
    rows = pins.compare_pins(read.pins, asked)
    assert [row.standing for row in rows] == [
        PinState.ABSENT,
        PinState.OUTSIDE,
        PinState.BEHIND,
        PinState.ABSENT,
    ]
    assert rows[2].asked == Asked("==2.14.1", Where("METADATA of demo.whl"))
    [extra] = [line for line in asked.lines if line.extra]
    assert (extra.name, extra.condition) == ("addict", "extra more")
    unknown = pins.compare_pins(read.pins, Requirements("v1", read, NOTHING.get))
    assert {row.standing for row in unknown} == {PinState.UNKNOWN}
    assert unknown[0].text == "flashinfer-python==0.6.16: what upstream asks for is not known"


@pytest.mark.parametrize(
    ("ours", "theirs", "fits"),
    [
        ("==1.2", "==1.2", True),
        ("==1.2+cu130", "==1.2", True),
        ("==1.3", "==1.2", False),
        ("==1.2", ">=1", True),
        ("==1.2", ">=2", False),
        (">=1.3", "==1.2", False),
        (">=2", ">=1", True),
        (">=0.15", ">=0.14,<0.15", False),
        ("==1.2", "", True),
        ("==1.2", None, True),
    ],
)
def test_a_pin_that_no_resolver_can_satisfy(ours: str, theirs: str | None, fits: bool) -> None:
    assert compatible(ours, theirs) is fits


def test_a_pin_has_more_to_say() -> None:
    digest = "0" * 64
    text = (
        "pins:\n"
        f"  a: {{version: 1.0, reason: because, index: 'https://e.org', sha256: [{digest}]}}\n"
        "  b: {version: 1.0, group: g}\n"
        "  c: {version: 1.0+cu130, group: g}\n"
    )
    first, *_ = recipe(text).pins
    assert (first.reason, first.index, first.sha256) == ("because", "https://e.org", (digest,))
    with pytest.raises(InputError, match="whose versions must be the same"):
        recipe(text.replace("c: {version: 1.0+cu130", "c: {version: 1.1"))
    for bad in ("sha256: [x]", "file: f", "file: f, pattern: '(x)', index: 'https://e.org'"):
        with pytest.raises(InputError):
            recipe(f"pins:\n  a: {{version: 1.0, {bad}}}\n")


def test_a_pin_of_pytorch_is_the_targets_own() -> None:
    targets = (Target("gb10", "aarch64", "13.2", runtime=Runtime("2.12.0")),)
    read = recipe()
    found = runtimes(targets, read, Requirements("v1", read, TREE.get, targets=targets))
    assert [(each.torch, each.said_by) for each in found] == [("2.12.0", "target")]
    of_recipe = recipe(f"{RECIPE}targets: {{gb10: {{torch: 2.10.0, image: i}}}}\n")
    found = runtimes(targets, of_recipe, Requirements("v1", of_recipe, TREE.get))
    assert [(each.torch, each.said_by, each.image) for each in found] == [("2.10.0", "recipe", "i")]
    tags = runtimes((Target("x", "aarch64", "13.0"),), read, Requirements("v1", read, TREE.get))
    assert [(each.torch, each.said_by) for each in tags] == [("2.11.0", "tag")]
