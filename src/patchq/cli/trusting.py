"""``--trust-upstream``: for machines that have no sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from patchq.cli.session import Session

TrustUpstream = Annotated[
    bool,
    typer.Option(
        "--trust-upstream",
        help="Record that this base's CMake code may run without a sandbox if there is none.",
    ),
]


def record_trust(run: Session, tag: str) -> None:
    """Trust exactly the tree that the base ``tag`` has in the lock."""
    base = run.lock.base(tag)
    if run.api.trust(tag):
        path = run.workspace.trust_path.name
        run.notice(f"the CMake code of {tag} (tree {base.tree}) is trusted: recorded in {path}")
