"""One ``git cat-file --batch-command`` that stays open and answers one question after another."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from patchq.errors import UnavailableError
from patchq.git.process import GitEndedError, ReaderFailedError, Result
from patchq.model.ids import ObjectId

_READS = ("cat-file", "--batch-command")


@dataclass(frozen=True)
class ReadObject:
    """An object: its id, its kind (blob, tree, commit, tag), its content."""

    oid: ObjectId
    kind: bytes
    content: bytes


class Reader:
    """Reads objects; the process starts with the first question and ends with :meth:`close`."""

    def __init__(self, start: Callable[..., subprocess.Popen[bytes]]):
        self._start = start
        self._process: subprocess.Popen[bytes] | None = None

    def __del__(self) -> None:
        self.close()

    def read(self, name: str) -> ReadObject | None:
        """The object that ``name`` names, None if it is not there."""
        head, answers = self._ask(b"contents", name)
        if head is None:
            return None
        oid, kind, size = head
        content = answers.read(int(size))
        if len(content) != int(size) or answers.read(1) != b"\n":
            raise self._gone(name)
        return ReadObject(ObjectId(oid.decode()), kind, content)

    def find(self, name: str) -> ObjectId | None:
        """The id of the object that ``name`` names, None if it is not there."""
        head, _ = self._ask(b"info", name)
        return None if head is None else ObjectId(head[0].decode())

    def close(self) -> None:
        """End the process: a later question starts another, which looks for all objects anew."""
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            assert stream
            with suppress(BrokenPipeError):
                stream.close()
        process.wait()

    def let_go(self) -> None:
        """In a process that was forked off: leave the process of git to the other one."""
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            assert stream
            stream.close()
        process.returncode = 0  # not ours to wait for

    def _ask(self, question: bytes, name: str) -> tuple[list[bytes] | None, IO[bytes]]:
        """The head of the answer, None if there is no such object, and where the rest is."""
        if self._process is None:
            self._process = self._start(_READS, errors=subprocess.DEVNULL)
        questions, answers = self._process.stdin, self._process.stdout
        assert questions
        assert answers
        try:
            questions.write(b"%s %s\n" % (question, name.encode()))
            questions.flush()
        except BrokenPipeError as error:
            raise self._gone(name) from error
        line = answers.readline()
        if not line.endswith(b"\n"):
            raise self._gone(name)
        head = line.split()
        if len(head) == 3 and head[2].isdigit():
            return head, answers
        return None, answers

    def _gone(self, name: str) -> UnavailableError:
        """What to raise if the process ended before it had answered."""
        assert self._process
        return reader_failed(self._start, self._process.wait(), name)


def reader_failed(
    start: Callable[..., subprocess.Popen[bytes]], status: int, name: str
) -> UnavailableError:
    """What to raise if ``git cat-file`` ended with ``status``: unless it was killed, ask it why."""
    # not the closed pipe of our own output, which is no error
    words = b""
    if status >= 0:
        with start(_READS, errors=subprocess.PIPE) as again:
            _, words = again.communicate(b"contents %s\n" % name.encode())
    result = Result(status, b"", words)
    return (GitEndedError if status < 0 else ReaderFailedError)(_READS[0], result)
