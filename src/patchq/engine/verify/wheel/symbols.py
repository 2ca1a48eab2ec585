"""Whether a built wheel can be loaded with a PyTorch: what it needs of it, and what that exports.

PyTorch's C++ interface changes between releases; a library that was built against another one fails
when it is loaded, with an undefined symbol. Both sides stand in the dynamic symbol tables (System V
ABI, "Symbol Table"; names in the Itanium C++ ABI, "Mangling").
"""

from __future__ import annotations

import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from patchq.errors import InputError, Where
from patchq.model.verification import Failure, Remark, Section

NAME = "torch"

# names in PyTorch's namespaces, tables and guards of them included; and its C interfaces
_OF_TORCH = re.compile(
    r"_Z(?:GV|T[ISTV])?N[rVK]*[RO]?(?:3c10|2at|5torch|6caffe2)(?=[0-9A-Za-z])"
    r"|aoti_torch_|torch_|THP"
)
_QUALIFIERS = re.compile(r"_Z(?:GV|T[ISTV])?N[rVK]*[RO]?")
_BROKEN = (ELFError, OSError, zipfile.BadZipFile, zlib.error, ValueError, RuntimeError)
_LIBRARIES = "torch/lib/"
_MARK = "libc10.so"


@dataclass(frozen=True)
class Needed:
    """What one library needs of PyTorch; ``machine`` is the ELF name of its processor."""

    path: str
    machine: str
    symbols: frozenset[str]


@dataclass(frozen=True)
class Exports:
    """The symbols that a PyTorch exports; ``machine`` is None if nothing says for what it is."""

    name: str
    symbols: frozenset[str]
    machine: str | None = None


@dataclass
class _Table:
    machine: str
    defined: set[str] = field(default_factory=set)
    undefined: set[str] = field(default_factory=set)


def verify_torch(wheel: Path, torch: Exports) -> Section:
    """Every symbol that the libraries of ``wheel`` need of PyTorch is one that ``torch`` exports.

    Raises :class:`InputError` if ``wheel`` is none.
    """
    return compare_symbols(wheel.name, needed_by(wheel), torch)


def compare_symbols(wheel: str, needed: Iterable[Needed], torch: Exports) -> Section:
    """The comparison as a section of a verification."""
    libraries = tuple(needed)
    failures = []
    for library in libraries:
        if torch.machine is not None and library.machine != torch.machine:
            text = f"{library.path} is for {library.machine}, {torch.name} for {torch.machine}"
            failures.append(Failure(text, Where(wheel)))
            continue
        for symbol in sorted(library.symbols - torch.symbols):
            text = f"{library.path} needs {readable(symbol)}, which {torch.name} does not export"
            failures.append(Failure(text, Where(wheel)))
    count = len({symbol for library in libraries for symbol in library.symbols})
    notes = [Remark(f"{library.path}: {len(library.symbols)} symbols") for library in libraries]
    summary = f"{wheel} needs {count} symbols of PyTorch; " + (
        f"{torch.name} exports all of them"
        if not failures
        else f"it does not fit {torch.name}: {len(failures)} failures"
    )
    return Section(NAME, summary, tuple(failures), tuple(notes), skipped=not libraries)


def needed_by(wheel: Path) -> tuple[Needed, ...]:
    """What each library of ``wheel`` needs of PyTorch, by path; those that need nothing left out.

    Weak symbols may be missing, so they do not count. Raises :class:`InputError` for no wheel.
    """
    found = []
    for path, table in _tables_in(wheel, ""):
        symbols = frozenset(filter(_OF_TORCH.match, table.undefined))
        if symbols:
            found.append(Needed(path, table.machine, symbols))
    return tuple(found)


def exports_of(place: Path) -> Exports:
    """What a PyTorch exports: a wheel, or the directory in which one is installed.

    Raises :class:`InputError` if it is neither.
    """
    if place.is_dir():
        directory = _library_directory(place)
        tables = list(_tables_of(sorted(directory.glob("*.so*"))))
        name = str(place)
    else:
        tables = [table for _, table in _tables_in(place, _LIBRARIES)]
        name = place.name
    if not tables:
        raise InputError(
            f"it has no libraries in {_LIBRARIES}",
            where=Where(str(place)),
            hint="Give a wheel of PyTorch, the directory it is installed in, or - for symbols.",
        )
    symbols = frozenset(symbol for table in tables for symbol in table.defined)
    return Exports(name, symbols, tables[0].machine)


def read_exports(text: str) -> Exports:
    """The symbols that ``nm -D --defined-only`` prints, or names, one a line.

    Raises :class:`InputError` if none of them is one of PyTorch.
    """
    symbols = set()
    for line in text.splitlines():
        words = line.split()
        if words and not words[-1].endswith(":") and (len(words) < 2 or words[-2] not in "Uuvw"):
            symbols.add(words[-1].partition("@")[0])
    if not any(map(_OF_TORCH.match, symbols)):
        raise InputError(
            "standard input has no symbol of PyTorch",
            hint="In the image: `nm -D --defined-only $(python3 -c "
            "'import torch; print(torch.__path__[0])')/lib/*.so | patchq verify --wheel FILE "
            "--torch -`.",
        )
    return Exports("standard input", frozenset(symbols))


def readable(symbol: str) -> str:
    """The nested name in a mangled one, and the whole of it: arguments tell overloads apart."""
    match = _QUALIFIERS.match(symbol)
    names, rest = [], symbol[match.end() :] if match else ""
    while part := re.match(r"(\d+)", rest):
        end = part.end() + int(part[1])
        names.append(rest[part.end() : end])
        rest = rest[end:]
    if rest.startswith(("C1", "C2")) and names:
        names.append(names[-1])
    return f"{'::'.join(names)} ({symbol})" if names else symbol


def _library_directory(place: Path) -> Path:
    candidates = [place, place / "lib", place / "torch" / "lib"]
    found = next((path for path in candidates if (path / _MARK).is_file()), None)
    if found is None:
        raise InputError(
            f"there is no {_MARK} in it",
            where=Where(str(place)),
            hint="Give the directory that PyTorch is installed in: its lib has the libraries.",
        )
    return found


def _tables_of(files: Iterable[Path]) -> Iterator[_Table]:
    for file in files:
        with _readable(str(file)), file.open("rb") as stream:
            if stream.read(4) == b"\x7fELF":  # a linker script may have the same ending
                yield _table(stream)


def _tables_in(wheel: Path, below: str) -> Iterator[tuple[str, _Table]]:
    with _readable(str(wheel)), zipfile.ZipFile(wheel) as packed:
        for name in sorted(packed.namelist()):
            base = name.rpartition("/")[2]
            if name.startswith(below) and (base.endswith(".so") or ".so." in base):
                # on disk: a library of PyTorch has hundreds of megabytes
                with tempfile.TemporaryFile() as unpacked:
                    with packed.open(name) as stream:
                        shutil.copyfileobj(stream, unpacked, 1 << 20)
                    yield name, _table(unpacked)


def _table(stream: IO[bytes]) -> _Table:
    stream.seek(0)
    library = ELFFile(stream)
    table = _Table(library.get_machine_arch())
    section = library.get_section_by_name(".dynsym")
    if not isinstance(section, SymbolTableSection):
        raise ELFError("it has no dynamic symbols")
    for symbol in section.iter_symbols():
        if symbol["st_shndx"] != "SHN_UNDEF":
            table.defined.add(symbol.name)
        elif symbol.name and symbol["st_info"]["bind"] != "STB_WEAK":
            table.undefined.add(symbol.name)
    return table


@contextmanager
def _readable(file: str) -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise InputError(f"cannot be read: {error}", where=Where(file)) from error
