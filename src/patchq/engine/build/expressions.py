"""Generator expressions of CMake, as far as they decide how a source is compiled.

Script mode has no generator, so they are evaluated here (cmake-generator-expressions(7)). One
that is not known here is an error; a branch that is not taken is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

_FALSE = ("", "0", "FALSE", "OFF", "N", "NO", "IGNORE", "NOTFOUND")


class UnknownExpressionError(Exception):
    """A generator expression whose value is not known without a generated build."""


@dataclass(frozen=True)
class Context:
    """What an expression is asked about: a source of ``language`` in a build of ``config``."""

    language: str
    cuda: str
    config: str
    targets: Collection[str] = ()


def evaluate(text: str, context: Context) -> str:
    """``text`` with its generator expressions replaced by their values.

    Raises :class:`UnknownExpressionError`.
    """
    try:
        return _evaluate(text, context)
    except RecursionError as error:
        raise UnknownExpressionError(f"{text[:40]}… is nested too deeply") from error


def _evaluate(text: str, context: Context) -> str:
    parts: list[str] = []
    position = 0
    while (start := text.find("$<", position)) != -1:
        end = _end(text, start)
        parts += [text[position:start], _value(text[start + 2 : end], context)]
        position = end + 1
    return "".join([*parts, text[position:]])


def _end(text: str, start: int) -> int:
    """Where the expression that begins at ``start`` ends: the index of its ``>``."""
    depth = 0
    for match in re.compile(r"\$<|>").finditer(text, start):
        depth += 1 if match[0] == "$<" else -1
        if not depth:
            return match.start()
    raise UnknownExpressionError(f"{text[start:]} has no end")


def _cut(text: str, mark: str, most: int = -1) -> list[str]:
    """``text`` split at ``mark`` where it is not inside an expression."""
    parts, start, position = list[str](), 0, 0
    while position < len(text) and len(parts) != most:
        if text.startswith("$<", position):
            position = _end(text, position) + 1
            continue
        if text[position] == mark:
            parts.append(text[start:position])
            start = position + 1
        position += 1
    return [*parts, text[start:]]


def _value(inner: str, context: Context) -> str:
    head, *rest = _cut(inner, ":", 1)
    key = _evaluate(head, context)
    if key == "0":
        return ""
    if key == "1":
        return _evaluate(rest[0], context) if rest else ""
    known = _EXPRESSIONS.get(key)
    if known is None:
        raise UnknownExpressionError(f"$<{key}> is not known without a generated build")
    try:
        return known([] if not rest else _cut(rest[0], ","), context)
    except (ValueError, IndexError) as error:
        raise UnknownExpressionError(
            f"$<{inner}> does not have the arguments that it needs"
        ) from error


_Expression = Callable[[Sequence[str], Context], str]


def _each(arguments: Sequence[str], context: Context) -> list[str]:
    return [_evaluate(argument, context) for argument in arguments]


def _bool(value: str) -> bool:
    """Whether CMake takes ``value`` for true in ``$<BOOL:…>``."""
    word = value.upper()
    return word not in _FALSE and not word.endswith("-NOTFOUND")


def _flag(truth: bool) -> str:
    return "1" if truth else "0"


def _if(arguments: Sequence[str], context: Context) -> str:
    condition, yes, no = arguments
    return _evaluate(yes if _evaluate(condition, context) == "1" else no, context)


def _version(text: str) -> list[int]:
    numbers = re.match(r"\d+(\.\d+)*", text)
    parts = [int(part) for part in numbers[0].split(".")] if numbers else [0]
    while parts and not parts[-1]:
        parts.pop()
    return parts


def _versions(holds: Callable[[list[int], list[int]], bool]) -> _Expression:
    def expression(arguments: Sequence[str], context: Context) -> str:
        left, right = _each(arguments, context)
        return _flag(holds(_version(left), _version(right)))

    return expression


def _strings(holds: Callable[[list[str]], bool]) -> _Expression:
    return lambda arguments, context: _flag(holds(_each(arguments, context)))


def _asked(value: Callable[[Context], str]) -> _Expression:
    """A value, or whether it is one of the arguments."""

    def expression(arguments: Sequence[str], context: Context) -> str:
        if not arguments:
            return value(context)
        return _flag(value(context) in _each(arguments, context))

    return expression


def _language_and_id(arguments: Sequence[str], context: Context) -> str:
    language, *compilers = _each(arguments, context)
    ours = "NVIDIA" if language == "CUDA" else "GNU"
    return _flag(context.language == language and ours in compilers)


def _config(arguments: Sequence[str], context: Context) -> str:
    if not arguments:
        return context.config
    names = [name.upper() for name in _each(arguments, context)]
    return _flag(context.config.upper() in names)


def _join(arguments: Sequence[str], context: Context) -> str:
    items, glue = _each(arguments, context)
    return glue.join(items.split(";"))


def _whole(arguments: Sequence[str], context: Context) -> str:
    return _evaluate(",".join(arguments), context)


def _nothing(_arguments: Sequence[str], _context: Context) -> str:
    return ""


def _constant(text: str) -> _Expression:
    return lambda _arguments, _context: text


_EXPRESSIONS: dict[str, _Expression] = {
    "AND": _strings(lambda values: all(value == "1" for value in values)),
    "OR": _strings(lambda values: any(value == "1" for value in values)),
    "NOT": _strings(lambda values: values[0] == "0"),
    "BOOL": _strings(lambda values: _bool(",".join(values))),
    "IF": _if,
    "STREQUAL": _strings(lambda values: values[0] == values[1]),
    "EQUAL": _strings(lambda values: int(values[0]) == int(values[1])),
    "IN_LIST": _strings(lambda values: values[0] in values[1].split(";")),
    "VERSION_LESS": _versions(lambda left, right: left < right),
    "VERSION_GREATER": _versions(lambda left, right: left > right),
    "VERSION_EQUAL": _versions(lambda left, right: left == right),
    "VERSION_LESS_EQUAL": _versions(lambda left, right: left <= right),
    "VERSION_GREATER_EQUAL": _versions(lambda left, right: left >= right),
    "COMPILE_LANGUAGE": _asked(lambda context: context.language),
    "COMPILE_LANG_AND_ID": _language_and_id,
    "CUDA_COMPILER_ID": _asked(lambda _context: "NVIDIA"),
    "CUDA_COMPILER_VERSION": _asked(lambda context: context.cuda),
    "CXX_COMPILER_ID": _asked(lambda _context: "GNU"),
    "C_COMPILER_ID": _asked(lambda _context: "GNU"),
    "PLATFORM_ID": _asked(lambda _context: "Linux"),
    "CONFIG": _config,
    "TARGET_EXISTS": lambda arguments, context: _flag(
        _evaluate(arguments[0], context) in context.targets
    ),
    "LOWER_CASE": lambda arguments, context: _whole(arguments, context).lower(),
    "UPPER_CASE": lambda arguments, context: _whole(arguments, context).upper(),
    "JOIN": _join,
    "BUILD_INTERFACE": _whole,
    "BUILD_LOCAL_INTERFACE": _whole,
    "COMPILE_ONLY": _whole,
    "INSTALL_INTERFACE": _nothing,
    "LINK_ONLY": _nothing,
    "HOST_LINK": _nothing,
    "DEVICE_LINK": _nothing,
    # the objects of another target, which is looked at by itself
    "TARGET_OBJECTS": _nothing,
    "SEMICOLON": _constant(";"),
    "COMMA": _constant(","),
    "ANGLE-R": _constant(">"),
    "QUOTE": _constant('"'),
}
