"""Merge requests of GitLab, by its API, for forge.sh: what ``gh pr`` is for GitHub.

CI_API_V4_URL and CI_PROJECT_ID are what GitLab sets in a job; GITLAB_TOKEN is a token with the
scope ``api``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

REQUESTS = "merge_requests"


def call(method: str, path: str, **fields: str) -> Any:
    """What the API answers; ``fields`` are the query of a GET, else the body."""
    if not os.environ.get("GITLAB_TOKEN"):
        sys.exit("GitLab: there is no GITLAB_TOKEN")
    url = f"{os.environ['CI_API_V4_URL']}/projects/{os.environ['CI_PROJECT_ID']}/{path}"
    body = None
    if method == "GET":
        url += f"?{urlencode(fields)}"
    else:
        body = json.dumps(fields).encode()
    headers = {"PRIVATE-TOKEN": os.environ["GITLAB_TOKEN"], "Content-Type": "application/json"}
    with urlopen(Request(url, body, headers, method=method)) as answer:
        return json.load(answer)


def request_for(branch: str) -> None:
    """Print the number of the open request from ``branch``, if there is one."""
    for request in call("GET", REQUESTS, source_branch=branch, state="opened")[:1]:
        print(request["iid"])


def open_request(branch: str, target: str, title: str, file: str) -> None:
    """Open a request; its description is the content of ``file``."""
    call(
        "POST",
        REQUESTS,
        source_branch=branch,
        target_branch=target,
        title=title,
        description=Path(file).read_text(encoding="utf-8"),
    )


def update_request(number: str, title: str, file: str) -> None:
    """Give a request another title and description."""
    description = Path(file).read_text(encoding="utf-8")
    call("PUT", f"{REQUESTS}/{number}", title=title, description=description)


def comment(number: str, file: str) -> None:
    """Write over the comment that begins with the first line of ``file``, else add one."""
    body = Path(file).read_text(encoding="utf-8")
    mark = body.splitlines()[0]
    notes = f"{REQUESTS}/{number}/notes"
    page = 1
    while found := call("GET", notes, per_page="100", page=str(page)):
        for note in found:
            if note["body"].startswith(mark):
                call("PUT", f"{notes}/{note['id']}", body=body)
                return
        page += 1
    call("POST", notes, body=body)


if __name__ == "__main__":
    commands = {
        function.__name__: function
        for function in (request_for, open_request, update_request, comment)
    }
    try:
        commands[sys.argv[1]](*sys.argv[2:])
    except HTTPError as error:
        sys.exit(f"GitLab: {error.code} {error.reason}: {error.read(500).decode(errors='replace')}")
    except URLError as error:
        sys.exit(f"GitLab: {error.reason}")
