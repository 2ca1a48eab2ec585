"""What a patch says of itself, as git takes it: author, date, and a name made of its subject."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_tz

from patchq.git.mail import author_of
from patchq.git.objects import EMPTY_TREE, Entry
from patchq.git.store import Store
from patchq.model.header import defuse, description
from patchq.model.patch import Patch


def slug(subject: str) -> str:
    """A subject as a file name, as ``git format-patch`` makes it."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", subject).strip("-.")[:52].rstrip("-.")


def raw_date(text: str | None) -> str | None:
    """A mail's, git log's or ISO 8601 date in git's raw form; None if it is none of them."""
    parsed = parsedate_tz(text or "")
    try:
        if parsed is None:
            moment = datetime.fromisoformat((text or "").strip())
        else:
            zone = timezone(timedelta(seconds=parsed[9] or 0))
            moment = datetime(*parsed[:6], tzinfo=zone)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    seconds = int(moment.timestamp())
    return f"{seconds} {f'{moment:%z}'[:5]}" if seconds >= 0 else None


def clock() -> int:
    """This moment in seconds since 1970, or the one that ``SOURCE_DATE_EPOCH`` says."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    fixed = re.fullmatch("[0-9]{1,18}", given)
    return int(given) if fixed else int(time.time())


def now() -> str:
    """This moment in git's raw form."""
    return f"{clock()} +0000"


@dataclass(frozen=True)
class Wording:
    """Message (normalised), author (``Name <mail>``) and date (git's raw form) of a commit."""

    message: str
    author: str
    date: str


def wording(patch: Patch, *, author: str, date: str) -> Wording:
    """What a patch says of itself; ``author`` and ``date`` stand in where it names none.

    A patch without a subject has its name for one. All its fields are trailers of the message.
    """
    subject, body = description(patch.header)
    subject = subject or re.sub(r"[-_]+", " ", patch.name.removesuffix(".patch"))
    return Wording(
        normalised(f"{subject}\n\n{body}"),
        author_of(patch.header.author) or author,
        raw_date(patch.header.date) or date,
    )


def normalised(message: str) -> str:
    """A message as ``git commit`` leaves it (git-commit(1), ``--cleanup=whitespace``)."""
    lines = "\n".join(line.rstrip() for line in message.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n") + "\n"


def head_of(store: Store, words: Wording) -> bytes:
    """The head of a mail of ``git format-patch`` that says ``words``; no line of it misleads."""
    subject, _, body = words.message.partition("\n\n")
    message = normalised(f"{' '.join(subject.split())}\n\n{defuse(body)}")
    # what the mail changes does not show in its head
    file = {"file": Entry("100644", store.objects.write_blob(b"\n"))}
    raw = store.mailer.mail(
        *(EMPTY_TREE, store.objects.tree_of(file)),
        message=message,
        author=words.author,
        date=words.date,
    )
    return Patch("", raw).head
