"""Where a forge shows upstream's commits and pull requests."""

from __future__ import annotations

from dataclasses import dataclass

from patchq.model.yamlfile import YamlValue

_GITLAB = ("gitlab", "salsa.debian.org", "invent.kde.org")
"""What stands in the address of a host that runs GitLab."""


@dataclass(frozen=True)
class Web:
    """Addresses with ``{}`` for a commit's id and a pull request's number; None: not shown."""

    commit: str | None = None
    pull: str | None = None


def web_of(upstream: str) -> Web:
    """The addresses for an upstream repository, as GitHub (and Gitea) or GitLab form them.

    None of them if ``upstream`` is not a web address.
    """
    if not upstream.startswith(("https://", "http://")):
        return Web()
    base = upstream.removesuffix("/").removesuffix(".git")
    if any(name in base.split("/")[2] for name in _GITLAB):
        return Web(f"{base}/-/commit/{{}}", f"{base}/-/merge_requests/{{}}")
    return Web(f"{base}/commit/{{}}", f"{base}/pull/{{}}")


def read_web(entry: YamlValue) -> Web:
    """The ``web`` of the settings: the ``url`` of the repository, or each address by itself."""
    fields = entry.fields(optional=("url", "commit", "pull"))
    found = web_of(fields["url"].text()) if "url" in fields else Web()
    commit, pull = (
        _address(fields[name]) if name in fields else default
        for name, default in (("commit", found.commit), ("pull", found.pull))
    )
    return Web(commit, pull)


def _address(entry: YamlValue) -> str:
    text = entry.text()
    if not text.startswith(("https://", "http://")) or text.count("{}") != 1:
        entry.fail("expected a web address with {} for the id or number")
    return text
