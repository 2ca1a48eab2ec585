"""Answers that need not be found twice, in files: one form, checked whenever one is read.

A file holds a line with the version of its kind and a SHA-256 digest, then the answer as JSON. The
digest covers version, key and answer, so that a flipped bit, a file in another's place or an older
form is no answer: it is dropped, and the answer found anew. The key must cover all that the answer
depends on; nothing is ever invalidated.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar

from patchq.files import replace_file, sweep

_Answer = TypeVar("_Answer")


def key_of(facts: object) -> str:
    """The key for anything JSON can hold."""
    text = json.dumps(facts, sort_keys=True, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()


class KeptAnswers(Generic[_Answer]):
    """Answers of one kind below ``directory``, by key (which must be a file name).

    ``version`` names the kind and its form. ``write`` makes of an answer what JSON can hold, and
    ``read`` an answer of that; it raises KeyError, TypeError, ValueError or AttributeError if it
    cannot.
    """

    def __init__(
        self,
        directory: Path,
        version: str,
        read: Callable[[Any], _Answer],
        write: Callable[[_Answer], object],
    ):
        self._directory = directory
        self._version = version
        self._read = read
        self._write = write
        self._swept = False

    def get(self, key: str) -> _Answer | None:
        """What was kept under ``key``, None if there is nothing or it is damaged."""
        file = self._file(key)
        try:
            head, _, body = file.read_bytes().partition(b"\n")
        except OSError:
            return None
        try:
            if head == self._head(key, body):
                return self._read(json.loads(body))
        except (KeyError, TypeError, ValueError, AttributeError):
            pass  # of another version
        with suppress(OSError):
            file.unlink()
        return None

    def put(self, key: str, answer: _Answer) -> None:
        """Keep ``answer`` under ``key``, if the disk lets us: it can be found again."""
        file = self._file(key)
        body = json.dumps(self._write(answer), ensure_ascii=True).encode("ascii")
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            if not self._swept:
                sweep(self._directory)
                self._swept = True
            replace_file(file, self._head(key, body) + b"\n" + body, aside_in=self._directory)

    def _head(self, key: str, body: bytes) -> bytes:
        name = self._version.encode()
        digest = sha256(b"%s\n%s\n%s" % (name, key.encode(), body)).hexdigest()
        return b"%s sha256:%s" % (name, digest.encode())

    def _file(self, key: str) -> Path:
        return self._directory / key[:2] / f"{key[2:]}.json"
