"""What ``patchq lint`` finds in a series: where, what, and how bad."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from patchq.errors import Where


class Severity(Enum):
    """``error``: the series does not do what it says; ``warning``: unfinished; ``notice``."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


class Code(Enum):
    """What kind of finding it is."""

    BAD_YAML = "bad-yaml"
    UNLOCKED_SERIES = "unlocked-series"
    BAD_SERIES = "bad-series"
    MISSING_FILE = "missing-file"
    STRAY_FILE = "stray-file"
    MALFORMED_DIFF = "malformed-diff"
    DAMAGED = "damaged"
    NO_SUBJECT = "no-subject"
    NO_AUTHOR = "no-author"
    NO_ORIGIN = "no-origin"
    MALFORMED_FIELD = "malformed-field"
    DROPPED_TEXT = "dropped-text"
    NO_END = "no-end"
    MISSING_REQUIREMENT = "missing-requirement"
    UNKNOWN_GUARD = "unknown-guard"
    UNKNOWN_TARGET = "unknown-target"
    NEVER_APPLIED = "never-applied"
    TRAILING_BLANKS = "trailing-blanks"
    NUL_BYTE = "nul-byte"
    NOT_FOR_QUILT = "not-for-quilt"
    NO_RECORD = "no-record"


@dataclass(frozen=True)
class Finding:
    """One thing to look at; ``fixable`` if ``patchq lint --fix`` puts it right."""

    severity: Severity
    code: Code
    where: Where
    text: str
    fixable: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.severity.value}: {self.text} [{self.code.value}]"
