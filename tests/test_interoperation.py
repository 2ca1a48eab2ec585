"""What other tools make of our series, and we of theirs: the same tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import Miniature, executable, symlink
from workspaces import make_workspace

from patchq.model.workspace import Workspace

TEXT = "".join(f"line {number}\n" for number in range(30))
ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@b",
    "QUILT_PATCHES": "patches",
    "LC_ALL": "C.UTF-8",
}


CONTROL = "Source: x\nMaintainer: A <a@b>\n\nPackage: x\nArchitecture: all\nDescription: x\n"
CHANGELOG = (
    "x (1-1) unstable; urgency=low\n\n  * x\n\n -- A <a@b>  Mon, 03 Aug 2026 10:00:00 +0200\n"
)


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def run(*command: str | Path, cwd: Path, stdin: bytes = b"") -> bytes:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        input=stdin,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), **ENVIRONMENT},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Miniature:
    made = Miniature(tmp_path_factory.mktemp("interoperation") / "upstream")
    made.commit(
        "Start",
        {
            "src/a": TEXT,
            "src/b": TEXT,
            "gone": "gone\n",
            "run": "#!/bin/sh\necho\n",
            "crlf": "a\r\nb\r\nc\r\n",
            "no end": "a\nb",
            "ö ä": "umlaut\n",
            "data": b"\0\1\2" * 50,
        },
    )
    made.tag("v1")
    return made


@pytest.fixture(scope="module")
def plain(upstream: Miniature) -> Workspace:
    """Changes that any patch program can make."""
    edits: dict[str, dict[str, object]] = {
        "edit.patch": {"src/a": TEXT.replace("line 3\n", "three\n")},
        "again.patch": {"src/a": TEXT.replace("line 20\n", "twenty \t\n")},
        "add.patch": {"new/file": "new\n", "gone": None},
        "crlf.patch": {"crlf": "a\r\nB\r\nc\r\n"},
        "end.patch": {"no end": "a\nb\nc"},
    }
    return _workspace(upstream, edits, "plain")


@pytest.fixture(scope="module")
def special(upstream: Miniature) -> Workspace:
    """Changes that only git can make: modes, links, renames, binary files, odd names."""
    edits: dict[str, dict[str, object]] = {
        "mode.patch": {"run": executable("#!/bin/sh\necho x\n")},
        "link.patch": {"link": symlink("run")},
        "rename.patch": {"src/b": None, "lib/b": TEXT.replace("line 3\n", "three\n")},
        "binary.patch": {"data": b"\0\1\3" * 60},
        "name.patch": {"ö ä": "Umlaut\n", 'a "b"\\c': "odd\n"},
    }
    return _workspace(upstream, edits, "special")


def _workspace(
    upstream: Miniature, edits: Mapping[str, Mapping[str, object]], name: str
) -> Workspace:
    patches = {
        patch: upstream.patch("v1", dict(changes), subject=patch)  # type: ignore[arg-type]
        for patch, changes in edits.items()
    }
    root = upstream.path.parent / name
    return make_workspace(upstream, patches, bases=["v1"], root=root)


def checked_out(upstream: Miniature, to: Path) -> Path:
    """A clone with v1 checked out."""
    run("git", "clone", "--quiet", upstream.path, to, cwd=upstream.path)
    run("git", "checkout", "--quiet", "-b", "work", "v1", cwd=to)
    return to


def tree_in(directory: Path, *leave_out: str) -> str:
    """The tree of the files of a clone, as git has it."""
    excluded = [f":(exclude){name}" for name in leave_out]
    run("git", "add", "--all", "--force", "--", ".", *excluded, cwd=directory)
    return run("git", "write-tree", cwd=directory).decode().strip()


def exported(patchq: CommandLine, workspace: Workspace, to: Path) -> str:
    """The tree that we make of the series."""
    done = patchq("export", "v1", "--format", "dir", "-o", to, cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    (to / "patchq-manifest.json").unlink()
    run("git", "init", "--quiet", cwd=to)
    return tree_in(to, ".git_archival.txt")


def patches(patchq: CommandLine, workspace: Workspace) -> list[Path]:
    listed = patchq("list", "--paths", cwd=workspace.root)
    return [Path(line) for line in listed.stdout.splitlines()]


def test_quilt(patchq: CommandLine, plain: Workspace, upstream: Miniature, tmp_path: Path) -> None:
    need("quilt")
    ours = exported(patchq, plain, tmp_path / "ours")
    there = checked_out(upstream, tmp_path / "there")
    shutil.copytree(plain.series_path("v1"), there / "patches")
    run("quilt", "push", "-a", "--fuzz=0", cwd=there)
    assert tree_in(there, "patches", ".pc") == ours


def test_patch(patchq: CommandLine, plain: Workspace, upstream: Miniature, tmp_path: Path) -> None:
    need("patch")
    ours = exported(patchq, plain, tmp_path / "ours")
    there = checked_out(upstream, tmp_path / "there")
    for file in patches(patchq, plain):
        run("patch", "-p1", "-F0", "--no-backup-if-mismatch", "-i", file, cwd=there)
    assert tree_in(there) == ours


@pytest.mark.parametrize("kind", ["plain", "special"])
def test_git_am(
    patchq: CommandLine,
    upstream: Miniature,
    tmp_path: Path,
    kind: str,
    request: pytest.FixtureRequest,
) -> None:
    workspace: Workspace = request.getfixturevalue(kind)
    ours = exported(patchq, workspace, tmp_path / "ours")
    there = checked_out(upstream, tmp_path / "there")
    run("git", "am", "--quiet", "--keep-cr", *patches(patchq, workspace), cwd=there)
    assert run("git", "rev-parse", "HEAD^{tree}", cwd=there).decode().strip() == ours
    back = make_workspace(upstream, {}, bases=["v1"], root=tmp_path / "back")
    done = patchq("import", f"{there}:v1..work", "--tag", "v1", cwd=back.root)
    if done.returncode:  # a range of another repository, as mails
        made = run("git", "format-patch", "--binary", "-o", tmp_path / "mails", "v1..", cwd=there)
        done = patchq("import", *made.decode().split(), "--tag", "v1", cwd=back.root)
    assert done.returncode == 0, done.stderr
    assert exported(patchq, back, tmp_path / "again") == ours


def test_stgit(
    patchq: CommandLine, special: Workspace, upstream: Miniature, tmp_path: Path
) -> None:
    need("stg")
    ours = exported(patchq, special, tmp_path / "ours")
    there = checked_out(upstream, tmp_path / "there")
    run("stg", "init", cwd=there)
    for file in patches(patchq, special):
        run("stg", "import", "--mail", file, cwd=there)
    assert run("git", "rev-parse", "HEAD^{tree}", cwd=there).decode().strip() == ours


def test_dpkg_source(
    patchq: CommandLine, plain: Workspace, upstream: Miniature, tmp_path: Path
) -> None:
    need("dpkg-source")
    ours = exported(patchq, plain, tmp_path / "ours")
    there = checked_out(upstream, tmp_path / "there-1")
    run("git", "archive", "--prefix=x/", "-o", tmp_path / "x_1.orig.tar.gz", "v1", cwd=there)
    debian = there / "debian"
    (debian / "source").mkdir(parents=True)
    (debian / "source/format").write_text("3.0 (quilt)\n")
    (debian / "control").write_text(CONTROL)
    (debian / "changelog").write_text(CHANGELOG)
    shutil.copytree(plain.series_path("v1"), debian / "patches")
    run("dpkg-source", "--before-build", ".", cwd=there)
    assert tree_in(there, "debian", ".pc") == ours


def test_gbp(patchq: CommandLine, plain: Workspace, upstream: Miniature, tmp_path: Path) -> None:
    need("gbp")
    ours = exported(patchq, plain, tmp_path / "ours")
    there = checked_out(upstream, tmp_path / "there")
    shutil.copytree(plain.series_path("v1"), there / "debian/patches")
    (there / "debian/control").write_text(CONTROL)
    (there / "debian/changelog").write_text(CHANGELOG)
    run("git", "add", "debian", cwd=there)
    run("git", "commit", "--quiet", "-m", "Debian", cwd=there)
    run("gbp", "pq", "import", cwd=there)
    run("git", "rm", "-r", "--quiet", "debian", cwd=there)
    assert run("git", "write-tree", cwd=there).decode().strip() == ours


KINDS: dict[str, dict[str, object]] = {
    "edit": {"src/a": TEXT.replace("line 3\n", "three\n")},
    "added and deleted file": {"new/file": "new\n", "gone": None},
    "CRLF": {"crlf": "a\r\nB\r\nc\r\n"},
    "no newline at the end": {"no end": "a\nB"},
    "name beyond ASCII": {"ö ä": "Umlaut\n"},
    "rename": {"src/b": None, "lib/b": TEXT.replace("line 3\n", "three\n")},
    "mode": {"run": executable("#!/bin/sh\necho x\n")},
    "symbolic link": {"link": symlink("run")},
    "binary": {"data": b"\0\1\3" * 60},
}


def in_order(series: Path) -> list[Path]:
    lines = (series / "series").read_text().splitlines()
    return [series / line.split()[0] for line in lines if line.strip() and line[0] != "#"]


def by_git_apply(series: Path, there: Path) -> str:
    for file in in_order(series):
        run("git", "apply", "--index", file, cwd=there)
    return tree_in(there)


def by_git_am(series: Path, there: Path) -> str:
    run("git", "am", "--quiet", "--keep-cr", "--keep-non-patch", *in_order(series), cwd=there)
    return tree_in(there)


def by_patch(series: Path, there: Path) -> str:
    for file in in_order(series):
        run("patch", "-p1", "-F0", "--no-backup-if-mismatch", "-i", file, cwd=there)
    return tree_in(there)


def by_quilt(series: Path, there: Path) -> str:
    shutil.copytree(series, there / "patches")
    run("quilt", "push", "-a", "--fuzz=0", cwd=there)
    return tree_in(there, "patches", ".pc")


def by_stgit(series: Path, there: Path) -> str:
    run("stg", "init", cwd=there)
    for file in in_order(series):
        run("stg", "import", "--mail", file, cwd=there)
    return tree_in(there)


def packaged(series: Path, there: Path) -> None:
    (there / "debian/source").mkdir(parents=True)
    (there / "debian/source/format").write_text("3.0 (quilt)\n")
    (there / "debian/control").write_text(CONTROL)
    (there / "debian/changelog").write_text(CHANGELOG)
    shutil.copytree(series, there / "debian/patches")


def by_dpkg_source(series: Path, there: Path) -> str:
    packaged(series, there)
    run("dpkg-source", "--before-build", ".", cwd=there)
    return tree_in(there, "debian", ".pc")


def by_gbp(series: Path, there: Path) -> str:
    packaged(series, there)
    run("git", "add", "--force", "debian", cwd=there)
    run("git", "commit", "--quiet", "-m", "Debian", cwd=there)
    run("gbp", "pq", "import", cwd=there)
    run("git", "rm", "-r", "--quiet", "debian", cwd=there)
    return tree_in(there)


TOOLS = {
    "git apply": by_git_apply,
    "git am --keep-cr": by_git_am,
    "GNU patch -F0": by_patch,
    "quilt": by_quilt,
    "StGit": by_stgit,
    "dpkg-source": by_dpkg_source,
    "gbp pq": by_gbp,
}


@pytest.mark.slow
def test_the_table_of_the_docs_is_what_the_tools_do(
    patchq: CommandLine, upstream: Miniature, tmp_path: Path
) -> None:
    """One patch of each kind by each tool; what the page says is what came of it."""
    for program in ("quilt", "stg", "dpkg-source", "gbp", "patch"):
        need(program)
    rows = [f"| | {' | '.join(TOOLS)} |", "|---" * (len(TOOLS) + 1) + "|"]
    for number, (kind, changes) in enumerate(KINDS.items()):
        workspace = _workspace(upstream, {"a.patch": changes}, f"kind-{number}")
        ours = exported(patchq, workspace, tmp_path / f"ours-{number}")
        cells = []
        for tool, apply in TOOLS.items():
            there = checked_out(upstream, tmp_path / f"{number}-{tool.replace(' ', '')}")
            try:
                cells.append(
                    "same" if apply(workspace.series_path("v1"), there) == ours else "other"
                )
            except AssertionError:
                cells.append("refused")
        rows.append(f"| {kind} | {' | '.join(cells)} |")
    table = "\n".join(rows)
    page = Path(__file__).parents[1] / "docs/reference/interoperation.md"
    assert table in page.read_text(encoding="utf-8"), table


HISTORIES = [Path(name) for name in os.environ.get("PATCHQ_TEST_HISTORIES", "").split(":") if name]
SIXTY = 60


def back_from_git(there: Path) -> Path:
    made = there.parent / "mails"
    run("git", "format-patch", "--quiet", "--binary", "-N", "-o", made, "base..work", cwd=there)
    return made


def back_from_stgit(there: Path) -> Path:
    made = there.parent / "stg"
    run("stg", "export", "-d", made, cwd=there)
    return made


def back_from_quilt(there: Path) -> Path:
    """As quilt itself writes them."""
    names = in_order(there / "patches")
    run("quilt", "pop", "-a", cwd=there)
    for _ in names:
        run("quilt", "push", "--fuzz=0", cwd=there)
        run("quilt", "refresh", "-p", "ab", cwd=there)
    return there / "patches"


def back_from_gbp(there: Path) -> Path:
    run("git", "reset", "--quiet", "--hard", cwd=there)
    run("gbp", "pq", "export", cwd=there)
    return there / "debian/patches"


BACK = {
    "git am --keep-cr": back_from_git,
    "StGit": back_from_stgit,
    "quilt": back_from_quilt,
    "gbp pq": back_from_gbp,
}


@pytest.mark.release
@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.parent.name)
def test_sixty_real_patches_there_and_back(
    patchq: CommandLine, tmp_path: Path, history: Path
) -> None:
    """The newest changes of a real history ($PATCHQ_TEST_HISTORIES), one commit each."""
    upstream = tmp_path / "upstream"
    run("git", "clone", "--quiet", "--shared", "--no-checkout", history, upstream, cwd=tmp_path)
    wanted = linear(upstream)
    root = tmp_path / "workspace"

    def command(*args: str | Path, cwd: Path = tmp_path) -> None:
        done = patchq(*args, cwd=cwd)
        assert done.returncode == 0, done.stderr

    command("init", root, "--upstream", upstream)
    command("lock", "base", cwd=root)
    command("import", "base..tip", "--tag", "base", cwd=root)
    series = root / "series/base"
    assert len(in_order(series)) == SIXTY
    found = {}
    for number, (tool, apply) in enumerate(TOOLS.items()):
        there = tmp_path / f"{number}/there-1"
        there.parent.mkdir()
        run("git", "clone", "--quiet", "--shared", "--no-checkout", upstream, there, cwd=tmp_path)
        run("git", "checkout", "--quiet", "-b", "work", "base", cwd=there)
        found[tool] = likeness(there, wanted, apply(series, there))
        if tool in BACK:
            given = BACK[tool](there)
            back = there.parent / "back"
            command("init", back, "--upstream", upstream, "--from", given, "--tag", "base")
            again = there.parent / "again"
            run("git", "clone", "-q", "--shared", "--no-checkout", upstream, again, cwd=tmp_path)
            run("git", "checkout", "--quiet", "-b", "work", "base", cwd=again)
            made = by_git_apply(back / "series/base", again)
            found[f"back from {tool}"] = likeness(again, wanted, made)
        shutil.rmtree(there.parent)
    print(found)
    lost = found.pop("back from quilt")  # it writes no modes
    assert lost in ("same", "same but for modes"), lost
    assert set(found.values()) == {"same"}, found


def likeness(repository: Path, wanted: str, tree: str) -> str:
    if tree == wanted:
        return "same"
    raw = run("git", "diff-tree", "-r", wanted, tree, cwd=repository).decode().splitlines()
    changed = [row.split("\t")[1] for row in raw if row.split()[2] != row.split()[3]]
    return f"other: {', '.join(changed)}" if changed else "same but for modes"


def linear(upstream: Path) -> str:
    """Make branches base and tip with the newest changes one behind the other; the last tree."""
    listed = run("git", "rev-list", "--first-parent", f"-n{SIXTY + 1}", "HEAD", cwd=upstream)
    first, *commits = reversed(listed.decode().split())
    tip = first
    for commit in commits:
        form = "--format=%an%x00%ae%x00%ad%x00%B"
        shown = run("git", "show", "-s", "--date=raw", form, commit, cwd=upstream)
        author, mail, date, message = shown.split(b"\0", 3)
        # StGit takes no brackets in names
        name = author.replace(b"[", b"").replace(b"]", b"")
        mail = mail.replace(b"[", b"").replace(b"]", b"")
        tree = run("git", "rev-parse", f"{commit}^{{tree}}", cwd=upstream).strip()
        who = b"%b <%b> %b" % (name, mail, date)
        raw = b"tree %b\nparent %b\nauthor %b\ncommitter %b\n\n%b" % (
            tree, tip.encode(), who, who, message,
        )  # fmt: skip
        made = run("git", "hash-object", "-t", "commit", "-w", "--stdin", cwd=upstream, stdin=raw)
        tip = made.decode().strip()
    run("git", "tag", "base", first, cwd=upstream)
    run("git", "branch", "tip", tip, cwd=upstream)
    return run("git", "rev-parse", f"{tip}^{{tree}}", cwd=upstream).decode().strip()
