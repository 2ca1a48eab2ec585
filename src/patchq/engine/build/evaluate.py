"""What a CMake project builds for a target, found by evaluating it with nothing of the target.

A real CMake evaluates the project in script mode, in a sandbox (:mod:`patchq.sandbox`): it may
read the project and its own files, and write nothing but its trace. The commands that would touch
the machine are stand-ins (``standins.cmake``), so that nothing needs to be installed; the trace
shows whether the project got behind them. Only files that CMake reads, and the names of the others,
decide the answer: it is kept under these.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from patchq.engine.build import (
    architectures,
    expressions,
    fetched,
    flag_lines,
    layout,
    stored,
    trace,
    values,
)
from patchq.engine.build.cmake import lists, program, standins
from patchq.engine.build.cmake.program import CMake, Evaluation, find_cmake
from patchq.engine.build.fetched import fetched_sources
from patchq.engine.build.flag_lines import Call
from patchq.engine.build.layout import ProjectFiles, ProjectLayout
from patchq.engine.build.stored import KeptBuild, kept_builds, placed
from patchq.engine.build.trace import Reading
from patchq.engine.build.values import bounded_build, impersonal, read_marks
from patchq.engine.languages.cmake_text import is_cmake
from patchq.errors import Where
from patchq.git.store import Store
from patchq.model.ids import TreeId
from patchq.model.settings import BuildSettings, CommandKind, Target
from patchq.model.verification import Build, Remark
from patchq.sandbox.runner import NoSandboxError, Runner, open_sandbox, open_unconfined

_READ = "patchq_read"
_INCLUDE = "patchq_include"
_ERROR = re.compile(r"^CMake Error at (.+?):(\d+)(?: \(.+?\))?:\n((?:  .*\n|\n)+)", re.MULTILINE)
_FRAME = re.compile(r"^  (\S.*?):(\d+) \(", re.MULTILINE)
_EVALUATED = re.compile(r":(\d+):EVAL$")


@dataclass(frozen=True)
class BuildQuestion:
    """A project to evaluate: the tree that is its directory, for a target, with more options.

    ``directory`` is the project's path in the whole tree, for places in answers. ``trusted``: it
    may be evaluated without a sandbox if there is none.
    """

    tree: TreeId
    directory: str
    target: Target
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    trusted: bool = False


class Prober:
    """Answers questions about the projects of one store; keeps the answers in ``cache``."""

    def __init__(self, store: Store, settings: BuildSettings, cache: Path):
        self._store = store
        self._settings = settings
        self._cache = cache
        self._builds = kept_builds(cache)
        self._projects: dict[str, ProjectFiles] = {}

    def probe(self, question: BuildQuestion) -> Build:
        """What the project of ``question`` builds; see :meth:`probe_all`."""
        return self.probe_all([question])[0]

    def probe_all(self, questions: Sequence[BuildQuestion]) -> list[Build]:
        """What each project builds, in order; those not known yet side by side.

        Raises :class:`PatchqError` if there is no CMake to evaluate them with, and
        :class:`~patchq.sandbox.runner.NoSandboxError` if there is no sandbox and a question is
        not trusted.
        """
        installed = find_cmake(self._cache)
        jobs = [
            _Job(question, self._project(question.tree), self._settings, installed)
            for question in questions
        ]
        known = {job.key: self._kept(job) for job in jobs}
        known.update(self._ask({job.key: job for job in jobs if known[job.key] is None}))
        found = [known[job.key] for job in jobs]
        return [
            placed(build, question.directory)
            for build, question in zip(found, questions, strict=True)
            if build
        ]

    def _project(self, tree: TreeId) -> ProjectFiles:
        if tree not in self._projects:
            self._projects[tree] = ProjectFiles.of(self._store.objects, tree)
        return self._projects[tree]

    @cached_property
    def _layout(self) -> ProjectLayout:
        return ProjectLayout(self._store.objects)

    @cached_property
    def _sandbox(self) -> Runner | NoSandboxError:
        try:
            return open_sandbox()
        except NoSandboxError as error:
            return error

    @cached_property
    def _unconfined(self) -> Runner:
        return open_unconfined()

    def _runner(self, jobs: Iterable[_Job]) -> Runner:
        if isinstance(self._sandbox, Runner):
            return self._sandbox
        if not all(job.question.trusted for job in jobs):
            raise self._sandbox
        return self._unconfined

    def _ask(self, jobs: Mapping[str, _Job]) -> dict[str, Build | None]:
        if not jobs:
            return {}
        runner = self._runner(jobs.values())
        runs = {key: _Run(job, self._layout, runner) for key, job in jobs.items()}
        trees: dict[str, list[_Run]] = {}
        for run in runs.values():
            trees.setdefault(run.job.question.tree, []).append(run)
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for waiting in trees.values():
                while waiting:
                    reads = {path for run in waiting for path in run.reads}
                    includes = {path for run in waiting for path in run.includes}
                    self._layout.show(waiting[0].job.project, reads, includes)
                    for run, evaluation in zip(
                        waiting, pool.map(_Run.evaluate, waiting), strict=True
                    ):
                        run.take(evaluation)
                    waiting = [run for run in waiting if run.build is None]
        for key, run in runs.items():
            self._keep(key, run)
        return {key: run.build for key, run in runs.items()}

    def _kept(self, job: _Job) -> Build | None:
        kept = self._builds.get(job.key)
        if kept is None or any(job.project.oid(path) != oid for path, oid in kept.reads.items()):
            return None
        return kept.build

    def _keep(self, key: str, run: _Run) -> None:
        assert run.build is not None
        read = sorted(run.reads | run.includes)
        reads = {path: run.job.project.oid(path) for path in read}
        self._builds.put(key, KeptBuild(reads, run.build))


@dataclass(frozen=True)
class _Job:
    """A question together with all that its answer depends on."""

    question: BuildQuestion
    project: ProjectFiles
    settings: BuildSettings
    program: CMake

    @property
    def options(self) -> dict[str, str]:
        return {**self.question.target.options, **self.question.options}

    @cached_property
    def key(self) -> str:
        """Under what the answer is kept."""
        facts = [
            _own_version(),
            self.program.version,
            self.project.facts,
            self.question.target.processor,
            self.question.target.cuda,
            self.options,
            asdict(self.settings, dict_factory=_plain),
        ]
        return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    @property
    def machine(self) -> str:
        """CMake code that defines what packages set, and commands of modules."""
        parts = []
        for name, variables in self.settings.packages.items():
            sets = [f'set({key} "{_quoted(value)}")\n' for key, value in variables.items()]
            parts.append(f"macro(patchq_package_{name})\n{''.join(sets)}endmacro()\n")
        bodies = {
            CommandKind.LIBRARY: 'patchq_created("${CMAKE_CUDA_ARCHITECTURES}")\n',
            CommandKind.IGNORE: "",
        }
        for name, kind in self.settings.commands.items():
            parts.append(f"function({name})\n{bodies[kind]}endfunction()\n")
        return "".join(parts)


class _Run:
    """One evaluation, made again where it turns out to read a file that was only a name."""

    def __init__(self, job: _Job, layout: ProjectLayout, runner: Runner):
        self.job = job
        self.reads: frozenset[str] = frozenset()
        self.includes: frozenset[str] = frozenset()
        self.build: Build | None = None
        self._layout = layout
        self._runner = runner
        self._lines: dict[str, Sequence[str]] = {}

    def evaluate(self) -> Evaluation:
        """Run CMake."""
        machine = self._layout.scratch / f"{self.job.key}.cmake"
        machine.write_text(self.job.machine, encoding="utf-8")
        replaced = self._layout.scratch / f"{self.job.key}.replaced.cmake"
        replaced.write_text(standins.replaced(self.job.program.commands), encoding="utf-8")
        question = self.job.question
        return self.job.program.evaluate(
            {
                **self.job.options,
                "PATCHQ_PROJECT": str(self._layout.project),
                "PATCHQ_ELSEWHERE": str(self._layout.elsewhere),
                "PATCHQ_MACHINE": str(machine),
                "PATCHQ_REPLACED": str(replaced),
                "PATCHQ_PROCESSOR": question.target.processor,
                "PATCHQ_CUDA": question.target.cuda,
            },
            self._runner,
            (self._layout.project, machine, replaced),
        )

    def take(self, evaluation: Evaluation) -> None:
        """Read the trace; leaves ``build`` empty if the run has to be made again."""
        escape = standins.find_escape(
            evaluation.trace,
            project=self._layout.project,
            others=(self._layout.elsewhere, self._layout.scratch, self.job.program.root),
        )
        if escape is not None:
            self.build = Build(problems=(escape,))
            return
        reads = self._named(evaluation, _READ)
        includes = self._named(evaluation, _INCLUDE)
        if not (reads <= self.reads and includes <= self.includes):
            self.reads |= reads
            self.includes |= includes
            return
        calls = self._calls(evaluation)
        built = Reading(
            calls,
            cuda=self.job.question.target.cuda,
            shown=self._shown,
            source=self._source,
            place=self._layout.scratch.name,
        ).build()
        contents = {path: self._text(path) for path in sorted(reads)}
        marks = read_marks(built, contents, self._code) if contents else ()
        self.build = bounded_build(
            replace(
                built,
                fetched=fetched_sources(calls),
                reads=tuple(contents),
                problems=(*self._errors(evaluation), *built.problems),
                notes=(*marks, *built.notes),
            ),
            self._impersonal,
            self._layout.scratch.name,
        )

    @cached_property
    def _impersonal(self) -> Callable[[str], str]:
        return impersonal(
            {
                self._layout.project: "CMAKE_SOURCE_DIR",
                self._layout.elsewhere / "build": "CMAKE_BINARY_DIR",
                self.job.program.root: "CMAKE_ROOT",
                program.STANDINS: "CMAKE_SCRIPT_MODE_FILE",
            }
        )

    def _named(self, evaluation: Evaluation, event: str) -> set[str]:
        """The files of the project that were only names, and that an ``event`` is about."""
        asked = (self._inside(e["args"][0]) for e in evaluation.trace if e["cmd"] == event)
        files = self.job.project.files
        return {path for path in asked if path and path in files and not is_cmake(path)}

    def _calls(self, evaluation: Evaluation) -> list[Call]:
        calls = []
        for event in evaluation.trace:
            name = event["cmd"].lower().lstrip("_")
            file = _EVALUATED.sub("", event["file"])
            path = self._inside(file)
            evaluated = _EVALUATED.search(event["file"])
            if path is not None and not name.startswith("patchq_"):
                first = int(evaluated[1]) if evaluated else event["line"]
                last = first if evaluated else event.get("line_end", first)
                calls.append(Call(name, tuple(event["args"]), path, first, last))
            elif path is None and event["cmd"] in _NOTES:
                calls.append(Call(event["cmd"], tuple(event["args"]), "", 0, 0))
        return calls

    def _inside(self, file: str) -> str | None:
        """The path in the project of an absolute one, None if it is not in it."""
        prefix = f"{self._layout.project}/"
        return file.removeprefix(prefix) if file.startswith(prefix) else None

    def _shown(self, path: str) -> str:
        """A path of the evaluation: of the project, or below the name of what is fetched."""
        if path == str(self._layout.project):
            return ""
        inside = self._inside(path)
        return path.removeprefix(f"{self._layout.elsewhere}/") if inside is None else inside

    def _source(self, path: str) -> Sequence[str]:
        if path not in self._lines:
            self._lines[path] = self._text(path).split("\n")
        return self._lines[path]

    def _text(self, path: str) -> str:
        return (self._layout.project / path).read_text(encoding="utf-8", errors="replace")

    @property
    def _code(self) -> str:
        return "\n".join(map(self._text, (*self.job.project.lists, *self.includes)))

    def _errors(self, evaluation: Evaluation) -> list[Remark]:
        """CMake's own errors, each at the innermost line of the project."""
        remarks = []
        for match in _ERROR.finditer(f"{evaluation.errors}\n"):
            body, _, stack = match[3].partition("Call Stack")
            following = evaluation.errors[match.end() :].partition("\n\n\n")[0]
            frames = [(match[1], match[2]), *_FRAME.findall(stack or following)]
            text = " ".join(body.split())
            for directory in (self._layout.project, self._layout.elsewhere):
                text = text.replace(f"{directory}/", "")
            remarks.append(Remark(text, self._place(frames)))
        if evaluation.errors and not remarks:
            remarks.append(Remark(" ".join(evaluation.errors.split())))
        return remarks

    def _place(self, frames: Sequence[tuple[str, str]]) -> Where | None:
        for file, line in frames:
            path = self._inside(_EVALUATED.sub("", file))
            if path is not None:
                return Where(path, int(line))
        return None


_NOTES = (trace.CREATED, trace.ENTER, trace.LEAVE, trace.UNKNOWN_CONTENT)


@cache
def _own_version() -> str:
    """The probe's own version: the content of what it is made of."""
    modules = (
        stored,
        architectures,
        program,
        expressions,
        fetched,
        layout,
        lists,
        flag_lines,
        standins,
        trace,
        values,
    )
    files = [module.__file__ for module in modules]
    paths = [Path(__file__), program.STANDINS, *(Path(file) for file in files if file)]
    return sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()


def _plain(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {
        key: {name: getattr(item, "value", item) for name, item in value.items()}
        for key, value in items
    }


def _quoted(value: str) -> str:
    """``value`` for a quoted argument of CMake, its references to variables kept."""
    return value.replace("\\", "\\\\").replace('"', '\\"')
