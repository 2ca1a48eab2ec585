"""What a downstream leans on besides its patches, and what is found of it on a new tag.

The settings (``uses``, ``gates``, ``claims``, ``watch`` and ``live`` of ``series/patchq.yaml``)
and the findings: names that went, gates, commits that name a word, and the work list of all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from patchq.model.globs import read_globs
from patchq.model.predicate import Predicate, parse_predicate
from patchq.model.regex import compile_regex, encoded
from patchq.model.verdict import Evidence, Verdict
from patchq.model.yamlfile import YamlValue

Value = bool | int | tuple[int, ...]
"""What a capability helper returns on a target."""

# Settings


@dataclass(frozen=True)
class OwnUses:
    """Words of upstream that one's own files use.

    ``files`` are globs, relative to the workspace, of the own files; ``words`` regular expressions
    for the words in them; ``defined`` globs of the paths that define them upstream (none: all);
    ``modules`` the directory of each top-level package whose dotted names are words.
    """

    files: tuple[str, ...]
    words: tuple[str, ...]
    defined: tuple[str, ...] = ()
    modules: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class GateOverride:
    """What helpers return in the files that ``paths`` match, where that is something else."""

    paths: tuple[str, ...]
    helpers: Mapping[str, Value]


@dataclass(frozen=True)
class GateFacts:
    """What upstream's capability helpers and preprocessor macros are on one target.

    A condition counts as a gate by ``helpers``; ``known`` is what else is known of calls in one,
    such as the platform. ``paths`` are globs (gitignore(5)) of the files that are looked at; none:
    all.
    """

    target: str
    helpers: Mapping[str, Value]
    macros: Mapping[str, int] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    known: Mapping[str, Value] = field(default_factory=dict)
    overrides: tuple[GateOverride, ...] = ()

    def at(self, path: str) -> Mapping[str, Value]:
        """What the helpers return in the file ``path``."""
        helpers = dict(self.helpers)
        for override in self.overrides:
            if read_globs(override.paths).match_file(path):
                helpers.update(override.helpers)
        return helpers


@dataclass(frozen=True)
class Claim:
    """A sentence of the downstream that holds as long as all of ``when`` hold."""

    text: str
    when: tuple[Predicate, ...]
    section: WorkSection


@dataclass(frozen=True)
class ReleaseSettings:
    """All of it; ``live`` gives the role of each base that is still deployed."""

    uses: tuple[OwnUses, ...] = ()
    gates: tuple[GateFacts, ...] = ()
    claims: tuple[Claim, ...] = ()
    watch: tuple[str, ...] = ()
    live: Mapping[str, str] = field(default_factory=dict)

    def facts(self, target: str) -> GateFacts | None:
        """The facts of ``target``, if any are given."""
        return next((facts for facts in self.gates if facts.target == target), None)


# Findings


class WorkSection(Enum):
    """Who must act, and how soon: the parts of the work list, in order."""

    BLOCKS = "blocks the build"
    CORRUPTS = "can corrupt silently"
    DECIDE = "decide"
    LEAVES = "leaves"
    READ = "read"


@dataclass(frozen=True)
class WordUse:
    """A place in an own file where a word stands."""

    file: str
    line: int


class NameState(Enum):
    """What became of a name."""

    GONE = "gone"
    DEPRECATED = "deprecated"


@dataclass(frozen=True)
class NameChange:
    """A name that the old base defines and the new one does not, or only as an alias."""

    name: str
    state: NameState
    uses: tuple[WordUse, ...]
    evidence: Evidence


@dataclass(frozen=True)
class Gate:
    """A condition on a target's capability; ``answer`` is None if it hangs on something else.

    ``leaves`` says that the branch it guards leaves the function or loop.
    """

    path: str
    function: str
    line: int
    text: str
    answer: bool | None
    leaves: bool = False
    end: int = 0


ANSWER_WORDS = {True: "true", False: "false", None: "undecided"}
"""What a condition is on a target, in a word."""


class GateState(Enum):
    """How a gate differs from the older base."""

    NEW = "new"
    CHANGED = "changed"


@dataclass(frozen=True)
class GateChange:
    """A gate that is new, or whose answer changed; ``before`` is what the target got then."""

    gate: Gate
    state: GateState
    before: bool | None
    evidence: Evidence | None


@dataclass(frozen=True)
class GateAnswer:
    """The gates on a base for a target; with ``changes`` since another one, if that was asked."""

    base: str
    target: str
    gates: tuple[Gate, ...]
    changes: tuple[GateChange, ...] | None = None


@dataclass(frozen=True)
class Mention:
    """A commit of the range that names a watched word, and what it touches of ours."""

    words: tuple[str, ...]
    evidence: Evidence
    patches: tuple[str, ...]
    gates: bool


@dataclass(frozen=True)
class Ended:
    """A patch that ended on the base ``since``, and is still in the series on ``tags``.

    ``needed_by`` are the live ones among these, with their role.
    """

    name: str
    verdict: Verdict
    since: str
    tags: tuple[str, ...]
    needed_by: tuple[str, ...]


REQUIRES = "upstream requires"
"""The subject of what changed in upstream's requirements."""


@dataclass(frozen=True)
class WorkItem:
    """One line of the work list; ``command`` is what to type next, if there is anything."""

    section: WorkSection
    subject: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    command: str | None = None


@dataclass(frozen=True)
class WorkList:
    """What a new tag asks for; ``fine`` sums up what asks for nothing, ``folded`` what is off."""

    series: str
    onto: str
    items: tuple[WorkItem, ...]
    fine: tuple[str, ...]
    folded: tuple[str, ...]

    def of(self, section: WorkSection) -> tuple[WorkItem, ...]:
        """The items of one section, in order."""
        return tuple(item for item in self.items if item.section is section)

    @property
    def needs_review(self) -> bool:
        """Whether anything is to be done before the tag can be used."""
        return any(
            item.section not in (WorkSection.LEAVES, WorkSection.READ) for item in self.items
        )


# Reading


def read_uses(entry: YamlValue) -> tuple[OwnUses, ...]:
    """The ``uses`` of the settings."""
    return tuple(_uses(item) for item in entry.sequence())


def _uses(entry: YamlValue) -> OwnUses:
    fields = entry.fields("files", "words", optional=("defined", "modules"))
    for item in fields["words"].sequence():
        try:
            compile_regex(encoded(item.text()))
        except ValueError as error:
            item.fail(f"not a regular expression: {error}")
    modules = dict(fields["modules"].items()) if "modules" in fields else {}
    return OwnUses(
        fields["files"].texts(),
        fields["words"].texts(),
        fields["defined"].texts() if "defined" in fields else (),
        {name: directory.text() for name, directory in modules.items()},
    )


def read_gates(entry: YamlValue) -> tuple[GateFacts, ...]:
    """The ``gates`` of the settings, a target each."""
    return tuple(_facts(target, fields) for target, fields in entry.items())


def _facts(target: str, entry: YamlValue) -> GateFacts:
    fields = entry.fields("helpers", optional=("macros", "paths", "known", "overrides"))
    macros = dict(fields["macros"].items()) if "macros" in fields else {}
    overrides = fields["overrides"].sequence() if "overrides" in fields else ()
    return GateFacts(
        target,
        _values(fields["helpers"]),
        {name: value.integer() for name, value in macros.items()},
        fields["paths"].texts() if "paths" in fields else (),
        _values(fields["known"]) if "known" in fields else {},
        tuple(map(_override, overrides)),
    )


def _override(entry: YamlValue) -> GateOverride:
    fields = entry.fields("paths", "helpers")
    return GateOverride(fields["paths"].texts(), _values(fields["helpers"]))


def _values(entry: YamlValue) -> dict[str, Value]:
    return {name: _value(value) for name, value in entry.items()}


def _value(entry: YamlValue) -> Value:
    plain = entry.plain_value()
    value = tuple(plain) if isinstance(plain, list) else plain
    numbers = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(number, bool | int) for number in numbers):
        entry.fail("expected true, false, a whole number or a list of them")
    found: Value = value
    return found


def read_claims(entry: YamlValue) -> tuple[Claim, ...]:
    """The ``claims`` of the settings."""
    return tuple(_claim(item) for item in entry.sequence())


def _claim(entry: YamlValue) -> Claim:
    fields = entry.fields("claim", "when", optional=("section",))
    sections = {section.value: section for section in WorkSection}
    named = fields["section"].text() if "section" in fields else WorkSection.READ.value
    if named not in sections:
        fields["section"].fail(
            f"there is no section {named!r}", hint=f"It is one of: {', '.join(sections)}."
        )
    when = tuple(parse_predicate(item.text(), item.where) for item in fields["when"].sequence())
    return Claim(fields["claim"].text(), when, sections[named])


def read_live(entry: YamlValue) -> dict[str, str]:
    """The ``live`` of the settings: bases and their role."""
    return {base: role.text() for base, role in entry.items()}
