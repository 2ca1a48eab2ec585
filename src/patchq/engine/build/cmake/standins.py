"""What a project may not call while it is evaluated, and whether it did.

The sandbox keeps the machine whole, and the known ways behind the stand-ins are taken away:
commands without a stand-in by :func:`replaced`, the others by :mod:`.lists`. What came past all
that is found in CMake's trace, so that nothing it touched is taken for an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from posixpath import normpath
from typing import Any

from patchq.engine.build.cmake.lists import BEHIND, REFUSED, gets_behind
from patchq.errors import Where
from patchq.model.verification import Remark

_EVALUATED = re.compile(r":(\d+):EVAL$")
_READING = ("READ", "STRINGS", "SIZE", "MD5", "SHA", "GLOB", "REAL_PATH")


# the words of the language, which cannot be replaced
_LANGUAGE = """
    block break cmake_language continue else elseif endblock endforeach endfunction endif endmacro
    endwhile foreach function if macro return while
"""
_ON_VALUES = """
    cmake_parse_arguments cmake_path get_cmake_property include_guard list math message option
    separate_arguments set set_directory_properties string unset
"""
# the stand-ins use them
_BOUNDED = "cmake_policy file get_filename_component get_property include set_property"
_KEPT = frozenset(f"{_LANGUAGE} {_ON_VALUES} {_BOUNDED}".split())

# They change nothing while a project is evaluated.
_IGNORED = """
    add_compile_definitions add_compile_options add_custom_command add_custom_target
    add_definitions add_dependencies add_link_options add_test cmake_diagnostic configure_file
    define_property enable_testing ExternalProject_Add export FetchContent_SetPopulated
    include_directories include_regular_expression install link_directories link_libraries
    make_directory mark_as_advanced remove remove_definitions set_source_files_properties
    set_target_properties set_tests_properties source_group target_compile_definitions
    target_compile_features target_compile_options target_include_directories
    target_link_directories target_link_libraries target_link_options target_precompile_headers
    target_sources write_file
"""


def replaced(commands: Iterable[str]) -> str:
    """CMake code that makes its ``commands`` do nothing, or fail, but for the harmless ones.

    The answers of those that fail are the machine's, or a generated build's. All are defined twice,
    so that the original is gone; what is replaced in the files that are laid out fails too.
    """
    text = "its answer is not known without the machine"
    bodies = {name: f'message(FATAL_ERROR "{name}: {text}")' for name in commands}
    bodies = {**bodies, **dict.fromkeys(_IGNORED.split(), "")}
    definitions = [(name, body) for name, body in bodies.items() if name not in _KEPT] * 2
    definitions += [
        (f"{REFUSED}{name}", f'message(FATAL_ERROR "{name} bypasses the stand-ins")')
        for name in BEHIND
    ]
    return "".join(f"function({name})\n{body}\nendfunction()\n" for name, body in definitions)


def find_escape(
    trace: Iterable[Mapping[str, Any]], *, project: Path, others: Sequence[Path]
) -> Remark | None:
    """The first call of the project that got behind the stand-ins, None if there is none.

    That is one of a command that nothing of a project may call, and one that made a stand-in read
    outside of ``project`` and of ``others``, which CMake and the stand-ins need.
    """
    allowed = tuple(f"{place}/" for place in (project, *others))
    last: Mapping[str, Any] | None = None

    def place(event: Mapping[str, Any] | None) -> Where | None:
        if event is None:
            return None
        file, line = event["file"].removeprefix(allowed[0]), event["line"]
        if evaluated := _EVALUATED.search(file):
            file, line = file[: evaluated.start()], int(evaluated[1])
        return Where(file, line)

    for event in trace:
        file, command = event["file"], event["cmd"].lower()
        if file.startswith(allowed[0]):
            last = event
            if gets_behind(command):
                return Remark(f"{command} bypasses the stand-ins; not evaluated", place(last))
        else:
            path = _read(command, event["args"])
            if path and not f"{normpath(path)}/".startswith(allowed):
                return Remark(f"{path} is outside the project; not evaluated", place(last))
    return None


def _read(command: str, arguments: Sequence[str]) -> str | None:
    """The path that an original command behind a stand-in reads."""
    if command == "__include" and arguments:
        return arguments[0]
    if command == "__file" and len(arguments) > 1 and arguments[0].startswith(_READING):
        return arguments[-1] if arguments[0].startswith("GLOB") else arguments[1]
    return None
