"""What every JSON output has in common."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from patchq.report.text import readable


def render_document(document: Mapping[str, Any]) -> str:
    r"""``document`` as JSON: ASCII only, the same text for the same content.

    Bytes that are not UTF-8 are written as ``\xNN``, for JSON has no way to hold them, and many
    readers refuse the lone surrogates that stand for them in Python (RFC 8259, section 8.2).
    """
    return json.dumps(_readable(document), indent=2) + "\n"


def _readable(value: Any) -> Any:
    if isinstance(value, str):
        return readable(value)
    if isinstance(value, list | tuple):
        return [_readable(item) for item in value]
    if isinstance(value, Mapping):
        return {_readable(key): _readable(item) for key, item in value.items()}
    return value
