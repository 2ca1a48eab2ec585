"""What runs in the sandbox touches nothing; real CMake, and each sandbox that this machine has."""

from __future__ import annotations

import os
import socket
import threading
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
            if path.name not in ("stdout", "stderr", "script.cmake", "scratch"):
                facts = path.lstat()
                content = path.read_text() if path.is_file() else ""
                found[str(path)] = (content, facts.st_mode, facts.st_mtime_ns)
        return found


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
