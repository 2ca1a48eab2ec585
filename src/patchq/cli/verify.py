"""``patchq verify``: prove what can be proved of a series without its hardware."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from patchq.cli import output
from patchq.cli.options import Guards, TagArgument, Variants
from patchq.cli.session import session
from patchq.cli.trusting import TrustUpstream, record_trust
from patchq.errors import InputError
from patchq.model.verification import Outcome


def verify(
    context: typer.Context,
    tag: TagArgument = None,
    guards: Guards = None,
    variants: Variants = None,
    wheel: Annotated[
        Path | None,
        typer.Option("--wheel", metavar="FILE", help="Compare a built wheel with the prediction."),
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(
            "--manifest",
            metavar="FILE",
            help="With --wheel: read this manifest of an export, no workspace.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="NAME", help="With --wheel: the target it is built for."),
    ] = None,
    trust_upstream: TrustUpstream = False,
    torch: Annotated[
        str | None,
        typer.Option(
            "--torch",
            metavar="WHEEL|DIR|-",
            help="With --wheel: the PyTorch that must load it; - reads symbols (nm -D).",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Verify that a series applies, parses and builds right.

    What can be proved without the hardware, in seconds.

    The kernel's CMake project is evaluated with a real CMake for each target of
    series/patchq.yaml, before and after the series and patch by patch. No compiler and no CUDA is
    needed, and CMake runs in a sandbox. Exits 1 if something failed.

    \b
    Examples:
      patchq verify
      patchq verify v0.5.17 --with nemotron
      patchq verify v0.5.17 --json
      patchq verify v0.5.17 --wheel dist/kernel.whl
      patchq verify --wheel dist/kernel.whl --manifest patchq-manifest.json
      patchq verify --wheel dist/kernel.whl --torch torch-2.13.0-cp312-cp312-linux_aarch64.whl
    """
    if torch is not None and wheel is None:
        raise InputError("--torch goes with --wheel", hint="Name the wheel with --wheel FILE.")
    if manifest is not None and wheel is None:
        raise InputError("--manifest goes with --wheel", hint="Name the wheel with --wheel FILE.")
    if wheel is not None and trust_upstream:
        raise InputError("--trust-upstream goes without --wheel")
    if wheel is not None:
        code = _verify_torch(wheel, torch) if torch is not None else 0
        if torch is not None and tag is None and manifest is None:
            return code  # no series is named to compare its architectures with
        built = _verify_wheel(context, tag, guards or (), variants or (), wheel, manifest, target)
        return max(code, built)
    run = session(context)
    tag = tag or run.newest_series
    if trust_upstream:
        record_trust(run, tag)
    with run.progress(f"verifying {tag}") as progress:
        verification = run.api.verify(tag, guards or (), variants or (), progress=progress)
    if as_json:
        from patchq.report.jsonverification import render_json

        typer.echo(render_json(verification), nl=False)
    else:
        from patchq.report.verification import render_verification

        render_verification(verification, output.terminal())
    return 0 if verification.passed else 1


def _verify_wheel(
    context: typer.Context,
    tag: str | None,
    guards: Sequence[str],
    variants: Sequence[str],
    wheel: Path,
    manifest: Path | None,
    target: str | None,
) -> int:
    from patchq.report.wheel import render_wheel

    if manifest is not None:
        from patchq.engine.verify.wheel.check import manifest_predictions, verify_wheel

        report = verify_wheel(wheel, manifest_predictions(manifest), target)
    else:
        api = session(context).api
        report = api.verify_wheel(wheel, tag, guards, variants, target=target)
    render_wheel(report, output.terminal())
    return 0 if report.section.outcome is Outcome.PASSED else 1


def _verify_torch(wheel: Path, torch: str) -> int:
    """Whether the PyTorch that ``torch`` names has all that the wheel needs of it."""
    from patchq.engine.verify.wheel.symbols import exports_of, read_exports, verify_torch
    from patchq.report.wheel import render_torch

    exports = read_exports(sys.stdin.read()) if torch == "-" else exports_of(Path(torch))
    section = verify_torch(wheel, exports)
    render_torch(section, output.terminal())
    return 1 if section.outcome is Outcome.FAILED else 0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)
