"""What a project fetches while CMake configures it, read from the trace of its evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from patchq.engine.build.flag_lines import Call
from patchq.model.verification import Fetched

_KEYS = ("URL", "URL_HASH", "URL_MD5", "GIT_REPOSITORY", "GIT_TAG")
_POPULATES = ("fetchcontent_populate", "fetchcontent_makeavailable")


def fetched_sources(calls: Iterable[Call]) -> tuple[Fetched, ...]:
    """The content that is declared and populated, in that order (CMake's FetchContent module).

    The first declaration of a name counts, as in CMake. One that is never populated is not fetched.
    """
    declared: dict[str, Fetched] = {}
    populated: dict[str, None] = {}
    for call in calls:
        words = call.words
        if call.command == "fetchcontent_declare" and words:
            declared.setdefault(words[0].lower(), _declared(call))
        elif call.command in _POPULATES:
            names = words[:1] if call.command == "fetchcontent_populate" else words
            populated.update(dict.fromkeys(name.lower() for name in names))
    return tuple(declared[name] for name in populated if name in declared)


def _declared(call: Call) -> Fetched:
    name, *words = call.words
    said: Mapping[str, str] = {key: value for key, value in pairwise(words) if key in _KEYS}
    digest = said.get("URL_HASH") or (f"MD5={said['URL_MD5']}" if "URL_MD5" in said else None)
    return Fetched(
        name,
        said.get("URL") or said.get("GIT_REPOSITORY") or "",
        digest=digest,
        revision=said.get("GIT_TAG") if "URL" not in said else None,
        where=call.where,
    )
