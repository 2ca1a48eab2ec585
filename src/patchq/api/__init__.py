"""The public way to use patchq from Python; the commands themselves go this way.

>>> from patchq import Workspace                                        # doctest: +SKIP
>>> workspace = Workspace.open("downstream")                            # doctest: +SKIP
>>> report = workspace.report(onto="v1.3")                              # doctest: +SKIP
>>> [patch.name for patch in report.needs_review]                       # doctest: +SKIP
['clamp.patch']

Nothing is imported before it is used: most of a short run is spent importing.
"""

from patchq.api.bases import Bases
from patchq.api.exporting import Exporting
from patchq.api.importing import Importing
from patchq.api.opened import Progress as Progress
from patchq.api.questions import Questions
from patchq.api.rebasing import Rebasing


class Workspace(Questions, Rebasing, Importing, Exporting, Bases):
    """A workspace, and what can be asked and done of it.

    Make one with :meth:`open` or :meth:`create`. ``files`` are the files of it. What goes wrong is
    raised as :class:`~patchq.errors.PatchqError` with a message, a place and a hint. ``series`` is
    the newest one wherever it is left out; a patch may be named without its ending.
    """
