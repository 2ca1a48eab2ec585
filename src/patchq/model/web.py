"""Where a forge shows upstream's commits, pull requests, files and comparisons."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from patchq.model.yamlfile import YamlValue

_GITLAB = ("gitlab", "salsa.debian.org", "invent.kde.org")
"""What stands in the address of a host that runs GitLab."""

_SSH = re.compile(r"(?:ssh://)?(?:[^@/:]+@)(?P<host>[^/:]+)(?::\d+/|[:/])(?P<path>[^:].*)")
"""``git@host:owner/name`` and ``ssh://git@host:22/owner/name`` (git-clone(1), GIT URLS)."""


@dataclass(frozen=True)
class Web:
    """Addresses with ``{}`` for what they are of; None: not shown.

    ``commit`` and ``pull`` take an id or a number, ``compare`` the older and the newer commit,
    ``file`` a commit and a path. ``url`` is the repository's own page, ``title`` heads our pages.
    """

    commit: str | None = None
    pull: str | None = None
    compare: str | None = None
    file: str | None = None
    title: str | None = None
    url: str | None = None

    @property
    def has_addresses(self) -> bool:
        """Whether any address is known."""
        return any((self.commit, self.pull, self.compare, self.file))


_PLACES = {"commit": 1, "pull": 1, "compare": 2, "file": 2}
"""How many ``{}`` each address has."""


def web_of(upstream: str) -> Web:
    """The addresses for an upstream repository, as GitHub (and Gitea) or GitLab form them.

    None of them if ``upstream`` is neither a web address nor one of ssh. A name or a password in it
    is left out.
    """
    ssh = _SSH.fullmatch(upstream)
    if ssh and "://" not in upstream.removeprefix("ssh://"):
        upstream = f"https://{ssh['host']}/{ssh['path'].lstrip('/')}"
    if not upstream.startswith(("https://", "http://")):
        return Web()
    parts = urlsplit(upstream)
    host = parts.netloc.rpartition("@")[2]  # no user or token gets into a page
    url = f"{parts.scheme}://{host}{parts.path.removesuffix('/').removesuffix('.git')}"
    gitlab = any(name in host for name in _GITLAB)
    inner, pull = (f"{url}/-", "merge_requests") if gitlab else (url, "pull")
    return Web(
        f"{inner}/commit/{{}}",
        f"{inner}/{pull}/{{}}",
        f"{inner}/compare/{{}}...{{}}",
        f"{inner}/blob/{{}}/{{}}",
        url=url,
    )


def read_web(entry: YamlValue) -> Web:
    """The ``web`` of the settings: the ``url`` of the repository, or each address by itself."""
    fields = entry.fields(optional=("url", "title", *_PLACES))
    found = web_of(fields["url"].text()) if "url" in fields else Web()
    given = {
        name: _address(fields[name], count) for name, count in _PLACES.items() if name in fields
    }
    title = fields["title"].text() if "title" in fields else None
    return replace(found, **given, title=title)


def _address(entry: YamlValue, places: int) -> str:
    text = entry.text()
    if not is_address(text, places):
        what = "{} for the id or number" if places == 1 else f"{places} places {{}}"
        entry.fail(f"expected a web address with {what}")
    return text


def is_address(text: str, places: int = 1) -> bool:
    """Whether ``text`` is a web address with so many ``{}``."""
    return text.startswith(("https://", "http://")) and text.count("{}") == places
