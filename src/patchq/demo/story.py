"""The demo: lattice's downstream through two upstream releases, told in patchq's own commands."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from patchq.demo import series, upstream
from patchq.errors import Where
from patchq.model.series import Series, read_series


@dataclass(frozen=True)
class StoryStep:
    """One command of the story, and what to look at in its output."""

    words: str
    command: tuple[str, ...]
    exit_code: int = 0


def set_up(directory: Path) -> Path:
    """Build the miniature upstream and the downstream's patches below ``directory``.

    Returns the (empty) directory that is to become the workspace.
    """
    upstream.build(directory / "upstream.git")
    patches = directory / "patches"
    patches.mkdir()
    with tempfile.TemporaryDirectory(prefix="patchq-demo-") as scratch:
        for name, content in series.downstream(Path(scratch, "store.git")).items():
            (patches / name).write_bytes(content)
    workspace = directory / "workspace"
    workspace.mkdir()
    return workspace


def steps(directory: Path) -> list[StoryStep]:
    """The story, in order; commands run with ``workspace`` as their workspace."""
    patches = directory / "patches"
    first, second, third = upstream.TAGS
    listed = read_series((patches / "series").read_bytes(), Where("series"))
    return [
        StoryStep(
            "A workspace beside the upstream; its clone lends the objects.",
            ("init", str(directory / "workspace"), "--upstream", str(directory / "upstream.git")),
        ),
        StoryStep("Pin the releases.", ("lock", first, second, third)),
        *_imports(patches, listed, first),
        StoryStep("The downstream's series.", ("list", first)),
        StoryStep(
            f"{second} is out: the kernel tree moved, one PR was merged, one merged and reverted.",
            ("rebase", "--onto", second),
        ),
        StoryStep("Prove what can be proved without the hardware.", ("verify", second)),
        StoryStep(
            f"Ship {second}: the same bytes on every machine.",
            ("export", second, "-o", str(directory / f"lattice-{second}.tar.gz")),
        ),
        StoryStep(
            "Every patch on every release, as a page.",
            ("report", "--all", "--format", "html", "-o", str(directory / "lifecycle.html")),
        ),
        StoryStep(
            f"{third} reshaped the build: this needs review. It says which lines collide, and why.",
            ("rebase", "--onto", third),
            exit_code=1,
        ),
    ]


def _imports(patches: Path, listed: Series, tag: str) -> list[StoryStep]:
    plain = [str(patches / entry.name) for entry in listed.entries if not entry.guards]
    guarded = [entry for entry in listed.entries if entry.guards]
    return [
        StoryStep("Bring the patches in.", ("import", *plain, "--tag", tag)),
        *(
            StoryStep(
                "One of them is an experiment: a guard keeps it out unless asked for.",
                (
                    "import",
                    str(patches / entry.name),
                    "--tag",
                    tag,
                    *(part for guard in entry.guards for part in ("--guard", guard.name)),
                ),
            )
            for entry in guarded
        ),
    ]
