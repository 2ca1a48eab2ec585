"""Bring a wheel from the Python package index.

The user's own pip does it, so that their index, proxy, certificates and cache are honoured. Only
wheels are brought: pip builds a source distribution to learn about it, and so runs its code.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from patchq.archives.reader import sha256_of
from patchq.errors import InputError, UpstreamError, Where
from patchq.files import scratch_beside

_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)==(?P<version>[A-Za-z0-9.!+_-]+)"
)
_BY_HAND = "Download the file yourself and give its path instead."

# NAME-VERSION(-BUILD)?-PYTHON-ABI-PLATFORM.whl, where each tag can be several joined by dots (the
# binary distribution format of packaging.python.org); of several Python tags the last, py2.py3.
_WHEEL = re.compile(
    r"[^-/]+-(?P<version>[^-/]+)(?:-\d[^-/]*)?"
    r"-(?:[^-./]+\.)*(?P<implementation>[a-z]+)(?P<major>\d)(?P<minor>\d*)"
    r"-(?P<abis>[^-/]+)-(?P<platforms>[^-/]+)\.whl"
)

# -P keeps a pip.py in the current directory out.
_PIP = (sys.executable, "-P", "-m", "pip")
_OPTIONS = (
    "--no-deps",
    "--only-binary=:all:",
    "--disable-pip-version-check",
    "--no-input",
    "--no-color",
    "--progress-bar=off",
)
_ANY_PLATFORM = ("--implementation=py", "--abi=none", "--platform=any")


@dataclass(frozen=True)
class Requirement:
    """One version of a project on the index."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"


def parse_requirement(text: str) -> Requirement | None:
    """The requirement in ``pypi:NAME==VERSION``; None if ``text`` is not about the index.

    Raises InputError if it begins with ``pypi:`` and goes on otherwise.
    """
    scheme, _, rest = text.partition(":")
    if scheme != "pypi":
        return None
    match = _REQUIREMENT.fullmatch(rest)
    if match is None:
        raise InputError(
            f"{text!r} does not name one version of a project", hint="Write pypi:NAME==VERSION."
        )
    return Requirement(match["name"], match["version"])


def download(
    requirement: Requirement,
    directory: Path,
    *,
    python: str | None = None,
    platform: str | None = None,
    file: str | None = None,
    sha256: str | None = None,
) -> Path:
    """Bring a wheel of ``requirement`` into ``directory`` and return its path.

    ``file`` pins which one, on any machine. Else ``python`` (``3.12``) and ``platform``
    (``manylinux_2_34_aarch64``) choose; without them a wheel for every platform is preferred to
    one for this machine. Raises UpstreamError if pip brings nothing, or anything but ``file``
    with ``sha256``.
    """
    if file is not None:
        present = directory / file
        if sha256 is not None and present.is_file() and sha256_of(present) == sha256:
            return present
    attempts = _attempts(requirement, python, platform, file)
    directory.mkdir(parents=True, exist_ok=True)
    with scratch_beside(directory, ".download-") as scratch:
        brought = _bring(requirement, scratch, attempts)
        _check(brought, file, sha256)
        return brought.replace(directory / brought.name)


def _attempts(
    requirement: Requirement, python: str | None, platform: str | None, file: str | None
) -> Sequence[Sequence[str]]:
    """Arguments for pip, in the order in which they are to be tried."""
    if file is not None:
        return (_arguments_for(requirement.name, file),)
    choice = [f"--python-version={python}"] if python else []
    choice += [f"--platform={platform}"] if platform else []
    if choice:
        return ([*choice, str(requirement)],)
    return ([*_ANY_PLATFORM, str(requirement)], [str(requirement)])


def _arguments_for(name: str, file: str) -> Sequence[str]:
    """Arguments that make pip, on any machine, choose the wheel ``file``."""
    wheel = _WHEEL.fullmatch(file)
    if wheel is None:
        raise UpstreamError(
            "only a wheel can be downloaded: for a source distribution pip would run its code",
            where=Where(file),
            hint=_BY_HAND,
        )
    return (
        f"--implementation={wheel['implementation']}",
        f"--python-version={wheel['major']}.{wheel['minor']}".rstrip("."),
        *(f"--abi={abi}" for abi in wheel["abis"].split(".")),
        *(f"--platform={platform}" for platform in wheel["platforms"].split(".")),
        # "==1.0" would also take, and prefer, a local version such as 1.0+cu128.
        f"{name}==={wheel['version']}",
    )


def _bring(requirement: Requirement, scratch: Path, attempts: Sequence[Sequence[str]]) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise UpstreamError(
            f"pip is not installed for {sys.executable}, though patchq depends on it",
            hint=f"Install it there: `{sys.executable} -m ensurepip`. {_BY_HAND}",
        )
    reason = ""
    for arguments in attempts:
        process = subprocess.run(
            [*_PIP, "download", *_OPTIONS, f"--dest={scratch}", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        brought = list(scratch.iterdir())
        if process.returncode == 0 and len(brought) == 1:
            return brought[0]
        reason = _reason(process.stdout.decode(errors="replace"))
    raise UpstreamError(
        f"pip brought no wheel of {requirement}: {reason}",
        hint=f"Other wheels are chosen by --python and --platform. {_BY_HAND}",
    )


def _reason(output: str) -> str:
    """The last line of pip's output that says what went wrong."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith(("WARNING:", "DEPRECATION:", "[notice]"))]
    errors = [line.removeprefix("ERROR:").strip() for line in said if line.startswith("ERROR:")]
    return (errors or said or ["it said nothing"])[-1]


def _check(brought: Path, file: str | None, sha256: str | None) -> None:
    if file is not None and brought.name != file:
        raise UpstreamError(
            f"the index has {brought.name} where the lock has {file}", hint=_BY_HAND
        )
    found = sha256_of(brought)
    if sha256 is not None and found != sha256:
        raise UpstreamError(
            f"sha256 is {found}, the lock has {sha256}",
            where=Where(brought.name),
            hint="The file was not kept. Upstream, or the index in between, changed it.",
        )
