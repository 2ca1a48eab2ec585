"""Bring many patches in: in the order that they need, and every one of them accounted for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from patchq.engine.importing.fit import AllThereError, NoFitError
from patchq.engine.importing.given.read import Given, Notice
from patchq.engine.importing.importing import Imported, Importer
from patchq.errors import InputError, Where
from patchq.model.nearest import near_names

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class FailedImport:
    """A patch that did not come in, and why."""

    given: Given
    error: InputError


@dataclass(frozen=True)
class Batch:
    """What became of each patch; ``notices`` are about their order, or about none of them."""

    imported: tuple[Imported, ...]
    failures: tuple[FailedImport, ...]
    there: tuple[FailedImport, ...]
    notices: tuple[Notice, ...]


def bring_all(importer: Importer, patches: Sequence[Given], progress: Progress) -> Batch:
    """Put ``patches`` on top of the series.

    They come in the order of their series file, of ``[n/m]`` in their subjects, or as given. One
    that does not fit is tried again behind those that follow it: what it stands on may come with
    them.
    """
    ordered, notices = in_order(patches)
    imported: list[Imported] = []
    there: list[FailedImport] = []
    failed: dict[int, FailedImport] = {}
    met: dict[int, int] = {}
    done = 0

    def take(number: int, given: Given) -> bool:
        try:
            imported.append(importer.bring(given))
        except AllThereError as error:
            there.append(FailedImport(given, error))
        except InputError as error:
            failed[number], met[number] = FailedImport(given, error), len(imported)
            return False
        return True

    for number, given in enumerate(ordered):
        progress(done + 1, len(ordered), given.name)
        done += take(number, given)
    again = True
    while again:
        again = False
        for number, failure in list(failed.items()):
            before = imported[met[number] :]
            if _may_fit(failure.error, before) and take(number, failure.given):
                del failed[number]
                again = True
                if imported[-1] is not before[-1]:
                    text = f"needs what comes with a later one: put behind {before[-1].patch.name}"
                    notices.append(Notice(Where(failure.given.place), text))
    written = importer.written(imported)
    notices += _unmet(importer, written)
    return Batch(written, tuple(failed.values()), tuple(there), tuple(notices))


def _may_fit(error: InputError, since: Sequence[Imported]) -> bool:
    """Whether a patch that was refused may fit now that others have come in."""
    if not isinstance(error, NoFitError) or not since:
        return False
    stands_on = error.stands_on
    return stands_on is None or any(not stands_on.isdisjoint(one.patch.paths) for one in since)


def _unmet(importer: Importer, imported: Sequence[Imported]) -> Iterator[Notice]:
    """What is to be said of an ``X-Requires`` that names no patch before its own."""
    names, tag = importer.names, importer.tag
    for each in imported:
        own, required = each.patch.name, each.patch.header.requires
        for name in required:
            if name in names[: names.index(own)] or name in importer.provided:
                continue
            if name in names:
                words = "comes after it" if name != own else "is the patch itself"
                words += f": `patchq move` puts it before {own}" if name != own else ""
            else:
                words = "names no patch of the series"
                if near := next((n for n in near_names(name, names) if n != own), None):
                    meant = ", ".join(near if word == name else word for word in required)
                    words += (
                        f"; is it {near}? `patchq header {own} --tag {tag} "
                        f"--set 'X-Requires: {meant}'`"
                    )
            yield Notice(Where(each.source), f"X-Requires: {name} {words}")


def in_order(patches: Sequence[Given]) -> tuple[list[Given], list[Notice]]:
    """The patches by the ``[n/m]`` of their subjects, if all of them have one of their own.

    A series file says itself in which order its patches come.
    """
    if any(given.strip is not None for given in patches):
        return list(patches), []
    numbers = [given.number for given in patches if given.number is not None]
    ordered = list(patches)
    if len(numbers) != len(patches) or len(set(numbers)) != len(numbers):
        return ordered, []
    ordered.sort(key=lambda given: given.number or 0)
    if ordered == list(patches):
        return ordered, []
    names = ", ".join(given.name for given in ordered)
    text = f"put in the order that their subjects give, [n/m]: {names}"
    return ordered, [Notice(Where(ordered[0].place.partition(",")[0]), text)]
