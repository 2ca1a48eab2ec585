"""What kind of file is given: compressed files are unpacked, what is no unified diff is refused."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable
from io import BytesIO
from typing import IO, cast

from patchq.errors import InputError, Where
from patchq.model.diff_layout import find_diff

_COMPRESSED: dict[bytes, tuple[str, tuple[str, ...], Callable[[IO[bytes]], IO[bytes]]]] = {
    b"\x1f\x8b": ("gzip", (".gz",), lambda raw: cast("IO[bytes]", gzip.GzipFile(fileobj=raw))),
    b"\xfd7zXZ\0": ("xz", (".xz",), lzma.LZMAFile),
    b"BZh": ("bzip2", (".bz2",), bz2.BZ2File),
}
"""By the bytes that they begin with: what to call them, their endings, what reads them."""

UNPACKED_LIMIT = 256 << 20
"""A file that unpacks to more bytes than this is refused."""

_NOT_A_PATCH = (
    (
        re.compile(rb"\A(?:\xff\xfe|\xfe\xff|[!-~]\0[ -~]\0|\0[!-~]\0[ -~])"),
        "UTF-16 text, as PowerShell's > writes it",
        "Make it again with `git diff --output=FILE`, or convert it: iconv -f UTF-16 -t UTF-8.",
    ),
    (
        re.compile(rb"\A.{257}ustar", re.S),
        "a tar archive",
        "Unpack it, and name the directory or the files.",
    ),
    (
        re.compile(rb"\A# v\d git bundle\n"),
        "a git bundle",
        "Fetch from it into a clone, and name the branch or range with --repo.",
    ),
    (re.compile(rb"\A\x28\xb5\x2f\xfd"), "a file compressed by zstd", "Unpack it: unzstd FILE."),
    (re.compile(rb"\APK\x03\x04"), "a zip archive", "Unpack it and import the patches in it."),
    (
        re.compile(rb"^\x1b\[[\d;]*m(?:diff --git |--- )", re.M),
        "a diff in the colours of a terminal",
        "Make it again with `git diff --no-color`.",
    ),
    (
        re.compile(rb"\A(?:>.*\n)*> ?(?:diff --git |--- ).*\n(?:>.*\n)*\Z"),
        "a diff that a mail quotes",
        "Take the `> ` from its lines, or save the mail that it is from.",
    ),
    (
        re.compile(rb"\A\s*<(?:!doctype|html)\b", re.I),
        "a web page",
        "Download the patch itself: on a forge, the address of the commit or pull request with "
        ".patch or .diff behind it.",
    ),
    (
        re.compile(rb"^\*{15}.*\r?\n\*\*\* \d+(?:,\d+)? \*\*\*\*", re.M),
        "a context diff",
        "Make it again with `diff -u`, or convert it: `filterdiff --format=unified`.",
    ),
)
_GRAPH = re.compile(rb"^(?:[|*\\/_] ?)+ {0,2}diff --git ", re.M)
_NORMAL_DIFF = re.compile(rb"^\d+(?:,\d+)?[acd]\d+(?:,\d+)?\r?\n[<>] ", re.M)


def unpacked(file: str, raw: bytes) -> tuple[bytes, str, str]:
    """The content of a file, its name without the ending of a compression, and what to say of that.

    Raises :class:`InputError` if the file is damaged or too large, or no unified diff.
    """
    title, note = file, ""
    for magic, (what, endings, unpack) in _COMPRESSED.items():
        if raw.startswith(magic):
            try:
                with unpack(BytesIO(raw)) as content:
                    raw = content.read(UNPACKED_LIMIT + 1)
            except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
                raise InputError(f"damaged {what} data: {error}", where=Where(file)) from error
            if len(raw) > UNPACKED_LIMIT:
                raise InputError(
                    f"it unpacks to more than {UNPACKED_LIMIT >> 20} MiB, the most that is read",
                    where=Where(file),
                )
            title = next((file.removesuffix(end) for end in endings if file.endswith(end)), file)
            note = f"compressed by {what}: read what is in it"
            break
    for pattern, what, hint in _NOT_A_PATCH:
        if pattern.search(raw):
            raise InputError(f"this is {what}, not a unified diff", where=Where(file), hint=hint)
    if find_diff(raw) < len(raw):
        return raw, title, note
    if _GRAPH.search(raw):
        raise InputError(
            "this is the output of `git log --graph`, not a unified diff",
            where=Where(file),
            hint="Make it again without the graph: `git log --reverse -p`, or `git format-patch`.",
        )
    if _NORMAL_DIFF.search(raw):
        raise InputError(
            "this is what plain diff(1) writes, not a unified diff",
            where=Where(file),
            hint="Make it again with `diff -u`: without context nothing says where a change goes.",
        )
    return raw, title, note
