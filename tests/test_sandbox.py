"""What runs in the sandbox touches nothing; real CMake, and each sandbox that this machine has."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from patchq.engine.build.cmake.program import find_cmake
from patchq.errors import PatchqError
from patchq.sandbox import landlock, seccomp, wrappers
from patchq.sandbox.command import Command, Confinement, Finished, Limits
from patchq.sandbox.runner import CHOICE, NoSandboxError, Runner, open_sandbox, open_unconfined

SECRET = "root-of-all-secrets"


@pytest.fixture(scope="module", params=["landlock", "bubblewrap", "sandbox-exec"])
def sandbox(request: pytest.FixtureRequest) -> Runner:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CHOICE, request.param)
        try:
            return open_sandbox()
        except PatchqError as error:
            pytest.skip(str(error))


class Prison:
    """A project that may be read, a trace that may be written, and a host that may not."""

    def __init__(self, root: Path, sandbox: Runner):
        self._sandbox = sandbox
        self.project, self.host, self._scratch = root / "project", root / "host", root / "scratch"
        for directory in (self.project, self.host, self._scratch):
            directory.mkdir()
        self.trace = self._scratch / "trace"
        self.trace.touch()
        self._script = self.project / "script.cmake"
        self._script.touch()
        (self.host / "victim").write_text(SECRET)
        (self.host / "evil.cmake").write_text(f"message({SECRET})\n")
        (self.project / "link").symlink_to(self.host / "victim")
        (self.project / "inside").write_text("of the project")
        self.output = ""

    def run(self, script: str, limits: Limits | None = None) -> Finished:
        cmake = find_cmake()
        self._script.write_text(script.replace("@host@", str(self.host)))
        finished = self._sandbox.run(
            Command(
                (str(cmake.program), "-P", str(self._script)),
                directory=str(self._scratch),
                stdout=str(self._scratch / "stdout"),
                stderr=str(self._scratch / "stderr"),
                reads=(str(self.project), str(cmake.root)),
                writes=(str(self.trace),),
                environment={"LC_ALL": "C.UTF-8"},
                limits=limits or Limits(),
            )
        )
        names = ("stdout", "stderr")
        self.output = "".join((self._scratch / name).read_text(errors="replace") for name in names)
        return finished

    def state(self) -> dict[str, tuple[str, int, int]]:
        found = {}
        for path in sorted(self.host.parent.rglob("*")):
            if path.name not in ("stdout", "stderr", "trace", "script.cmake", "scratch"):
                facts = path.lstat()
                content = path.read_text() if path.is_file() else ""
                found[str(path)] = (content, facts.st_mode, facts.st_mtime_ns)
        return found


escapes = str(Path(__file__).with_name("escapes.py"))


class Host:
    """What is to be protected: files, a process, sockets that listen."""

    def __init__(self, root: Path):
        self._root = root
        (root / ".ssh").mkdir(parents=True)
        (root / "victim").write_text(SECRET)
        (root / ".ssh/id_ed25519").write_text(SECRET)
        (root / "link").symlink_to(root / "victim")
        self.process = subprocess.Popen(["sleep", "600"])
        self._sockets = [
            socket.create_server(("127.0.0.1", 0)),
            *(socket.socket(socket.AF_UNIX) for _ in range(2)),
        ]
        addresses = (f"{root}/socket", f"\0patchq-{self.process.pid}")
        for made, address in zip(self._sockets[1:], addresses, strict=True):
            made.bind(address)
            made.listen()
        self._before = self._state()

    @property
    def arguments(self) -> tuple[str, ...]:
        """The program of :mod:`escapes` with its arguments."""
        port = self._sockets[0].getsockname()[1]
        return escapes, str(self._root), str(port), str(self.process.pid)

    def check(self) -> None:
        """Nothing was touched, nobody came."""
        assert self._state() == self._before
        assert self.process.poll() is None
        for made in self._sockets:
            made.setblocking(False)
            with pytest.raises(BlockingIOError):
                made.accept()

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        for made in self._sockets:
            made.close()

    def _state(self) -> dict[str, tuple[int, int, int]]:
        facts = ((path, path.lstat()) for path in (self._root, *self._root.rglob("*")))
        return {str(path): (f.st_mode, f.st_mtime_ns, f.st_size) for path, f in facts}


@pytest.fixture
def host() -> Iterator[Host]:
    with tempfile.TemporaryDirectory() as directory:  # short, for the name of a socket
        made = Host(Path(directory, "h"))
        yield made
        made.close()


@pytest.fixture
def prison(tmp_path: Path, sandbox: Runner) -> Prison:
    return Prison(tmp_path, sandbox)


@pytest.mark.parametrize(
    "script",
    [
        'file(READ "@host@/victim" X)\nmessage("${X}")\n',
        'file(STRINGS "@host@/victim" X)\nmessage("${X}")\n',
        'file(READ "${CMAKE_CURRENT_LIST_DIR}/link" X)\nmessage("${X}")\n',
        'file(GLOB X "@host@/*")\nstring(REPLACE victim @secret@ X "${X}")\nmessage("${X}")\n',
        'include("@host@/evil.cmake")\n',
        'file(WRITE "@host@/new" x)\n',
        'file(WRITE "@host@/victim" x)\n',
        'file(APPEND "@host@/victim" x)\n',
        'file(WRITE "${CMAKE_CURRENT_LIST_DIR}/inside" x)\n',
        'file(WRITE "${CMAKE_CURRENT_LIST_DIR}/new" x)\n',
        'file(REMOVE "@host@/victim")\n',
        'file(REMOVE_RECURSE "@host@")\n',
        'file(RENAME "@host@/victim" "@host@/other")\n',
        'file(MAKE_DIRECTORY "@host@/new")\n',
        'file(CREATE_LINK "@host@/victim" "@host@/new")\n',
        'file(CREATE_LINK "@host@/victim" "@host@/new" SYMBOLIC)\n',
        'file(COPY "${CMAKE_CURRENT_LIST_DIR}/inside" DESTINATION "@host@")\n',
        'file(CHMOD "@host@/victim" PERMISSIONS OWNER_READ WORLD_READ WORLD_WRITE)\n',
        'file(TOUCH "@host@/victim")\n',
        'file(TOUCH_NOCREATE "@host@/victim")\n',
        'file(ARCHIVE_CREATE OUTPUT "@host@/new" PATHS "${CMAKE_CURRENT_LIST_DIR}/inside")\n',
        'file(LOCK "@host@/new" TIMEOUT 0)\n',
        'configure_file("${CMAKE_CURRENT_LIST_DIR}/inside" "@host@/new" COPYONLY)\n',
        'execute_process(COMMAND touch "@host@/new")\n',
        'execute_process(COMMAND /bin/sh -c "echo x > @host@/victim")\n',
        'execute_process(COMMAND "${CMAKE_COMMAND}" -E touch "@host@/new")\n',
        'execute_process(COMMAND "${CMAKE_COMMAND}" -P "${CMAKE_CURRENT_LIST_FILE}")\n',
        'message("$ENV{HOME}$ENV{PATCHQ_TEST_SECRET}")\n',
        'file(DOWNLOAD "file://@host@/victim" "@host@/new")\n',
        'file(DOWNLOAD "file://@host@/victim" out)\nfile(READ out X)\nmessage("${X}")\n',
        'file(UPLOAD "@host@/victim" "file://@host@/new")\n',
        'file(COPY_FILE "${CMAKE_CURRENT_LIST_DIR}/link" "@host@/new")\n',
        'file(COPY "${CMAKE_CURRENT_LIST_DIR}/link" DESTINATION "@host@" FOLLOW_SYMLINK_CHAIN)\n',
        'file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/inside" DESTINATION "@host@")\n',
        'file(CONFIGURE OUTPUT "@host@/new" CONTENT x)\n',
        'file(ARCHIVE_CREATE OUTPUT trace PATHS "@host@" FORMAT paxr)\n'
        'file(STRINGS trace X)\nmessage("${X}")\n',
        'file(WRITE here x)\nfile(CREATE_LINK "@host@/victim" here SYMBOLIC)\nfile(READ here X)\n',
        'file(REMOVE trace)\nfile(CREATE_LINK "@host@/victim" trace SYMBOLIC)\n'
        "file(APPEND trace x)\n",
        "file(RENAME trace other)\nfile(WRITE other x)\n",
        'file(READ "/proc/self/environ" X)\nmessage("${X}")\n',
        'file(READ "/proc/self/root@host@/victim" X)\nmessage("${X}")\n',
        'file(READ "/proc/self/cwd/../host/victim" X)\nmessage("${X}")\n',
        'file(WRITE "/proc/self/mem" x)\nfile(WRITE "/proc/self/fd/1" x)\n',
        'include("/proc/self/root@host@/evil.cmake")\n',
        'file(READ "~/victim" X)\nfile(READ "$ENV{HOME}/victim" X)\nmessage("${X}")\n',
        'find_file(X victim PATHS "@host@" NO_CACHE)\nfile(READ "${X}" X)\nmessage("${X}")\n',
        'execute_process(COMMAND "${CMAKE_COMMAND}" -E cat "@host@/victim" OUTPUT_VARIABLE X)\n'
        'message("${X}")\n',
        'execute_process(COMMAND "${CMAKE_COMMAND}" -S "@host@" -B "@host@/new")\n',
        'site_name(X)\nvariable_watch(X file)\nset(X WRITE "@host@/new" x)\n',
        'cmake_language(EVAL CODE "file(WRITE \\"@host@/new\\" x)")\n',
    ],
)
def test_nothing_of_the_host_is_read_or_changed(
    prison: Prison, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATCHQ_TEST_SECRET", SECRET)
    before = prison.state()
    prison.run(script.replace("@secret@", SECRET))
    assert SECRET not in prison.output
    assert prison.state() == before


def test_what_is_allowed_works(prison: Prison) -> None:
    finished = prison.run(
        'file(READ "${CMAKE_CURRENT_LIST_DIR}/inside" X)\nmessage("${X}")\n'
        "include(CMakeDependentOption)\n"
        f'file(WRITE "{prison.trace}" written)\n'
    )
    assert finished == Finished(0), prison.output
    assert "of the project" in prison.output
    assert prison.trace.read_text() == "written"


def test_there_is_no_network(prison: Prison) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        prison.run(
            f'file(DOWNLOAD "http://127.0.0.1:{port}/x" STATUS S TIMEOUT 1)\nmessage("${{S}}")\n'
        )
        with pytest.raises(TimeoutError):
            server.accept()
    assert prison.output.strip()[0] in "123456789"


def test_there_is_no_way_out(sandbox: Runner, host: Host, tmp_path: Path) -> None:
    """Not CMake but Python, which can make any system call."""
    program = os.path.realpath(sys.executable)
    (tmp_path / "trace").touch()
    done = sandbox.run(
        Command(
            (program, "-I", "-S", *host.arguments),
            directory=str(tmp_path),
            stdout=str(tmp_path / "stdout"),
            stderr=str(tmp_path / "stderr"),
            reads=(sys.base_prefix, escapes),
            writes=(str(tmp_path / "trace"),),
            environment={"LC_ALL": "C.UTF-8"},
        )
    )
    said = [(tmp_path / name).read_text() for name in ("stdout", "stderr")]
    *found, tried = "".join(said).splitlines()
    assert (done.code, tried.partition(" ")[0]) == (0, "tried"), said
    if sandbox.confinement is Confinement.BUBBLEWRAP:  # it has a root of its own
        found.remove("list the root")
    assert found == []
    host.check()


@pytest.mark.skipif(
    landlock.version() < landlock.MINIMUM_VERSION or not seccomp.supported(), reason="no Landlock"
)
def test_there_is_no_way_out_on_an_older_kernel(host: Host, tmp_path: Path) -> None:
    """With the first version of Landlock that serves, and without namespaces."""
    (tmp_path / "trace").touch()
    done = subprocess.run(
        [sys.executable, *host.arguments, "weak"],
        cwd=tmp_path,
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PATCHQ_TEST_SECRET": SECRET},
        capture_output=True,
        text=True,
        check=False,
    )
    *found, tried = done.stdout.splitlines()
    assert (done.returncode, tried.partition(" ")[0]) == (0, "tried"), done.stderr
    assert found == []
    host.check()


def test_time_is_limited(prison: Prison) -> None:
    finished = prison.run("while(TRUE)\nendwhile()\n", Limits(seconds=0.5))
    assert finished.late
    assert prison.run('message("again")\n') == Finished(0)


def test_output_is_limited(prison: Prison) -> None:
    finished = prison.run('while(TRUE)\nmessage("much")\nendwhile()\n', Limits(20, output=100_000))
    assert finished.code < 0
    assert len(prison.output) <= 100_000


def test_memory_is_limited(prison: Prison) -> None:
    script = 'string(REPEAT "0123456789" 60000000 X)\nstring(APPEND X "${X}")\nmessage(done)\n'
    finished = prison.run(script, Limits(20, memory=300 << 20))
    assert finished.code != 0
    assert "done" not in prison.output


def test_commands_run_side_by_side(sandbox: Runner, tmp_path: Path) -> None:
    prisons = []
    for name in "abc":
        (tmp_path / name).mkdir()
        prisons.append(Prison(tmp_path / name, sandbox))
    threads = [threading.Thread(target=each.run, args=('message("${X}")\n',)) for each in prisons]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.output for each in prisons] == ["\n"] * 3


def test_what_cannot_be_started_is_an_error(sandbox: Runner, tmp_path: Path) -> None:
    output = str(tmp_path / "output")
    program = tmp_path / "directory"
    program.mkdir()
    command = Command((str(program),), str(tmp_path), output, output)
    if sandbox.confinement is Confinement.LANDLOCK:
        with pytest.raises(PatchqError, match="cannot be started"):
            sandbox.run(command)
    else:  # the wrapper itself starts
        assert sandbox.run(command).code == 1


def test_who_is_trusted_still_has_limits_and_no_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATCHQ_TEST_SECRET", SECRET)
    prison = Prison(tmp_path, open_unconfined())
    assert prison.run('message("<$ENV{PATCHQ_TEST_SECRET}>")\n') == Finished(0)
    assert prison.output == "<>\n"
    assert prison.run("while(TRUE)\nendwhile()\n", Limits(seconds=0.5)).late


# --- which sandbox there is -------------------------------------------------------------------


def test_what_was_tried_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv(CHOICE, raising=False)
    monkeypatch.setattr(landlock, "version", lambda: 2)
    monkeypatch.setattr(seccomp, "supported", lambda: True)
    monkeypatch.setattr("shutil.which", lambda _name: None)
    with pytest.raises(NoSandboxError) as caught:
        open_sandbox()
    assert caught.value.message == (
        "landlock: the kernel has version 2 of it, 3 (Linux 6.2) is needed; "
        "bubblewrap: not installed"
    )
    assert caught.value.exit_code == 3


def test_a_sandbox_that_does_not_hold_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv(CHOICE, "bubblewrap")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(seccomp, "supported", lambda: True)
    monkeypatch.setattr("shutil.which", lambda _name: str(broken))
    with pytest.raises(NoSandboxError, match="bwrap does not work here"):
        open_sandbox()


def test_an_unknown_sandbox_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, "chroot")
    with pytest.raises(PatchqError, match="no such sandbox") as caught:
        open_sandbox()
    assert "none" in str(caught.value.hint)


def test_a_filter_is_made_for_every_known_machine() -> None:
    for machine in ("x86_64", "aarch64", "riscv64"):
        steps = seccomp.program(machine)
        assert len(steps) % 8 == 0
        assert len(steps) // 8 < 4096  # BPF_MAXINSNS
        assert steps[-8:-6] == steps[-16:-14] == b"\x06\x00"


def test_the_profile_of_macos_names_what_is_allowed() -> None:
    command = Command(('/a "b"/cmake', "-P", "x"), "/s", "", "", reads=("/p",), writes=("/s/t",))
    program, option, profile, *arguments = wrappers.sandbox_exec(command)
    assert (program, option, arguments) == (wrappers.SANDBOX_EXEC, "-p", list(command.arguments))
    lines = profile.split("\n")
    assert lines[:2] == ["(version 1)", "(deny default)"]
    assert r'(allow process-exec (literal "/a \"b\"/cmake"))' in lines
    assert '(allow file-read* (subpath "/p"))' in lines
    assert '(allow file-write-data (literal "/s/t"))' in lines
    assert "network" not in profile


def test_the_helpers_end_with_their_runner() -> None:
    other = Runner(Confinement.NONE)
    launcher = other._idle.get()
    pid = launcher._process.pid
    other._idle.put(launcher)
    del launcher, other
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
