"""Trust in upstream's build code: given to one tree, asked for where there is no sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from patchq.engine.workspace.transaction import Transaction
from patchq.errors import UpstreamError
from patchq.model.lock import Base
from patchq.model.trust import TrustedTree, render_trust
from patchq.model.workspace import Workspace
from patchq.sandbox.runner import NoSandboxError


def is_trusted(workspace: Workspace, base: Base) -> bool:
    """Whether exactly the tree of ``base`` is trusted.

    Raises :class:`~patchq.errors.InputError` if the record is malformed.
    """
    return any(record.tree == base.tree for record in workspace.trust())


def trust(workspace: Workspace, base: Base) -> bool:
    """Record that the tree of ``base`` is trusted; False if it was already.

    Raises as :func:`is_trusted` does, and :class:`~patchq.errors.PatchqError` if the disk
    refuses.
    """
    if is_trusted(workspace, base):
        return False
    transaction = Transaction(workspace, f"verify {base.name} --trust-upstream")
    records = (*workspace.trust(), TrustedTree(base.name, base.tree))
    transaction.write_file(workspace.trust_path, render_trust(records))
    transaction.commit()
    return True


@contextmanager
def sandbox_for(base: Base) -> Iterator[None]:
    """What evaluates the project of ``base``: without a sandbox it fails and says the way out."""
    try:
        yield
    except NoSandboxError as error:
        raise UpstreamError(
            f"there is no sandbox to evaluate the build of {base.name} in: {error.message}",
            hint="Install bubblewrap. Or, if you trust the CMake code of exactly this tree "
            f"({base.tree[:12]}): `patchq verify {base.name} --trust-upstream`.",
        ) from error
