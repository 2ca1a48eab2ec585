"""A verification for the terminal: its sections, the architectures, what each patch does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from patchq.model.verification import (
    Build,
    Change,
    Effect,
    Failure,
    Outcome,
    PatchEffect,
    Section,
    TargetBuild,
    Verification,
)
from patchq.model.words import counted
from patchq.report.commit import commit_of
from patchq.report.look import Look
from patchq.report.terminal import INDENT, Writer

_LOOKS = {
    Outcome.PASSED: Look("✔", "=", "green"),
    Outcome.FAILED: Look("✖", "x", "bold red"),
    Outcome.SKIPPED: Look("·", ".", "dim"),
}
_EFFECTS = {
    Effect.CHANGED: ("changed", "green"),
    Effect.DEFAULT: ("default", "yellow"),
    Effect.NONE: ("none", "bold magenta"),
    Effect.OUTSIDE: ("outside", "dim"),
    Effect.UNKNOWN: ("unknown", "bold red"),
}
_WORDS = {
    Effect.NONE: "inert: changes nothing here",
    Effect.OUTSIDE: "changes nothing that is evaluated",
    Effect.UNKNOWN: "the project could not be evaluated",
}


def render_verification(verification: Verification, console: Console) -> None:
    """Print ``verification`` to ``console``, in its width, colours and encoding."""
    writer = Writer(console)
    writer.words(_headline(verification), style="bold")
    if off := verification.guarded_off:
        writer.words(f"{len(off)} guarded off: {', '.join(map(str, off))}", style="dim")
    writer.blank()
    width = max(len(section.name) for section in verification.sections)
    for section in verification.sections:
        _write_section(writer, section, width)
    for build in verification.builds:
        _write_build(writer, build)
    if verification.effects:
        _write_effects(writer, verification)
    notes = [note for section in verification.sections for note in section.notes]
    if notes:
        _heading(writer, "Notes")
        for note in notes:
            writer.words(str(note), INDENT // 2, style="dim")


def in_order(archs: Iterable[str]) -> tuple[str, ...]:
    """Architectures by number.

    >>> in_order(["sm_121a", "sm_90", "sm_100a"])
    ('sm_90', 'sm_100a', 'sm_121a')
    """
    return tuple(sorted(archs, key=_number))


def _number(arch: str) -> tuple[int, str]:
    match = re.search(r"\d+", arch)
    return (int(match[0]) if match else 0, arch)


def _headline(verification: Verification) -> str:
    guards = f" (with {', '.join(verification.guards)})" if verification.guards else ""
    patches = counted(len(verification.patches), "patch")
    failures = sum(len(section.failures) for section in verification.sections)
    outcome = counted(failures, "failure") if failures else "passed"
    blind = len(verification.not_covered)
    blind_words = f", {blind} not covered by the base" if blind else ""
    return f"{verification.series}{guards} · {patches}: {outcome}{blind_words}"


def _heading(writer: Writer, text: str) -> None:
    writer.blank()
    writer.words(text, style="dim")


def _write_section(writer: Writer, section: Section, width: int) -> None:
    look = _LOOKS[section.outcome]
    head = (f"{writer.sign(look)} {section.name:{width}}", look.style)
    writer.line(Text.assemble(head, "  ", writer.say(section.summary)))
    for failure in section.failures:
        writer.words(_failure_words(failure), INDENT)


def _failure_words(failure: Failure) -> str:
    subjects = [str(word) for word in (failure.patch, failure.target) if word]
    place = f" ({failure.where})" if failure.where else ""
    return f"{': '.join([*subjects, failure.text])}{place}"


def _write_build(writer: Writer, build: TargetBuild) -> None:
    target = build.target
    _heading(writer, f"{target.name}: {target.description}")
    names = _cuda_names(build.before, build.after)
    width = max((len(name) for name in names), default=0)
    for name in names:
        before, after = build.before.target(name), build.after.target(name)
        counts = [len_of.cuda_sources for len_of in (before, after) if len_of]
        count = f"{counts[0]}" if len(set(counts)) == 1 else f"{counts[0]} → {counts[-1]}"
        was = _archs(before.archs) if before else "not built"
        now = _archs(after.archs) if after else "gone"
        text = f"{name:{width}}  {count:>3}  {was}" + (f" → {now}" if was != now else "")
        writer.words(text, INDENT // 2)


def _cuda_names(*builds: Build) -> tuple[str, ...]:
    names = (target.name for build in builds for target in build.cuda_targets)
    return tuple(dict.fromkeys(names))


def _archs(archs: Sequence[str]) -> str:
    return " ".join(in_order(archs)) or "no architecture"


def _write_effects(writer: Writer, verification: Verification) -> None:
    _heading(writer, "What each patch does to the build")
    width = max(len(effect.target) for effect in verification.effects)
    kind = max(len(_EFFECTS[effect.effect][0]) for effect in verification.effects)
    for patch in verification.patches:
        effects = [effect for effect in verification.effects if effect.patch == patch]
        if not effects:
            continue
        writer.words(patch, INDENT // 2, style="bold")
        for effect in effects:
            name, style = _EFFECTS[effect.effect]
            head = (f"{name:{kind}}", style)
            words = _effect_words(effect, verification.acts_on(patch))
            text = Text.assemble(f"{effect.target:{width}}  ", head, "  ", writer.say(words))
            writer.line(text, INDENT)
            if effect.since and (commit := commit_of(effect.since)):
                writer.commit(commit, INDENT + width + 2)


def _effect_words(effect: PatchEffect, acts_on: Sequence[str]) -> str:
    if effect.effect in _WORDS:
        elsewhere = f"; acts on {', '.join(acts_on)}" if acts_on else ""
        since = "; upstream builds as it asks since" if effect.since else ""
        return _WORDS[effect.effect] + elsewhere + since
    words = "; ".join(change_words(effect.in_series or effect.changes))
    return words + (f"; {effect.undone_by} undoes it" if effect.undone_by else "")


def change_words(changes: Sequence[Change]) -> list[str]:
    """What changes in words, targets with the same change together."""
    groups: dict[str, list[str]] = {}
    for change in changes:
        groups.setdefault(_change(change), []).append(change.name)
    return [f"{', '.join(names)} {what}" for what, names in groups.items()]


def _change(change: Change) -> str:
    if change.after is None:
        return "gone"
    if change.before is None:
        return "new"
    archs = [f"-{arch}" for arch in in_order(change.archs_gone)]
    archs += [f"+{arch}" for arch in in_order(change.archs_new)]
    if archs:
        return " ".join(archs)
    counts = [
        f"{sign}{counted(len(items), word)}"
        for sign, items, word in (
            ("-", change.sources_gone, "source"),
            ("+", change.sources_new, "source"),
            ("-", change.flags_gone, "flag"),
            ("+", change.flags_new, "flag"),
        )
        if items
    ]
    return " ".join(counts) or "in another order"
