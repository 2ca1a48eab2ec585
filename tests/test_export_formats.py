"""The forms of an export: each is the same tree, and is what its own tool takes it for."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import ENVIRONMENT, FIRST_DATE, Entry, MakeMiniature, Miniature, executable
from miniature import symlink as link
from workspaces import make_workspace

from patchq.model.workspace import Workspace

LINES = "".join(f"line {number}\n" for number in range(1, 21))
NAME = "upstream-v1-patched"
PYPROJECT = """\
[build-system]
requires = ["setuptools>=61", "setuptools-scm>=8"]
[project]
name = "demo"
dependencies = ["torch==2.11.0", "kernels>=0.14,<0.15"]
[tool.setuptools_scm]
root = ".."
"""
FILES: Mapping[str, bytes | str | Entry] = {
    "a.txt": LINES,
    "old/moved.txt": LINES,
    "python/pyproject.toml": PYPROJECT,
    "python/setup.py": 'RUST = "../rust"\nNOT = "../nowhere"\n',
    "python/link": link("../a.txt"),
    "python/demo/__init__.py": "",
    "rust/Cargo.toml": "[workspace]\n",
    "kernel/pyproject.toml": '[project]\nname = "k"\nversion = "0.4.5"\n',
    "big.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
    "run.sh": executable("#!/bin/sh\n"),
}
RECIPE = """\
project: kernel
local_version: sm121.2
pyprojects: [python/pyproject.toml]
pins: {torch: 2.11.0, kernels: ">=0.15"}
variants:
  fast: {guards: [fast], pins: {transformers: 5.13.0}}
  slow: {excludes: [fast]}
"""
SETTINGS = """\
guards: {fast: quick}
export:
  sets:
    kernel: ["/{project}/**"]
    python: ["/python/**", "*.txt"]
  environment:
    SETUPTOOLS_SCM_PRETEND_VERSION_FOR_DEMO: "{version}"
    CMAKE_ARGS: "-DA=ON -DB={tag}"
  commands:
    - "pip wheel ./{project} # {project_version}, ${HOME}"
"""


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    repository = miniature()
    repository.commit("Before", {"gone.txt": "gone\n"})
    repository.commit("Begin", {**FILES, "gone.txt": None})
    repository.tag("v1", message="v1")
    return repository


@pytest.fixture
def workspace(upstream: Miniature) -> Workspace:
    """An edit, a move with an edit, and, behind a guard, a script."""
    at, patches = "v1", {}
    edits: Mapping[str, Mapping[str, bytes | str | Entry | None]] = {
        "edit.patch": {"a.txt": LINES.replace("line 3\n", "third\n")},
        "move.patch": {
            "old/moved.txt": None,
            "new/moved.txt": LINES.replace("line 9\n", "ninth\n"),
        },
        "script.patch": {"tools/new.sh": executable("echo\n")},
    }
    for name, edit in edits.items():
        at = upstream.detached(at, f"Make {name}\n\nWhy {name}.", edit)
        patches[name] = upstream.format(at)
    lines = "edit.patch\nmove.patch\nscript.patch #+fast\n"
    made = make_workspace(upstream, patches, bases=("v1",), series=lines, settings=SETTINGS)
    (made.series_path("v1") / "recipe.yaml").write_text(RECIPE)
    return made


def export(patchq: CommandLine, workspace: Workspace, to: Path, *options: str) -> str:
    done = patchq("export", "v1", "-o", to, *options, cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    return done.stderr


def refused(patchq: CommandLine, workspace: Workspace, to: Path, *options: str) -> str:
    done = patchq("export", "v1", "-o", to, *options, cwd=workspace.root)
    assert done.returncode in (1, 2), done.stderr
    assert "Traceback" not in done.stderr
    assert not to.exists()
    return done.stderr


def facts(file: Path) -> dict[str, object]:
    found = json.loads(file.read_bytes())
    assert isinstance(found, dict)
    return found


def record(to: Path) -> dict[str, object]:
    return facts(to.with_name(f"{to.name}.export.json"))


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=ENVIRONMENT, check=True, capture_output=True
    )
    return done.stdout.decode().strip()


def tree_of(directory: Path, *without: str) -> str:
    """The id of the tree that a directory is."""
    repository = directory.with_name(f"{directory.name}.index")
    run("git", "init", "--quiet", "--bare", "--template=", repository, cwd=directory)
    at = (f"--git-dir={repository}", f"--work-tree={directory}", "-c", "core.autocrlf=false")
    left_out = (f":!{name}" for name in without)
    run("git", *at, "add", "--all", "--force", ".", *left_out, cwd=directory)
    return run("git", *at, "write-tree", cwd=directory)


ADDED = ("patchq-manifest.json", "constraints.txt", "overrides.txt", ".git_archival.txt")


@pytest.mark.parametrize(
    ("ending", "program"), [("tar.gz", "gzip"), ("tar.xz", "xz"), ("tar.zst", "zstd"), ("tzst", "")]
)
def test_every_tarball_holds_the_same_tar(
    ending: str, program: str, patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    if program and shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    export(patchq, workspace, tmp_path / "tree", "--no-verify")
    to = tmp_path / f"tree.{ending}"
    export(patchq, workspace, to, "--no-verify")
    assert record(to)["tar_sha256"] == record(tmp_path / "tree")["tar_sha256"]
    if program:
        plain = subprocess.run([program, "-dc", to], capture_output=True, check=True).stdout
        assert sha256(plain).hexdigest() == record(to)["tar_sha256"]
        done = run("sha256sum", "--check", "--strict", f"{to.name}.sha256", cwd=tmp_path)
        assert done == f"{to.name}: OK"


def test_the_same_bytes_twice_whatever_the_user_has_set(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text("[core]\n\tautocrlf = true\n[pack]\n\tthreads = 7\n[user]\n\tname = X\n")
    odd = {"GIT_CONFIG_GLOBAL": str(config), "TZ": "Asia/Tokyo", "XZ_OPT": "-9", "ZSTD_CLEVEL": "1"}
    for form, ending in (("tar.xz", ".tar.xz"), ("tar.zst", ".tar.zst"), ("git", ".git")):
        one, two = tmp_path / f"one{ending}", tmp_path / f"two{ending}"
        export(patchq, workspace, one, "--format", form, "--no-verify")
        done = patchq(
            *("export", "v1", "-o", two, "--format", form, "--no-verify"),
            cwd=workspace.root,
            env=odd,
        )
        assert done.returncode == 0, done.stderr
        if form == "git":
            assert run("git", "rev-parse", "patchq/v1", cwd=one) == run(
                "git", "rev-parse", "patchq/v1", cwd=two
            )
        else:
            assert one.read_bytes() == two.read_bytes()


def test_a_git_export_has_a_commit_for_each_patch(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, tmp_path: Path
) -> None:
    to = tmp_path / "out.git"
    export(patchq, workspace, to, "--format", "git", "--with", "fast", "--no-verify")
    assert run("git", "symbolic-ref", "HEAD", cwd=to) == "refs/heads/patchq/v1"
    assert run("git", "fsck", "--full", "--strict", cwd=to) == ""
    log = run("git", "log", "--format=%s|%an|%at|%cn|%ct", "v1..HEAD", cwd=to).splitlines()
    assert [line.split("|")[0] for line in log] == [
        "Make script.patch",
        "Make move.patch",
        "Make edit.patch",
    ]
    for line in log:
        _, author, written, committer, committed = line.split("|")
        assert (author, written) == (committer, committed)
        assert author == "Iris Downstream"
    assert run("git", "rev-parse", "v1^{commit}", cwd=to) == upstream.id("v1^{commit}")
    assert run("git", "rev-parse", "HEAD^{tree}", cwd=to) == record(to)["tree"]
    assert run("git", "log", "-1", "--format=%b", "HEAD", cwd=to) == "Why script.patch."

    run("git", "clone", "--quiet", to, "clone", cwd=tmp_path)
    assert (tmp_path / "clone" / "tools" / "new.sh").stat().st_mode & 0o111
    assert run("git", "status", "--porcelain", cwd=tmp_path / "clone") == ""
    assert facts(to / "patchq-manifest.json")["tree"] == record(to)["tree"]


def test_a_quilt_export_makes_the_tree(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    to = tmp_path / "out"
    export(patchq, workspace, to, "--format", "quilt", "--with", "fast", "--no-verify")
    series = (to / "patches" / "series").read_text().splitlines()
    assert series == ["edit.patch", "move.patch", "script.patch"]
    original = workspace.series_path("v1") / "edit.patch"
    assert (to / "patches" / "edit.patch").read_bytes() == original.read_bytes()
    assert (to / "a.txt").read_text() == LINES
    assert (to / "patches").stat().st_mtime == FIRST_DATE + 86_400
    if shutil.which("quilt"):
        run("quilt", "push", "-a", "--fuzz=0", cwd=to)
        shutil.rmtree(to / ".pc")
    else:
        for name in series:
            run("patch", "-p1", "-F0", "-s", "-i", f"patches/{name}", cwd=to)
    shutil.rmtree(to / "patches")
    assert tree_of(to, *ADDED) == record(to)["tree"]


def test_a_quilt_export_keeps_the_directories_of_patches(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    raw = upstream.patch("v1", {"a.txt": LINES.replace("line 3\n", "third\n")})
    names = ("sub/deep/x.patch", "caf\udce9.patch")
    workspace = make_workspace(upstream, {}, bases=("v1",), series=f"{names[0]}\n")
    directory = workspace.series_path("v1")
    (directory / "sub/deep").mkdir(parents=True)
    (directory / names[0]).write_bytes(raw)
    (directory / names[1]).write_bytes(upstream.patch("v1", {"run.sh": "#!/bin/bash\n"}))
    (directory / "series").write_bytes("\n".join(names).encode("utf-8", "surrogateescape"))
    to = tmp_path / "out"
    export(patchq, workspace, to, "--format", "quilt", "--no-verify")
    made = to / "patches"
    assert (made / "series").read_bytes() == b"sub/deep/x.patch\ncaf\xe9.patch\n"
    assert (made / names[0]).read_bytes() == raw
    facts_of = [path.stat() for path in (made, made / "sub", made / "sub/deep", made / names[0])]
    assert {facts.st_mtime for facts in facts_of} == {FIRST_DATE + 86_400}
    assert [oct(facts.st_mode)[-3:] for facts in facts_of] == ["755", "755", "755", "644"]


def test_quilt_cannot_do_everything(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    patches = {"b.patch": upstream.patch("v1", {"run.sh": b"\0binary"})}
    workspace = make_workspace(upstream, patches, bases=("v1",))
    said = refused(patchq, workspace, tmp_path / "x", "--format", "quilt", "--no-verify")
    assert "series/v1/b.patch: it changes a binary file" in said
    said = refused(
        patchq, workspace, tmp_path / "x", "--format", "git", "--subdir", "python", "--no-verify"
    )
    assert "exports the whole tree" in said


def test_a_part_of_the_tree_says_what_it_lacks(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    to = tmp_path / "out"
    said = export(patchq, workspace, to, "--subdir", "python/", "--no-verify")
    there = {path.name for path in to.iterdir()}
    assert there == {"pyproject.toml", "setup.py", "link", "demo", *ADDED}
    lacks = [
        "python/link: links to ../a.txt, which is not exported",
        "python/pyproject.toml:7: needs .. (the root of the tree), which is not exported",
        "python/setup.py:1: needs ../rust (rust), which is not exported",
    ]
    found = facts(to / "patchq-manifest.json")
    assert (found["subdir"], found["outside"]) == ("python", lacks)
    for text in lacks:
        assert f"cannot be built alone: {text}" in said
    said = refused(patchq, workspace, tmp_path / "x", "--subdir", "none", "--no-verify")
    assert "no directory none" in said


def test_the_manifest_says_what_a_build_has_to_know(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, tmp_path: Path
) -> None:
    to = tmp_path / "out"
    export(patchq, workspace, to, "--variant", "fast")
    found = facts(to / "patchq-manifest.json")
    assert (found["variants"], found["guards"]) == (["fast"], ["fast"])
    assert found["version"] == "0.4.5+sm121.2"
    assert found["contents"] == {
        "modes": {"100644": 8, "100755": 2, "120000": 1},
        "symlinks": {"python/link": "../a.txt"},
        "submodules": {},
        "lfs_pointers": ["big.bin"],
        "export_ignored": [],
        "export_changed": [],
    }
    pins = found["pins"]
    assert isinstance(pins, list)
    assert [(pin["name"], pin["upstream"], pin["standing"]) for pin in pins] == [
        ("torch", "==2.11.0", "equal"),
        ("kernels", "<0.15,>=0.14", "outside"),
        ("transformers", None, "absent"),
    ]
    assert (to / "constraints.txt").read_text() == ("torch==2.11.0\ntransformers==5.13.0\n")
    assert (to / "overrides.txt").read_text() == ("# upstream has <0.15,>=0.14\nkernels>=0.15\n")
    archival = (to / ".git_archival.txt").read_text().splitlines()
    assert archival[0] == f"node: {upstream.id('v1^{commit}')}"
    assert archival[2:] == ["describe-name: v1", "ref-names: tag: v1"]
    assert facts(tmp_path / "out.verify.json")["passed"] is True
    said = refused(patchq, workspace, tmp_path / "x", "--variant", "fast", "--variant", "slow")
    assert "exclude each other" in said


def test_a_set_has_a_hash_of_its_own(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    def sets(to: str) -> dict[str, str]:
        export(patchq, workspace, tmp_path / to, "--no-verify")
        found = facts(tmp_path / to / "patchq-manifest.json")["sets"]
        assert isinstance(found, dict)
        return found

    before = sets("a")
    (workspace.series_path("v1") / "series").write_text("move.patch\n")
    after = sets("b")
    assert before["kernel"] == after["kernel"]
    assert before["python"] != after["python"]


def test_the_build_is_printed_and_nothing_written(
    patchq: CommandLine, workspace: Workspace
) -> None:
    before = sorted(workspace.root.iterdir())
    done = patchq("export", "v1", "--print-build", cwd=workspace.root)
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            "#!/bin/sh",
            f"# Builds {NAME}",
            "set -eu",
            f"cd {NAME}",
            "export SETUPTOOLS_SCM_PRETEND_VERSION_FOR_DEMO=1",
            "export CMAKE_ARGS='-DA=ON -DB=v1'",
            "",
            "# step build",
            "pip wheel ./kernel # 0.4.5+sm121.2, ${HOME}",
        ],
    )
    assert [path for path in workspace.root.iterdir() if path.name != ".patchq"] == [
        path for path in before if path.name != ".patchq"
    ]
    (workspace.series_path("v1") / "recipe.yaml").unlink()
    done = patchq("export", "v1", "--print-build", cwd=workspace.root)
    assert done.returncode == 2
    assert "uses {project}, which this tag does not have" in done.stderr


def test_what_does_not_verify_is_not_exported(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, tmp_path: Path
) -> None:
    bad = upstream.patch("v1", {"python/demo/new.py": "from demo.gone import x\n"})
    (workspace.series_path("v1") / "edit.patch").write_bytes(bad)
    said = refused(patchq, workspace, tmp_path / "out")
    assert "imports: python/demo/new.py:1: module demo.gone (x) is not in the tree" in said
    assert "v1 does not verify" in said
    assert not list(tmp_path.glob("out*"))
    export(patchq, workspace, tmp_path / "out", "--no-verify")
    assert not (tmp_path / "out.verify.json").exists()


def test_names_of_our_own_files_must_be_free(
    patchq: CommandLine, workspace: Workspace, upstream: Miniature, tmp_path: Path
) -> None:
    add = upstream.patch("v1", {"constraints.txt": "torch\n", ".git_archival.txt": "own\n"})
    (workspace.series_path("v1") / "edit.patch").write_bytes(add)
    said = refused(patchq, workspace, tmp_path / "out", "--no-verify")
    assert "the tree has a file constraints.txt" in said
    (workspace.series_path("v1") / "recipe.yaml").write_text("project: kernel\n")
    export(patchq, workspace, tmp_path / "out", "--no-verify")
    assert (tmp_path / "out" / ".git_archival.txt").read_text() == "own\n"


def test_what_attributes_make_of_the_tree_is_said(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    upstream.commit(
        "Attributes",
        {
            ".gitattributes": "secret export-ignore\nversion export-subst\n",
            "secret": "s\n",
            "version": "$Format:%H$\n",
        },
    )
    upstream.tag("v1")
    patches = {"a.patch": upstream.patch("v1", {"a.txt": "a\n"})}
    workspace = make_workspace(upstream, patches, bases=("v1",))
    done = patchq("export", "v1", "-o", tmp_path / "out.tar.gz", "--no-verify", cwd=workspace.root)
    assert "1 file left out by export-ignore in the tree's .gitattributes: secret" in done.stderr
    assert "1 file with other bytes than in the tree, by its .gitattributes: version" in done.stderr
    with tarfile.open(tmp_path / "out.tar.gz") as tar:
        member = tar.extractfile(f"{NAME}/patchq-manifest.json")
        assert member is not None
        contents = json.loads(member.read())["contents"]
    assert contents["export_ignored"] == ["secret"]
    assert contents["export_changed"] == ["version"]


@pytest.mark.parametrize("attribute", ["export-ignore", "text eol=crlf"])
def test_a_patched_file_that_attributes_alter(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path, attribute: str
) -> None:
    upstream.commit("Attributes", {".gitattributes": f"a.txt {attribute}\nb.txt {attribute}\n"})
    upstream.tag("v1")
    patches = {"a.patch": upstream.patch("v1", {"a.txt": "a\n"})}
    workspace = make_workspace(upstream, patches, bases=("v1",))
    done = patchq("export", "v1", "-o", tmp_path / "out.tar", "--no-verify", cwd=workspace.root)
    assert "(1 of them changed by a patch): a.txt" in done.stderr
    said = refused(patchq, workspace, tmp_path / "q", "--format", "quilt", "--no-verify")
    assert "it changes a.txt, which the tree's .gitattributes leave out" in said
    export(patchq, workspace, tmp_path / "git", "--format", "git", "--no-verify")


def test_a_symlink_survives_every_form(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    export(patchq, workspace, tmp_path / "q", "--format", "quilt", "--no-verify")
    assert (tmp_path / "q" / "python" / "link").readlink() == Path("../a.txt")
    assert (tmp_path / "q" / "run.sh").stat().st_mode & 0o777 == 0o755
