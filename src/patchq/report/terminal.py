"""Lines that fit a console: its width, its colours and its encoding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from patchq.report.commit import ShownCommit
from patchq.report.look import MEMORIES, NEW, VERDICTS, Look
from patchq.report.text import displayable, printable

INDENT = 4
_NARROWEST = 30
_SUBJECT = 24

_PLAIN = {"→": "->", "·": "-", "…": "..."}


class Terminal(Console):
    """The one console: what a text brings along of escapes and the like is shown, not obeyed."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """What :class:`rich.console.Console` makes of it, with text that only shows."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(displayable(segment.text), segment.style)


class Writer:
    """Writes lines to a console; paths, names and commit ids are never cut."""

    def __init__(self, console: Console):
        self._console = console
        self.width = max(console.width, _NARROWEST)
        looks = (*VERDICTS.values(), *MEMORIES.values(), NEW)
        marks = "".join([*_PLAIN, *(look.sign for look in looks)])
        self._unicode = _encodable(marks, console.encoding)

    def blank(self) -> None:
        """Print an empty line."""
        self._console.print()

    def words(self, text: str, indent: int = 0, style: str = "") -> None:
        """Print plain words."""
        self.line(Text(self.say(text), style=style), indent)

    def line(self, text: Text, indent: int = 0) -> None:
        """Print ``text``, wrapped between words only: a long path stays whole."""
        for number, line in enumerate(_wrap(text, self.width - indent)):
            line.rstrip()
            # soft_wrap: the console neither wraps nor cuts a line wider than itself
            self._console.print(Text(" " * (indent + INDENT * bool(number))) + line, soft_wrap=True)

    def command(self, words: str) -> None:
        """Print a command to type, on one line however long it is: it is there to be copied."""
        self.row(Text(" " * INDENT + self.say(f"$ {words}"), style="cyan"))

    def items(self, texts: Sequence[Text]) -> None:
        """Print ``texts`` side by side, in as many lines as they need."""
        line = Text()
        for item in texts:
            if line and line.cell_len + 2 + item.cell_len > self.width:
                self.row(line)
                line = Text()
            line = Text("  ").join((line, item)) if line else item
        self.row(line)

    def row(self, text: Text) -> None:
        """Print a row of a grid, which its caller has made fit."""
        text.rstrip()
        self._console.print(text, soft_wrap=True)

    def sign(self, look: Look) -> str:
        """The sign of ``look`` that the stream can show."""
        return look.sign if self._unicode else look.plain

    def commit(self, shown: ShownCommit, indent: int) -> None:
        """The commit in one line, its subject as far as it fits; else the subject on the next."""
        number = f"(#{shown.pr})" if shown.pr else ""
        facts = " ".join(word for word in (number, shown.date, shown.first_tag) if word)
        text = Text.assemble((shown.short, "yellow"), " ", self.say(facts))
        room = self.width - indent - len(text.plain) - 2
        if room >= min(_SUBJECT, len(shown.subject)):
            subject = (self._shortened(shown.subject, room), "dim")
            self.line(Text.assemble(text, "  ", subject), indent)
        else:
            self.line(text, indent)
            room = self.width - indent - 2
            self.words(self._shortened(shown.subject, room), indent + 2, style="dim")

    def _shortened(self, subject: str, room: int) -> str:
        subject = self.say(subject)
        if cell_len(subject) <= room:
            return subject
        mark = self.say("…")
        short = Text(subject)
        short.truncate(room - len(mark))
        return short.plain.rstrip() + mark

    def say(self, text: str) -> str:
        """``text`` in characters that the stream can show."""
        text = printable(text)
        if self._unicode and _encodable(text, self._console.encoding):
            return text
        for mark, plain in _PLAIN.items():
            text = text.replace(mark, plain)
        encoding = self._console.encoding
        return text.encode(encoding, "backslashreplace").decode(encoding)


def _wrap(text: Text, width: int) -> Iterable[Text]:
    """``text`` in lines of ``width``, from the second on less the indentation of those."""
    breaks = [0]
    for word in re.finditer(r"\S+", text.plain):
        room = width - INDENT * (len(breaks) > 1)
        too_wide = cell_len(text.plain[breaks[-1] : word.end()]) > room
        if too_wide and word.start() > breaks[-1]:
            breaks.append(word.start())
    return text.divide(breaks[1:])


def _encodable(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
