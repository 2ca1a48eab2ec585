"""The files that lattice, a fictional inference server with a CUDA kernel package, starts with."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path(__file__).parent / "lattice"
_KERNEL = "lattice-kernel"


def server_sources() -> dict[str, str]:
    """The server's files by their paths."""
    return {path: text for path, text in _files().items() if not path.startswith(_KERNEL)}


def kernel_sources() -> dict[str, str]:
    """The kernel package's files by their paths, all below ``lattice-kernel/``."""
    return {path: text for path, text in _files().items() if path.startswith(_KERNEL)}


def _files() -> dict[str, str]:
    return {
        path.relative_to(_ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(_ROOT.rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    }
