"""Every command that writes, as a trial: what is done before it, and what it makes of a workspace.

All trials stand on one workspace, which is put back to a state of its own before each; always at
the same place, because git's worktrees know theirs.
"""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from commandline import CommandLine
from forkserver import Harm, steps
from miniature import ENVIRONMENT, Miniature
from workspaces import make_workspace

from patchq.model.workspace import Workspace

ASIDE = re.compile(r"(?:.*/)?\..+\.\d+\.patchq-new")

TEXT = "".join(f"line {number}\n" for number in range(60))
SETTINGS = """\
version: 1
guards: {fast: words}
"""


@dataclass(frozen=True)
class Ground:
    """The place of all trials: a workspace at ``root``, its states aside, the command line."""

    home: Path
    patchq: CommandLine
    _scenes: dict[str, Scene] = field(default_factory=dict)

    def scene(self, name: str) -> Scene:
        """The scene of a trial."""
        if name not in self._scenes:
            self._scenes[name] = Scene(self, name)
        return self._scenes[name]

    @property
    def workspace(self) -> Workspace:
        """The workspace."""
        return Workspace(self.home / "workspace")

    @property
    def root(self) -> Path:
        """Where it is."""
        return self.workspace.root

    def keep(self, name: str) -> None:
        """Remember the workspace as it is."""
        shutil.copytree(self.root, self.home / "states" / name, symlinks=True)

    def restore(self, name: str) -> None:
        """Put it back to what was remembered."""
        shutil.rmtree(self.root)
        shutil.copytree(self.home / "states" / name, self.root, symlinks=True)

    def run(self, *command: str, harm: Harm | None = None) -> subprocess.CompletedProcess[str]:
        """Run ``patchq command`` in it."""
        return self.patchq(*command, cwd=self.root, harm=harm)

    def content(self) -> dict[str, bytes]:
        """All files without what says when they were written.

        That is, but for patchq's own state, the given files, and what stands beside an export:
        the export itself comes last.
        """
        files = (file for file in sorted(self.root.rglob("*")) if file.is_file())
        names = {str(file.relative_to(self.root)): file for file in files}
        return {
            name: _undated(file.read_bytes())
            for name, file in names.items()
            if not name.startswith((".patchq/", "given/", ".out")) and not _BESIDE.search(name)
        }


_BESIDE = re.compile(r"^out.*\.(?:verify\.json|export\.json|sha256)$")


def _undated(raw: bytes) -> bytes:
    raw = re.sub(rb"Made by patchq [^<\"]*", b"", raw)
    marks = (b"Date: ", b"  date: ", b"Last-Update: ", b"From ", b'  "time"')
    return b"\n".join(line for line in raw.split(b"\n") if not line.startswith(marks))


Step = tuple[str, ...] | Callable[[Ground], None]


def _solve(ground: Ground) -> None:
    """Solve what stands in the worktree, as always."""
    worktree = ground.workspace.state_dir / "worktree"
    file = worktree / "f"
    file.write_text(re.sub(r"<<<<<<< .*?>>>>>>> [^\n]*\n", "mine\n", file.read_text(), flags=re.S))
    _git(worktree, "add", "-A")


def _change(ground: Ground) -> None:
    """Amend the newest commit of the open edit, and make another one."""
    worktree = ground.workspace.state_dir / "edit"
    (worktree / "f").write_text((worktree / "f").read_text().replace("line 50\n", "line fifty\n"))
    _git(worktree, "commit", "-q", "--amend", "--all", "--no-edit")
    (worktree / "another").write_text("another\n")
    _git(worktree, "add", "another")
    _git(worktree, "commit", "-q", "-m", "Add another")


def _git(directory: Path, *args: str) -> None:
    subprocess.run(["git", "-C", str(directory), *args], env=ENVIRONMENT, check=True)


def _mangle(ground: Ground) -> None:
    file = ground.workspace.series_path("v1") / "a.patch"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))


def _nothing(ground: Ground) -> None:
    shutil.rmtree(ground.root)
    ground.root.mkdir()


@dataclass(frozen=True)
class Trial:
    """A command; ``setup`` is done before it, ``code`` is its exit code if nothing befalls it.

    ``abort`` forgets what it leaves under way. If ``once``, the command may find nothing to do.
    """

    command: tuple[str, ...]
    setup: tuple[Step, ...] = ()
    code: int = 0
    abort: tuple[str, ...] = ()
    once: bool = False


_V1 = ("--tag", "v1")
_REBASE = ("rebase", "--onto", "v3")
_HELD: Step = (*_REBASE, "--keep-going")
_ABORT = ("rebase", "--abort")
_EDIT = ("edit", "--abort")
TRIALS: Mapping[str, Trial] = {
    "init": Trial(("init", "--upstream", "../upstream"), (_nothing,)),
    "lock": Trial(("lock", "v4")),
    "lock main": Trial(("lock", "dev=main", "--after", "v1")),
    "fetch": Trial(("--upstream", "../upstream", "fetch")),
    "import-upstream": Trial(("import-upstream", "given/x-5.tar.gz", "--tag", "v5")),
    "import": Trial(("import", "given/late.patch", *_V1)),
    "import a directory": Trial(("import", "given/pile", *_V1)),
    "import in its place": Trial(("import", "--replace", "given/b.patch", *_V1)),
    "take": Trial(("import", "given/pile", "--take")),
    "backport": Trial(("backport", "3", "--onto", "v1", "--main", "v4")),
    "new": Trial(("new", "fresh", "-m", "Begin", *_V1), abort=_EDIT),
    "edit": Trial(("edit", "v1"), abort=_EDIT),
    "edit one": Trial(("edit", "v1", "a"), abort=_EDIT),
    "edit --abort": Trial(("edit", "--abort"), (("edit", "v1"), _change), once=True),
    "refresh": Trial(("refresh",), (("edit", "v1"), _change), abort=_EDIT),
    "header": Trial(("header", "a", "--set", "X-Kind: fix", *_V1)),
    "guard": Trial(("guard", "a", "--when", "fast", *_V1)),
    "rename": Trial(("rename", "b", "c2", *_V1)),
    "move": Trial(("move", "d", "--first", *_V1)),
    "fold": Trial(("fold", "a", "b", *_V1)),
    "split": Trial(("split", "two", "--take", "h", "--into", "half", *_V1)),
    "drop": Trial(("drop", "b", "--reason", "why", *_V1)),
    "undo": Trial(("undo",)),
    "lint": Trial(("lint", "--fix"), (_mangle,)),
    "rebase": Trial(("rebase", "--onto", "v2")),
    "rebase that stops": Trial(_REBASE, code=1, abort=_ABORT),
    "rebase --keep-going": Trial((*_REBASE, "--keep-going"), code=1),
    "rebase --continue": Trial(("rebase", "--continue"), (_REBASE, _solve), abort=_ABORT),
    "rebase --skip": Trial(("rebase", "--skip", "--reason", "no"), (_REBASE,), abort=_ABORT),
    "rebase --abort": Trial(_ABORT, (_REBASE, _solve), once=True),
    "resolve": Trial(("resolve", "b"), (_HELD,), code=1, abort=("resolve", "--abort")),
    "resolve --continue": Trial(
        ("resolve", "--continue"), (_HELD, ("resolve", "b"), _solve), abort=("resolve", "--abort")
    ),
    "revive": Trial(("revive", "d", "v1"), (("drop", "d", "--reason", "why", *_V1),)),
    "port": Trial(("port", "a", "--to", "v2")),
    "trust": Trial(("verify", "v1", "--trust-upstream")),
    "export": Trial(("export", "v1", "-o", "out.tar.gz")),
    "export a directory": Trial(("export", "v1", "-o", "out")),
    "export git": Trial(("export", "v1", "--format", "git", "-o", "out.git")),
    "export quilt": Trial(("export", "v1", "--format", "quilt", "-o", "out")),
    "report": Trial(("report", "v1", "--onto", "v2", "--format", "html", "-o", "report.html")),
    "notes": Trial(("notes", "v2", "-o", "notes.md"), (("rebase", "--onto", "v2"),)),
}  # fmt: skip


def make_ground(home: Path) -> Ground:
    """Upstream and workspace, as all trials begin."""
    upstream = Miniature(home / "upstream")
    upstream.commit("Start", {"f": TEXT, "h": TEXT})
    upstream.tag("v1")
    upstream.commit("Other (#1)", {"g": "g\n"})
    upstream.tag("v2")
    upstream.commit("Say 18 (#2)", {"f": TEXT.replace("line 18\n", "line eighteen\n")})
    upstream.tag("v3")
    upstream.commit("More (#3)", {"h2": "h\n"})
    upstream.tag("v4")

    def edit(number: int, by: str = "mine", **others: str) -> bytes:
        changed = TEXT.replace(f"line {number}\n", f"{by} {number}\n")
        trailers = {"X-Kind": "fix", "X-Upstream-PR": "99"}
        return upstream.patch("v1", {"f": changed, **others}, trailers=trailers)

    patches = {f"{name}.patch": edit(9 * (n + 1)) for n, name in enumerate("abc")}
    patches["two.patch"] = edit(36, h=TEXT.replace("line 5\n", "line five\n"))
    workspace = make_workspace(
        upstream, patches, bases=("v1", "v2", "v3"), settings=SETTINGS, root=home / "workspace"
    )
    workspace.trust_path.unlink()
    (workspace.series_path("v1") / "recipe.yaml").write_text("version: 1\n")
    given = workspace.root / "given"
    (given / "pile").mkdir(parents=True)
    (given / "late.patch").write_bytes(edit(50))
    (given / "b.patch").write_bytes(edit(18, by="ours"))
    (given / "pile/one.patch").write_bytes(edit(45))
    (given / "pile/another.patch").write_bytes(edit(55))
    archive = upstream.git("archive", "--format=tar", "--prefix=x-5/", "v3")
    (given / "x-5.tar.gz").write_bytes(gzip.compress(archive, mtime=0))
    ground = Ground(home, CommandLine(home))
    assert ground.run("rename", "c", "d", *_V1).returncode == 0  # something to undo
    ground.keep("start")
    return ground


@dataclass
class Scene:
    """A trial on its ground, and what it makes of it."""

    ground: Ground
    name: str
    before: dict[str, bytes] = field(init=False)
    after: dict[str, bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.ground.restore("start")
        for step in self.trial.setup:
            if callable(step):
                step(self.ground)
            else:
                self.ground.run(*step)
        self.before = self.ground.content()
        self.ground.keep(self.name)
        done = self.ground.run(*self.trial.command)
        assert done.returncode == self.trial.code, done.stdout + done.stderr
        self.after = self.ground.content()

    @property
    def trial(self) -> Trial:
        """The trial."""
        return TRIALS[self.name]

    def steps(self, kind: str) -> int:
        """At how many steps a harm of this kind can befall the command."""
        self.ground.restore(self.name)
        return steps(self.ground.run(*self.trial.command, harm=Harm(kind, -1)))

    def befall(self, harm: Harm) -> subprocess.CompletedProcess[str]:
        """Run the command, and let that happen to it."""
        self.ground.restore(self.name)
        return self.ground.run(*self.trial.command, harm=harm)

    def check(self, *, settled: bool) -> None:
        """Nothing between before and after is there, and the command can be given (again).

        If it is not ``settled``, the next command puts that right.
        """
        ground = self.ground
        if settled:
            # a disk that fails may keep what was written aside, which the next command removes
            now = {p: c for p, c in ground.content().items() if not ASIDE.fullmatch(p)}
            assert now in (self.before, self.after), sorted(now.keys() ^ self.before.keys())
        began = "upstream.lock" in ground.content()
        status = ground.run("status")
        assert status.returncode in ((0, 1) if began else (2,)), status.stderr
        found = ground.content()
        assert found in (self.before, self.after), sorted(found)
        if found == self.before:
            if self.trial.abort and self._is_under_way():
                done = ground.run(*self.trial.abort)
                assert done.returncode == 0, done.stderr
                assert ground.content() == self.before
                assert not self._is_under_way()
            elif self.before != self.after or self.trial.abort or self.trial.once:
                done = ground.run(*self.trial.command)
                codes = (self.trial.code, 2) if self.trial.once else (self.trial.code,)
                assert done.returncode in codes, done.stdout + done.stderr
                assert not (self.trial.once and self._is_under_way())
                assert ground.content() == self.after
                assert not list(ground.root.glob(".out*"))
        assert not list(ground.workspace.state_dir.glob("*new"))
        assert not [name for name in found if name.endswith(".new")]

    def _is_under_way(self) -> bool:
        state = self.ground.workspace.state_dir
        return any(
            (state / name).exists() for name in ("operation.json", "edit.json", "resolve.json")
        )
