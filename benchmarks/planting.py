"""Puts retirements to the proof: what was found gone comes back, what was found landed goes.

No threshold can be tuned to it: the old body of each patch that was retired as unreachable is put
back into the new tag in six disguises, and of each patch that was retired as upstreamed every
added line that says something is taken out of the new tag, one at a time, or left there so that it
does nothing. None may be retired then.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from textwrap import dedent, indent
from zlib import crc32

from probe import Probe
from scratch import judge_each
from source import FileDiff, Function, Tree, tree_diff

from patchq.engine.languages.search.fresh_code import TELLING
from patchq.engine.languages.tokens import family, tokenize
from patchq.engine.workspace.project import Project
from patchq.git.objects import Entry
from patchq.model.ids import commit_id
from patchq.model.lock import Base, Lock
from patchq.model.patch import Patch
from patchq.model.verdict import ACTIONS, Action, Verdict

_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_SAYS = re.compile(rb"\w{2,}")
_KEPT = {*keyword.kwlist, *dir(builtins), "self", "cls", "if", "else", "for", "while", "return"}
_KEPT |= {"static", "void", "const", "struct", "int", "char", "switch", "case", "break", "sizeof"}


class Plant(Enum):
    """A disguise."""

    ELSEWHERE = "verbatim in another file"
    RENAMED = "in place, identifiers renamed"
    METHOD = "re-indented as a method, or out of one"
    SPLIT = "split in two"
    INLINED = "inlined into another function"
    DISGUISED = "in another file, every name changed"
    TAKEN_OUT = "an added line taken out"
    COMMENTED = "an added line made a comment"
    CONDITIONAL = "an added line put under a condition"
    PASSED = "a jump put before an added line"
    QUOTED = "an added line put into a string"
    OPERATOR = "an added line with an operator more"


@dataclass(frozen=True)
class Planting:
    """What became of a retired patch on the planted tag; ``about`` is the body or the line."""

    plant: Plant
    name: str
    made_of: str
    verdict: Verdict
    about: str
    patch: Patch | None = None

    @property
    def lost(self) -> bool:
        """Whether it was retired although it is needed."""
        return ACTIONS[self.verdict] is Action.DROP


@dataclass
class _Insertions:
    """What goes into a file: texts by the line they go before (None: at the end)."""

    at_line: list[tuple[int, bytes]]
    at_end: list[bytes]

    def into(self, content: bytes) -> bytes:
        lines = content.splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n"):
            lines[-1] += b"\n"
        for at, text in sorted(self.at_line, reverse=True):
            lines[at:at] = [text]
        return b"".join([*lines, *self.at_end])


class Planter:
    """Plants into the new tag of one span."""

    def __init__(self, project: Project, old: str, new: str):
        self._project = project
        self._old, self._new = project.lock.base(old), project.lock.base(new)
        self._objects = project.store.objects
        self._there = Tree(self._objects, self._new.tree)

    def plant(self, probes: Sequence[Probe]) -> list[Planting]:
        """Put back what each of the probes edits, in every disguise."""
        probes = [probe for probe in probes if probe.function is not None]
        found = []
        for plant in Plant:
            if plant in DISARMED or not probes:
                continue
            planted = self._planted(plant, probes)
            verdicts = self._verdicts(planted, [probe.patch for probe in probes])
            for probe in probes:
                if plant is Plant.DISGUISED and _is_short(probe.function):
                    continue  # looked for only in the commit that took it out
                body = b"".join(probe.function.lines if probe.function else ())
                found.append(
                    Planting(
                        plant,
                        probe.name,
                        probe.made_of,
                        verdicts[probe.name],
                        body.decode(errors="replace"),
                    )
                )
        return found

    def disarm(self, patches: Mapping[Patch, str], most: int, seed: int) -> list[Planting]:
        """Take each added line of the landed patches out of the new tag, ``most`` of each patch, or
        leave it there so that it does nothing.

        Lines that stand once in the file, and not in the old one, are meant: of others nobody
        could say which one was the patch's. ``patches`` say what they are made of.
        """
        drawn = random.Random(seed)
        lines = {}
        for patch in patches:
            own = self._own_lines(patch)
            lines[patch] = drawn.sample(own, min(most, len(own)))
        found = []
        for turn in range(max(map(len, lines.values()), default=0)):
            here = {patch: own[turn] for patch, own in lines.items() if turn < len(own)}
            for plant, disarmed in DISARMED.items():
                found += self._disarmed(f"{plant.name.lower()}-{turn}", plant, disarmed, here)
        return [replace(each, made_of=patches[each.patch]) for each in found if each.patch]

    def _disarmed(
        self,
        name: str,
        plant: Plant,
        disarmed: Callable[[bytes, bytes], bytes | None],
        here: Mapping[Patch, tuple[str, bytes]],
    ) -> list[Planting]:
        changes: dict[str, bytes] = {}
        done = []
        for patch, (path, line) in here.items():
            kind = PurePosixPath(path).suffix.encode()
            indent = line[: len(line) - len(line.lstrip())]
            text = disarmed(kind, line.strip())
            if text is None:
                continue
            put = b"".join(indent + part + b"\n" for part in text.split(b"\n") if part)
            before = changes.get(path, self._there.text(path))
            after = b"".join(
                put if old.rstrip(b"\r\n") == line else old
                for old in before.splitlines(keepends=True)
            )
            if after == before:
                continue
            acts = kind != b".py" or (_begins_statement(before, line) and _parses(after))
            if acts or plant is Plant.TAKEN_OUT:
                changes[path] = after
                done.append((patch, path, line))
        verdicts = self._verdicts(self._base(name, changes), [patch for patch, _, _ in done])
        return [
            Planting(plant, patch.name, "", verdicts[patch.name], f"{path}: {_shown(line)}", patch)
            for patch, path, line in done
        ]

    def _own_lines(self, patch: Patch) -> list[tuple[str, bytes]]:
        found = []
        for change in patch.files:
            path = change.new and self._new_path(change.new)
            if not path or change.binary:
                continue
            now = Counter(self._there.text(path).splitlines())
            before = self._objects.content(self._old.tree, change.old) if change.old else b""
            stood = set((before or b"").splitlines())
            added = {line.rstrip(b"\r\n") for hunk in change.hunks for line in hunk.added}
            found += [
                (path, line)
                for line in sorted(added)
                if _SAYS.search(line) and now[line] == 1 and line not in stood
            ]
        return found

    def _new_path(self, path: str) -> str | None:
        diff = self._diff.get(path)
        if diff is not None:
            return diff.new
        return path if path in self._there.blobs else None

    @cached_property
    def _diff(self) -> Mapping[str, FileDiff]:
        return tree_diff(self._project.store.git, self._old.tree, self._new.tree)

    # -- the planted tag ---------------------------------------------------------------------

    def _verdicts(self, planted: Base, patches: Sequence[Patch]) -> dict[str, Verdict]:
        lock = Lock(self._project.lock.upstream, (*self._project.lock.bases, planted))
        project = replace(self._project, lock=lock)
        judged = judge_each(project, self._old.name, planted.name, patches)
        return {name: judgement.report.verdict for name, judgement in judged.items()}

    def _base(self, name: str, changes: Mapping[str, bytes]) -> Base:
        """The new tag with one more commit that writes these files."""
        entries = {}
        for path, content in changes.items():
            entry = self._objects.file(self._new.tree, path)
            mode = entry.mode if entry else "100644"
            entries[path] = Entry(mode, self._objects.write("blob", content))
        tree = self._objects.overlay(self._new.tree, entries)
        who = "Somebody <somebody@example.org> 1893456000 +0000"
        head = f"tree {tree}\nparent {self._new.commit}\nauthor {who}\ncommitter {who}\n"
        commit = commit_id(self._objects.write("commit", f"{head}\nChange {name}\n".encode()))
        return Base(name, commit, tree, "2030-01-01T00:00:00+00:00")

    def _planted(self, plant: Plant, probes: Sequence[Probe]) -> Base:
        files: dict[str, _Insertions] = defaultdict(lambda: _Insertions([], []))
        for number, probe in enumerate(probes):
            if probe.function is not None:
                self._put(plant, number, probe.function, files)
        contents = {
            path: put.into(self._there.text(path) if path in self._there.blobs else b"")
            for path, put in files.items()
        }
        return self._base(plant.name.lower(), contents)

    def _put(
        self, plant: Plant, number: int, function: Function, files: dict[str, _Insertions]
    ) -> None:
        other = self._sibling(function.path, number)
        text = b"".join(function.lines).decode("utf-8", "surrogateescape")
        if plant is Plant.RENAMED:
            path, at = self._place(function)
            files[path].at_line.append((at, _encoded(_renamed(function, text) + "\n")))
        elif plant is Plant.INLINED:
            host = self._host(function, other)
            body = _body(function)
            if host is None:
                files[other].at_end.append(_encoded(_as_function(function, f"host_{number}", body)))
            else:
                before = host.lines[host.spots[-1]]
                pad = before[: len(before) - len(before.lstrip())].decode()
                inlined = indent(dedent(body), pad)
                at = host.start + host.spots[-1]
                files[host.path].at_line.append((at, _encoded(inlined)))
        elif plant is Plant.DISGUISED:
            head = f"class Planted_{number}:\n" if text[:1].isspace() else ""
            files[other].at_end.append(_encoded("\n\n" + head + _disguised(text)))
        elif plant is Plant.SPLIT:
            lines = _body(function).splitlines(keepends=True)
            cut = max(1, function.spots[len(function.spots) // 2] - function.body)
            for part, half in (("head", lines[:cut]), ("tail", lines[cut:])):
                if half:
                    name = f"{function.bare}_{part}_{number}"
                    files[other].at_end.append(
                        _encoded(_as_function(function, name, "".join(half)))
                    )
        elif plant is Plant.METHOD and "." in function.name:
            files[other].at_end.append(_encoded("\n\n" + dedent(text)))
        elif function.is_python and (plant is Plant.METHOD or "." in function.name):
            put = f"\n\nclass Planted_{number}:\n{indent(dedent(text), '    ')}"
            files[other].at_end.append(_encoded(put))
        elif plant is Plant.METHOD:
            put = f"\nnamespace planted_{number} {{\n{indent(text, '    ')}}}\n"
            files[other].at_end.append(_encoded(put))
        else:
            files[other].at_end.append(_encoded("\n\n" + text))

    def _sibling(self, path: str, number: int) -> str:
        """Another file of the same kind: one that is there, or for every third a new one."""
        suffix, parent = PurePosixPath(path).suffix, PurePosixPath(path).parent
        near = [
            other
            for other in self._there.source
            if PurePosixPath(other).parent == parent and other.endswith(suffix) and other != path
        ]
        if not near or number % 3 == 0:
            return str(parent / f"planted_{number}{suffix}")
        return near[number % len(near)]

    def _place(self, function: Function) -> tuple[str, int]:
        """The file and the line where the function was."""
        diff = self._diff.get(function.path)
        if diff is None or diff.new is None:
            return function.path, 0
        shift = sum(c.added - c.count for c in diff.cuts if c.start + c.count <= function.start)
        inside = next((c for c in diff.cuts if c.start <= function.start < c.start + c.count), None)
        return diff.new, (inside.start if inside else function.start) + shift

    def _host(self, function: Function, other: str) -> Function | None:
        """A function of the same file, or of ``other``, with the most statements."""
        path = self._new_path(function.path)
        for candidate in filter(None, (path, other)):
            hosts = [h for h in self._there.functions(candidate) if len(h.spots) > 1]
            if hosts:
                return max(hosts, key=lambda host: len(host.spots))
        return None


def _commented(kind: bytes, line: bytes) -> bytes | None:
    if kind == b".py":
        return b"# " + line
    return b"// " + line if kind in _BRACED and line[:1] not in (b"/", b"*") else None


def _conditional(kind: bytes, line: bytes) -> bytes | None:
    if kind == b".py":
        return b"if planted_condition:\n    " + line
    return b"if (planted_condition)\n" + line if _is_statement(kind, line) else None


def _passed(kind: bytes, line: bytes) -> bytes | None:
    if kind == b".py":
        return b"raise PlantedError\n" + line
    return b"goto planted;\n" + line if _is_statement(kind, line) else None


def _quoted(kind: bytes, line: bytes) -> bytes | None:
    if kind == b".py":
        return b"planted = " + repr(line.decode("utf-8", "replace")).encode()
    if _is_statement(kind, line) and b'"' not in line and b"\\" not in line:
        return b'planted("' + line + b'");'
    return None


def _with_operator(kind: bytes, line: bytes) -> bytes | None:
    if kind == b".py" and re.match(rb"[\w.\[\]]+ = |return ", line):
        return line + b" or planted"
    if _is_statement(kind, line) and b"=" in line:
        return line[:-1] + b" * planted;"
    return None


def _is_statement(kind: bytes, line: bytes) -> bool:
    """Whether a line of C is one whole statement, as far as the line shows."""
    whole = line.endswith(b";") and line.count(b"(") == line.count(b")")
    return (
        kind in _BRACED and whole and re.match(rb"[a-z_][\w.>\[\]-]*\s*[-(=+|]", line) is not None
    )


_BRACED = frozenset(b".c .cc .cpp .cu .cuh .h .hpp".split())
DISARMED: Mapping[Plant, Callable[[bytes, bytes], bytes | None]] = {
    Plant.TAKEN_OUT: lambda _kind, _line: b"",
    Plant.COMMENTED: _commented,
    Plant.CONDITIONAL: _conditional,
    Plant.PASSED: _passed,
    Plant.QUOTED: _quoted,
    Plant.OPERATOR: _with_operator,
}
"""What a landed line becomes, by the suffix of its file and its own text; None: it stays."""


def _parses(text: bytes) -> bool:
    return _statements(text) is not None


def _begins_statement(text: bytes, line: bytes) -> bool:
    """Whether a line of Python is one whole statement that does something."""
    lines = [each.rstrip(b"\r") for each in text.split(b"\n")]
    return lines.index(line) + 1 in (_statements(text) or ())


@lru_cache(maxsize=512)
def _statements(text: bytes) -> frozenset[int] | None:
    """The lines that are one statement each, None if it does not parse."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    return frozenset(
        node.lineno
        for node in ast.walk(module)
        if isinstance(node, ast.stmt)
        and node.lineno == node.end_lineno
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    )


def _shown(line: bytes) -> str:
    return line.decode(errors="replace")


def _body(function: Function) -> str:
    """The statements, without the head."""
    end = None if function.is_python else -1
    return b"".join(function.lines[function.body : end]).decode("utf-8", "surrogateescape")


def _as_function(function: Function, name: str, body: str) -> str:
    if function.is_python:
        return f"\n\ndef {name}(self, *args):\n{indent(dedent(body), '    ')}"
    return f"\nstatic void\n{name}(void)\n{{\n{body}}}\n"


def _renamed(function: Function, text: str) -> str:
    """``text`` with the function and its own variables called otherwise."""
    bound = set(re.findall(r"\b([A-Za-z_]\w*)\s*(?::[^=\n]+)?(?<![=!<>])=(?!=)", text))
    bound |= set(re.findall(r"\b(?:for|as)\s+([A-Za-z_]\w*)", text))
    head = text[: text.find(")")] if ")" in text else text
    bound |= set(_WORD.findall(head.partition("(")[2]))
    own = (bound | {function.bare}) - _KEPT
    return _WORD.sub(lambda match: f"{match[0]}_2" if match[0] in own else match[0], text)


def _disguised(text: str) -> str:
    """``text`` with every name but those of the language called otherwise."""
    return _WORD.sub(
        lambda match: match[0] if match[0] in _KEPT else f"other_{crc32(match[0].encode()):x}",
        text,
    )


def _is_short(function: Function | None) -> bool:
    text = b"".join(function.lines if function else ())
    return len(tokenize(family(function.path if function else ""), text).texts) < TELLING


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
