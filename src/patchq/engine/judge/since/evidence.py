"""The evidence of what upstream did since lines landed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from patchq.engine.judge.case import CaseFacts
from patchq.engine.judge.landing.hunk_history import HunkHistory
from patchq.engine.judge.since.later_edits import LaterCommits, LaterEdits
from patchq.engine.judge.since.mentions import MOST_COMMITS, LaterMention, LaterMentions, Mentions
from patchq.engine.workspace.upstream_range import UpstreamRange
from patchq.git.history import CommitInfo
from patchq.model.ids import CommitId
from patchq.model.verdict import Evidence, EvidenceKind
from patchq.model.words import counted, some

_MENTIONS = 5
"""How many commits that mention what landed are named."""
_SUBJECT = 50
"""The length to which the subject of a commit in a list is cut."""


class LaterEvidence:
    """Makes evidence of what came after landings, between two bases."""

    def __init__(self, span: UpstreamRange):
        self._span = span
        self._later = LaterCommits(span)
        self._mentions = LaterMentions(span)

    def find(self, trails: Sequence[HunkHistory], facts: CaseFacts) -> tuple[Evidence, ...]:
        """What upstream did to the files that ``trails`` landed in: one piece of evidence for each
        edited file, one for each commit with files left alone, and one for its mentions elsewhere.
        """
        places = {path: place.new for path, place in facts.placements.items()}
        edits = list(self._later.find(trails))
        mentions = {item.landed.oid: item for item in self._mentions.find(trails, edits, places)}
        evidence, alone = list[Evidence](), dict[tuple[str, bool], tuple[CommitInfo, list[str]]]()
        kind = EvidenceKind.EDITED_SINCE
        for item in edits:
            if item.commits:
                said = mentions[item.landed.oid].own
                text = f"since then {self._edits(item, said)}"
                evidence.append(self._span.evidence(kind, text, item.landed, paths=(item.file,)))
            else:
                place = facts.placements[item.file].new
                is_there = facts.entries.get(item.file) is not None
                name = f"{item.file} ({place} now)" if place not in (None, item.file) else item.file
                key = item.landed.oid, is_there
                alone.setdefault(key, (item.landed, []))[1].append(name)
        for (_, are_there), (commit, files) in alone.items():
            text = f"since then no commit edited {some(files)}"
            if not are_there:
                text = f"since then no commit brought {some(files)} back"
            evidence.append(self._span.evidence(kind, text, commit, paths=tuple(files)))
        elsewhere = map(self._elsewhere, mentions.values())
        return (*evidence, *self._modes(trails, facts), *elsewhere)

    def _modes(self, trails: Sequence[HunkHistory], facts: CaseFacts) -> Iterator[Evidence]:
        """The files that the patch brings, and that upstream has in another mode."""
        kind, place = EvidenceKind.EDITED_SINCE, self._span.new.name
        for trail in trails:
            for path, after in trail.unit.after.items():
                now = facts.entries.get(path)
                if trail.unit.before[path] or not (after and now) or after.mode == now.mode:
                    continue
                name = facts.placements[path].new or path
                text = f"{name} is {now.mode} in {place}, the patch makes it {after.mode}"
                yield self._span.evidence(kind, text, trail.landed, paths=(name,))

    def _elsewhere(self, found: Mentions) -> Evidence:
        """The commits that mention what landed in other files."""
        names = _quoted(found.names)
        told = [self._mention(each) for each in found.elsewhere]
        beside = sum(each.beside for each in found.elsewhere)
        if not found.names:
            text = "what landed has no name that other files could be searched for"
        elif not told:
            text = f"since then no commit changed lines of other files with {names}"
        elif beside == len(told):
            many = counted(beside, "commit")
            text = f"since then {many} changed conditions beside {names} in other files"
        else:
            many = counted(len(told) - beside, "commit")
            text = f"since then {many} changed lines of other files with {names}"
            if beside:
                text += f", and {beside} more only conditions beside such lines"
        if told:
            text += f": {some(told, _MENTIONS)}"
        if found.common:
            text += f"; too common to tell: {_quoted(found.common)}"
            text += f" (in more than {MOST_COMMITS} commits)"
        if found.unasked:
            text += f"; not looked for: {found.unasked} more of its names"
        if found.unread:
            text += f"; not looked at: the oldest {counted(found.unread, 'commit')}"
        paths = dict.fromkeys(file for each in found.elsewhere for file in each.files)
        return self._span.evidence(
            EvidenceKind.MENTIONED_SINCE, text, found.landed, paths=tuple(paths)[:_MENTIONS]
        )

    def _mention(self, found: LaterMention) -> str:
        return f"{self._commit(found.commit)} ({_quoted(found.names)} in {some(found.files, 2)})"

    def _edits(self, found: LaterEdits, said: Collection[CommitId]) -> str:
        many = counted(len(found.commits), "commit")
        names = "`, `".join(found.names or ())
        where = f"`{names}`" if names else "the lines close by"
        if found.names is None:
            words = f"{many} edited {found.file}"
        elif not found.inside:
            apart = sorted(found.commits, key=lambda commit: commit.oid not in said)
            count = sum(commit.oid in said for commit in apart)
            part = f"{count} of them " if count < len(apart) else ""
            lines = f", {part}lines with its names" if count else ""
            words = f"{many} edited {found.file} outside of {where}{lines}"
            return f"{words}: {some([self._commit(commit) for commit in apart])}"
        elif found.inside == found.commits:
            words = f"{many} edited {where} in {found.file}"
        else:
            words = f"{many} edited {found.file}, {len(found.inside)} of them {where}"
        words += f": {some([self._commit(commit) for commit in found.inside])}"
        rest = [each for each in found.commits if each.oid in said and each not in found.inside]
        if rest:
            words += f"; other lines with its names: {some([self._commit(each) for each in rest])}"
        return words

    def _commit(self, commit: CommitInfo) -> str:
        """The short id and subject of a commit."""
        pr = self._span.pull_request(commit)
        number = f" (#{pr})" if pr else ""
        subject = commit.subject.removesuffix(f"(#{pr})").rstrip()
        short = subject if len(subject) <= _SUBJECT else f"{subject[: _SUBJECT - 1].rstrip()}…"
        return f"{commit.oid[:9]} {short}{number}"


def _quoted(names: Sequence[str]) -> str:
    return some([f"`{name}`" for name in names], _MENTIONS)
