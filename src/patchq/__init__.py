"""patchq: carry a patch series on a fast upstream.

``patchq.Workspace`` is the way to use it from Python; see :mod:`patchq.api`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what type checkers take for true; importing typing takes 10 ms
if TYPE_CHECKING:
    from patchq.api import Workspace as Workspace
    from patchq.errors import PatchqError as PatchqError

__all__ = ["PatchqError", "Workspace", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """The public names, imported when they are first used: importing the package is cheap."""
    if name == "Workspace":
        from patchq.api import Workspace

        return Workspace
    if name == "PatchqError":
        from patchq.errors import PatchqError

        return PatchqError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
