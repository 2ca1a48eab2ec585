"""Values on the command line that need no validation library.

typer converts values with pydantic, whose import takes longer than most commands do. Words that
become texts, paths, numbers or choices as they stand are converted here; typer is asked about all
others, and refuses.
"""

from __future__ import annotations

import os
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

if TYPE_CHECKING:
    from typer.core import TyperCommand as Command
else:
    Command = object


class PlainValues(Command):
    """A command, or group of them, whose values are converted without pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options and arguments, that for help too."""
        params: list[Any] = super().get_params(ctx)
        for param in params:
            if param._runtime_param is None:
                param._runtime_param = _Plain()
        return params


class _Plain:
    """Stands for typer's ``RuntimeParam``."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """``value`` in the type that the command declares, as typer gives it."""
        with suppress(_UnsureError):
            return _several(value, param) if _is_several(param) else _one(value, param)
        from typer._coercion import build_runtime_param

        return build_runtime_param(param.type_descriptor).coerce(value, param=param, ctx=ctx)


class _UnsureError(Exception):
    """It takes typer to say what a value is."""


def _is_several(param: Any) -> bool:
    return bool(param.multiple) or param.nargs != 1


def _several(value: Any, param: Any) -> Any:
    annotation = param.type_descriptor.annotation
    if value is None:
        return ()
    if get_origin(annotation) is not list or not isinstance(value, (list, tuple)):
        raise _UnsureError
    (element,) = get_args(annotation)
    return [_as(element, item, param) for item in value]


def _one(value: Any, param: Any) -> Any:
    return None if value is None else _as(param.type_descriptor.annotation, value, param)


def _as(annotation: Any, value: Any, param: Any) -> Any:
    info = param.type_descriptor.parameter_info
    if info.parser is not None or not isinstance(annotation, type):
        raise _UnsureError
    if annotation in (str, bool, int):
        if type(value) is annotation and _is_within(value, info):
            return value
    elif annotation is Path:
        return _path(value, info)
    elif issubclass(annotation, Enum):
        for choice in annotation:
            if value is choice or value == choice.value:
                return choice
    raise _UnsureError


def _is_within(value: Any, info: Any) -> bool:
    return (info.min is None or info.min <= value) and (info.max is None or value <= info.max)


def _path(value: str | Path, info: Any) -> Path:
    """Raises :class:`_UnsureError` also for what typer refuses: a file that may not be read."""
    flags = (info.exists, info.writable, info.resolve_path, info.allow_dash, info.path_type)
    if any(flags) or not (info.file_okay and info.dir_okay):
        raise _UnsureError
    path = Path(value)
    try:
        there = path.exists()
    except (OSError, ValueError):
        raise _UnsureError from None
    if there and not os.access(path, os.R_OK):
        raise _UnsureError
    return path
