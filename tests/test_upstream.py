"""Opening an upstream, locking bases, fetching and importing them, through the command line."""

from __future__ import annotations

import json
import os
import re
import zipfile
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import MakeMiniature, Miniature

from patchq.errors import InputError
from patchq.git.process import Git
from patchq.model.lock import Base
from patchq.model.workspace import Workspace

WHEEL = "demo_pkg-1.0-py3-none-any.whl"


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    made = miniature()
    made.commit("one", {"a.py": "1\n"})
    made.tag("v1")
    made.commit("two", {"a.py": "2\n"})
    made.tag("v2", message="annotated")
    made.commit("three", {"a.py": "3\n"})
    return made


@pytest.fixture
def root(tmp_path: Path, upstream: Miniature, patchq: CommandLine) -> Path:
    """A workspace whose upstream is a repository on this machine."""
    done = patchq("init", "w", "--upstream", upstream.path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path / "w"


@pytest.fixture
def remote_root(tmp_path: Path, upstream: Miniature, patchq: CommandLine) -> Path:
    """A workspace whose upstream is a URL."""
    done = patchq("init", "r", "--upstream", f"file://{upstream.path}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path / "r"


def make_wheel(directory: Path, content: str = "x = 1\n") -> Path:
    directory.mkdir(exist_ok=True)
    with zipfile.ZipFile(directory / WHEEL, "w") as wheel:
        for name, text in {
            "demo_pkg/__init__.py": content,
            "demo_pkg/core.so": "\x7fELF",
            "demo_alone.py": "y = 1\n",
            "demo_pkg-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: demo-pkg\n"
            "Version: 1.0\n",
            "demo_pkg-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nTag: py3-none-any\n",
            "demo_pkg-1.0.dist-info/RECORD": "",
        }.items():
            wheel.writestr(zipfile.ZipInfo(name), text)
    return directory / WHEEL


def store(root: Path) -> Git:
    return Git(root / ".patchq" / "store.git")


# init


def test_init_makes_a_workspace_that_reads(root: Path, upstream: Miniature) -> None:
    workspace = Workspace(root)
    assert workspace.lock().upstream == str(upstream.path)
    assert workspace.lock().bases == ()
    assert workspace.settings().main is None
    assert "*.patch -text\n" in (root / ".gitattributes").read_text()
    assert (root / ".gitignore").read_text() == "/.patchq/\n"


def test_the_settings_that_init_proposes_are_valid(root: Path) -> None:
    path = Workspace(root).settings_path
    proposed = path.read_text()
    lines = (line for line in proposed.splitlines() if not re.match("# [A-Z]", line))
    path.write_text("\n".join(line.removeprefix("#") for line in lines))
    settings = Workspace(root).settings()
    assert settings.main == "main"
    assert settings.default_guards == {"experimental"}
    assert settings.pull_requests("Fix it (#12)") == (12,)


def test_init_adds_to_files_and_keeps_what_they_hold(
    tmp_path: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    (tmp_path / ".gitignore").write_text("*.o")
    (tmp_path / ".gitattributes").write_text("*.patch -text\n")
    (tmp_path / "series").mkdir()
    (tmp_path / "series" / "patchq.yaml").write_text("main: trunk\n")
    assert patchq("init", "--upstream", upstream.path, cwd=tmp_path).returncode == 0
    assert (tmp_path / ".gitignore").read_text() == "*.o\n/.patchq/\n"
    assert (tmp_path / ".gitattributes").read_text().count("*.patch -text") == 1
    assert (tmp_path / "series" / "patchq.yaml").read_text() == "main: trunk\n"


def test_a_relative_upstream_is_kept_relative_to_the_workspace(
    tmp_path: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    assert patchq("init", "deep/w", "--upstream", "upstream", cwd=tmp_path).returncode == 0
    root = tmp_path / "deep" / "w"
    assert Workspace(root).lock().upstream == "../../upstream"
    inside = root / "series"
    assert patchq("lock", "v1", cwd=inside).returncode == 0
    assert Workspace(root).lock().base("v1").commit == upstream.id("v1")


@pytest.mark.parametrize(
    ("location", "code", "words"),
    [
        ("https://ada:secret@example.org/x", 2, "password"),
        ("https://a-token@example.org/x", 2, "token"),
        ("--upload-pack=x:", 2, "a URL or path"),
        ("nowhere", 3, "is not a git repository"),
    ],
)
def test_an_upstream_that_cannot_be(
    tmp_path: Path, patchq: CommandLine, location: str, code: int, words: str
) -> None:
    done = patchq("init", "w", f"--upstream={location}", cwd=tmp_path)
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr
    assert "secret" not in done.stderr
    assert not (tmp_path / "w").exists()


def test_init_locks_the_tag_that_is_named(
    root: Path, patchq: CommandLine, upstream: Miniature
) -> None:
    at = ("--upstream", str(upstream.path))
    done = patchq("init", str(root / "new"), *at, "--tag", "v1", cwd=root.parent)
    assert done.returncode == 0, done.stderr
    assert "v1 = " in done.stdout
    assert "name: v1" in (root / "new/upstream.lock").read_text()


def test_init_refuses_a_workspace(root: Path, patchq: CommandLine, upstream: Miniature) -> None:
    before = (root / "upstream.lock").read_bytes()
    done = patchq("init", "--upstream", upstream.path, cwd=root)
    assert done.returncode == 2
    assert "is a workspace already" in done.stderr
    assert (root / "upstream.lock").read_bytes() == before


def test_init_writes_nothing_into_a_bare_repository(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.git"
    upstream.git("clone", "-q", "--bare", str(upstream.path), str(bare))
    done = patchq("init", bare, "--upstream", upstream.path, cwd=tmp_path)
    assert (done.returncode, "the inside of a git repository" in done.stderr) == (2, True)
    assert not (bare / "upstream.lock").exists()


# lock


@pytest.mark.parametrize("kind", ["root", "remote_root"])
def test_tags_are_locked_with_commit_tree_and_date(
    kind: str, request: pytest.FixtureRequest, upstream: Miniature, patchq: CommandLine
) -> None:
    root: Path = request.getfixturevalue(kind)
    done = patchq("lock", "v1", "v2", cwd=root)
    assert done.returncode == 0, done.stderr
    assert f"v2 = {upstream.id('v2^{commit}')} (refs/tags/v2 of " in done.stdout
    assert "trust on first use" in done.stdout
    bases = Workspace(root).lock().bases
    assert [base.name for base in bases] == ["v1", "v2"]
    for base in bases:
        assert base.commit == upstream.id(f"{base.name}^{{commit}}")
        assert base.tree == upstream.id(f"{base.name}^{{tree}}")
    assert bases[0].date == "2025-01-06T08:00:00+00:00"


def test_a_comment_of_the_lock_survives(root: Path, patchq: CommandLine) -> None:
    path = root / "upstream.lock"
    path.write_text("# mine\n" + path.read_text())
    patchq("lock", "v1", cwd=root)
    assert path.read_text().startswith("# mine\n")


def test_names_go_behind_a_base_in_their_order(
    root: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    patchq("lock", "v1", "v2", cwd=root)
    done = patchq("lock", "dev=main", f"old={upstream.id('v1')[:10]}", "--after", "v1", cwd=root)
    assert done.returncode == 0, done.stderr
    lock = Workspace(root).lock()
    assert lock.names == ("v1", "dev", "old", "v2")
    assert lock.base("dev").commit == upstream.id("main")
    assert lock.base("old").commit == upstream.id("v1")


def test_a_commit_that_only_the_server_has(
    remote_root: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    commit = upstream.id("v1")
    assert patchq("lock", f"dev={commit}", cwd=remote_root).returncode == 0
    assert Workspace(remote_root).lock().base("dev").commit == commit


def test_the_same_again_changes_no_byte(root: Path, patchq: CommandLine) -> None:
    patchq("lock", "v1", cwd=root)
    before = (root / "upstream.lock").stat().st_mtime_ns
    done = patchq("lock", "v1", cwd=root)
    assert (done.returncode, "unchanged" in done.stdout) == (0, True)
    assert (root / "upstream.lock").stat().st_mtime_ns == before


@pytest.mark.parametrize("kind", ["root", "remote_root"])
def test_a_moved_tag_is_an_error_naming_both(
    kind: str, request: pytest.FixtureRequest, upstream: Miniature, patchq: CommandLine
) -> None:
    root: Path = request.getfixturevalue(kind)
    patchq("lock", "v1", "v2", cwd=root)
    before = (root / "upstream.lock").read_bytes()
    old, new = upstream.id("v1"), upstream.id("main")
    upstream.tag("v1", at="main")
    for command in (("lock", "v1"), ("lock", "--check")):
        done = patchq(*command, cwd=root)
        assert done.returncode == 3
        assert old in done.stderr + done.stdout
        assert new in done.stderr + done.stdout
    assert (root / "upstream.lock").read_bytes() == before
    assert patchq("lock", "--check", "v2", cwd=root).returncode == 0


def test_an_ambiguous_name_is_refused(root: Path, upstream: Miniature, patchq: CommandLine) -> None:
    upstream.branch("v1", at="main")
    done = patchq("lock", "dev=v1", cwd=root)
    assert done.returncode == 2
    assert "refs/tags/v1" in done.stderr
    assert patchq("lock", "dev=refs/heads/v1", cwd=root).returncode == 0
    assert Workspace(root).lock().base("dev").commit == upstream.id("main")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["v9"], 3, "there is no tag v9"),
        (["dev=gone"], 3, "there is no gone"),
        (["dev=" + "a" * 40], 3, "there is no commit"),
        (["bad/name"], 2, "cannot be the name"),
        (["dev="], 2, "names no commit"),
        (["v1", "--after", "v9"], 2, "v9 is not a base"),
        ([], 2, "name what to lock"),
    ],
)
def test_what_cannot_be_locked(
    root: Path, patchq: CommandLine, arguments: list[str], code: int, words: str
) -> None:
    before = (root / "upstream.lock").read_bytes()
    done = patchq("lock", *arguments, cwd=root)
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr
    assert (root / "upstream.lock").read_bytes() == before


# fetch


def test_fetch_brings_history_and_main(
    remote_root: Path, upstream: Miniature, patchq: CommandLine, tmp_path: Path
) -> None:
    patchq("lock", "v1", "v2", "dev=main", cwd=remote_root)
    (remote_root / ".patchq").rename(tmp_path / "aside")
    done = patchq("fetch", cwd=remote_root)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"{name} {upstream.id(at)[:12]} fetched"
        for name, at in {"v1": "v1", "v2": "v2^{}", "dev": "main"}.items()
    ]
    git = store(remote_root)
    assert git.text("rev-parse", "refs/upstream/main") == upstream.id("main")
    assert git.text("rev-list", "--count", "refs/upstream/bases/v2") == "2"
    again = patchq("fetch", cwd=remote_root)
    assert again.stdout == done.stdout.replace("fetched", "is there")


def test_fetch_follows_main_and_takes_its_name_from_the_settings(
    remote_root: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    patchq("lock", "v1", cwd=remote_root)
    patchq("fetch", cwd=remote_root)
    upstream.commit("four", {"a.py": "4\n"})
    patchq("fetch", cwd=remote_root)
    assert store(remote_root).text("rev-parse", "refs/upstream/main") == upstream.id("main")
    upstream.branch("trunk", at="v1")
    (remote_root / "series" / "patchq.yaml").write_text("main: trunk\n")
    patchq("fetch", cwd=remote_root)
    assert store(remote_root).text("rev-parse", "refs/upstream/main") == upstream.id("v1")
    (remote_root / "series" / "patchq.yaml").write_text("main: gone\n")
    done = patchq("fetch", cwd=remote_root)
    assert (done.returncode, "refs/heads/gone" in done.stderr) == (3, True)


def test_fetch_of_a_moved_tag_names_both(
    remote_root: Path, upstream: Miniature, patchq: CommandLine, tmp_path: Path
) -> None:
    patchq("lock", "v1", cwd=remote_root)
    (remote_root / ".patchq").rename(tmp_path / "aside")
    old = upstream.id("v1")
    new = upstream.tag("v1", at="main")
    done = patchq("fetch", cwd=remote_root)
    assert done.returncode == 3
    assert old in done.stderr
    assert new in done.stderr


def test_main_is_known_by_its_name_without_a_setting(
    remote_root: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    upstream.commit("After the last tag", {"late.py": "x\n"})
    assert patchq("lock", "v1", "v2", cwd=remote_root).returncode == 0
    series = remote_root / "series" / "v2"
    series.mkdir()
    (series / "series").touch()
    assert patchq("fetch", cwd=remote_root).returncode == 0
    done = patchq("report", "--against", "main", "--format", "json", cwd=remote_root)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["onto_commit"] == upstream.id("main")


def test_fetch_checks_the_tree_against_the_lock(
    root: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    patchq("lock", "v1", cwd=root)
    path = root / "upstream.lock"
    found, wrong = upstream.id("v1^{tree}"), upstream.id("main^{tree}")
    path.write_text(path.read_text().replace(found, wrong))
    done = patchq("fetch", cwd=root)
    assert done.returncode == 3
    assert found in done.stderr
    assert wrong in done.stderr


def test_a_server_that_is_not_there(
    remote_root: Path, upstream: Miniature, patchq: CommandLine, tmp_path: Path
) -> None:
    upstream.path.rename(tmp_path / "gone")
    done = patchq("lock", "v1", cwd=remote_root)
    assert done.returncode == 3
    assert f"file://{upstream.path}" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_users_settings_do_not_reach_the_store(
    remote_root: Path, patchq: CommandLine, tmp_path: Path
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    hook = hooks / "reference-transaction"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    (patchq.home / ".gitconfig").write_text(
        f"[core]\nhooksPath = {hooks}\n[fetch]\nprune = true\npruneTags = true\n"
        "[log]\nshowSignature = true\n[transfer]\nhideRefs = refs/upstream\n"
    )
    patchq("lock", "v1", cwd=remote_root)
    env = {
        "GIT_DIR": str(tmp_path / "nowhere"),
        "GIT_INDEX_FILE": "/dev/null",
        "GIT_WORK_TREE": "/",
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "nowhere"),
        "GIT_NAMESPACE": "x",
    }
    done = patchq("lock", "v2", cwd=remote_root, env=env)
    assert done.returncode == 0, done.stderr
    assert patchq("fetch", cwd=remote_root, env=env).returncode == 0
    assert Workspace(remote_root).lock().names == ("v1", "v2")
    refs = store(remote_root).text("for-each-ref", "--format=%(refname)")
    assert refs.split() == [
        "refs/upstream/bases/v1",
        "refs/upstream/bases/v2",
        "refs/upstream/main",
    ]


@pytest.mark.usefixtures("upstream")
def test_insteadof_counts_when_fetching(tmp_path: Path, patchq: CommandLine) -> None:
    (patchq.home / ".gitconfig").write_text(f'[url "file://{tmp_path}/"]\ninsteadOf = up:\n')
    assert patchq("init", "w", "--upstream", "up:upstream", cwd=tmp_path).returncode == 0
    assert patchq("lock", "v1", cwd=tmp_path / "w").returncode == 0
    assert Workspace(tmp_path / "w").lock().upstream == "up:upstream"


# import-upstream


IMPORT = ("import-upstream", WHEEL, "--tag", "v1.0", "--prefix", "python")


def test_a_wheel_becomes_the_same_base_everywhere(
    tmp_path: Path, upstream: Miniature, patchq: CommandLine
) -> None:
    bases: list[Base] = []
    for name in ("one", "two"):
        make_wheel(tmp_path / name)
        patchq("init", name, "--upstream", upstream.path, cwd=tmp_path)
        done = patchq(*IMPORT, cwd=tmp_path / name, env={"TZ": "Asia/Tokyo" if bases else "UTC"})
        assert done.returncode == 0, done.stderr
        assert "trust on first use" in done.stdout
        bases.append(Workspace(tmp_path / name).lock().base("v1.0"))
    assert bases[0] == bases[1]
    archive = bases[0].archive
    assert archive is not None
    assert archive.source == WHEEL
    assert archive.covers == ("/python/demo_alone.py", "/python/demo_pkg/**")
    assert "*.so" in archive.excludes
    listing = store(tmp_path / "one").text("ls-tree", "-r", "--name-only", bases[0].commit)
    assert listing.split() == ["python/demo_alone.py", "python/demo_pkg/__init__.py"]


def test_an_archive_comes_back_by_fetch(root: Path, patchq: CommandLine, tmp_path: Path) -> None:
    make_wheel(root)
    patchq(*IMPORT, cwd=root)
    commit = Workspace(root).lock().base("v1.0").commit
    (root / ".patchq").rename(tmp_path / "aside")
    done = patchq("fetch", cwd=root)
    assert done.stdout == f"v1.0 {commit[:12]} imported\n"
    assert patchq("fetch", cwd=root).stdout == f"v1.0 {commit[:12]} is there\n"


def test_another_archive_under_the_same_tag_names_both(
    root: Path, patchq: CommandLine, tmp_path: Path
) -> None:
    make_wheel(root)
    patchq(*IMPORT, cwd=root)
    base = Workspace(root).lock().base("v1.0")
    assert base.archive is not None
    assert "unchanged" in patchq(*IMPORT, cwd=root).stdout
    make_wheel(root, "x = 2\n")
    done = patchq(*IMPORT, cwd=root)
    assert done.returncode == 3
    assert base.archive.sha256 in done.stderr
    assert Workspace(root).lock().base("v1.0") == base
    assert store(root).text("rev-parse", "refs/patchq/archives/v1.0") == base.commit
    (root / ".patchq").rename(tmp_path / "aside")
    done = patchq("fetch", cwd=root)
    assert done.returncode == 3
    assert base.archive.sha256 in done.stderr


def test_a_missing_archive_may_lie_among_the_downloads(
    root: Path, patchq: CommandLine, tmp_path: Path
) -> None:
    file = make_wheel(root)
    patchq(*IMPORT, cwd=root)
    (root / ".patchq" / "store.git").rename(tmp_path / "aside")
    file.rename(tmp_path / WHEEL)
    done = patchq("fetch", cwd=root)
    assert (done.returncode, WHEEL in done.stderr) == (3, True)
    downloads = root / ".patchq" / "downloads"
    downloads.mkdir()
    (tmp_path / WHEEL).rename(downloads / WHEEL)
    assert patchq("fetch", cwd=root).returncode == 0


def test_a_wheel_of_the_index_is_pinned_by_file_and_sha256(
    root: Path, patchq: CommandLine, tmp_path: Path
) -> None:
    index = make_wheel(tmp_path / "index").parent
    env = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index), "PIP_CONFIG_FILE": os.devnull}
    arguments = ("import-upstream", "pypi:demo-pkg==1.0", "--tag", "v1.0")
    done = patchq(*arguments, cwd=root, env=env)
    if "pip is not installed" in done.stderr:
        pytest.skip("needs pip")
    assert done.returncode == 0, done.stderr
    archive = Workspace(root).lock().base("v1.0").archive
    assert archive is not None
    assert (archive.source, archive.file) == ("pypi:demo-pkg==1.0", WHEEL)
    (root / ".patchq").rename(tmp_path / "aside")
    assert patchq("fetch", cwd=root, env=env).returncode == 0
    (root / ".patchq").rename(tmp_path / "aside2")
    make_wheel(index, "x = 2\n")
    done = patchq("fetch", cwd=root, env=env)
    assert (done.returncode, archive.sha256 in done.stderr) == (3, True)


def test_globs_that_are_given_count_and_the_defaults_stay(root: Path, patchq: CommandLine) -> None:
    make_wheel(root)
    globs = ("--covers", "/python/demo_pkg/**", "--covers", "*.so", "--excludes", "core.so")
    assert patchq(*IMPORT, *globs, cwd=root).returncode == 0
    archive = Workspace(root).lock().base("v1.0").archive
    assert archive is not None
    assert archive.covers == ("/python/demo_pkg/**", "*.so")
    assert archive.excludes[0] == "*.so"
    assert archive.excludes[-1] == "core.so"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gone.tar.gz"], "no such file"),
        ([WHEEL, "--python", "3.12"], "--python and --platform"),
        (["pypi:demo"], "NAME==VERSION"),
        ([WHEEL, "--prefix", "../x"], "unsafe path"),
        ([WHEEL, "--after", "v9"], "v9 is not a base"),
        ([WHEEL, "--covers", "/nothing"], "none of its files"),
    ],
)
def test_what_cannot_be_imported(
    root: Path, patchq: CommandLine, arguments: list[str], words: str
) -> None:
    make_wheel(root)
    done = patchq("import-upstream", *arguments, "--tag", "v1.0", cwd=root)
    assert (done.returncode, words in done.stderr) == (InputError.exit_code, True), done.stderr
    assert Workspace(root).lock().bases == ()


def test_fetch_of_all_says_what_is_only_lent(root: Path, patchq: CommandLine) -> None:
    patchq("lock", "v1.0", cwd=root)
    whole = patchq("fetch", "--whole", cwd=root)
    assert "lends is not copied into .patchq/" in whole.stderr
    assert "lends" not in patchq("fetch", cwd=root).stderr
