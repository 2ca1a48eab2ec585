"""series/patchq.yaml: defaults, pull request numbers, and malformed files."""

import pytest

from patchq.errors import InputError, Where
from patchq.model.building import Jobs, Runtime
from patchq.model.settings import BuildSettings, CommandKind, Settings, Target, read_settings
from patchq.model.web import Web, web_of

WHERE = Where("series/patchq.yaml")


@pytest.mark.parametrize(
    ("subject", "numbers"),
    [
        ("Fix lint in #30645 (#30699) (#30704)", (30699, 30704)),
        ('Revert "x (#1)" (#2)', (2,)),
        ('Revert "x (#1)"', ()),
        ("Add (#12) to the docs", ()),
        ("One (#7)(#8)  ", (7, 8)),
        ("(#5)", (5,)),
        ("", ()),
    ],
)
def test_only_trailing_numbers_count(subject: str, numbers: tuple[int, ...]) -> None:
    assert Settings().pull_requests(subject) == numbers


def test_upstreams_own_pattern() -> None:
    settings = read_settings(rb"pr_pattern: '!(\d+)'", WHERE)
    assert settings.pull_requests("Fix !1 for good !22") == (22,)


@pytest.mark.parametrize(
    ("message", "numbers"),
    [
        ("Merge pull request #12 from someone/feature\n\nFix #7", (12,)),
        ("Merge pull request 'Fix it (#7)' (#12) from a/b into main", (12,)),
        ("Merge branch 'fix' into 'main'\n\nFix it\n\nSee merge request group/project!34", (34,)),
        ("Merge branch 'fix' of https://host/x (#5)", ()),
        ("Speak of Merge pull request #12", ()),
    ],
)
def test_what_a_merge_says_of_its_pull_request(message: str, numbers: tuple[int, ...]) -> None:
    assert Settings().merged_pull_requests(message) == numbers


def test_upstreams_own_pattern_for_merges() -> None:
    settings = read_settings(rb"merge_pattern: '^Merged PR (\d+):'", WHERE)
    assert settings.merged_pull_requests("Merged PR 88: it") == (88,)


@pytest.mark.parametrize("raw", [b"", b"# nothing\n", b"{}", b"version: 1\n"])
def test_defaults(raw: bytes) -> None:
    assert read_settings(raw, WHERE) == Settings()


def test_everything() -> None:
    raw = b"""\
version: 1
main: refs/heads/main
guards: {slim: no demos, mtp: the draft model}
default_guards: [mtp]
targets:
  gb10:
    processor: aarch64
    cuda: 13.0
    options: {ENABLE_FA3: ON}
    archs: [sm_121a]
    present: [common_ops]
    absent: [flash_ops]
  host: {processor: x86_64, cuda: 12.9}
checks:
  holds: ["contains {project}/CMakeLists.txt size"]
  build:
    packages:
      Torch: {CUDA_VERSION: "${CUDA}"}
    commands: {nanobind_add_module: library, docs: ignore}
"""
    settings = read_settings(raw, WHERE)
    assert settings.main == "refs/heads/main"
    assert settings.guards == {"slim": "no demos", "mtp": "the draft model"}
    assert settings.default_guards == {"mtp"}
    board, host = settings.targets
    assert board == Target(
        "gb10",
        "aarch64",
        "13.0",
        options={"ENABLE_FA3": "ON"},
        archs=("sm_121a",),
        present=("common_ops",),
        absent=("flash_ops",),
    )
    assert board.description == "aarch64, CUDA 13.0, -DENABLE_FA3=ON"
    assert host == Target("host", "x86_64", "12.9")
    assert [predicate.path for predicate in settings.checks.holds] == ["{project}/CMakeLists.txt"]
    assert settings.checks.build == BuildSettings(
        packages={"Torch": {"CUDA_VERSION": "${CUDA}"}},
        commands={"nanobind_add_module": CommandKind.LIBRARY, "docs": CommandKind.IGNORE},
    )


TARGET = b"targets:\n  a:\n    processor: p\n    cuda: 13.0\n"
STEP = b"  - name: a\n    commands: []\n"


@pytest.mark.parametrize(
    ("raw", "line", "words"),
    [
        (b"\nguard: {}", 2, "'guard'"),
        (b"version: 7", 1, "version 7"),
        (b"pr_pattern: '('", 1, "regular expression"),
        (b"main:\npr_pattern: '#[0-9]+'", 2, "one group"),
        (b"main:\nmerge_pattern: 'Merged'", 2, "a group"),
        (b"main: []", 1, "expected text"),
        (b"guards: {a: x}\ndefault_guards:\n- a\n- b", 4, "'b'"),
        (b"default_guards: a", 1, "a list"),
        (b"targets: [a]", 1, "a mapping"),
        (b"targets:\n  a: {}", 2, "'processor' is missing"),
        (b"targets:\n  a:\n    processor: p\n    cuda: new", 4, "'new'"),
        (b"targets:\n  a:\n    processor: p\n    cuda: 13.0\n    archs: [90]", 5, "'90'"),
        (b"targets:\n  a:\n    processor: p\n    cuda: 13.0\n    absent: ['a b']", 5, "'a b'"),
        (b"targets:\n  a:\n    processor: p\n    cuda: 13.0\n    options: {'-D': 1}", 5, "'-D'"),
        (b"checks:\n  a: 1", 2, "unknown key 'a'"),
        (b"checks:\n  holds: 1\n  holds: 2", 3, "given twice"),
        (b"checks:\n  holds:\n  - contains x", 3, "lacks its REGEX"),
        (b"checks:\n  build:\n    commands: {f: run}", 3, "cannot be 'run'"),
        (b"checks:\n  build:\n    packages:\n      'a)': {}", 4, "'a)'"),
        (b"checks:\n  build:\n    packages:\n      T: {'a b': 1}", 4, "'a b'"),
        (TARGET + b"    torch: new", 5, "expected a version"),
        (TARGET + b"    torch_index: u", 5, "torch_index goes with torch"),
        (b"export:\n  commands: []\n  steps: []", 2, "put it into steps"),
        (b"export:\n  steps:\n  - name: a\n    commands: []\n    of: k", 3, "of the set 'k'"),
        (b"export:\n  steps:\n" + STEP + STEP, 5, "step a is given twice"),
        (b"export:\n  jobs: {memory: 0}", 2, "memory must be at least 1"),
        (b"export:\n  jobs: {variables: ['a b']}", 2, "a variable's name"),
        (b"export:\n  system: ['; rm']", 2, "the name of a Debian package"),
        (b"export:\n  requires: ['cmake >> 3']", 2, "not a requirement"),
        (b"export:\n  environment: {'a b': c}", 2, "a variable's name"),
    ],
)
def test_malformed_settings_are_refused_with_the_line(raw: bytes, line: int, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_settings(raw, WHERE)
    assert words in caught.value.message
    assert caught.value.where == Where("series/patchq.yaml", line)


def test_how_an_export_is_built() -> None:
    raw = b"""\
targets:
  gb10: {processor: aarch64, cuda: "13.2", torch: 2.12.0, image: "i:1"}
export:
  sets: {kernel: [/k/]}
  jobs: {memory: 4}
  requires: ["cmake>=3.31"]
  steps:
  - {name: kernel, of: kernel, commands: [make], system: [ccache], wheel: "dist/*.whl"}
  - {name: server, commands: [make], copy: [python], network: [crates]}
"""
    settings = read_settings(raw, WHERE)
    assert settings.targets[0].runtime == Runtime("2.12.0", None, "i:1")
    assert settings.export.jobs == Jobs(8, 4)
    kernel, server = settings.export.steps
    assert (kernel.of, kernel.copy, kernel.wheel) == ("kernel", (".",), "dist/*.whl")
    assert (server.of, server.copy, server.network) == (None, ("python",), ("crates",))
    one = read_settings(b"export: {commands: [make, install]}", WHERE).export.steps
    assert [(step.name, step.commands) for step in one] == [("build", ("make", "install"))]


def test_what_a_recipe_does_not_say_a_target_does() -> None:
    target = Runtime("2.13.0", "https://e.org/cu132", "i:1")
    assert Runtime().over(target) == target
    # the index was named for the other version
    assert Runtime("2.12.0").over(target) == Runtime("2.12.0", None, "i:1")


@pytest.mark.parametrize(
    ("upstream", "commit", "pull"),
    [
        (
            "https://github.com/a/b.git",
            "https://github.com/a/b/commit/{}",
            "https://github.com/a/b/pull/{}",
        ),
        (
            "https://gitlab.com/a/b",
            "https://gitlab.com/a/b/-/commit/{}",
            "https://gitlab.com/a/b/-/merge_requests/{}",
        ),
        (
            "git@github.com:a/b.git",
            "https://github.com/a/b/commit/{}",
            "https://github.com/a/b/pull/{}",
        ),
        (
            "ssh://git@salsa.debian.org:22/a/b.git",
            "https://salsa.debian.org/a/b/-/commit/{}",
            "https://salsa.debian.org/a/b/-/merge_requests/{}",
        ),
        (
            "https://user:token@e.org:8443/a/b.git/",
            "https://e.org:8443/a/b/commit/{}",
            "https://e.org:8443/a/b/pull/{}",
        ),
        ("/srv/b", None, None),
    ],
)
def test_where_commits_are_shown(upstream: str, commit: str | None, pull: str | None) -> None:
    found = web_of(upstream)
    assert (found.commit, found.pull) == (commit, pull)
    assert found.has_addresses is (commit is not None)


def test_web_addresses_are_checked() -> None:
    given = read_settings(
        b"web:\n  url: https://github.com/a/b\n  pull: https://x/{}\n  title: Ours\n", Where("s")
    )
    assert given.web == Web(
        "https://github.com/a/b/commit/{}",
        "https://x/{}",
        "https://github.com/a/b/compare/{}...{}",
        "https://github.com/a/b/blob/{}/{}",
        "Ours",
        "https://github.com/a/b",
    )
    for malformed in (
        b"web: {commit: 'javascript:{}'}\n",
        b"web: {compare: 'https://e.org/{}'}\n",
        b"web: {file: 'https://e.org/{}/{}/{}'}\n",
    ):
        with pytest.raises(InputError, match="web address"):
            read_settings(malformed, Where("s"))
