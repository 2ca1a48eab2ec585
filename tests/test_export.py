"""Exports: the same bytes everywhere, the tree that other tools make, and nothing half-written."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import DAY, ENVIRONMENT, FIRST_DATE, Entry, MakeMiniature, Miniature, executable
from miniature import symlink as link
from workspaces import make_workspace, open_project, pinned

from patchq.engine.export.export import export_series
from patchq.engine.export.manifest import MANIFEST
from patchq.engine.export.prepare import default_name, prepare_export
from patchq.engine.series.selection import select
from patchq.errors import InputError
from patchq.model.export_format import ExportFormat
from patchq.model.lock import Archive, Lock
from patchq.model.retired import RecordState, Retired, render_retired
from patchq.model.verdict import Verdict
from patchq.model.workspace import Workspace

LINES = "".join(f"line {number}\n" for number in range(1, 21))
NAME = "upstream-v1-patched"

FILES: Mapping[str, bytes | str | Entry] = {
    "kernel/build.txt": LINES,
    "run.sh": executable("#!/bin/sh\n"),
    "link": link("kernel/build.txt"),
    "dangling": link("../outside"),
    "crlf.txt": b"one\r\ntwo\r\n",
    "päth ü.txt": "name\n",
}


def edited(text: str, number: int, line: str) -> str:
    return text.replace(f"line {number}\n", f"{line}\n")


class Series:
    """Patches that stand on each other from ``at`` on, made one after another."""

    def __init__(self, upstream: Miniature, at: str = "v1") -> None:
        self.upstream = upstream
        self.at = at
        self.patches: dict[str, bytes] = {}

    def add(
        self,
        name: str,
        edits: Mapping[str, bytes | str | Entry | None],
        trailers: Mapping[str, str] | None = None,
    ) -> Series:
        lines = "\n".join(f"{key}: {value}" for key, value in (trailers or {}).items())
        self.at = self.upstream.detached(self.at, f"Make {name}\n\n{lines}".strip(), edits)
        self.patches[name] = self.upstream.format(self.at)
        return self


@pytest.fixture
def upstream(miniature: MakeMiniature) -> Miniature:
    repository = miniature()
    repository.commit("Begin", FILES)
    repository.tag("v1", message="v1")
    return repository


@pytest.fixture
def series(upstream: Miniature) -> Series:
    """Two patches on one file, one that adds a script, and one that removes a file."""
    first = edited(LINES, 3, "third")
    return (
        Series(upstream)
        .add("first.patch", {"kernel/build.txt": first})
        .add("second.patch", {"kernel/build.txt": edited(first, 5, "fifth")})
        .add("script.patch", {"tools/new.sh": executable("echo new\n")})
        .add("remove.patch", {"crlf.txt": None})
    )


@pytest.fixture
def workspace(upstream: Miniature, series: Series) -> Workspace:
    return make_workspace(upstream, series.patches, bases=("v1",))


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def export(
    patchq: CommandLine,
    workspace: Workspace,
    to: Path,
    *options: str,
    env: Mapping[str, str] | None = None,
) -> None:
    """Export the series on v1; fails the test where that fails."""
    done = patchq("-q", "export", "v1", "-o", to, *options, cwd=workspace.root, env=env)
    assert (done.returncode, done.stderr) == (0, "")


def refused(
    patchq: CommandLine, workspace: Workspace, to: Path, *options: str, code: int = 2
) -> str:
    """What is said where the export is refused; nothing is left at or beside its target."""
    before = sorted(to.parent.iterdir()) if to.parent.is_dir() else None
    done = patchq("export", "v1", "-o", to, *options, cwd=workspace.root)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert (sorted(to.parent.iterdir()) if to.parent.is_dir() else None) == before
    return done.stderr


def git_tree(upstream: Miniature, directory: Path) -> str:
    """The id of the tree that a directory is, its manifest left out."""
    at = (f"--work-tree={directory}", "-c", "core.autocrlf=false")
    upstream.git("read-tree", "--empty")
    upstream.git(*at, "add", "--all", "--force", f":!{MANIFEST}")
    return upstream.git("write-tree").decode().strip()


def manifest(directory: Path) -> dict[str, object]:
    found = json.loads((directory / MANIFEST).read_bytes())
    assert isinstance(found, dict)
    return found


def test_the_same_bytes_whatever_the_machine(
    patchq: CommandLine,
    upstream: Miniature,
    series: Series,
    workspace: Workspace,
    tmp_path: Path,
) -> None:
    hostile = tmp_path / "hostile"
    (hostile / ".config" / "git").mkdir(parents=True)
    (hostile / ".config" / "git" / "attributes").write_text("* export-ignore\n*.txt eol=crlf\n")
    (hostile / ".gitconfig").write_text(
        "[core]\n\tautocrlf = true\n\tabbrev = 5\n[tar]\n\tumask = 0077\n"
        '[tar "tar.gz"]\n\tcommand = false\n[log]\n\tdecorate = full\n[commit]\n\tgpgSign = true\n'
    )
    elsewhere = make_workspace(
        upstream, series.patches, bases=("v1",), root=tmp_path / "elsewhere" / "w"
    )
    with umask(0o022):
        export(patchq, workspace, tmp_path / "a.tar.gz")
    with umask(0o077):
        export(
            patchq,
            elsewhere,
            tmp_path / "b.tar.gz",
            env={
                "HOME": str(hostile),
                "TZ": "Asia/Tokyo",
                "LC_ALL": "C",
                "GIT_DIR": "/nonexistent",
                "GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z",
                "TAR_OPTIONS": "--owner=me",
                "GZIP": "-1",
            },
        )
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()


def test_gzip_has_neither_time_nor_name(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    export(patchq, workspace, tmp_path / "a.tar.gz")
    head = (tmp_path / "a.tar.gz").read_bytes()[:10]
    assert head[3] == 0  # RFC 1952: no optional fields
    assert head[4:8] == bytes(4)


def test_a_directory_is_the_tar_unpacked(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    with umask(0o077):
        export(patchq, workspace, tmp_path / "made")
    export(patchq, workspace, tmp_path / "a.tar.gz")
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        members = {member.name: member for member in tar}
        contents = {
            name: file.read()
            for name, member in members.items()
            if member.isfile() and (file := tar.extractfile(member))
        }
    assert {name.partition("/")[0] for name in members} == {NAME}
    for name, member in members.items():
        path = tmp_path / "made" / name.removeprefix(NAME).lstrip("/")
        found = path.lstat()
        assert found.st_mtime == member.mtime == FIRST_DATE
        if member.issym():
            assert path.readlink() == Path(member.linkname)
            continue
        assert f"{found.st_mode & 0o7777:o}" == f"{member.mode:o}"
        if member.isfile():
            assert path.read_bytes() == contents[name]
    there = {str(path.relative_to(tmp_path / "made")) for path in (tmp_path / "made").rglob("*")}
    assert there == {name.removeprefix(f"{NAME}/") for name in members} - {NAME}
    assert (tmp_path / "made" / "tools" / "new.sh").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "made" / "päth ü.txt").stat().st_mode & 0o7777 == 0o644
    assert not (tmp_path / "made" / "crlf.txt").exists()


def test_the_manifest_names_the_inputs(
    patchq: CommandLine,
    upstream: Miniature,
    series: Series,
    workspace: Workspace,
    tmp_path: Path,
) -> None:
    export(patchq, workspace, tmp_path / "made")
    assert manifest(tmp_path / "made") == {
        "schema": "patchq.manifest/1",
        "upstream": str(upstream.path),
        "base": {
            "name": "v1",
            "commit": upstream.id("v1^{commit}"),
            "tree": upstream.id("v1^{tree}"),
        },
        "guards": [],
        "patches": [
            {
                "name": name,
                "sha256": hashlib.sha256(raw).hexdigest(),
                "subject": f"Make {name}",
            }
            for name, raw in series.patches.items()
        ],
        "tree": upstream.id(f"{series.at}^{{tree}}"),
        "contents": {
            "modes": {"100644": 2, "100755": 2, "120000": 2},
            "symlinks": {"dangling": "../outside", "link": "kernel/build.txt"},
            "submodules": {},
            "lfs_pointers": [],
            "export_ignored": [],
            "export_changed": [],
        },
    }
    assert git_tree(upstream, tmp_path / "made") == upstream.id(f"{series.at}^{{tree}}")
    beside = json.loads((tmp_path / "made.export.json").read_bytes())
    assert {"patchq", "python", "exported_at"} <= beside.keys()


def paths(patchq: CommandLine, workspace: Workspace, *options: str) -> list[str]:
    listed = patchq("list", "v1", "--paths", *options, cwd=workspace.root)
    assert (listed.returncode, listed.stderr) == (0, "")
    return listed.stdout.splitlines()


@pytest.mark.parametrize("tool", ["git am", "patch", "quilt"])
@pytest.mark.parametrize("options", [(), ("--with", "fast")])
def test_other_tools_make_the_same_tree(
    tool: str,
    options: tuple[str, ...],
    patchq: CommandLine,
    upstream: Miniature,
    series: Series,
    tmp_path: Path,
) -> None:
    if shutil.which(tool.split()[0]) is None:
        pytest.skip(f"{tool} is not installed")
    lines = "first.patch\nsecond.patch #+fast\nscript.patch\nremove.patch #-fast\n"
    workspace = make_workspace(upstream, series.patches, bases=("v1",), series=lines)
    export(patchq, workspace, tmp_path / "made", *options)
    chosen = paths(patchq, workspace, *options)
    assert len(chosen) == 3

    tree = tmp_path / "tree"

    def run(*command: str) -> None:
        subprocess.run(
            command, cwd=tree, env=ENVIRONMENT, check=True, capture_output=True, timeout=60
        )

    tree.mkdir()
    run("git", "init", "--quiet", "--template=")
    run("git", "fetch", "--quiet", str(upstream.path), "refs/tags/v1")
    run("git", "reset", "--quiet", "--hard", "FETCH_HEAD")
    if tool == "git am":
        run("git", "am", "--quiet", "--keep-cr", *chosen)
    elif tool == "patch":
        for path in chosen:
            run("patch", "-p1", "-F0", "--no-backup-if-mismatch", "-i", path)
    else:
        for path in chosen:
            run("quilt", "import", path)
            run("quilt", "push", "--fuzz=0")
        shutil.rmtree(tree / "patches")
        shutil.rmtree(tree / ".pc")
    shutil.rmtree(tree / ".git")
    assert git_tree(upstream, tree) == manifest(tmp_path / "made")["tree"]


def test_guards_choose_the_patches(
    patchq: CommandLine, upstream: Miniature, series: Series, tmp_path: Path
) -> None:
    lines = "first.patch\nsecond.patch #+fast\nscript.patch #-slim\nremove.patch #+rare\n"
    workspace = make_workspace(
        upstream,
        series.patches,
        bases=("v1",),
        series=lines,
        settings="version: 1\nguards: {fast: quick, rare: seldom, slim: small}\n"
        "default_guards: [rare]\n",
    )

    def chosen(to: str, *options: str) -> tuple[object, list[str]]:
        export(patchq, workspace, tmp_path / to, *options)
        found = manifest(tmp_path / to)
        patches = found["patches"]
        assert isinstance(patches, list)
        return found["guards"], [patch["name"] for patch in patches]

    assert chosen("a") == (["rare"], ["first.patch", "script.patch", "remove.patch"])
    assert chosen("b", "--with", "slim", "--with", "fast") == (
        ["fast", "rare", "slim"],
        ["first.patch", "second.patch", "remove.patch"],
    )
    said = refused(patchq, workspace, tmp_path / "c", "--with", "fats")
    assert "no guard 'fats'" in said
    assert "fast, rare, slim" in said


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("late.patch\n", "which is missing from the series"),
        ("first.patch #+fast\nlate.patch\n", "which is off under this selection (#+fast)"),
        ("late.patch\nfirst.patch\n", "which comes after it"),
    ],
)
def test_what_a_patch_requires_comes_first(
    lines: str, words: str, patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    patches = (
        Series(upstream)
        .add("first.patch", {"a.txt": "a\n"})
        .add("late.patch", {"b.txt": "b\n"}, {"X-Requires": "first.patch"})
        .patches
    )
    workspace = make_workspace(upstream, patches, bases=("v1",), series=lines)
    said = refused(patchq, workspace, tmp_path / "made")
    assert f"late.patch requires first.patch, {words}" in said
    assert f"series/v1/series:{lines.count(chr(10), 0, lines.index('late')) + 1}: " in said


def retired(workspace: Workspace, verdict: Verdict, standing: RecordState, content: bytes) -> None:
    record = Retired("old.patch", verdict, "why", (), content, standing, "v1", "v1")
    (workspace.series_path("v1") / "retired.yaml").write_bytes(render_retired([record]))


def test_what_upstream_has_taken_is_there(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    patches = Series(upstream).add("late.patch", {"b": "b\n"}, {"X-Requires": "old.patch"}).patches
    workspace = make_workspace(upstream, patches, bases=("v1",))
    retired(workspace, Verdict.UNREACHABLE, RecordState.RETIRED, b"")
    assert "late.patch requires old.patch" in refused(patchq, workspace, tmp_path / "made")
    retired(workspace, Verdict.UPSTREAMED, RecordState.RETIRED, b"")
    export(patchq, workspace, tmp_path / "made")


def test_a_held_patch_stops_the_export(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    retired(workspace, Verdict.CONFLICT, RecordState.HELD, b"")
    said = refused(patchq, workspace, tmp_path / "made", code=1)
    assert "old.patch is held for review" in said


def test_an_archive_must_cover_the_patches(
    patchq: CommandLine, upstream: Miniature, series: Series, tmp_path: Path
) -> None:
    archive = Archive("pypi:demo==1", "demo.tar.gz", "d" * 64, covers=("/kernel/**", "crlf.txt"))
    workspace = make_workspace(
        upstream,
        series.patches,
        bases=(replace(pinned(upstream, "v1"), archive=archive),),
        series="first.patch\nscript.patch #+tools\n",
    )
    said = refused(patchq, workspace, tmp_path / "made", "--with", "tools", code=1)
    assert "series/v1/script.patch: tools/new.sh is not covered by demo.tar.gz" in said
    verified = patchq("verify", "v1", "--with", "tools", cwd=workspace.root, env={"COLUMNS": "200"})
    assert verified.returncode == 0
    assert "1 not covered" in " ".join(verified.stdout.split()) or "script.patch" in verified.stdout
    export(patchq, workspace, tmp_path / "made")
    base = manifest(tmp_path / "made")["base"]
    assert isinstance(base, dict)
    assert base["archive"] == {"file": "demo.tar.gz", "sha256": "d" * 64}


def test_attributes_of_the_tree_are_honoured(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    upstream.commit(
        "Add attributes",
        {
            ".gitattributes": "secret.txt export-ignore\nversion export-subst\n*.bat eol=crlf\n"
            "*.json export-ignore\nprivate/ export-ignore\n",
            "secret.txt": "secret\n",
            "private/key": "key\n",
            "version": "$Format:%(describe:tags=true) %D %h %cI$\n",
            "run.bat": "echo\n",
        },
    )
    upstream.tag("v1")
    patches = Series(upstream).add("add.patch", {"private/more": "more\n"}).patches
    workspace = make_workspace(upstream, patches, bases=("v1",))
    export(patchq, workspace, tmp_path / "made")
    made = tmp_path / "made"
    assert not (made / "secret.txt").exists()
    assert not (made / "private").exists()
    assert (made / "run.bat").read_bytes() == b"echo\r\n"
    assert manifest(made)["patches"]
    described, *names, commit, date = (made / "version").read_text().split()
    assert (described, names) == ("v1", ["tag:", "v1"])
    assert len(commit) == 40
    assert datetime.fromisoformat(date).timestamp() == FIRST_DATE + DAY
    assert (made / "version").stat().st_mtime == FIRST_DATE + DAY


def test_checksums_are_those_of_sha256sum(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    to = tmp_path / "out" / "tree.tar.gz"
    to.parent.mkdir()
    export(patchq, workspace, to)

    def check(*options: str) -> subprocess.CompletedProcess[bytes]:
        command = ["sha256sum", "--check", "--strict", *options, "tree.tar.gz.sha256"]
        return subprocess.run(command, cwd=to.parent, capture_output=True, check=False)

    assert check().stdout == b"tree.tar.gz: OK\n"
    to.write_bytes(to.read_bytes() + b"x")
    assert check().returncode == 1


def test_what_is_there_is_not_overwritten(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    to = tmp_path / "out" / "tree"
    to.mkdir(parents=True)
    (to / "mine").write_text("mine")
    assert "is there already" in refused(patchq, workspace, to)
    assert "is there already" in refused(patchq, workspace, to, "--format", "tar.gz")
    assert (to / "mine").read_text() == "mine"
    (to / "mine").unlink()
    export(patchq, workspace, to)
    other = tmp_path / "out" / "tree.tgz"
    (tmp_path / "out" / "tree.tgz.sha256").write_text("")
    assert "tree.tgz.sha256 is there already" in refused(patchq, workspace, other)


def test_nothing_is_written_into_an_export_or_what_patchq_keeps(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    to = tmp_path / "tree"
    export(patchq, workspace, to)
    assert f"{to} is there already, an earlier export" in refused(patchq, workspace, to)
    said = refused(patchq, workspace, to / "sub.tar")
    assert f"{to}/sub.tar is inside an earlier export, {to}" in said
    for place in (workspace.series_dir / "x", workspace.state_dir / "x.tar"):
        assert "are not a place for an export" in refused(patchq, workspace, place)


@pytest.mark.parametrize(
    ("form", "name", "wanted"),
    [
        ("tar.gz", "q.zip", "Leave --format out, or name it q.tar.gz."),
        ("zip", "q.tar.gz", "Leave --format out, or name it q.zip."),
        ("git", "q.tgz", "Leave --format out, or name it q.git."),
        ("tar", "q.7z", "Name it q.tar."),
    ],
)
def test_a_name_that_says_another_form_is_refused(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path, form: str, name: str, wanted: str
) -> None:
    said = refused(patchq, workspace, tmp_path / name, "--format", form)
    assert f"{name} is no name of what --format {form} writes" in said
    assert f"hint: {wanted}" in said


def test_what_an_export_that_is_gone_left_is_replaced(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    to = tmp_path / "tree.tgz"
    assert patchq("export", "v1", "-o", to, cwd=workspace.root).returncode == 0
    sums = Path(f"{to}.sha256").read_bytes()
    to.unlink()
    done = patchq("export", "v1", "-o", to, cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert Path(f"{to}.sha256").read_bytes() == sums


@pytest.mark.parametrize("name", ["o.tar.bz2", "o.7z", "O.TBZ", "o.rar", "tree.gz", "x.DEB"])
def test_an_archive_of_another_kind_is_no_directory(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path, name: str
) -> None:
    said = refused(patchq, workspace, tmp_path / name)
    assert ".tar.zst" in said
    assert "--format dir" in said


def test_a_place_that_cannot_be_written_to(
    patchq: CommandLine, workspace: Workspace, tmp_path: Path
) -> None:
    said = refused(patchq, workspace, tmp_path / "missing" / "tree")
    assert f"cannot write to {tmp_path}/missing: No such file or directory" in said
    (tmp_path / "file").write_text("")
    assert "cannot write to" in refused(patchq, workspace, tmp_path / "file" / "tree.tar.gz")


def test_a_patch_that_does_not_apply_is_named(
    patchq: CommandLine, upstream: Miniature, series: Series, tmp_path: Path
) -> None:
    # Close to where it would apply: two of three context lines still match.
    fuzzy = series.patches["second.patch"].replace(b" line 2\n", b" line two\n")
    workspace = make_workspace(upstream, {"second.patch": fuzzy}, bases=("v1",))
    said = refused(patchq, workspace, tmp_path / "tree")
    assert "second.patch: does not apply to v1" in said
    assert "kernel/build.txt" in said


def test_a_tree_with_a_manifest_of_its_own(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    patches = Series(upstream).add("a.patch", {MANIFEST: "{}\n"}).patches
    workspace = make_workspace(upstream, patches, bases=("v1",))
    assert f"the tree has a file {MANIFEST}" in refused(patchq, workspace, tmp_path / "tree")


@pytest.mark.parametrize("form", list(ExportFormat))
@pytest.mark.parametrize("step", [1, 2, 3])
def test_an_interrupt_leaves_nothing(
    form: ExportFormat,
    step: int,
    upstream: Miniature,
    workspace: Workspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = open_project(workspace, upstream)
    selection = select(workspace.load("v1"), project.settings, ())
    out = tmp_path / "out"
    out.mkdir()
    steps = 3 if form.is_packed else 2
    if step > steps:
        pytest.skip("a directory has one file less beside it")
    rename, count = Path.rename, 0

    def interrupted(self: Path, target: Path) -> Path:
        nonlocal count
        count += 1
        if count == step:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export_series(prepare_export(project, selection), form, out / "tree")
    assert list(out.iterdir()) == []


def test_an_object_that_is_missing(
    upstream: Miniature, workspace: Workspace, patchq: CommandLine, tmp_path: Path
) -> None:
    blob = upstream.id("v1:run.sh")
    upstream.git("repack", "-adq")
    pack = next((upstream.path / "objects" / "pack").glob("*.pack"))
    raw = pack.read_bytes()
    for file in (upstream.path / "objects" / "pack").iterdir():
        file.unlink()
    upstream.git("unpack-objects", "-q", stdin=raw)
    (upstream.path / "objects" / blob[:2] / blob[2:]).unlink()
    assert blob in refused(patchq, workspace, tmp_path / "tree.tar.gz", code=3)


def test_names_and_words(patchq: CommandLine, workspace: Workspace) -> None:
    done = patchq("export", "v1", "--format", "tar.gz", cwd=workspace.root)
    assert done.returncode == 0
    assert (workspace.root / f"{NAME}.tar.gz").is_file()
    assert done.stdout.splitlines()[0] == "v1 with 4 patches"
    done = patchq("export", "v1", "--json", cwd=workspace.root)
    record = json.loads(done.stdout)
    assert (workspace.root / NAME / MANIFEST).is_file()
    assert record["schema"] == "patchq.export/1"
    assert record["tree"] == manifest(workspace.root / NAME)["tree"]
    assert "v9 is not a base" in patchq("export", "v9", cwd=workspace.root).stderr


@pytest.mark.parametrize(
    ("location", "project"),
    [
        ("https://example.org/group/demo.git", "demo"),
        ("https://example.org/group/demo/", "demo"),
        ("git@example.org:demo.git", "demo"),
        ("/srv/demo/.git", "demo"),
        ("../demo", "demo"),
        ("..", "upstream"),
        ("file:///srv/a b", "a-b"),
    ],
)
def test_the_project_is_what_the_upstream_is_called(location: str, project: str) -> None:
    assert default_name(Lock(location), "v1") == f"{project}-v1-patched"


def test_a_target_decides_the_form() -> None:
    assert ExportFormat.of(None) is ExportFormat.of(Path("tree")) is ExportFormat.DIRECTORY
    assert (
        ExportFormat.of(Path("tree.tar.gz"))
        is ExportFormat.of(Path("tree.tgz"))
        is ExportFormat.TAR_GZ
    )


def test_selecting_needs_no_guards(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="no guard 'x'") as caught:
        select(workspace.load("v1"), workspace.settings(), ["x"])
    assert caught.value.hint == "The series has no guards; leave --with out."
