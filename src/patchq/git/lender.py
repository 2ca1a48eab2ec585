"""A repository that lends us its objects, read as files and never opened by git.

It may be a clone, a linked worktree, or a bare directory without a ``config``; that it is shallow
or partial is recognised here, before any work is done.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from patchq.errors import UpstreamError
from patchq.model.ids import ObjectId

_OBJECT = re.compile(r"[0-9a-f]{40}")
_PARTIAL = re.compile(r"^\s*(promisor\s*=\s*true|partialclone\s*=)", re.IGNORECASE | re.MULTILINE)
_REMOTE = re.compile(r"^\s*\[remote [^\n]*\n((?:(?!\s*\[)[^\n]*(?:\n|\Z))*)", re.MULTILINE)
_URL = re.compile(r"^\s*url\s*=\s*(\S+)\s*$", re.IGNORECASE | re.MULTILINE)
_SPECIAL = re.compile(rb"[\x00-\x1f\"\\\\]")
_ESCAPE = re.compile(rb"\\\\([0-7]{3})")
_SHA256 = re.compile(r"^\s*objectformat\s*=\s*sha256", re.IGNORECASE | re.MULTILINE)

_SYMBOLIC_DEPTH = 5
"""How many symbolic refs git follows before it takes them for a loop."""


@dataclass(frozen=True)
class Lender:
    """The git directory of a repository on this machine."""

    directory: Path

    @property
    def objects(self) -> Path:
        """Its object store."""
        return self.directory / "objects"

    @property
    def config(self) -> str:
        """The text of its ``config``, empty if it has none."""
        file = self.directory / "config"
        return file.read_text(errors="replace") if file.is_file() else ""

    @property
    def limits(self) -> tuple[str, ...]:
        """What this repository may lack, in words for the user; empty for a whole clone."""
        limits = []
        if (self.directory / "shallow").is_file():
            limits.append(
                f"{self.directory} is a shallow clone: history is cut off, evidence may be missing "
                "(`git fetch --unshallow` there completes it)"
            )
        promised = any((self.objects / "pack").glob("*.promisor"))
        if promised or _PARTIAL.search(self.config):
            limits.append(
                f"{self.directory} is a partial clone: what it lacks is fetched when it is needed"
            )
        limits.extend(
            f"{self.directory} borrows objects from {gone}, which is not there: objects may be "
            "missing"
            for gone in borrowed(self.objects)
            if not gone.is_dir()
        )
        return tuple(limits)

    @property
    def origin(self) -> str | None:
        """Where it was cloned from, by its ``config``: its first remote, ``origin`` as a rule."""
        found = (_URL.search(section) for section in _REMOTE.findall(self.config))
        return next((str(url.group(1)) for url in found if url), None)

    @property
    def promisor(self) -> str | None:
        """Where a partial clone would fetch what it lacks, by its ``config``."""
        for section in _REMOTE.findall(self.config):
            url = _URL.search(section)
            if url and _PARTIAL.search(section):
                return str(url.group(1))
        return None

    def ref(self, name: str) -> ObjectId | None:
        """The object id that the ref of this full name (``refs/tags/v1``) holds, if any.

        Raises :class:`UpstreamError` if the ref is damaged, or the refs are kept in a form that
        only git can read.
        """
        if (self.directory / "reftable").is_dir():
            raise UpstreamError(
                f"{self.directory} keeps its refs as a reftable",
                hint="Name commits by their id, or fetch from its URL (file://…) instead.",
            )
        target = name
        for _ in range(_SYMBOLIC_DEPTH):
            value = self._value(target)
            if value is None or _OBJECT.fullmatch(value):
                return None if value is None else ObjectId(value)
            if not value.startswith("ref: "):
                break
            target = value.removeprefix("ref: ")
        raise UpstreamError(
            f"ref {name} of {self.directory} is damaged", hint="`git fsck` there says more."
        )

    def refs(self, prefix: str) -> dict[str, ObjectId]:
        """The ids that the refs below ``prefix`` (``refs/patches/main/``) hold, by what follows it.

        Refs that hold no id of their own are left out.
        """
        found: dict[str, ObjectId] = {}
        packed = self.directory / "packed-refs"
        lines = packed.read_text(errors="surrogateescape").split("\n") if packed.is_file() else ()
        for line in lines:
            oid, _, name = line.partition(" ")
            if _OBJECT.fullmatch(oid) and name.startswith(prefix):
                found[name.removeprefix(prefix)] = ObjectId(oid)
        top = self.directory / prefix
        for file in sorted(top.rglob("*")) if top.is_dir() else ():
            value = file.read_text(errors="replace").strip() if file.is_file() else ""
            if _OBJECT.fullmatch(value):
                found[str(file.relative_to(top))] = ObjectId(value)
        return found

    def _value(self, name: str) -> str | None:
        """What a ref holds: loose, or else packed (gitrepository-layout)."""
        loose = self.directory / name
        if loose.is_file():
            return loose.read_text(errors="replace").strip()
        packed = self.directory / "packed-refs"
        if not packed.is_file():
            return None
        match = re.search(
            rf"^([0-9a-f]{{40}}) {re.escape(name)}$",
            packed.read_text(errors="surrogateescape"),
            re.MULTILINE,
        )
        return match.group(1) if match else None

    def tags(self) -> tuple[str, ...]:
        """The names of all tags, loose and packed (gitrepository-layout)."""
        start = self.directory / "refs" / "tags"
        loose = {str(file.relative_to(start)) for file in start.rglob("*") if file.is_file()}
        packed = self.directory / "packed-refs"
        text = packed.read_text(errors="surrogateescape") if packed.is_file() else ""
        return tuple(sorted(loose | set(re.findall(r"^[0-9a-f]{40} refs/tags/(.+)$", text, re.M))))

    def head(self) -> str | None:
        """The full name of the branch that HEAD points to, None if HEAD is detached."""
        text = (self.directory / "HEAD").read_text().strip()
        return text.removeprefix("ref: ") if text.startswith("ref: ") else None


def borrowed(objects: Path) -> tuple[Path, ...]:
    """The object stores that the one at ``objects`` borrows from (gitrepository-layout)."""
    alternates = objects / "info" / "alternates"
    lines = alternates.read_bytes().split(b"\n") if alternates.is_file() else []
    named = (line for line in lines if line and line[:1] != b"#")
    return tuple(objects / os.fsdecode(_unquoted(line)) for line in named)


def quoted_if_odd(path: bytes) -> bytes:
    """A path as a line of ``objects/info/alternates``; quoted if git would misread it."""
    if b"\n" not in path and path[:1] not in (b"#", b'"'):
        return path
    return b'"%b"' % _SPECIAL.sub(lambda match: b"\\%03o" % match[0][0], path)


def _unquoted(line: bytes) -> bytes:
    if not (line.startswith(b'"') and line.endswith(b'"')):
        return line
    return _ESCAPE.sub(lambda match: bytes([int(match[1], 8)]), line[1:-1])


def find_lender(path: Path) -> Lender:
    """The repository at ``path``: a work tree, a git directory, or a bare repository.

    Raises :class:`UpstreamError` if there is none, or where its object ids are not ours.
    """
    directory = _common_directory(_git_directory(path.resolve()))
    lender = Lender(directory)
    if _SHA256.search(lender.config):
        raise UpstreamError(
            f"{lender.directory} uses SHA-256 object ids; patchq works on SHA-1 repositories"
        )
    return lender


def _git_directory(path: Path) -> Path:
    dot_git = path / ".git"
    if dot_git.is_dir():
        return dot_git
    if dot_git.is_file():
        text = dot_git.read_text().strip()
        return (path / text.removeprefix("gitdir: ")).resolve()
    if (path / "objects").is_dir() and (path / "HEAD").is_file():
        return path
    if (path / "commondir").is_file():
        return path
    raise UpstreamError(
        f"{path} is not a git repository",
        hint="Point --upstream (or PATCHQ_UPSTREAM) at a clone or a bare mirror of the upstream.",
    )


def _common_directory(directory: Path) -> Path:
    """A linked worktree keeps its objects in the main repository (gitrepository-layout)."""
    pointer = directory / "commondir"
    return (directory / pointer.read_text().strip()).resolve() if pointer.is_file() else directory
