"""Standard output and error that outlive their reader."""

from __future__ import annotations

import os
import sys
from codecs import register_error
from io import BufferedWriter, FileIO, RawIOBase, TextIOWrapper
from typing import Any, BinaryIO, TextIO, cast

from patchq.report.text import displayable, readable

_errors: list[OSError] = []


def write_error() -> OSError | None:
    """What kept a stream from being written to its end; None if it was, or nobody read on."""
    return _errors[0] if _errors else None


def open_closed() -> None:
    """Have all three standard streams, as git does: one that is closed leads nowhere.

    Else the next file that is opened would be taken for it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


class _Outlet(FileIO):
    """Writes to a descriptor; once that takes no more, to nowhere."""

    def write(self, data: object) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                _errors.append(error)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return super().write(data)  # type: ignore[arg-type]


class _TerminalText(TextIOWrapper):
    """Text for a terminal, which shows control characters and does not obey them.

    What is to be obeyed, colours and the like, comes from a console (``patchq.report.terminal``):
    rich writes to ``rich_proxied_file``, past this.
    """

    def __init__(self, outlet: _Outlet, **settings: Any):
        super().__init__(BufferedWriter(outlet), **settings)
        self.rich_proxied_file = TextIOWrapper(BufferedWriter(outlet), **settings)
        self._bytes = _TerminalBytes(self)

    def write(self, text: str) -> int:
        super().write(displayable(text))
        return len(text)

    @property
    def buffer(self) -> BinaryIO:
        return cast(BinaryIO, self._bytes)


class _TerminalBytes(RawIOBase):
    """The same for bytes."""

    def __init__(self, terminal: _TerminalText):
        self._terminal = terminal

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._terminal.write(bytes(data).decode("utf-8", "surrogateescape"))
        return len(data)

    def flush(self) -> None:
        self._terminal.flush()


def _escape(error: UnicodeError) -> tuple[str | bytes, int]:
    r"""What a stream cannot show, as escapes: a byte that is not UTF-8 as ``\xNN``."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = readable(error.object[error.start : error.end])
    encoded = text.encode(error.encoding, "backslashreplace")
    return encoded, error.end


_ESCAPED = "patchq.escaped"
register_error(_ESCAPED, _escape)


def tolerant(stream: TextIO) -> TextIO:
    """``stream`` so that a reader who leaves (``| head``) changes neither work nor exit code.

    What the encoding of a terminal cannot show is escaped: a path or a subject may hold anything.
    """
    if not isinstance(stream, TextIOWrapper):
        return stream
    outlet = _Outlet(stream.fileno(), "w", closefd=False)
    settings: dict[str, Any] = {
        "encoding": stream.encoding,
        "errors": _ESCAPED,
        "line_buffering": stream.line_buffering,
    }
    if stream.isatty():
        return _TerminalText(outlet, **settings)
    return TextIOWrapper(BufferedWriter(outlet), **settings)
