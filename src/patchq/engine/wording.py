"""What a patch says of itself, as git takes it: author, date, and a name made of its subject."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_tz

from patchq.git.identity import identity

ADDRESS = re.compile(r'\s*"?(?P<name>[^<>"]*?)"?\s*<\s*(?P<mail>[^<>\s]+)\s*>')


def slug(subject: str) -> str:
    """A subject as a file name, as ``git format-patch`` makes it."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", subject).strip("-.")[:52].rstrip("-.")


def author_of(text: str | None) -> str | None:
    """A From line as git's ``Name <mail>``; None where there is none."""
    if not text:
        return None
    match = ADDRESS.match(text)
    if match:
        return identity(match["name"], match["mail"])
    return identity("", text) if "@" in text else identity(text, "")


def raw_date(text: str | None) -> str | None:
    """A mail's, git log's or ISO 8601 date in git's raw form; None where it is none of them."""
    parsed = parsedate_tz(text or "")
    try:
        if parsed is None:
            moment = datetime.fromisoformat((text or "").strip())
        else:
            zone = timezone(timedelta(seconds=parsed[9] or 0))
            moment = datetime(*parsed[:6], tzinfo=zone)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
    except ValueError:
        return None
    return f"{int(moment.timestamp())} {moment:%z}"
