"""Standard output and error that outlive their reader."""

from __future__ import annotations

import os
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TextIO, cast


class _Outlet(FileIO):
    """Writes to a descriptor; once nobody reads it any more, to nowhere."""

    def write(self, data: object) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return super().write(data)  # type: ignore[arg-type]


def tolerant(stream: TextIO) -> TextIO:
    """``stream`` so that a reader who leaves (``| head``) changes neither work nor exit code.

    What the encoding of a terminal cannot show is escaped: a path or a subject may hold anything.
    """
    if not isinstance(stream, TextIOWrapper):
        return stream
    outlet = _Outlet(stream.fileno(), "w", closefd=False)
    return cast(
        TextIO,
        TextIOWrapper(
            BufferedWriter(outlet),
            encoding=stream.encoding,
            errors="backslashreplace",
            line_buffering=stream.line_buffering,
        ),
    )
