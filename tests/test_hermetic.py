"""The same bytes come out whatever the user's configuration, environment and machine are set to.

Each setting is tried alone (slow), and all of them at once, as far as they go together.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

import pytest
from commandline import SOURCES
from miniature import Miniature, executable, symlink
from workspaces import make_workspace

from patchq.model.workspace import Workspace

TEXT = "".join(f"line {number}\n" for number in range(30))


class Start(Enum):
    """The working directory of a command; but for the first it has ``-C WORKSPACE``."""

    WORKSPACE = auto()
    ROOT = auto()
    DELETED = auto()
    REPOSITORY = auto()


@dataclass(frozen=True)
class Setting:
    """Lines of ``~/.gitconfig``, variables of the environment, a umask, places.

    ``place`` is the workspace's path below the home directory, ``start`` says where the command
    is started, ``lacks`` which variables the environment does not have.
    """

    config: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    umask: int = 0o022
    place: str = "workspace"
    start: Start = Start.WORKSPACE
    lacks: tuple[str, ...] = ()


def _config(key: str, value: str) -> Setting:
    section, _, name = key.rpartition(".")
    return Setting(config=f"[{section}]\n\t{name} = {value}\n")


CONFIG = {
    "core.autocrlf": "true",
    "core.eol": "crlf",
    "core.safecrlf": "true",
    "core.whitespace": "cr-at-eol,tab-in-indent",
    "core.abbrev": "4",
    "core.quotePath": "false",
    "core.hooksPath": "/nonexistent",
    "core.fileMode": "false",
    "core.symlinks": "false",
    "core.ignoreCase": "true",
    "core.precomposeUnicode": "true",
    "core.fsmonitor": "/bin/false",
    "core.untrackedCache": "true",
    "core.attributesFile": "~/attributes",
    "core.excludesFile": "~/excludes",
    "core.pager": "/bin/false",
    "core.editor": "/bin/false",
    "core.commentChar": "s",
    "diff.noprefix": "true",
    "diff.mnemonicPrefix": "true",
    "diff.algorithm": "patience",
    "diff.context": "1",
    "diff.interHunkContext": "9",
    "diff.renames": "copies",
    "diff.renameLimit": "1",
    "diff.external": "/bin/false",
    "diff.orderFile": "/nonexistent",
    "diff.suppressBlankEmpty": "true",
    "diff.indentHeuristic": "false",
    "diff.submodule": "log",
    "diff.wsErrorHighlight": "all",
    "diff.colorMoved": "zebra",
    "diff.srcPrefix": "x/",
    "color.ui": "always",
    "apply.whitespace": "fix",
    "apply.ignoreWhitespace": "change",
    "merge.conflictStyle": "zdiff3",
    "merge.renames": "false",
    "merge.directoryRenames": "true",
    "merge.renormalize": "true",
    "merge.ff": "only",
    "commit.gpgSign": "true",
    "tag.gpgSign": "true",
    "gpg.program": "/bin/false",
    "format.signature": "mine",
    "format.subjectPrefix": "X",
    "format.attach": "true",
    "format.from": "Me <me@x>",
    "format.headers": "X-Mine: yes",
    "i18n.commitEncoding": "latin1",
    "i18n.logOutputEncoding": "latin1",
    "log.showSignature": "true",
    "log.date": "relative",
    "tar.umask": "0077",
    "tar.tar.gz.command": "/bin/false",
    "pack.threads": "1",
    "gc.auto": "1",
    "fetch.fsckObjects": "true",
    "status.showUntrackedFiles": "no",
    "rerere.enabled": "true",
    "safe.directory": "/nowhere",
    "user.name": "Somebody Else",
}
VARIABLES = {
    "GIT_DIR": "/nonexistent",
    "GIT_WORK_TREE": "/nonexistent",
    "GIT_INDEX_FILE": "/nonexistent/index",
    "GIT_OBJECT_DIRECTORY": "/nonexistent",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/nonexistent",
    "GIT_EXTERNAL_DIFF": "/bin/false",
    "GIT_DIFF_OPTS": "-u0",
    "GIT_AUTHOR_NAME": "Env Author",
    "GIT_AUTHOR_EMAIL": "env@author",
    "GIT_AUTHOR_DATE": "@1 +0000",
    "GIT_COMMITTER_NAME": "Env Committer",
    "GIT_COMMITTER_DATE": "@2 +0000",
    "GIT_CEILING_DIRECTORIES": "/",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_DEFAULT_HASH": "sha256",
    "GIT_NAMESPACE": "x",
    "GIT_ATTR_SOURCE": "HEAD",
    "LC_ALL": "tr_TR.UTF-8",
    "LANG": "de_DE.ISO-8859-1",
    "TZ": "Asia/Kathmandu",
    "COLUMNS": "20",
    "NO_COLOR": "1",
    "FORCE_COLOR": "1",
    "PAGER": "/bin/false",
    "POSIXLY_CORRECT": "1",
    "TAR_OPTIONS": "--format=gnu",
    "GZIP": "-1",
    "PYTHONHASHSEED": "7",
    "PYTHONUTF8": "0",
    "SOURCE_DATE_EPOCH": "1",
    "XDG_CONFIG_HOME": "/nonexistent",
}
PLACES = {
    "a newline": "work\nspace",
    "spaces at the ends": " work space ",
    "a colon": "work:space",
    "a quote and a dollar": "w'o\"rk$HOME`x`",
    "a backslash": "work\\space",
    "glob characters": "w*[o]?rk{a,b}",
    "letters beyond ASCII": "wörk/空間",
    "bytes that are no UTF-8": "w\udcffrk",
    "a leading dash": "-C",
    "a hash": "#work;space=1",
    "an escape": "w\x1b[31mork",
    "a percent sign": "work%sspace%20",
    "the name .git": ".git/x",
    "many directories": "/".join(["deep"] * 40),
}
SETTINGS: dict[str, Setting] = {
    **{key: _config(key, value) for key, value in CONFIG.items()},
    **{name: Setting(environment={name: value}) for name, value in VARIABLES.items()},
    "umask 000": Setting(umask=0),
    "umask 077": Setting(umask=0o077),
    "umask 777": Setting(umask=0o777),
    "broken gitconfig": Setting(config="[diff\n x = = \n"),
    **{f"a path with {kind}": Setting(place=place) for kind, place in PLACES.items()},
    **{f"started in {start.name}": Setting(start=start) for start in Start},
    "no HOME": Setting(lacks=("HOME",)),
    "HOME is no directory": Setting(environment={"HOME": "/dev/null"}),
}
_NOT_TOGETHER = ("broken gitconfig", "umask 000", "umask 077")


def together() -> Setting:
    """All settings at once."""
    chosen = [setting for name, setting in SETTINGS.items() if name not in _NOT_TOGETHER]
    environment: dict[str, str] = {}
    for setting in chosen:
        environment |= setting.environment
    config = "".join(setting.config for setting in chosen)
    return Setting(config, environment, 0o777, "w ö\n#:'rk", Start.DELETED)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A series whose patches are carried, moved and adapted, with special content; one to come."""
    home = tmp_path_factory.mktemp("hermetic")
    upstream = Miniature(home / "upstream")
    files = {f"src/{name}.py": TEXT for name in ("clean", "near", "moves", "tail")}
    upstream.commit(
        "Start",
        {**files, "run": executable("#!/bin/sh\n"), "link": symlink("run"), "crlf": "a\r\nb\r\n",
         "ö ä": "umlaut\n", ".gitattributes": "*.py text ident\ncrlf text\n"},
    )  # fmt: skip
    upstream.tag("v1")
    upstream.commit("Near (#1)", {"src/near.py": TEXT.replace("line 11\n", "line eleven\n")})
    upstream.move("src/moves.py", "lib/moved.py", "Move (#2)")
    upstream.tag("v2")

    def edited(name: str) -> bytes:
        text = TEXT.replace("line 14\n", "line fourteen\n\tmine \n")
        return upstream.patch("v1", {f"src/{name}.py": text})

    patches = {f"{name}.patch": edited(name) for name in ("clean", "near", "moves")}
    patches["odd.patch"] = upstream.patch(
        "v1", {"crlf": "a\r\nB\r\n", "ö ä": "Umlaut\n", "run": "#!/bin/sh\nno end"}
    )
    workspace = make_workspace(upstream, patches)
    bare = edited("tail")
    words = b"Description: Late\nDate: Mon, 3 Aug 2026 10:00:00 +0200\n\n"
    (workspace.root / "late.patch").write_bytes(words + bare[bare.index(b"diff --git") :])
    return workspace


def outcome(begun: Workspace, home: Path, setting: Setting) -> dict[str, str]:
    """Digests of all that comes out of import, rebase and export."""
    home.mkdir()
    root = home / setting.place
    shutil.copytree(begun.root, root)
    (home / ".gitconfig").write_text(setting.config)
    (home / "attributes").write_text("* text eol=crlf\n*.patch binary\n")
    (home / "excludes").write_text("*\n")
    made = home / "out.tar.xz"
    commands = (
        ("import", str(root / "late.patch"), "--tag", "v1", "--author", "A <a@b>"),
        ("rebase", "--onto", "v2"),
        ("export", "v2", "--format", "tar.xz", "-o", str(made)),
    )
    for command in commands:
        done = _run(command, root, home, setting)
        assert done.returncode == 0, done.stderr
    files = [file for file in sorted((root / "series").rglob("*")) if file.is_file()]
    found = {str(file.relative_to(root)): file for file in files} | {made.name: made}
    return {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in found.items()}


def _run(
    command: tuple[str, ...], root: Path, home: Path, setting: Setting
) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": SOURCES,
        **setting.environment,
    }
    words = [sys.executable, "-m", "patchq", *command]
    if setting.start is not Start.WORKSPACE:
        words[3:3] = ["-C", str(root)]
    directory = _directory(root, home, setting.start)
    if setting.start is Start.DELETED:
        words = ["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", *words]
    return subprocess.run(
        words,
        cwd=directory,
        env={name: environment[name] for name in environment.keys() - set(setting.lacks)},
        umask=setting.umask,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def _directory(root: Path, home: Path, start: Start) -> Path:
    if start is Start.WORKSPACE:
        return root
    if start is Start.ROOT:
        return Path("/")
    directory = home / "elsewhere"
    directory.mkdir(exist_ok=True)
    if start is Start.REPOSITORY:  # of somebody else, with a configuration that git cannot read
        (directory / ".git").mkdir(exist_ok=True)
        (directory / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (directory / ".git/config").write_text("[core]\n\tbare = = x\n")
    return directory


@pytest.fixture(scope="module")
def expected(start: Workspace, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    found = outcome(start, tmp_path_factory.mktemp("expected") / "home", Setting())
    assert len(found) >= 12
    return found


def test_all_settings_at_once(start: Workspace, expected: dict[str, str], tmp_path: Path) -> None:
    assert outcome(start, tmp_path / "home", together()) == expected


def test_a_broken_configuration(start: Workspace, expected: dict[str, str], tmp_path: Path) -> None:
    assert outcome(start, tmp_path / "home", SETTINGS["broken gitconfig"]) == expected


@pytest.mark.release
@pytest.mark.parametrize("name", SETTINGS)
def test_one_setting(start: Workspace, expected: dict[str, str], tmp_path: Path, name: str) -> None:
    assert outcome(start, tmp_path / "home", SETTINGS[name]) == expected
