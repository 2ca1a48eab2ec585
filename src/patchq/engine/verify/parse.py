"""Files that a series touches still parse, as far as they did before."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable

import yaml

from patchq.engine.languages import python_text
from patchq.engine.languages.cmake_text import LISTS, NotCMakeError, blocks
from patchq.engine.languages.python_text import NotPythonError
from patchq.engine.verify.subject import Subject
from patchq.errors import Where
from patchq.model.verification import Failure, Remark, Section

NAME = "parse"


class _ParseError(Exception):
    def __init__(self, text: str, line: int | None = None):
        super().__init__(text)
        self.text = text
        self.line = line


def check(subject: Subject) -> Section:
    """Parse every touched file of a language that is read here.

    What did not parse without the series either is upstream's affair, and a note.
    """
    failures, notes, count = [], [], 0
    for path in subject.touched:
        content, reader = subject.after(path), reader_of(path)
        if content is None or reader is None:
            continue
        count += 1
        error = _error(reader, content)
        if error is None:
            continue
        before = subject.before(path)
        if before is not None and _error(reader, before):
            notes.append(Remark(f"does not parse in upstream either: {error.text}", Where(path)))
        else:
            where = Where(path, error.line)
            failures.append(Failure(f"does not parse: {error.text}", where, subject.toucher(path)))
    files = "file parses" if count == 1 else "files parse"
    return Section(NAME, f"{count} touched {files}", tuple(failures), tuple(notes))


def reader_of(path: str) -> Callable[[bytes], None] | None:
    """What parses a file of that name, raising where it cannot."""
    name = path.rpartition("/")[2]
    return _READERS.get(name) or _READERS.get(name[name.rfind(".") :] if "." in name else "")


def _error(reader: Callable[[bytes], None], content: bytes) -> _ParseError | None:
    try:
        reader(content)
    except _ParseError as error:
        return error
    except RecursionError:
        return _ParseError("nested too deeply")
    return None


def _python(content: bytes) -> None:
    try:
        python_text.parse(content)
    except NotPythonError as error:
        raise _ParseError(error.text, error.line) from error


def _toml(content: bytes) -> None:
    try:
        tomllib.loads(content.decode())
    except ValueError as error:
        raise _ParseError(str(error)) from error


def _json(content: bytes) -> None:
    try:
        json.loads(content.decode())
    except json.JSONDecodeError as error:
        raise _ParseError(error.msg, error.lineno) from error
    except ValueError as error:
        raise _ParseError(str(error)) from error


def _yaml(content: bytes) -> None:
    try:
        # to nodes only: tags of applications, such as !include, are no business of a parser
        for _ in yaml.compose_all(content.decode(), Loader=yaml.SafeLoader):
            pass
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise _ParseError(error.problem or str(error), mark.line + 1 if mark else None) from error
    except (yaml.YAMLError, ValueError) as error:
        raise _ParseError(str(error)) from error


def _cmake(content: bytes) -> None:
    try:
        blocks(content)
    except NotCMakeError as error:
        raise _ParseError(error.text, error.line) from error


_READERS: dict[str, Callable[[bytes], None]] = {
    ".py": _python,
    ".pyi": _python,
    ".toml": _toml,
    ".json": _json,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".cmake": _cmake,
    LISTS: _cmake,
}
