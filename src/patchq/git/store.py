"""The store: a bare repository of our own under ``.patchq/``, with objects lent by others.

What is fetched or imported is kept here. A lender's objects are reached through
``objects/info/alternates`` (gitrepository-layout), so an existing clone serves without a copy
and is never written to. What a command computes on the way (trees, merges) goes to a scratch
object directory that is gone with the process, so that the store does not grow with use.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from patchq.errors import UpstreamError
from patchq.git.apply import Applier
from patchq.git.lender import Lender
from patchq.git.merge import Merger
from patchq.git.objects import Objects
from patchq.git.process import Git, require_version
from patchq.model.lock import Base

# What would otherwise follow the user's or the machine's defaults; `git init` is given no template.
_CONFIG = """\
[core]
\trepositoryFormatVersion = 0
\tbare = true
\tautocrlf = false
\teol = lf
\tfilemode = true
\tsymlinks = true
\tlogAllRefUpdates = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[commit]
\tgpgSign = false
[tag]
\tgpgSign = false
[tar]
\tumask = 0022
"""


@dataclass(frozen=True)
class Store:
    """An open store. Its parts are made when first used."""

    directory: Path
    lender: Lender | None = None

    @cached_property
    def git(self) -> Git:
        """git for questions: what it writes goes to the scratch directory."""
        return Git(self.directory, scratch=self._scratch)

    @cached_property
    def keeper(self) -> Git:
        """git for what stays in the store."""
        return Git(self.directory)

    @cached_property
    def objects(self) -> Objects:
        """Objects by id and path."""
        return Objects(self.git, self._scratch)

    @cached_property
    def _scratch(self) -> Path:
        holder = tempfile.TemporaryDirectory(prefix="patchq-objects-")
        # on the instance: the directory lives as long as the store
        object.__setattr__(self, "_scratch_holder", holder)
        info = Path(holder.name, "info")
        info.mkdir()
        (info / "alternates").write_text(f"{self.directory.absolute() / 'objects'}\n")
        return Path(holder.name)

    @cached_property
    def applier(self) -> Applier:
        """Strict application of diffs."""
        return Applier(self.git, self.objects)

    @cached_property
    def merger(self) -> Merger:
        """Three-way merges."""
        return Merger(self.git, self.objects)

    def resolve(self, revision: str) -> str | None:
        """The id of the commit that ``revision`` (an id or full ref) names in this store."""
        result = self.git.run(
            "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", allow=(0, 1, 128)
        )
        return result.stdout.decode().strip() or None

    def describe(self, commit: str) -> tuple[str, str]:
        """The tree id and the committer date (strict ISO 8601) of a commit."""
        tree, date = self.git.text("show", "-s", "--format=%T%n%cI", commit).split("\n")
        return tree, date

    def require(self, bases: Iterable[Base]) -> None:
        """Check that each base is here and is what the lock says.

        Raises :class:`UpstreamError` naming the base, and both values where they differ.
        """
        for base in bases:
            if not self.objects.has(base.commit):
                raise UpstreamError(
                    f"{base.name} ({base.commit[:12]}) is not in the upstream store",
                    hint=f"Run `patchq fetch {base.name}`"
                    + ("." if base.archive else ", or lend a clone that has it with --upstream."),
                )
            head = self.objects.read(base.commit).split(b"\n", 1)[0].decode()
            tree = head.removeprefix("tree ")
            if tree != base.tree:
                raise UpstreamError(
                    f"{base.name}: the lock says tree {base.tree}, commit {base.commit} has {tree}"
                )
            if not self.objects.has(tree):
                raise UpstreamError(
                    f"{base.name}: tree {tree} is missing from the upstream store",
                    hint="The lender has lost objects; run `patchq fetch`, or lend another clone.",
                )


def open_store(directory: Path, lender: Lender | None = None) -> Store:
    """Open the store at ``directory``, making it where there is none.

    ``lender`` lends its objects from now on; without one, those lent before stay in use as long
    as they are there.
    """
    require_version()
    if not (directory / "HEAD").is_file():
        _create(directory)
    _lend(directory / "objects" / "info" / "alternates", lender)
    return Store(directory, lender)


def _create(directory: Path) -> None:
    directory.parent.mkdir(parents=True, exist_ok=True)
    Git().run("init", "--quiet", "--bare", "--template=", str(directory))
    (directory / "config").write_text(_CONFIG)
    (directory / "HEAD").write_text("ref: refs/heads/unborn\n")


def _lend(alternates: Path, lender: Lender | None) -> None:
    known = alternates.read_text().splitlines() if alternates.is_file() else []
    wanted = [line for line in known if Path(line).is_dir()]
    if lender is not None and str(lender.objects) not in wanted:
        wanted.append(str(lender.objects))
    if wanted != known:
        alternates.parent.mkdir(parents=True, exist_ok=True)
        aside = alternates.with_name("alternates.new")
        aside.write_text("".join(f"{line}\n" for line in wanted))
        aside.replace(alternates)
