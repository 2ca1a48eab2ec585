"""What an export is written as, and what a build of it runs in."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from patchq.errors import InputError


class ExportFormat(Enum):
    """What an export is written as."""

    DIRECTORY = "dir"
    TAR = "tar"
    TAR_GZ = "tar.gz"
    TAR_XZ = "tar.xz"
    TAR_ZST = "tar.zst"
    ZIP = "zip"
    PATCHES = "patches"
    QUILT = "quilt"
    GIT = "git"

    @classmethod
    def of(cls, target: Path | None) -> ExportFormat:
        """What the name of ``target`` asks for by its ending: a tarball, else a directory.

        Raises :class:`InputError` for the ending of an archive that is none of these forms.
        """
        name = target.name if target else ""
        ending = _archive_ending(name)
        if ending in _ENDINGS:
            return _ENDINGS[ending]
        if ending is not None:
            raise InputError(
                f"{name}: {ending} is no form of an export",
                hint=f"Take one of {', '.join(PACKED_ENDINGS)}; --format dir makes a directory "
                "of this name.",
            )
        return _ELSE

    def at(self, target: Path | None) -> ExportFormat:
        """This form, which was asked for.

        Raises :class:`InputError` if the name of ``target`` says another one. A directory may have
        any name.
        """
        ending = _archive_ending(target.name) if target else None
        if target is None or ending is None or self is _ELSE or _ENDINGS.get(ending) is self:
            return self
        raise InputError(
            f"{target.name} is no name of what --format {self.value} writes",
            hint=("Leave --format out, or name" if ending in _ENDINGS else "Name")
            + f" it {target.name[: -len(ending)]}{self.ending}.",
        )

    @property
    def is_packed(self) -> bool:
        """Whether it is one file."""
        return self.value.startswith("tar") or self is ExportFormat.ZIP

    @property
    def is_compressed(self) -> bool:
        """Whether it is a tar that is compressed as a whole."""
        return self.value.startswith("tar.")

    @property
    def compression(self) -> str:
        """What the tar is compressed with."""
        return self.value.removeprefix("tar.")

    @property
    def is_of_whole_tree(self) -> bool:
        """Whether a part of the tree cannot be had in it."""
        return self in (ExportFormat.QUILT, ExportFormat.GIT, ExportFormat.PATCHES)

    @property
    def has_attributes(self) -> bool:
        """Whether attributes of the tree's files count in it, as in a ``git archive``."""
        return self not in (ExportFormat.GIT, ExportFormat.PATCHES)

    @property
    def ending(self) -> str:
        """What a name of this form ends in."""
        return f".{self.value}" if self.is_packed or self is ExportFormat.GIT else ""


_ELSE = ExportFormat.DIRECTORY
_ENDINGS = {
    ".tar": ExportFormat.TAR,
    ".zip": ExportFormat.ZIP,
    ".tar.gz": ExportFormat.TAR_GZ,
    ".tgz": ExportFormat.TAR_GZ,
    ".tar.xz": ExportFormat.TAR_XZ,
    ".txz": ExportFormat.TAR_XZ,
    ".tar.zst": ExportFormat.TAR_ZST,
    ".tzst": ExportFormat.TAR_ZST,
}
PACKED_ENDINGS = tuple(_ENDINGS)
_OTHER_ARCHIVES = (
    ".tar.bz2",
    ".tbz2",
    ".tbz",
    ".tar.lz",
    ".tar.lzma",
    ".tar.z",
    ".7z",
    ".rar",
    ".bz2",
    ".gz",
    ".xz",
    ".zst",
    ".lz",
    ".lz4",
    ".lzma",
    ".lzo",
    ".br",
    ".jar",
    ".cab",
    ".cpio",
    ".ar",
    ".iso",
    ".squashfs",
    ".deb",
    ".rpm",
    ".dsc",
    ".whl",
)


def _archive_ending(name: str) -> str | None:
    """The ending of an archive that a name has, None if it has none."""
    lower = name.lower()
    return next((end for end in (*_ENDINGS, *_OTHER_ARCHIVES) if lower.endswith(end)), None)


class BuildMode(Enum):
    """What a build runs in."""

    VENV = "venv"  # a new environment, PyTorch installed as pinned
    IMAGE = "image"  # a machine or image that has PyTorch
    CONTAINER = "container"  # a container file
