"""YAML files that people edit: every value knows its line, every mistake is named with it.

Reading works on PyYAML's node tree, so that text stays as it was spelled (a tag named ``1.10`` is
not a number) and nothing is guessed; writing is deterministic and never wraps a line.
"""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

import yaml
from yaml.composer import Composer
from yaml.resolver import Resolver

from patchq.errors import InputError, Where

_STRING = "tag:yaml.org,2002:str"
_BINARY = "tag:yaml.org,2002:binary"
_INTEGER = "tag:yaml.org,2002:int"
_AS_SPELLED = {
    _STRING,
    _INTEGER,
    "tag:yaml.org,2002:float",
    "tag:yaml.org,2002:timestamp",
}

# What a literal block gives back as it was: YAML folds CR, NEL, LS and PS into a line feed, takes
# no other control character, and a byte order mark may be eaten.
_LITERAL = "\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"

_DIGITS = 18
_SHOWN = 200


class _Strict(Composer):
    """Composes nodes; refuses aliases (they can be recursive) and repeated keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        events: Any = self
        if events.check_event(yaml.AliasEvent):
            mark = events.peek_event().start_mark
            raise yaml.composer.ComposerError(None, None, "aliases are not allowed here", mark)
        return super().compose_node(parent, index)

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.composer.ComposerError(None, None, "a key must be text", key.start_mark)
            if key.value in seen:
                message = f"key {key.value!r} is given twice"
                raise yaml.composer.ComposerError(None, None, message, key.start_mark)
            seen.add(key.value)
        return node


class _Loader(_Strict, yaml.SafeLoader):
    """PyYAML's own reader, for its words for what is wrong and where."""


def _compose(text: str) -> yaml.Node | None:
    """The node of the one document; read by libyaml if it is there, in a tenth of the time.

    Not so with tabs, of which it takes more than PyYAML's own reader does.
    """
    if yaml.__with_libyaml__ and "\t" not in text:
        with suppress(yaml.YAMLError, UnicodeError):
            return _node(_fast_loader()(text))
    return _node(_Loader(text))


def _node(loader: Any) -> yaml.Node | None:
    node: yaml.Node | None = loader.get_single_node()
    return node


@cache
def _fast_loader() -> Any:
    parser: Any = yaml.cyaml.CParser  # type: ignore[attr-defined]

    class Fast(_Strict, parser, Resolver):  # type: ignore[misc]
        def __init__(self, text: str):
            parser.__init__(self, text)
            Composer.__init__(self)
            Resolver.__init__(self)

    return Fast


@dataclass(frozen=True)
class YamlValue:
    """One value of a YAML file, with the place where it stands."""

    node: yaml.Node
    where: Where

    def fail(self, message: str, *, hint: str | None = None) -> NoReturn:
        """Raise :class:`InputError` at this value."""
        raise InputError(message, where=self.where, hint=hint)

    def _at(self, node: yaml.Node) -> YamlValue:
        return YamlValue(node, Where(self.where.file, node.start_mark.line + 1))

    def items(self) -> Iterator[tuple[str, YamlValue]]:
        """The keys and values of a mapping; raises :class:`InputError` if it is none."""
        if not isinstance(self.node, yaml.MappingNode):
            self.fail(f"expected a mapping, found {_describe(self.node)}")
        for key, value in self.node.value:
            # A value may begin on a later line; its key's line is where the eye looks.
            yield key.value, YamlValue(value, Where(self.where.file, key.start_mark.line + 1))

    def fields(self, *required: str, optional: tuple[str, ...] = ()) -> dict[str, YamlValue]:
        """A mapping with all of ``required`` and some of ``optional``, and no other key."""
        found = dict(self.items())
        for name, entry in found.items():
            if name not in required and name not in optional:
                known = ", ".join((*required, *optional))
                entry.fail(f"unknown key {name!r}", hint=f"The keys known here: {known}.")
        for name in required:
            if name not in found:
                self.fail(f"key {name!r} is missing")
        return found

    def sequence(self) -> tuple[YamlValue, ...]:
        """The items of a list; raises :class:`InputError` if it is none."""
        if not isinstance(self.node, yaml.SequenceNode):
            self.fail(f"expected a list, found {_describe(self.node)}")
        return tuple(self._at(node) for node in self.node.value)

    def text(self) -> str:
        """Text as it is spelled, also where YAML would make a number or a date of it."""
        if not isinstance(self.node, yaml.ScalarNode) or self.node.tag not in _AS_SPELLED:
            self.fail(f"expected text, found {_describe(self.node)}")
        return str(self.node.value)

    def texts(self) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(entry.text() for entry in self.sequence())

    def plain_value(self) -> Any:
        """The value as plain Python: a scalar, a list or a mapping."""
        try:
            return _Loader("").construct_document(self.node)
        except yaml.MarkedYAMLError as error:
            raise _refusal(error, self.where.file) from error
        except ValueError as error:  # a date such as 2026-99-99
            self.fail(str(error))

    def integer(self) -> int:
        """A whole number, in decimal digits."""
        value = self.node.value
        decimal = self.node.tag == _INTEGER and value.isascii() and value.isdecimal()
        if not decimal or len(value) > _DIGITS:
            self.fail(f"expected a whole number, found {_describe(self.node)}")
        return int(value)

    def content(self) -> bytes:
        """Bytes written by :class:`Dumper`: text as UTF-8, or ``!!binary``."""
        try:
            if self.node.tag != _BINARY:
                return self.text().encode("utf-8")
            return base64.b64decode("".join(self.node.value.split()), validate=True)
        except ValueError as error:
            self.fail(f"not bytes: {error}")

    def check_version(self, supported: int) -> None:
        """Check the format version under ``version``, if there is one.

        Comes before :meth:`fields`: a newer format may have keys that are unknown here.
        """
        entry = dict(self.items()).get("version")
        if entry is not None and (found := entry.integer()) != supported:
            entry.fail(
                f"format version {found} is not known; this patchq reads version {supported}",
                hint="A newer patchq wrote this file: upgrade." if found > supported else None,
            )

    def plain(self) -> Mapping[str, Any]:
        """A mapping as plain Python values, for parts that are read elsewhere."""
        tuple(self.items())
        value: Mapping[str, Any] = self.plain_value()
        return value


def parse(raw: bytes, where: Where) -> YamlValue | None:
    """The one document of a YAML file, or None for a file without any.

    Raises :class:`InputError` with the line for what is not UTF-8 or not YAML.
    """
    try:
        text = raw.decode("utf-8-sig")
        node = _compose(text)
    except UnicodeDecodeError as error:
        place = Where(where.file, raw.count(b"\n", 0, error.start) + 1)
        raise InputError("not UTF-8", where=place) from error
    except yaml.reader.ReaderError as error:
        place = Where(where.file, text.count("\n", 0, error.position) + 1)
        raise InputError("a control character is not allowed here", where=place) from error
    except yaml.MarkedYAMLError as error:
        raise _refusal(error, where.file) from error
    except RecursionError as error:
        raise InputError("nested too deeply", where=where) from error
    return None if node is None else YamlValue(node, Where(where.file, node.start_mark.line + 1))


def _refusal(error: yaml.MarkedYAMLError, file: str) -> InputError:
    mark = error.problem_mark or error.context_mark
    words = ", ".join(part for part in (error.context, error.problem) if part)
    return InputError(words, where=Where(file, mark.line + 1 if mark else None))


def _describe(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    if not node.value:
        return "nothing"
    return f"{node.value!r}" if len(node.value) <= _SHOWN else f"{node.value[:_SHOWN]!r}..."


def _is_not_literal(text: str) -> bool:
    return re.search(f"[^{_LITERAL}]", text) is not None


class Dumper(yaml.SafeDumper):
    """Writes text of several lines as a literal block, and bytes so that they read back exactly."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)

    def choose_scalar_style(self) -> str:
        # PyYAML refuses a literal block to tabs and trailing blanks, which every patch has.
        if isinstance(self.event, yaml.ScalarEvent) and self.event.style == "|":
            return "|"
        return super().choose_scalar_style()

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True

    def text(self, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else None
        if _is_not_literal(value):
            style = '"'
        return self.represent_scalar(_STRING, value, style=style)

    def content(self, value: bytes) -> yaml.ScalarNode:
        try:
            text = value.decode("utf-8")
        except UnicodeDecodeError:
            return self.represent_binary(value)
        return self.represent_binary(value) if _is_not_literal(text) else self.text(text)


Dumper.add_representer(str, Dumper.text)
Dumper.add_representer(bytes, Dumper.content)
# A date reads best bare, and this reader takes it as text in any case.
Dumper.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeDumper.yaml_implicit_resolvers.items()
}


def dump(value: Mapping[str, Any]) -> bytes:
    """``value`` as a YAML file, keys in the order given."""
    text: str = yaml.dump(
        value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=sys.maxsize
    )
    return text.encode("utf-8")
