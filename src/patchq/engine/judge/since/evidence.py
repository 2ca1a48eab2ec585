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

_NAMED, _MENTIONS = 3, 5
"""How many commits are told with their subjects, and those that mention what landed."""
_IDS = 40
"""How many more are told by their ids alone."""
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
        evidence = list[Evidence]()
        alone = dict[tuple[str, bool], tuple[CommitInfo, list[str], list[CommitInfo]]]()
        kind = EvidenceKind.EDITED_SINCE
        for item in edits:
            if item.commits:
                said = mentions[item.landed.oid].own
                text = f"since then {self._edits(item, said)}{self._before(item.before)}"
                evidence.append(self._span.evidence(kind, text, item.landed, paths=(item.file,)))
            else:
                place = facts.placements[item.file].new
                is_there = facts.entries.get(item.file) is not None
                name = f"{item.file} ({place} now)" if place not in (None, item.file) else item.file
                key = item.landed.oid, is_there
                _, files, before = alone.setdefault(key, (item.landed, [], []))
                files.append(name)
                before += (commit for commit in item.before if commit not in before)
        for (_, are_there), (commit, files, before) in alone.items():
            text = f"since then no commit edited {some(files)}"
            if not are_there:
                text = f"since then no commit brought {some(files)} back"
            text += self._before(before)
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
        told, more = found.elsewhere[:_MENTIONS], found.elsewhere[_MENTIONS:]
        beside = sum(each.beside for each in found.elsewhere)
        if not found.names:
            text = "what landed has no name that other files could be searched for"
        elif not told:
            text = f"since then no commit changed lines of other files with {names}"
        elif beside == len(found.elsewhere):
            many = counted(beside, "commit")
            text = f"since then {many} changed conditions beside {names} in other files"
        else:
            many = counted(len(found.elsewhere) - beside, "commit")
            text = f"since then {many} changed lines of other files with {names}"
            if beside:
                text += f", and {beside} more only conditions beside such lines"
        if told:
            text += (
                f": {', '.join(map(self._mention, told))}{_also([each.commit for each in more])}"
            )
        if found.common:
            text += (
                f"; more than {MOST_COMMITS} commits did with {_quoted(found.common)}: too common"
            )
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
        naming = tuple(commit for commit in found.apart if commit.oid in said)
        others = tuple(commit for commit in found.apart if commit.oid not in said)
        if found.names is None:
            return f"{many} edited {found.file}: {self._commits(found.commits)}"
        if not found.inside:
            part = f"{len(naming)} of them " if naming and others else ""
            lines = f", {part}lines with its names" if naming else ""
            words = f"{many} edited {found.file} outside of {where}{lines}"
            return f"{words}: {self._commits((*naming, *others))}"
        if not found.apart:
            return f"{many} edited {where} in {found.file}: {self._commits(found.inside)}"
        words = f"{many} edited {found.file}, {len(found.inside)} of them {where}"
        words += f": {self._commits(found.inside)}"
        if naming:
            words += f"; other lines with its names: {self._commits(naming)}"
        return words + (f"; the rest of it: {self._commits(others, 1)}" if others else "")

    def _before(self, commits: Sequence[CommitInfo]) -> str:
        """What came between the old base and a landing, if anything."""
        if not commits:
            return ""
        many = counted(len(commits), "commit")
        return f"; before the landing {many} did since {self._span.old.name}: {_ids(commits)}"

    def _commits(self, commits: Sequence[CommitInfo], most: int = _NAMED) -> str:
        """The first ``most`` of some commits with their subjects, the rest by their ids."""
        return ", ".join(map(self._commit, commits[:most])) + _also(commits[most:])

    def _commit(self, commit: CommitInfo) -> str:
        """The short id and subject of a commit."""
        pr = self._span.pull_request(commit)
        number = f" (#{pr})" if pr else ""
        subject = commit.subject.removesuffix(f"(#{pr})").rstrip()
        short = subject if len(subject) <= _SUBJECT else f"{subject[: _SUBJECT - 1].rstrip()}…"
        return f"{commit.oid[:9]} {short}{number}"


def _also(commits: Sequence[CommitInfo]) -> str:
    """The short ids of more commits in a list, if there are any."""
    return f", also {_ids(commits)}" if commits else ""


def _ids(commits: Sequence[CommitInfo]) -> str:
    return some([commit.oid[:9] for commit in commits], _IDS)


def _quoted(names: Sequence[str]) -> str:
    return some([f"`{name}`" for name in names], _MENTIONS)
