"""From CMake's trace of an evaluation to what the project builds.

Each call in the trace does here to targets and directories what it does in CMake, as far as that
decides which sources are compiled, and how.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from posixpath import normpath

from patchq.engine.build.compiled import Compiled
from patchq.engine.build.expressions import UnknownExpressionError, evaluate
from patchq.engine.build.flag_lines import Call, FlagLines
from patchq.engine.build.targets import (
    LINK_SCOPES,
    CMakeTarget,
    Directory,
    Scoped,
    SourceFile,
    Words,
    by_scope,
    properties,
    put,
)
from patchq.errors import Where
from patchq.model.verification import Build, Remark

CREATED = "patchq_created"
ENTER = "patchq_enter"
LEAVE = "patchq_leave"
UNKNOWN_CONTENT = "patchq_unknown_content"

_TARGET_NAME = re.compile(r"[A-Za-z0-9_.+-]{1,200}")  # cmake-policies(7), CMP0037
_DISGUISE = re.compile(r"MD5|SHA\d+|SHA3_\d+|UUID|HEX|MAKE_C_IDENTIFIER|TOUPPER")
_FILE_TESTS = frozenset(
    ["EXISTS", "IS_DIRECTORY", "IS_SYMLINK", "IS_READABLE", "IS_WRITABLE", "IS_EXECUTABLE"]
)


class Reading:
    """One trace being read.

    ``shown`` turns a path of the evaluation into one for people; ``source`` gives the lines of a
    file of the project. ``place`` is in the path of each of its files and stands for this machine.
    """

    def __init__(
        self,
        calls: Sequence[Call],
        *,
        cuda: str,
        shown: Callable[[str], str],
        source: Callable[[str], Sequence[str]],
        place: str,
    ):
        self._calls = calls
        self._place = place
        self._shown = shown
        self._source = source
        self._asking: dict[str, list[int]] = {}
        self._directories = [Directory("")]
        self._targets: dict[str, CMakeTarget] = {}
        self._aliases: dict[str, str] = {}
        self._sources: dict[str, SourceFile] = {}
        self._defaults: dict[str, str] = {}
        self._problems: dict[Remark, None] = {}
        self._notes: dict[Remark, None] = {}
        self._compiled = Compiled(
            calls,
            FlagLines(calls, source),
            cuda,
            self._targets,
            self._aliases,
            self._sources,
            self._problem,
        )

    def build(self) -> Build:
        """What the project builds."""
        last = 0
        for index, call in enumerate(self._calls):
            take, note = _COMMANDS.get(call.command), _INTERNAL.get(call.command)
            last = last if note else index
            try:
                if note:
                    note(self, self._calls[last], call)
                else:
                    self._environment(call)
                if take:
                    take(self, index, call)
            except (ValueError, IndexError):
                asked = self._calls[last]
                text = f"{asked.command} does not have the arguments that it needs"
                self._problem(asked.where, text)
        targets = [self._compiled.built(target) for target in self._targets.values()]
        return Build(
            targets=tuple(target for target in targets if target.groups),
            defaults=tuple(sorted(self._defaults.items())),
            problems=tuple(self._problems),
            notes=tuple(self._notes),
        )

    # --- what the stand-ins say ---

    def _created(self, call: Call, note: Call) -> None:
        name, *rest = call.words
        if "ALIAS" in rest:
            self._aliases[name] = rest[-1]
            return
        if "IMPORTED" in rest:
            return
        if "USE_SABI" in rest and len(rest) > rest.index("USE_SABI") + 1:
            del rest[rest.index("USE_SABI") + 1]
        if not _TARGET_NAME.fullmatch(name):
            self._problem(call.where, f"{name!r} is no name of a target")
            return
        here = self._here
        self._targets[name] = CMakeTarget(
            name,
            here,
            call.where,
            sources=[],
            architectures=note.arguments[0] if note.arguments else "",
            options=Scoped([*here.options]),
            definitions=Scoped(),
            links=[*here.links],
        )
        self._add_sources(self._targets[name], rest, call)

    def _enter(self, _call: Call, note: Call) -> None:
        self._directories.append(self._here.below(self._shown(note.arguments[0])))

    def _leave(self, _call: Call, note: Call) -> None:
        self._here.flags = dict(zip(("CUDA", "CXX", "C"), note.arguments, strict=False))
        if len(self._directories) > 1:
            self._directories.pop()

    def _unknown_content(self, call: Call, note: Call) -> None:
        path = self._shown(note.arguments[0])
        self._note(call, f"{path} is fetched by the build; what is there is not known")

    # --- commands of the project ---

    def _option(self, _index: int, call: Call) -> None:
        name, _, *value = call.arguments
        self._defaults[name] = value[0] if value and value[0] else "OFF"

    def _compile_options(self, index: int, call: Call) -> None:
        if target := self._known(call):
            for scope, words in by_scope(call.arguments[1:], index):
                target.options.add(scope, words)

    def _compile_definitions(self, index: int, call: Call) -> None:
        if target := self._known(call):
            for scope, words in by_scope(call.arguments[1:], index):
                target.definitions.add(scope, words)

    def _target_sources(self, index: int, call: Call) -> None:
        if target := self._known(call):
            for scope, words in by_scope(call.arguments[1:], index):
                if scope != "INTERFACE":
                    self._add_sources(target, words.text.split(";"), call)

    def _link(self, _index: int, call: Call) -> None:
        target = self._known(call)
        if target is None:
            return
        scope = "PUBLIC"
        for word in call.words[1:]:
            if word in LINK_SCOPES:
                scope = word
                continue
            if "INTERFACE" not in scope:
                target.links.append(word)
            if "PRIVATE" not in scope:
                target.interface_links.append(word)

    def _directory_options(self, index: int, call: Call) -> None:
        self._here.options.append(Words(";".join(call.arguments), index))

    def _directory_definitions(self, index: int, call: Call) -> None:
        self._here.definitions.append(Words(";".join(call.arguments), index))

    def _legacy_definitions(self, index: int, call: Call) -> None:
        for word in call.words:
            known = self._here.definitions if word.startswith("-D") else self._here.options
            known.append(Words(word.removeprefix("-D"), index))

    def _directory_links(self, _index: int, call: Call) -> None:
        self._here.links.extend(call.words)

    def _target_properties(self, index: int, call: Call) -> None:
        names, pairs = properties(call.arguments)
        for name in names:
            target = self._find(name, call)
            for key, value in pairs:
                if target:
                    self._set_on_target(target, key, Words(value, index), call, append=False)

    def _source_properties(self, index: int, call: Call) -> None:
        names, pairs = properties(call.arguments)
        for name in names:
            for key, value in pairs:
                self._set_on_source(name, key, Words(value, index), append=False)

    def _set_property(self, index: int, call: Call) -> None:
        scope, *rest = call.words
        if "PROPERTY" not in rest:
            return
        split = rest.index("PROPERTY")
        names, (key, *values) = rest[:split], rest[split + 1 :]
        append = any(word in names for word in ("APPEND", "APPEND_STRING"))
        names = [name for name in names if name not in ("APPEND", "APPEND_STRING")]
        words = Words(";".join(values), index)
        if scope == "DIRECTORY":
            self._here.set(key, words, append=append)
        for name in names:
            if scope == "TARGET" and (target := self._find(name, call)):
                self._set_on_target(target, key, words, call, append=append)
            elif scope == "SOURCE":
                self._set_on_source(name, key, words, append=append)

    def _condition(self, _index: int, call: Call) -> None:
        """Script mode has no targets, and a machine of its own: neither may decide anything."""
        for word, name in pairwise(call.arguments):
            if word == "TARGET" and ("::" in name or self._real(name) in self._targets):
                self._problem(
                    call.where, f"whether {name} is a target cannot be asked without a build"
                )
            elif word in _FILE_TESTS or name == "IS_NEWER_THAN":
                path = name if word in _FILE_TESTS else word
                if self._shown(normpath(path)).startswith(("/", "..")):
                    self._problem(
                        call.where, f"whether there is {path} cannot be asked without the machine"
                    )
            elif word == "DEFINED" and name.startswith("ENV{"):
                self._note(call, f"{name} is taken for unset, unless the project sets it")

    def _environment(self, call: Call) -> None:
        """A variable of the environment is the machine's, and a way to hide names."""
        if call.file not in self._asking:
            lines = enumerate(self._source(call.file), 1)
            self._asking[call.file] = [
                number for number, line in lines if "$ENV{" in line.partition("#")[0]
            ]
        for number in self._asking[call.file]:
            if call.first <= number <= call.last:
                where = Where(call.file, number)
                self._problem(where, "$ENV{…}: the environment is not known without the machine")

    def _string(self, _index: int, call: Call) -> None:
        """What is random, or made of a place beyond recognition, is another one each time."""
        operation = call.arguments[0]
        if operation == "RANDOM" and "RANDOM_SEED" not in call.arguments:
            self._problem(call.where, "string(RANDOM …): without RANDOM_SEED it is not known")
        elif _DISGUISE.fullmatch(operation) and any(
            self._place in word for word in call.arguments[1:]
        ):
            text = f"string({operation} …) of a path: it depends on the place of the evaluation"
            self._problem(call.where, text)

    def _run(self, _index: int, call: Call) -> None:
        self._note(call, "runs a program; taken to succeed and to print nothing")

    def _available(self, _index: int, call: Call) -> None:
        for name in call.words:
            self._note(call, f"what {name} builds itself is not evaluated")

    def _package(self, _index: int, call: Call) -> None:
        if "REQUIRED" not in call.words:
            self._note(call, f"{call.words[0]} is optional; taken for absent unless set up")

    # --- the state they work on ---

    @property
    def _here(self) -> Directory:
        return self._directories[-1]

    def _real(self, name: str) -> str:
        return self._aliases.get(name, name)

    def _known(self, call: Call) -> CMakeTarget | None:
        return self._find(call.words[0], call) if call.words else None

    def _find(self, name: str, call: Call) -> CMakeTarget | None:
        target = self._targets.get(self._real(name))
        if target is None:
            self._problem(call.where, f"{name} is not a target of the project")
        return target

    def _problem(self, where: Where, text: str) -> None:
        self._problems[Remark(text, where)] = None

    def _note(self, call: Call, text: str) -> None:
        self._notes[Remark(text, call.where)] = None

    def _add_sources(self, target: CMakeTarget, words: Iterable[str], call: Call) -> None:
        context = self._compiled.context("CUDA")
        for word in words:
            try:
                names = evaluate(word, context).split(";")
            except UnknownExpressionError as error:
                self._problem(call.where, str(error))
                continue
            target.sources += [self._path(name) for name in names if PurePosixPath(name).suffix]

    def _path(self, name: str) -> str:
        if name.startswith("/"):
            return self._shown(name)
        return normpath(f"{self._here.path}/{name}".lstrip("/"))

    def _set_on_target(
        self, target: CMakeTarget, key: str, words: Words, call: Call, *, append: bool
    ) -> None:
        if key == "CUDA_ARCHITECTURES":
            known = [target.architectures] if append and target.architectures else []
            target.architectures = ";".join([*known, words.text])
        elif key == "SOURCES":
            target.sources = target.sources if append else []
            self._add_sources(target, words.text.split(";"), call)
        elif key in ("LINK_LIBRARIES", "INTERFACE_LINK_LIBRARIES"):
            links = target.links if key == "LINK_LIBRARIES" else target.interface_links
            links[:] = [*(links if append else []), *words.text.split(";")]
        else:
            lists = {
                "COMPILE_OPTIONS": target.options.own,
                "COMPILE_FLAGS": target.options.own,
                "INTERFACE_COMPILE_OPTIONS": target.options.interface,
                "COMPILE_DEFINITIONS": target.definitions.own,
                "INTERFACE_COMPILE_DEFINITIONS": target.definitions.interface,
            }
            put(lists, key, words, append=append)

    def _set_on_source(self, name: str, key: str, words: Words, *, append: bool) -> None:
        source = self._sources.setdefault(self._path(name), SourceFile())
        source.set(key, words, append=append)


_INTERNAL: dict[str, Callable[[Reading, Call, Call], None]] = {
    CREATED: Reading._created,
    ENTER: Reading._enter,
    LEAVE: Reading._leave,
    UNKNOWN_CONTENT: Reading._unknown_content,
}

_COMMANDS: dict[str, Callable[[Reading, int, Call], None]] = {
    "add_compile_definitions": Reading._directory_definitions,
    "add_compile_options": Reading._directory_options,
    "add_definitions": Reading._legacy_definitions,
    "elseif": Reading._condition,
    "execute_process": Reading._run,
    "fetchcontent_makeavailable": Reading._available,
    "find_package": Reading._package,
    "if": Reading._condition,
    "link_libraries": Reading._directory_links,
    "option": Reading._option,
    "set_property": Reading._set_property,
    "set_source_files_properties": Reading._source_properties,
    "string": Reading._string,
    "set_target_properties": Reading._target_properties,
    "target_compile_definitions": Reading._compile_definitions,
    "target_compile_options": Reading._compile_options,
    "target_link_libraries": Reading._link,
    "target_sources": Reading._target_sources,
    "while": Reading._condition,
}
