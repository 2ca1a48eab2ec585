"""The notes on a tag: what changed for the downstream, in Markdown that people add to.

Each part that patchq writes stands between two comments; everything else is the reader's own text
and is kept when the notes are written again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from patchq.errors import InputError, Where
from patchq.model.release import REQUIRES, WorkItem, WorkList, WorkSection
from patchq.model.verdict import Action, PatchReport, Report
from patchq.report.commit import NO_LINKS, CommitLinks, commit_of
from patchq.report.markdown import code, commit_words, escape

_BLOCK = re.compile(r"<!-- patchq: ([a-z-]+) -->\n.*?<!-- /patchq -->\n?", re.DOTALL)
_OPEN = re.compile(r"<!-- patchq: [a-z-]+ -->")
_RISKS = (WorkSection.BLOCKS, WorkSection.CORRUPTS, WorkSection.DECIDE)
_TITLES = {
    "patches": "Patches",
    "left": "What left, and why",
    "requirements": "Requirements and pins",
    "gates": "Gates",
    "names": "Names",
    "risks": "Open risks",
    "roll-back": "Order of a roll-back",
}


def render_notes(
    work: WorkList,
    report: Report,
    live: Mapping[str, str],
    *,
    links: CommitLinks = NO_LINKS,
) -> str:
    """New notes on ``work.onto``; ``live`` are the deployed bases before it, newest first."""
    blocks = _blocks(work, report, live, links)
    parts = [f"# {work.series} → {work.onto}\n"]
    for name, text in blocks.items():
        parts.append(f"\n## {_TITLES[name]}\n\n{_framed(name, text)}")
    return "".join(parts)


def update_notes(
    old: str,
    work: WorkList,
    report: Report,
    live: Mapping[str, str],
    *,
    file: str,
    links: CommitLinks = NO_LINKS,
) -> str:
    """``old`` with its generated parts written again, and parts that it lacks at the end.

    Raises :class:`InputError` if a part of ``old`` has no end, so that no text of a reader is lost.
    """
    blocks = _blocks(work, report, live, links)
    if len(_OPEN.findall(old)) != len(_BLOCK.findall(old)):
        raise InputError(
            "a generated part has no end",
            where=Where(file),
            hint="Put back the line <!-- /patchq --> after it, or write the notes elsewhere.",
        )
    known = set(_BLOCK.findall(old))
    text = _BLOCK.sub(
        lambda match: _framed(match[1], blocks[match[1]]) if match[1] in blocks else match[0], old
    )
    missing = [name for name in blocks if name not in known]
    more = (f"\n## {_TITLES[name]}\n\n{_framed(name, blocks[name])}" for name in missing)
    return text + "".join(more)


def _framed(name: str, text: str) -> str:
    return f"<!-- patchq: {name} -->\n{text}\n<!-- /patchq -->\n"


def _blocks(
    work: WorkList,
    report: Report,
    live: Mapping[str, str],
    links: CommitLinks,
) -> dict[str, str]:
    dropped = [patch for patch in report.patches if patch.action is Action.DROP]
    stay = [patch for patch in report.patches if patch.action is not Action.DROP]
    named = [item for item in work.items if any(e.kind.value == "name" for e in item.evidence)]
    gates = [item for item in work.items if item.subject.startswith("gates ")]
    risks = [item for section in _RISKS for item in work.of(section)]
    found = {
        "patches": [_patch(patch, links) for patch in stay],
        "left": [_patch(patch, links) for patch in dropped],
        "requirements": [_item(item, links) for item in work.items if item.subject == REQUIRES],
        "gates": [_item(item, links) for item in gates],
        "names": [_item(item, links) for item in named],
        "risks": [_item(item, links) for item in risks],
        "roll-back": [f"- {code(base)}: {escape(role)}" for base, role in live.items()],
    }
    return {name: "\n".join(lines) or "- none" for name, lines in found.items()}


def _patch(patch: PatchReport, links: CommitLinks) -> str:
    commits = {
        commit.oid: commit_words(commit, links)
        for evidence in patch.evidence
        if evidence.kind.value != "watch" and (commit := commit_of(evidence))
    }
    words = f"- {code(patch.name)}: {patch.verdict.value}"
    if patch.skipped:
        words += f" (skipped: {escape(patch.skipped)})"
    return "".join([words, *(f"\n  - {text}" for text in commits.values())])


def _item(item: WorkItem, links: CommitLinks) -> str:
    commits = [
        commit_words(commit, links) for evidence in item.evidence if (commit := commit_of(evidence))
    ]
    subject = "" if item.subject == REQUIRES else f"**{escape(item.subject)}**: "
    words = f"- {subject}{escape(item.text)}"
    return "".join([words, *(f"\n  - {text}" for text in dict.fromkeys(commits))])
