"""The pins as files for installers: constraints, and overrides of what upstream pins otherwise.

A constraint that upstream's own requirement does not allow has no solution. uv takes such a pin as
an override, in the place of every requirement of that package; pip has nothing of the kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from patchq.engine.export.prepare import Prepared
from patchq.engine.verify.pins import Compared
from patchq.engine.verify.runtime import TORCH
from patchq.model.pins import Pin

CONSTRAINTS = "constraints.txt"
OVERRIDES = "overrides.txt"


def pin_files(prepared: Prepared) -> dict[str, bytes]:
    """The files of the pins that hold, by name; one that would be empty is left out."""
    rows = [row for row in _rows(prepared) if row.pin.source is None]
    others = [row.pin for row in _rows(prepared) if row.pin.source is not None]
    constraints = [row for row in rows if not _overrides(row)]
    overrides = [row for row in rows if _overrides(row)]
    files = {}
    if constraints or others:
        lines = [*_constraints(constraints), *(f"# {pin.name}{pin.specifier}" for pin in others)]
        files[CONSTRAINTS] = _text(lines)
    if overrides:
        files[OVERRIDES] = _text(_override_lines(overrides))
    return files


def install_options(names: Sequence[str]) -> str:
    """What an installer takes the files ``names`` by; overrides are understood by uv alone."""
    options = {CONSTRAINTS: f"-c {CONSTRAINTS}", OVERRIDES: f"--override {OVERRIDES}"}
    return " ".join(option for name, option in options.items() if name in names)


def _rows(prepared: Prepared) -> tuple[Compared, ...]:
    """The recipe's pins, and PyTorch as the target has it if that is its own choice."""
    runtime, asked = prepared.runtime, prepared.requirements
    pinned = any(row.pin.name == TORCH for row in prepared.pins)
    if runtime is None or runtime.torch is None or not runtime.own or pinned:
        return prepared.pins
    pin = Pin(
        TORCH,
        f"=={runtime.torch}",
        reason=f"what {runtime.target.name} is built against",
        index=runtime.torch_index,
    )
    return (Compared(pin, asked.asked.get(TORCH), asked.known), *prepared.pins)


def _overrides(row: Compared) -> bool:
    # to pip, a hash in a constraint asks for hashes of everything
    return not row.fits or bool(row.pin.sha256 or row.pin.index)


def _constraints(rows: Sequence[Compared]) -> Iterator[str]:
    for row in rows:
        if row.pin.reason:
            yield f"# {row.pin.reason}"
        yield f"{row.pin.name}{row.pin.specifier}"


def _override_lines(rows: Sequence[Compared]) -> Iterator[str]:
    """Requirements as uv takes them: an override replaces extras and marker, so both are kept."""
    for index in dict.fromkeys(row.pin.index for row in rows if row.pin.index):
        yield f"--extra-index-url {index}"
    for row in rows:
        asked = row.asked
        said = [row.pin.reason] if row.pin.reason else []
        if asked and not row.fits:
            said.append(f"upstream has {asked.specifier}")
        if said:
            yield f"# {'; '.join(said)}"
        extras = f"[{','.join(sorted(asked.extras))}]" if asked and asked.extras else ""
        line = f"{row.pin.name}{extras}{row.pin.specifier}"
        if asked and asked.marker:
            line += f" ; {asked.marker}"
        yield " ".join([line, *(f"--hash=sha256:{digest}" for digest in row.pin.sha256)])


def _text(lines: Sequence[str] | Iterator[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
