"""Write the patched tree of a series."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from patchq.api.opened import OpenWorkspace, Progress, quiet
from patchq.errors import FindingsError

if TYPE_CHECKING:
    from patchq.engine.export.building import Building
    from patchq.engine.export.export import Beside, Exported
    from patchq.engine.export.prepare import Part, Prepared
    from patchq.model.export_format import ExportFormat

PROOF = "verify.json"
"""What the name of the file ends in that says what was verified of an export."""


class Exporting(OpenWorkspace):
    """See :class:`~patchq.api.Workspace`."""

    def export(
        self,
        series: str,
        to: str | Path,
        *,
        form: ExportFormat | None = None,
        guards: Sequence[str] = (),
        variants: Sequence[str] = (),
        target: str | None = None,
        verify: bool = True,
        progress: Progress = quiet,
    ) -> Exported:
        """Write the patched tree of ``series`` to ``to``; by default in the form of its ending.

        Raises :class:`~patchq.errors.FindingsError` if it does not verify; then nothing is written.
        To export a part, with fuzz, or with what its build fetches: :meth:`prepare`,
        :meth:`building` and :meth:`write_export`.
        """
        prepared = self.prepare(series, guards, variants, target=target)
        proof = partial(self.proof, prepared, progress=progress)
        beside = {PROOF: proof} if verify else {}
        return self.write_export(self.building(prepared), Path(to), form, beside)

    def prepare(
        self,
        series: str | None = None,
        guards: Sequence[str] = (),
        variants: Sequence[str] = (),
        *,
        part: Part | None = None,
        target: str | None = None,
        fuzz: int = 0,
    ) -> Prepared:
        """A series in place, with all that its export is made from; nothing is written yet.

        ``part`` is a directory or a set of ``patchq.yaml``, ``target`` what it is built for, and
        ``fuzz`` how many lines of context need not match.
        """
        from patchq.engine.export.prepare import WHOLE, prepare_export

        selection = self.select(series, guards)
        return prepare_export(self.project, selection, variants, part or WHOLE, target, fuzz)

    def building(
        self, prepared: Prepared, vendor: Path | None = None, wheel_cache: Path | None = None
    ) -> Building:
        """How an export is built; archives from ``vendor``, wheels from ``wheel_cache``."""
        from patchq.engine.export.building import Building
        from patchq.engine.export.vendor import find_archives
        from patchq.engine.export.wheel_cache import look_up

        cache = wheel_cache.resolve() if wheel_cache else None
        vendored = find_archives(prepared.fetched, vendor) if vendor else ()
        return Building(prepared, vendored, look_up(prepared, cache) if cache else {}, cache)

    def write_export(
        self,
        building: Building,
        to: Path,
        form: ExportFormat | None = None,
        beside: Beside | None = None,
    ) -> Exported:
        """Write what was prepared, and the files ``beside`` it by ending, such as :meth:`proof`.

        A function is called while git packs; nothing is written if it raises.
        """
        from patchq.engine.export.export import export_series
        from patchq.model.export_format import ExportFormat

        chosen = form or ExportFormat.of(to)
        return export_series(building.prepared, chosen, to, beside or {}, building.vendored)

    def proof(self, prepared: Prepared, fuzz: int = 0, *, progress: Progress = quiet) -> bytes:
        """The verification of what is to be exported, as the file :data:`PROOF` beside it.

        Raises :class:`~patchq.errors.FindingsError` if it fails; ``say`` hears each failure.
        """
        from patchq.engine.verify.verify import verify_series
        from patchq.report.jsonverification import render_json

        tag, selection = prepared.base.name, prepared.subject.selection
        found = verify_series(prepared.project, selection, progress, fuzz)
        if not found.passed:
            for section in found.sections:
                for failure in section.failures:
                    place = f"{failure.where}: " if failure.where else ""
                    patch = f" ({failure.patch})" if failure.patch else ""
                    self.say(f"{section.name}: {place}{failure.text}{patch}")
            raise FindingsError(
                f"{tag} does not verify; nothing was exported",
                hint=f"`patchq verify {tag}` shows all of it; --no-verify exports it as it is.",
            )
        return render_json(found).encode()
