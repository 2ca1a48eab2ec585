"""What a project may not call while it is evaluated, and whether it did.

The sandbox keeps the machine whole, and the known ways behind the stand-ins are taken away:
commands without a stand-in by :func:`refusals`, the others by :mod:`.lists`. What came past all
that is found in CMake's trace, so that nothing it touched is taken for an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from posixpath import normpath
from typing import Any

from patchq.engine.verify.build.cmake.lists import BEHIND, REFUSED, gets_behind
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


def refusals(commands: Iterable[str]) -> str:
    """CMake code that makes those of its ``commands`` fail which are not among the harmless ones.

    Their answers are the machine's, or a generated build's. Defined twice, so that the original is
    gone; what is replaced in the files that are laid out fails too.
    """
    text = "its answer is not known without the machine"
    refused = [name for name in commands if name not in _KEPT]
    names = [(name, f"{name}: {text}") for name in refused * 2]
    names += [(f"{REFUSED}{name}", f"{name} gets behind the stand-ins") for name in BEHIND]
    return "".join(
        f'function({name})\n  message(FATAL_ERROR "{words}")\nendfunction()\n'
        for name, words in names
    )


def find_escape(
    trace: Iterable[Mapping[str, Any]], *, project: Path, others: Sequence[Path]
) -> Remark | None:
    """The first call of the project that got behind the stand-ins, None where there is none.

    That is one of a command that nothing of a project may call, and one that made a stand-in read
    outside of ``project`` and of ``others``, which CMake and the stand-ins need.
    """
    allowed = tuple(f"{place}/" for place in (project, *others))
    last: Where | None = None
    for event in trace:
        file, line = event["file"], event["line"]
        if evaluated := _EVALUATED.search(file):
            file, line = file[: evaluated.start()], int(evaluated[1])
        command = event["cmd"].lower()
        if file.startswith(allowed[0]):
            last = Where(file.removeprefix(allowed[0]), line)
            if gets_behind(command):
                return Remark(f"{command} gets behind the stand-ins; not evaluated", last)
        else:
            path = _read(command, event["args"])
            if path and not f"{normpath(path)}/".startswith(allowed):
                return Remark(f"{path} is outside the project; not evaluated", last)
    return None


def _read(command: str, arguments: Sequence[str]) -> str | None:
    """The path that an original command behind a stand-in reads."""
    if command == "__include" and arguments:
        return arguments[0]
    if command == "__file" and len(arguments) > 1 and arguments[0].startswith(_READING):
        return arguments[-1] if arguments[0].startswith("GLOB") else arguments[1]
    return None
