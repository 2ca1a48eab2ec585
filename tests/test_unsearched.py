"""Code that may have gone where no search of upstream sees it: nothing proves it gone then."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile

import pytest
from commandline import CommandLine
from miniature import Edits, MakeMiniature, Miniature, submodule, symlink
from test_absence import BODY, FIX, HEAD, PATH, TEXT, edited, judged
from workspaces import make_workspace

from patchq.model.verdict import Verdict

ONE, TWO = submodule("1" * 40), submodule("2" * 40)
MODULES = '[submodule "k"]\n\tpath = k\n\turl = https://example.org/k\n'
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'ab' * 32}\nsize 812\n"
BINARY = b"\x7f\0\1\2" * 30
CMAKE = "project(app)\ninclude(FetchContent)\n"
FETCH = "FetchContent_Declare(\n  router\n  GIT_REPOSITORY https://example.org/r\n  GIT_TAG v1\n)\n"
BAZEL = 'http_archive(\n    name = "router",\n    url = "https://example.org/r.zip",\n)\n'


def tarball() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        entry = tarfile.TarInfo(PATH)
        entry.size = len(TEXT)
        archive.addfile(entry, io.BytesIO(TEXT.encode()))
    return made.getvalue()


def zipped() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(PATH, TEXT)
    return made.getvalue()


CAME: dict[str, tuple[str, Edits]] = {
    "a submodule in its directory": ("app", {"app": ONE, ".gitmodules": MODULES}),
    "a submodule elsewhere": ("3rdparty/k", {"3rdparty/k": ONE, ".gitmodules": MODULES}),
    "a tarball": ("v.tar", {"v.tar": tarball()}),
    "a compressed tarball": ("v.tgz", {"v.tgz": gzip.compress(tarball())}),
    "a zip": ("deps/v.zip", {"deps/v.zip": zipped()}),
    "a zip of another name": ("deps/blob", {"deps/blob": zipped()}),
    "a short gzip without a NUL": ("v.gz", {"v.gz": b"\x1f\x8b\x08\x08abc"}),
    "UTF-16": ("app/route.txt", {"app/route.txt": TEXT.encode("utf-16")}),
    "a Git LFS pointer": ("app/route.cu", {"app/route.cu": POINTER}),
    "a link out of the tree": ("lib", {"lib": symlink("../shared/app")}),
    "a source that CMake fetches": ("CMakeLists.txt", {"CMakeLists.txt": CMAKE + FETCH}),
    "a source that Bazel fetches": ("deps.bzl", {"deps.bzl": BAZEL}),
    "a source that Meson fetches": ("subprojects/r.wrap", {"subprojects/r.wrap": "[wrap-git]\n"}),
}
GONE: Edits = {PATH: None, "app/pages.py": None, "app/main.py": None}


def started(miniature: MakeMiniature, **more: object) -> tuple[Miniature, bytes]:
    """Upstream at v1, with ``files`` besides, and a fix of its code."""
    upstream = miniature()
    files: Edits = {PATH: TEXT, "app/main.py": "import os\n", "app/pages.py": HEAD, "a.py": "a\n"}
    upstream.commit("Start (#1)", {**files, "CMakeLists.txt": CMAKE, **more})  # type: ignore[dict-item]
    upstream.tag("v1")
    return upstream, upstream.patch("v1", {PATH: edited(TEXT, FIX)})


@pytest.mark.parametrize("steps", ["at once", "new first", "old first"])
@pytest.mark.parametrize(("place", "edits"), CAME.values(), ids=CAME.keys())
def test_it_may_be_in_what_came(
    miniature: MakeMiniature, place: str, edits: Edits, steps: str
) -> None:
    """The patch stays, and its report names the place and since when it is there."""
    upstream, patch = started(miniature)
    parts: dict[str, list[Edits]] = {
        "at once": [{**GONE, **edits}],
        "new first": [GONE, edits] if place == "app" else [edits, GONE],
        "old first": [GONE, edits],
    }
    commits = {tuple(part): upstream.commit("Step (#2)", part) for part in parts[steps]}
    upstream.commit("More (#3)", {"a.py": "b\n"})
    upstream.tag("v2")
    report = judged(upstream, patch)[0].report
    assert report.verdict is Verdict.CONFLICT
    (said,) = report.evidence[-1:]
    assert said.paths == (place,)
    assert said.text.endswith("what is in it could not be searched")
    assert place in said.text
    (came,) = [oid for part, oid in commits.items() if set(edits) <= set(part)]
    since = "" if "the build fetches" in said.text else came[:9]
    assert said.commit == came if place == "app" else since in said.text


NOT_THERE: dict[str, tuple[Edits, Edits]] = {
    "a picture": ({}, {"docs/logo.png": BINARY}),
    "a library": ({}, {"lib/libx.so.1": BINARY, "lib/x.a": BINARY}),
    "a submodule from before": ({"k": ONE, ".gitmodules": MODULES}, {}),
    "an archive from before": ({"v.zip": zipped()}, {}),
    "an archive that moved": ({"v.zip": zipped()}, {"v.zip": None, "old/v.zip": zipped()}),
    "a link inside of the tree": ({}, {"lib/link": symlink("../a.py")}),
    "a source that was fetched before": (
        {"CMakeLists.txt": CMAKE + FETCH},
        {"CMakeLists.txt": CMAKE, "cmake/fetch.cmake": FETCH},
    ),
}


@pytest.mark.parametrize(("before", "edits"), NOT_THERE.values(), ids=NOT_THERE.keys())
def test_what_cannot_hold_it(miniature: MakeMiniature, before: Edits, edits: Edits) -> None:
    upstream, patch = started(miniature, **before)
    upstream.commit("Delete (#2)", GONE)
    upstream.commit("Step (#3)", {"a.py": "b\n", **edits})
    upstream.tag("v2")
    assert judged(upstream, patch)[0].report.verdict is Verdict.UNREACHABLE


CHANGED: dict[str, tuple[Edits, Edits]] = {
    "a submodule": ({"k": ONE, ".gitmodules": MODULES}, {"k": TWO}),
    "the modules alone": ({".gitmodules": MODULES}, {".gitmodules": MODULES + "\tbranch = x\n"}),
    "what CMake fetches": (
        {"CMakeLists.txt": CMAKE + FETCH},
        {"CMakeLists.txt": CMAKE + FETCH.replace("v1", "v2")},
    ),
}


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(("before", "edits"), CHANGED.values(), ids=CHANGED.keys())
def test_what_changed_with_the_deletion(
    miniature: MakeMiniature, before: Edits, edits: Edits, at_once: bool
) -> None:
    """What was there before took the code in only if the commit that deleted it says so."""
    upstream, patch = started(miniature, **before)
    for part in [{**GONE, **edits}] if at_once else [GONE, edits]:
        upstream.commit("Step (#2)", part)
    upstream.tag("v2")
    expected = Verdict.CONFLICT if at_once else Verdict.UNREACHABLE
    assert judged(upstream, patch)[0].report.verdict is expected


def test_a_build_file_that_fetches_nothing(miniature: MakeMiniature) -> None:
    upstream, patch = started(miniature)
    upstream.commit("Delete (#2)", {**GONE, "CMakeLists.txt": CMAKE + "add_library(x a.c)\n"})
    upstream.tag("v2")
    assert judged(upstream, patch)[0].report.verdict is Verdict.UNREACHABLE


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ({"k": ONE, ".gitmodules": MODULES}, {"k": TWO}),
        ({"k": "x = 1\n"}, {"k": zipped()}),
    ],
)
def test_since_when_it_may_be_in_a_place(
    miniature: MakeMiniature, first: Edits, later: Edits
) -> None:
    """A submodule is there since it came, an archive since its bytes are what they are."""
    upstream, patch = started(miniature)
    upstream.commit("Delete (#2)", GONE)
    commits = [upstream.commit(f"Step (#{n})", edits) for n, edits in ((3, first), (4, later))]
    upstream.commit("More (#5)", {"a.py": "b\n"})
    upstream.tag("v2")
    (said,) = judged(upstream, patch)[0].report.evidence[-1:]
    since = commits[0] if ".gitmodules" in first else commits[1]
    assert f" since {since[:9]}: " in said.text


@pytest.mark.parametrize("came", [True, False])
def test_a_path_that_is_a_submodule_now_is_not_known_to_be_missing(
    miniature: MakeMiniature, came: bool
) -> None:
    upstream, _ = started(miniature)
    ends = {"X-Retire-When": f"path-missing {PATH}"}
    patch = upstream.patch("v1", {PATH: edited(TEXT, FIX)}, trailers=ends)
    edits: Edits = {**GONE, "app": ONE} if came else GONE
    upstream.commit("Delete (#2)", edits)
    upstream.tag("v2")
    verdict = judged(upstream, patch)[0].report.verdict
    assert (verdict is Verdict.CONFLICT) is came


def test_a_function_of_a_file_that_stays(miniature: MakeMiniature) -> None:
    upstream, patch = started(miniature)
    upstream.commit("Vendor it (#2)", {PATH: TEXT.replace(BODY, ""), "v.zip": zipped()})
    upstream.tag("v2")
    assert judged(upstream, patch)[0].report.verdict is Verdict.CONFLICT


def test_the_command_says_where_it_may_be(miniature: MakeMiniature, patchq: CommandLine) -> None:
    upstream, patch = started(miniature)
    edits: Edits = {"3rdparty/k": ONE, ".gitmodules": MODULES}
    commit = upstream.commit("Make it a submodule (#2)", {**GONE, **edits})
    upstream.tag("v2")
    root = make_workspace(upstream, {"fix.patch": patch}).root
    result = patchq("report", "v1", "--onto", "v2", "--format", "json", cwd=root)
    (found,) = json.loads(result.stdout)["patches"]
    assert found["verdict"] == "conflict"
    words = f"may be in 3rdparty/k, which is a submodule since {commit[:9]}: what is in it"
    assert words in found["evidence"][-1]["text"]
    assert words in " ".join(patchq("report", "v1", "--onto", "v2", cwd=root).stdout.split())
