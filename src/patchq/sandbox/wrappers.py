"""Programs that make a sandbox for another: bubblewrap on Linux, sandbox-exec on macOS."""

from __future__ import annotations

from collections.abc import Iterator

from patchq.sandbox.command import LIBRARIES, Command

SANDBOX_EXEC = "/usr/bin/sandbox-exec"


def bubblewrap(program: str, command: Command, filter_descriptor: int) -> list[str]:
    """``command`` in a file system of its own, see bwrap(1).

    ``filter_descriptor`` is open on the seccomp filter.
    """
    return [
        program,
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        *("--cap-drop", "ALL"),
        *("--seccomp", str(filter_descriptor)),
        *_mounts(command),
        *("--remount-ro", "/"),
        *("--chdir", command.directory),
        "--",
        *command.arguments,
    ]


def _mounts(command: Command) -> Iterator[str]:
    # the shallow ones first: a mount hides what was below it
    reads = {*LIBRARIES, *command.reads, command.arguments[0]}
    for path in sorted(reads, key=lambda path: path.count("/")):
        yield from ("--ro-bind-try", path, path)
    yield from ("--dir", command.directory)
    for path in command.writes:
        yield from ("--bind", path, path)


def sandbox_exec(command: Command) -> list[str]:
    """``command`` under a profile of sandbox-exec(1), the seatbelt of macOS.

    Written by its manual and by profiles in use; not tested on macOS.
    """
    system = ("/usr/lib", "/System/Library", "/private/var/db/dyld", "/System/Volumes/Preboot")
    program, reads = command.arguments[0], (*system, *command.reads)
    profile = [
        "(version 1)",
        "(deny default)",
        f"(allow process-exec (literal {_quoted(program)}))",
        "(allow sysctl-read)",
        "(allow file-read-metadata)",
        f"(allow file-read* (literal {_quoted(program)}))",
        *(f"(allow file-read* (subpath {_quoted(path)}))" for path in reads),
        *(f"(allow file-write-data (literal {_quoted(path)}))" for path in command.writes),
        '(allow file-read* file-write-data (literal "/dev/null"))',
    ]
    return [SANDBOX_EXEC, "-p", "\n".join(profile), *command.arguments]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
