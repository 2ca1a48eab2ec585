"""What a search for code that left its place found: proof that it is gone, or a doubt."""

from __future__ import annotations

from dataclasses import dataclass

from patchq.engine.languages.search.containment import Figures
from patchq.git.history import CommitInfo
from patchq.model.ids import TreeId
from patchq.model.words import counted


@dataclass(frozen=True)
class Likest:
    """The place on the new base that has most of some code.

    Code that is too short for its shape to tell is compared ``by_names`` instead.
    """

    path: str
    line: int
    name: str | None
    figures: Figures
    by_names: bool

    @property
    def share(self) -> float:
        """The larger one of the shares that count."""
        return max(self.figures.exact, self.figures.names if self.by_names else self.figures.shape)

    @property
    def text(self) -> str:
        """The place, for messages."""
        return f"{self.name} in {self.path}" if self.name else f"{self.path}:{self.line}"


@dataclass(frozen=True)
class ProofOfAbsence:
    """Proof that the code which some hunks of one file edit is gone from upstream.

    It needs the commit that deleted the code with nothing in its place; the tree that was searched,
    with its number of text files and what it covers of upstream; and the place most like the code
    (None if no file has enough of its names to be compared).
    """

    file: str
    hunks: tuple[int, ...]
    what: str
    whole_file: bool
    commit: CommitInfo
    tree: TreeId
    coverage: str
    searched: int
    likest: Likest | None

    @property
    def text(self) -> str:
        """The search and its figures, for a reviewer."""
        search = f"in {self.coverage} ({counted(self.searched, 'file')})"
        best = self.likest
        if best is None or not best.share:
            return f"nothing like {self.what} {search}"
        other = (
            f"{best.figures.names:.0%} of its names"
            if best.by_names
            else (f"{best.figures.shape:.0%} under other names")
        )
        return (
            f"{search} no file has more than {best.figures.exact:.0%} of {self.what} ({other}), "
            f"which is {best.path}"
        )


@dataclass(frozen=True)
class Doubt:
    """Why there is no proof; the code may be in one of ``places``, the likeliest first."""

    text: str
    places: tuple[str, ...]
