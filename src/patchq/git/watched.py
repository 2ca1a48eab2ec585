"""Run git against a server, and end it if it comes no further."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from threading import Thread
from typing import IO

from patchq.errors import UnavailableError
from patchq.git.process import Result

PATIENCE = 300.0
"""After how many seconds without a sign of progress git is ended."""

VARIABLE = "PATCHQ_FETCH_TIMEOUT"
"""The variable of the environment that says otherwise."""

_POLL = 0.2
_CLEAR = "\x1b[K"  # git's own, to clear the rest of a line


class _Watched:
    """A process of git and what it has written; ``last`` is when that was."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        stdin: bytes | None,
        *,
        terminal: bool,
        show: bool,
    ):
        self.out, self.err = bytearray(), bytearray()
        self.last = time.monotonic()
        # without input it may ask the terminal for a password
        quiet = None if terminal else subprocess.DEVNULL
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=quiet if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdout
        assert self.process.stderr
        readers = ((self.process.stdout, self.out, False), (self.process.stderr, self.err, show))
        self._threads = [Thread(target=self._read, args=args, daemon=True) for args in readers]
        if self.process.stdin:
            writer = Thread(target=_write, args=(self.process.stdin, stdin or b""), daemon=True)
            self._threads.append(writer)
        for thread in self._threads:
            thread.start()

    def _read(self, stream: IO[bytes], into: bytearray, show: bool) -> None:
        while part := os.read(stream.fileno(), 1 << 16):
            self.last = time.monotonic()
            into += part
            if show:
                os.write(2, _harmless(part))

    def has_ended(self) -> bool:
        try:
            self.process.wait(_POLL)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self) -> Result:
        status = self.process.wait()
        for thread in self._threads:
            thread.join(_POLL * 10)  # a child of git that lives on may hold the pipe
        return Result(status, bytes(self.out), bytes(self.err))


def run_watched(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: bytes | None = None,
    terminal: bool,
    show: bool,
) -> Result:
    """Run ``command`` to its end; ``show`` passes on what it says on stderr.

    Raises :class:`UnavailableError` if it writes nothing for :data:`PATIENCE` seconds.
    """
    patience = _patience()
    watched = _Watched(command, environment, stdin, terminal=terminal, show=show)
    try:
        while not watched.has_ended():
            if time.monotonic() - watched.last > patience:
                raise UnavailableError(
                    f"git made no progress for {patience:g} seconds, and was ended",
                    hint=f"Try again, or give it longer: {VARIABLE}=SECONDS.",
                )
    except BaseException:
        watched.process.terminate()
        watched.end()
        raise
    return watched.end()


def _patience() -> float:
    try:
        return float(os.environ[VARIABLE])
    except (KeyError, ValueError):
        return PATIENCE


def _harmless(part: bytes) -> bytes:
    """What git says, with the words of a server in it, fit for a terminal."""
    text = part.decode("utf-8", "replace").replace(_CLEAR, "\0")
    shown = (c if c.isprintable() or c in "\r\n\t\0" else "?" for c in text)
    return "".join(shown).replace("\0", _CLEAR).encode()


def _write(stream: IO[bytes], content: bytes) -> None:
    try:
        with stream:
            stream.write(content)
    except BrokenPipeError:
        pass  # git says why
