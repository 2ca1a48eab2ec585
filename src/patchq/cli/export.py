"""``patchq export``: write a patched source tree, the same bytes from the same inputs."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from patchq.api.exporting import PROOF
from patchq.cli.options import Guards, TagArgument, Variants
from patchq.cli.output import refuse_series
from patchq.cli.session import Session, session
from patchq.cli.trusting import TrustUpstream, record_trust
from patchq.errors import InputError
from patchq.model.export_format import BuildMode, ExportFormat
from patchq.model.words import counted, some
from patchq.scratch import scratch_root

if TYPE_CHECKING:
    from patchq.engine.export.building import Building
    from patchq.engine.export.export import Exported
    from patchq.engine.export.prepare import Prepared

_STDOUT = Path("-")

Proof = Callable[..., bytes]
"""Verifies what is to be exported, with the words for how far it is; raises if that fails."""


def export(
    context: typer.Context,
    tag: TagArgument = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="Where to; `-` is standard output. Default: ./NAME-TAG-patched.",
        ),
    ] = None,
    form: Annotated[
        ExportFormat | None,
        typer.Option(
            "--format", help="Default: what PATH ends in; a directory if it says nothing."
        ),
    ] = None,
    guards: Guards = None,
    variants: Variants = None,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="NAME", help="What it is built for; default: the first."),
    ] = None,
    subdir: Annotated[
        str | None, typer.Option("--subdir", metavar="DIR", help="Only this part of the tree.")
    ] = None,
    of_set: Annotated[
        str | None,
        typer.Option("--set", metavar="NAME", help="Only the paths of this set of patchq.yaml."),
    ] = None,
    vendor: Annotated[
        Path | None,
        typer.Option("--vendor", metavar="DIR", help="Take archives of what the build fetches."),
    ] = None,
    wheel_cache: Annotated[
        Path | None,
        typer.Option("--wheel-cache", metavar="DIR", help="Say which wheels need no new build."),
    ] = None,
    fuzz: Annotated[
        int,
        typer.Option(
            "--fuzz", metavar="N", min=0, max=3, help="Lines of context that need not match."
        ),
    ] = 0,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Do not verify the series before.")
    ] = False,
    trust_upstream: TrustUpstream = False,
    print_build: Annotated[
        bool,
        typer.Option("--print-build", help="Print how the export is built; write nothing."),
    ] = False,
    mode: Annotated[
        BuildMode,
        typer.Option(
            "--build-mode",
            help="With --print-build: a new environment, an image with PyTorch, a container file.",
        ),
    ] = BuildMode.VENV,
    json: Annotated[bool, typer.Option("--json", help="Say what was written as JSON.")] = False,
) -> None:
    """Write a tag's patched source tree.

    As a directory, an archive, a quilt series, a git branch or patches alone.

    The patches are applied strictly, in order, and the series is verified. The same series, lock
    and guards give the same tar everywhere; the tree's patchq-manifest.json names what it was made
    from, PATH.verify.json what was verified.

    \b
    Examples:
      patchq export v0.5.17
      patchq export v0.5.17 -o tree.tar.zst
      patchq export v0.5.17 -o build/tree --with nemotron
      patchq export v0.5.17 --set kernel -o - | ssh spark tar -x
      patchq export v0.5.17 --format git -o tree.git
      patchq export v0.5.17 --print-build --build-mode container
    """
    from patchq.engine.export.building import render_build
    from patchq.engine.export.prepare import Part, default_name
    from patchq.engine.export.publish import check_place

    if subdir is not None and of_set is not None:
        raise InputError("--subdir and --set name two parts of the tree; take one")
    run = session(context)
    tag = tag or run.newest_series
    streamed = to == _STDOUT
    chosen = _form(form, to)
    place = to or Path(default_name(run.lock, tag) + chosen.ending)
    if not (streamed or print_build):
        refuse_series(place, "an export")
        check_place(place, chosen)
    if trust_upstream:
        record_trust(run, tag)
    part = Part(subdir, of_set)
    prepared = run.api.prepare(
        tag, guards or (), variants or (), part=part, target=target, fuzz=fuzz
    )
    if prepared.left_out:
        run.notice(f"left out, as {tag} does not cover them: {', '.join(prepared.left_out)}")
    for guard in sorted(prepared.subject.selection.guards):
        if meaning := run.settings.guards.get(guard):
            run.notice(f"{guard}: {meaning}")
    for step in prepared.subject.steps:
        if step.fuzz:
            run.notice(f"{step.patch.name} was applied with fuzz {step.fuzz}: look at its result")
    building = _building(run, prepared, vendor, wheel_cache)
    if print_build:
        typer.echo(render_build(building, mode), nl=False)
        return
    proof = None if no_verify else partial(run.api.proof, prepared, fuzz)
    if streamed:
        if json:
            raise InputError("--json and -o - both write to standard output; take one")
        _stream(run, building, chosen, proof)
        return
    exported = _write(run, building, chosen, place, proof)
    _say(run, exported, place, prepared, json=json)


def _form(form: ExportFormat | None, to: Path | None) -> ExportFormat:
    if to != _STDOUT:
        return ExportFormat.of(to) if form is None else form.at(to)
    chosen = form or ExportFormat.TAR
    if not chosen.is_packed:
        raise InputError(
            f"--format {chosen.value} is not a single file, and standard output takes one",
            hint="Take --format tar, tar.gz, tar.xz, tar.zst or zip, or name a place with -o.",
        )
    return chosen


def _building(
    run: Session, prepared: Prepared, vendor: Path | None, wheel_cache: Path | None
) -> Building:
    """What the build takes from elsewhere, said on the way."""
    building = run.api.building(prepared, vendor, wheel_cache)
    for wheel in (building.cached or {}).values():
        run.notice(wheel.text)
    return building


def _write(
    run: Session, building: Building, form: ExportFormat, place: Path, proof: Proof | None
) -> Exported:
    with run.progress(f"exporting {building.prepared.base.name}") as progress:
        beside = {PROOF: partial(proof, progress=progress)} if proof else {}
        return run.api.write_export(building, place, form, beside)


def _stream(run: Session, building: Building, form: ExportFormat, proof: Proof | None) -> None:
    """Write one file to standard output; what would go beside it is left out."""
    with tempfile.TemporaryDirectory(prefix="export-", dir=scratch_root()) as scratch:
        place = Path(scratch, "export")
        exported = _write(run, building, form, place, proof)
        with place.open("rb") as content:
            shutil.copyfileobj(content, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    _say_packing(run, exported, building.prepared)
    run.notice(f"{exported.series}: sha256 {exported.file_sha256}")


def _say(run: Session, exported: Exported, place: Path, prepared: Prepared, *, json: bool) -> None:
    from patchq.engine.export.constraints import OVERRIDES, install_options, pin_files
    from patchq.engine.export.export import render_record

    _say_packing(run, exported, prepared)
    for remark in prepared.outside:
        run.notice(f"cannot be built alone: {remark}")
    if json:
        typer.echo(render_record(exported), nl=False)
        return
    guarded = f" (with {', '.join(exported.guards)})" if exported.guards else ""
    typer.echo(f"{exported.series} with {counted(len(exported.patches), 'patch')}{guarded}")
    if off := exported.guarded_off:
        typer.echo(f"guarded off {', '.join(map(str, off))}")
    typer.echo(f"tree        {exported.tree}")
    typer.echo(f"written to  {place}")
    if exported.file_sha256 is not None:
        typer.echo(f"sha256      {exported.file_sha256}")
    files = () if prepared.part.of or exported.form.is_of_whole_tree else pin_files(prepared)
    if files:
        alone = " (pip knows no overrides: uv does)" if OVERRIDES in files else ""
        typer.echo(
            f"pins        in {' and '.join(files)} of the tree; what is built from it is installed "
            f"with them:\n            uv pip install WHEEL {install_options(tuple(files))}{alone}"
        )


def _say_packing(run: Session, exported: Exported, prepared: Prepared) -> None:
    """Which files attributes left out or changed, those of a patch first."""
    packing = exported.packing
    ours = {path for step in prepared.subject.steps for path in step.patch.paths}
    for paths, what in (
        (packing.left_out, "left out by export-ignore in the tree's .gitattributes"),
        (packing.changed, "with other bytes than in the tree, by its .gitattributes"),
    ):
        if paths:
            first = sorted(paths, key=lambda path: path not in ours)
            patched = sum(path in ours for path in paths)
            of_ours = f" ({patched} of them changed by a patch)" if patched else ""
            run.notice(f"{counted(len(paths), 'file')} {what}{of_ours}: {some(first)}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export)
