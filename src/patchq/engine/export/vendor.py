"""Archives that the user has, in the place of what a build would fetch.

They go into the export as they are, checked against the hash that the project itself gives, and are
unpacked by the build: some projects write into what they fetched.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from patchq.errors import InputError
from patchq.model.verification import Fetched

VENDOR = "vendor"

_TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".txz", ".tar.zst")
_ALGORITHMS = {"MD5", "SHA1", "SHA224", "SHA256", "SHA384", "SHA512"}


@dataclass(frozen=True)
class Vendored:
    """An archive for a source that the build would fetch."""

    source: Fetched
    file: Path

    @property
    def name(self) -> str:
        """Its path in the export."""
        return f"{VENDOR}/{self.source.name}{_ending(self.source.url)}"

    @property
    def unpack(self) -> tuple[str, ...]:
        """The commands that unpack it at the root of the export, as FetchContent would."""
        place = shlex.quote(f"{VENDOR}/{self.source.name}")
        return (
            f"mkdir -p {place}",
            f"tar -xf {shlex.quote(self.name)} --strip-components=1 -C {place}",
        )

    @property
    def options(self) -> tuple[str, ...]:
        """What makes CMake take it (FetchContent, ``FETCHCONTENT_SOURCE_DIR_<uppercaseName>``)."""
        name = self.source.name
        return (f"-DFETCHCONTENT_SOURCE_DIR_{name.upper()}={{cwd}}/{VENDOR}/{name}",)


def find_archives(sources: Sequence[Fetched], directory: Path) -> tuple[Vendored, ...]:
    """The archive in ``directory`` for each of ``sources``, found by its hash, whatever its name.

    Raises :class:`InputError` with every source that has none, its address and hash.
    """
    files = _files(directory)
    known: dict[str, dict[str, Path]] = {}
    found, missing = [], []
    for source in sources:
        algorithm, _, digest = (source.digest or "").partition("=")
        if algorithm.upper() not in _ALGORITHMS:
            missing.append(f"{source.name}: {source.url} has no hash in the project to check it by")
            continue
        if not _ending(source.url):
            missing.append(f"{source.name}: {source.url} is no tar archive")
            continue
        if algorithm not in known:
            known[algorithm] = dict(_digests(files, algorithm))
        file = known[algorithm].get(digest.lower())
        if file is None:
            missing.append(f"{source.name}: {source.url} ({source.digest})")
        else:
            found.append(Vendored(source, file))
    if missing:
        raise InputError(
            f"{directory} lacks {len(missing)} of {len(sources)} sources:\n  "
            + "\n  ".join(missing),
            hint="Put the archives there under any name; they are known by the hash that the "
            "project gives.",
        )
    return tuple(found)


def _files(directory: Path) -> list[Path]:
    if not directory.is_dir():
        raise InputError(
            f"{directory} is not a directory", hint="--vendor names one with archives."
        )
    return sorted(path for path in directory.iterdir() if path.is_file())


def _digests(files: Iterable[Path], algorithm: str) -> Iterator[tuple[str, Path]]:
    for file in files:
        with file.open("rb") as stream:
            yield hashlib.file_digest(stream, algorithm.lower()).hexdigest(), file


def _ending(url: str) -> str:
    return next((end for end in _TARS if url.lower().endswith(end)), "")
