"""A fix that landed in a file that left the build: no silent retirement."""

from __future__ import annotations

import pytest
from judging import judged, landed, shown
from miniature import Edits, MakeMiniature

from patchq.model.verdict import EvidenceKind, Verdict

C = "int\nf(int a)\n{\n\tfirst(a);\n\tsecond(a);\n\treturn 0;\n}\n\nint b;\n"
FIXED = C.replace("second(a)", "second(a, 1)")
MAKE = "OBJS = a.o \\\n\tq.o b.o\n\nx: $(OBJS)\n\tcc -o x $(OBJS)\n\nq.o: q.c q.h\n"
CMAKE = "project(x)\nset(SRCS a.c\n  ${CMAKE_CURRENT_SOURCE_DIR}/q.c b.c)\nadd_library(q ${SRCS})\n"
LISTS = "CMakeLists.txt"
MADE = "foreach(n a q)\nlist(APPEND S ${n}.c)\nendforeach()\n"
MOVED = "add(x src/q.c)\n"
MESON = "project('x')\nsubdir('k')\nexecutable('x', files('q.c', 'k/q.c'))\n"
WHOLE = MESON.replace("subdir('k')\n", "")
TOP = "project(x)\nadd_subdirectory(k)\nadd_subdirectory(m)\n"
SETUP = 'setup(ext_modules=[Extension("x", ["a.c", "src/q.c"])])\n'


@pytest.mark.parametrize(
    ("path", "builds", "later", "name"),
    [
        ("q.c", {"Makefile": MAKE}, {"Makefile": MAKE.replace("\tq.o", "\tq2.o")}, "q.c"),
        ("q.c", {LISTS: CMAKE}, {LISTS: CMAKE.replace("q.c", "q2.c")}, "q.c"),
        ("q.c", {LISTS: CMAKE}, {LISTS: CMAKE.replace("/q.c", "/q2.c # q.c")}, "q.c"),
        ("src/q.c", {"src/" + LISTS: CMAKE}, {"src/" + LISTS: None, LISTS: "#\n"}, "src/q.c"),
        ("src/q.c", {"setup.py": SETUP}, {"setup.py": SETUP.replace("q.c", "q2.c")}, "src/q.c"),
        ("src/q.c", {"c/BUILD": SETUP, "BUILD": SETUP}, {"BUILD": "x\n"}, "src/q.c"),
        (
            "k/q.c",
            {LISTS: TOP, "k/" + LISTS: CMAKE},
            {LISTS: TOP.replace("(k)", "(k2)"), "k2/" + LISTS: CMAKE, "k2/q.c": C},
            "k",
        ),
        (
            "k/d/q.c",
            {"Makefile.am": "SUBDIRS = m \\\n\tk\n", "k/d/Makefile.am": "x_SOURCES = q.c\n"},
            {"Makefile.am": "SUBDIRS = m \\\n\tk2\n"},
            "k",
        ),
        ("k/" + LISTS, {LISTS: TOP}, {LISTS: TOP.replace("(k)", "(k2)")}, "k"),
        ("k/Makefile", {"Makefile": "SUBDIRS = m k\n"}, {"Makefile": "SUBDIRS = m k2\n"}, "k"),
        # it is built as it was
        ("k/" + LISTS, {LISTS: TOP}, {LISTS: TOP.replace("(m)", "(m2)")}, None),
        ("rules.mk", {"Makefile": "include rules.mk\n"}, {"Makefile": "x:\n"}, None),
        ("q.c", {"Makefile": MAKE}, {"Makefile": MAKE.replace("b.o", "")}, None),
        ("q.c", {"Makefile": MAKE}, {"Makefile": "OBJS = a.o\n", "more.mk": "OBJS += q.o\n"}, None),
        ("q.c", {LISTS: CMAKE}, {LISTS: "project(x)\nfile(GLOB SRCS *.c)\n"}, None),
        (
            "q.c",
            {LISTS: CMAKE},
            {LISTS: MADE},
            None,
        ),
        (
            "src/q.c",
            {"src/" + LISTS: CMAKE},
            {"src/" + LISTS: None, LISTS: "add(x src/q.c)\n"},
            None,
        ),
        ("k/q.c", {LISTS: TOP}, {LISTS: TOP.replace("add_subdirectory(k)", "add(x k/q.c)")}, None),
        (
            "k/q.c",
            {"meson.build": MESON},
            {"meson.build": MESON.replace("subdir('k')\n", "")},
            None,
        ),
        # it never was, or is only included or read
        ("q.c", {LISTS: TOP}, {LISTS: "project(x)\n"}, None),
        ("q.h", {LISTS: CMAKE.replace("q.c", "q.h")}, {LISTS: "project(x)\n"}, None),
        ("q.json", {LISTS: CMAKE.replace("q.c", "q.json")}, {LISTS: "project(x)\n"}, None),
    ],
)
def test_a_file_that_left_the_build(
    miniature: MakeMiniature, path: str, builds: Edits, later: Edits, name: str | None
) -> None:
    upstream = miniature()
    patch = landed(upstream, {path: C, "README": "Has q.c.\n", **builds}, {path: FIXED})
    upstream.commit("Build it otherwise (#3)", later)
    upstream.commit("Go on (#4)", {"README": "Has q.c and more.\n"})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    found = shown(report, EvidenceKind.UNREFERENCED)
    if name is None:
        assert report.verdict is Verdict.UPSTREAMED
        assert not found
        return
    assert report.verdict is Verdict.SUPERSEDED
    (left,) = found
    last = next(build for build in builds if build in later)
    has = f"{name}, which has {path}" if name != path else name
    assert left.text == f"no build file names {has}: {last} was the last"
    assert left.subject == "Build it otherwise (#3)"


def test_a_file_that_moved_is_built_under_its_new_name(miniature: MakeMiniature) -> None:
    upstream = miniature()
    patch = landed(upstream, {"src/q.c": C, LISTS: "add(x src/q.c)\n"}, {"src/q.c": FIXED})
    upstream.commit("Move it (#3)", {"src/q.c": None, "lib/p.c": FIXED, LISTS: "add(x lib/p.c)\n"})
    upstream.tag("v2")
    report = judged(upstream, patch).report
    assert report.verdict is Verdict.UPSTREAMED, report.evidence


def test_a_file_that_nothing_built_as_the_fix_landed(miniature: MakeMiniature) -> None:
    upstream = miniature()
    upstream.commit("Start (#1)", {"q.c": C, LISTS: CMAKE})
    upstream.tag("v1")
    patch = upstream.patch("v1", {"q.c": FIXED})
    upstream.commit("Build another one (#2)", {LISTS: CMAKE.replace("q.c", "q2.c")})
    upstream.commit("Fix it (#3)", {"q.c": FIXED})
    upstream.tag("v2")
    assert judged(upstream, patch).report.verdict is Verdict.UPSTREAMED
