"""Moving in: what quilt, git-buildpackage, StGit and git keep, as a series; by the real tools."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from commandline import CommandLine
from miniature import Miniature
from test_import import LINES

TREE = {"src/app.py": LINES, "src/other.py": LINES}
TWO = "Say twenty (#77)\n\nWhy it is needed.\n\nX-Kind: fix"


def needs(tool: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"{tool} is not installed")


@dataclass(frozen=True)
class Place:
    """A clone of an upstream with tags ``v1`` and ``v2`` to work in, and the command line."""

    upstream: Path
    clone: Path
    patchq: CommandLine
    home: Path

    @property
    def root(self) -> Path:
        return self.home / "ws"

    def tool(self, *args: str) -> str:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "EDITOR": "true",
            "QUILT_PATCHES": "debian/patches",
        }
        done = subprocess.run(
            args, cwd=self.clone, env=environment, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode() + done.stdout.decode()
        return done.stdout.decode()

    def git(self, *args: str) -> str:
        return self.tool("git", *args)

    def edit(self, old: str, new: str, file: str = "src/app.py") -> None:
        path = self.clone / file
        path.write_text(path.read_text().replace(f"{old}\n", f"{new}\n"))

    def commit(self, message: str, author: str = "Eve <eve@x>") -> str:
        self.git("commit", "-qam", message, f"--author={author}")
        return self.git("rev-parse", "HEAD").strip()

    def start(self, *what: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """``patchq init --from``."""
        words = [word for one in what for word in (one if one[0] == "-" else f"--from={one}",)]
        done = self.patchq(
            *("init", str(self.root), "--upstream", str(self.upstream)), *words, cwd=self.clone
        )
        assert done.returncode == code, done.stderr
        return done

    def names(self) -> list[str]:
        listed = self.patchq("list", "v1", "--paths", cwd=self.root).stdout
        return [Path(line).name for line in listed.splitlines()]

    def series(self, tag: str = "v1") -> str:
        return (self.root / "series" / tag / "series").read_text()

    def patch(self, name: str, tag: str = "v1") -> str:
        return (self.root / "series" / tag / name).read_text()

    def tree(self, tag: str = "v1", *options: str) -> str:
        """The tree that the series gives, by git."""
        self.git("checkout", "-q", "-f", "--detach", tag)
        listed = self.patchq("list", tag, "--paths", *options, cwd=self.root)
        for file in listed.stdout.split():
            self.git("apply", "--index", str(self.root / file))
        tree = self.git("write-tree").strip()
        self.git("reset", "-q", "--hard")
        return tree


@pytest.fixture
def place(tmp_path: Path, patchq: CommandLine) -> Place:
    upstream = Miniature(tmp_path / "upstream")
    upstream.commit("Begin", TREE)
    upstream.tag("v1")
    upstream.commit("Go on", {"src/new.py": "pass\n"})
    upstream.tag("v2")
    home = tmp_path / "home"
    (home / ".gitconfig").write_text("[user]\nname = Iris\nemail = iris@down.example\n")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", upstream.path, clone], check=True)
    place = Place(upstream.path, clone, patchq, home)
    place.git("checkout", "-q", "-b", "ours", "v1")
    return place


def two_commits(place: Place) -> str:
    place.edit("line 10", "line ten, as a word")
    place.commit("Say ten", "Bob <bob@x>")
    place.edit("line 20", "line twenty")
    place.commit(TWO)
    return place.git("rev-parse", "HEAD^{tree}").strip()


def test_a_start_as_json_is_one_document(place: Place) -> None:
    two_commits(place)
    done = place.start("ours", "--repo=.", "--json")
    found = json.loads(done.stdout)
    assert (found["schema"], found["tag"], found["begins"]) == ("patchq.import/1", "v1", None)
    assert [patch["name"] for patch in found["patches"]] == ["Say-ten.patch", "Say-twenty-77.patch"]
    assert f"{place.root} is a workspace for" in done.stderr
    assert "v1 = " in done.stderr


def test_a_missing_file_of_a_series_is_hinted_at_once(place: Place) -> None:
    two_commits(place)
    pile = place.clone / "patches"
    place.git("format-patch", "-q", "-N", "-o", str(pile), "v1..ours")
    names = sorted(file.name for file in pile.iterdir())
    (pile / "series").write_text("".join(f"{name}\n" for name in (*names, "gone.patch")))
    done = place.start(str(pile), "--tag=v1", code=2)
    assert "series:3: gone.patch is listed, and there is no such file" in done.stderr
    assert done.stderr.count("--keep-going") == 1


@pytest.mark.parametrize("what", ["ours", "v1..ours", "HEAD"])
def test_a_branch(place: Place, what: str) -> None:
    tree = two_commits(place)
    done = place.start(what, "--repo=.")
    assert "imported Say-twenty-77.patch onto v1" in done.stdout
    assert place.series() == "Say-ten.patch\nSay-twenty-77.patch\n"
    second = place.patch("Say-twenty-77.patch")
    assert "From: Eve <eve@x>\n" in second
    assert "\nWhy it is needed.\n\nX-Kind: fix\n" in second
    assert "Origin" not in second
    date = place.git("show", "-s", "--format=%aD", "ours").strip()
    assert f"Date: {date}\n" in second
    assert place.tree() == tree
    verified = place.patchq("lint", "v1", cwd=place.root)
    assert verified.returncode == 0, verified.stdout


def test_names_that_commits_tell_are_kept(place: Place) -> None:
    place.edit("line 10", "line ten, as a word")
    place.commit("Say ten\n\nGbp-Pq: Name Ten.patch\nGbp-Pq: Topic words")
    place.edit("line 20", "line twenty")
    place.commit("Say twenty\n\nPatch-Name: 20.patch")
    place.edit("line 30", "line thirty")
    place.commit("Local only\n\nGbp-Pq: Ignore")
    done = place.start("ours", "--repo=.")
    assert "Gbp-Pq: Ignore (Local only): skipped" in done.stderr
    assert place.series() == "Ten.patch\n20.patch\n"
    for name in ("Ten.patch", "20.patch"):
        assert "Gbp-Pq" not in place.patch(name)
        assert "Patch-Name" not in place.patch(name)


def test_merges_are_followed_by_first_parent_and_said(place: Place) -> None:
    place.git("checkout", "-q", "-b", "topic")
    place.edit("line 5", "line five", "src/other.py")
    place.commit("Five")
    place.git("checkout", "-q", "ours")
    place.edit("line 10", "line ten, as a word")
    place.commit("Say ten")
    place.git("merge", "-q", "--no-ff", "-m", "Merge topic", "topic")
    tree = place.git("rev-parse", "HEAD^{tree}").strip()
    done = place.start("ours", "--repo=.")
    assert "a merge (Merge topic): one patch of all that it brought" in done.stderr
    assert place.series() == "Say-ten.patch\nMerge-topic.patch\n"
    assert place.tree() == tree


def test_a_merge_of_upstream_is_no_patch(place: Place) -> None:
    place.edit("line 10", "line ten, as a word")
    place.commit("Say ten")
    place.git("merge", "-q", "--no-ff", "-m", "Merge v2", "v2")
    tree = place.git("rev-parse", "HEAD^{tree}").strip()
    done = place.start("ours", "--repo=.", "--tag=v2")
    assert "a merge of upstream (Merge v2): skipped, v2 has that side" in done.stderr
    assert place.series("v2") == "Say-ten.patch\n"
    assert place.tree("v2") == tree


@needs("quilt")
def test_a_quilt_directory(place: Place) -> None:
    for name, line, word in (("01-ten.patch", "10", "ten"), ("sub/20.diff", "20", "twenty")):
        place.tool("quilt", "new", name)
        place.tool("quilt", "add", "src/app.py")
        place.edit(f"line {line}", f"line {word}")
        place.tool("quilt", "refresh", "-p", "ab" if line == "10" else "0")
    series = place.clone / "debian/patches/series"
    text = series.read_text()
    assert text == "01-ten.patch\nsub/20.diff -p0\n"
    text = f"# the words\n{text}".replace("-p0", "-p0 #+words # why")
    series.write_text(f"{text}# old.patch\n")
    tree = place.tool("git", "hash-object", "src/app.py").strip()
    place.tool("quilt", "pop", "-a")
    done = place.start("debian/patches", "--tag=v1")
    assert done.returncode == 0
    assert "not taken, it comes after the last patch: # old.patch" in done.stderr
    assert place.series() == "# the words\nten.patch\n# why\nsub/20.patch #+words\n"
    place.tree("v1", "--with", "words")
    place.git("checkout", "-q", "-f", "--detach", "v1")
    for file in ("ten.patch", "sub/20.patch"):
        place.git("apply", "--index", str(place.root / "series/v1" / file))
    assert place.git("rev-parse", ":src/app.py").strip() == tree


def test_what_a_series_lists_in_vain_is_said(place: Place) -> None:
    two_commits(place)
    place.git("format-patch", "-q", "-N", "-o", "pile", "v1")
    (place.clone / "pile/series").write_text(
        "0001-Say-ten.patch\nmissing.patch\nback.patch -R\n0002-Say-twenty-77.patch\n"
    )
    done = place.start("pile", "--tag=v1", code=2)
    assert "pile/series:2: missing.patch is listed, and there is no such file" in done.stderr
    assert "2 patches would: Say-ten.patch, Say-twenty-77.patch" in done.stderr
    assert "is a workspace, without a patch yet" in done.stderr
    going = place.start("pile", "--tag=v1", "--keep-going", code=1)  # the same command goes on
    assert "back.patch is to be applied in reverse (-R)" in going.stderr
    assert place.series() == "Say-ten.patch\nSay-twenty-77.patch\n"


@needs("gbp")
def test_a_patch_queue_of_git_buildpackage(place: Place) -> None:
    place.git("checkout", "-q", "-B", "master", "v1")
    (place.clone / "debian").mkdir()
    (place.clone / "debian/changelog").write_text(
        "app (1-1) unstable; urgency=low\n\n  * One.\n\n"
        " -- A <a@x>  Thu, 01 Jan 2026 00:00:00 +0000\n"
    )
    (place.clone / "debian/control").write_text(
        "Source: app\nMaintainer: A <a@x>\n\nPackage: app\nArchitecture: all\nDescription: an app\n"
    )
    place.git("add", "-A")
    place.commit("Package it")
    place.tool("gbp", "pq", "import")
    place.edit("line 10", "line ten, as a word")
    place.commit("Say ten\n\nForwarded: no\n\nGbp-Pq: Name Ten.patch")
    done = place.start("master..patch-queue/master", "--repo=.", "--tag=v1")
    assert done.returncode == 0
    assert place.series() == "Ten.patch\n"
    place.tool("gbp", "pq", "export")
    shutil.rmtree(place.root)
    place.start(".")  # debian/changelog tells the tag, debian/patches the rest
    assert place.series() == "Ten.patch\n"
    assert "Forwarded: no\n" in place.patch("Ten.patch")


@needs("stg")
@pytest.mark.slow
def test_a_stgit_stack_and_what_it_exports(place: Place) -> None:
    two_commits(place)
    place.tool("stg", "init")
    place.tool("stg", "uncommit", "twenty", "ten")
    place.edit("line 30", "line thirty")
    place.tool("stg", "new", "-m", "Say thirty", "thirty")
    place.tool("stg", "refresh")
    place.tool("stg", "pop")
    done = place.start("ours", "--repo=.")
    assert place.series() == "ten.patch\ntwenty.patch\n"
    assert "the patch thirty of the stack is not applied: skipped" in done.stderr
    tree = place.git("rev-parse", "HEAD^{tree}").strip()
    place.tool("stg", "export", "-d", "out")
    place.tool("stg", "export", "-d", "again")
    shutil.rmtree(place.root)
    place.start("out", "--tag=v1")
    assert place.names() == ["ten.patch", "twenty.patch"]
    second = place.patch("twenty.patch")
    assert "From: Eve <eve@x>\n" in second
    assert "Subject: [PATCH] Say twenty (#77)\n" in second
    assert "\nWhy it is needed.\n\nX-Kind: fix\n" in second
    assert place.tree() == tree


@needs("stg")
@pytest.mark.slow
def test_a_series_goes_through_stgit_and_back(place: Place) -> None:
    """What stg makes of a mail from ``git format-patch``: its first line for a subject."""
    two_commits(place)
    place.start("ours", "--repo=.")
    before = [place.patch(name) for name in place.series().split()]
    place.git("checkout", "-q", "-f", "-B", "stack", "v1")
    place.tool("stg", "init")
    for name in place.series().split():
        place.tool("stg", "import", str(place.root / "series/v1" / name))
    place.tool("stg", "export", "-d", "out")
    shutil.rmtree(place.root)
    place.start("out", "--tag=v1")
    after = [place.patch(name) for name in place.names()]
    for old, new in zip(before, after, strict=True):
        for word in ("From: ", "Subject: ", "X-Kind"):
            assert [x for x in old.split("\n") if x.startswith(word)] == [
                x for x in new.split("\n") if x.startswith(word)
            ]


def test_a_mailbox_and_standard_input(place: Place) -> None:
    two_commits(place)
    mbox = place.git("format-patch", "--stdout", "v1")
    (place.clone / "all.mbox").write_text(mbox)
    place.start("all.mbox", "--tag=v1")
    assert place.series() == "Say-ten.patch\nSay-twenty-77.patch\n"
    shutil.rmtree(place.root)
    place.start()
    assert place.patchq("lock", "v1", cwd=place.root).returncode == 0
    done = place.patchq("import", "-", "--tag", "v1", cwd=place.root, stdin=mbox)
    assert done.returncode == 0, done.stderr
    one = place.git("format-patch", "--stdout", "-1", "v1")
    assert place.series() == "Say-ten.patch\nSay-twenty-77.patch\n"
    assert one


def test_pull_requests(place: Place) -> None:
    place.git("checkout", "-q", "--detach", "v2")
    place.edit("line 10", "line ten, as a word")
    tip = place.commit("Say ten (#7)")
    place.git("push", "-q", "origin", f"{tip}:refs/heads/main")
    place.start("7", "--tag=v1")
    (name,) = place.series().split()
    assert "line ten, as a word" in place.patch(name)


@pytest.mark.parametrize("word", ["../x/y", "./x..y", "/nowhere/a..b", "../x.patch"])
def test_a_path_that_is_not_there_is_no_range(place: Place, word: str) -> None:
    place.start()
    assert place.patchq("lock", "v1", cwd=place.root).returncode == 0
    done = place.patchq("import", word, "--tag", "v1", cwd=place.root)
    assert done.returncode == 2
    assert done.stderr == f"error: {word}: there is no such file or directory\n"


def test_the_tag_is_asked_for(place: Place) -> None:
    two_commits(place)
    place.git("format-patch", "-q", "-o", "pile", "v1")
    done = place.start("pile", code=2)
    assert "hint: Name it: --tag TAG." in done.stderr
    assert not place.root.exists()


def test_triage_and_take(place: Place) -> None:
    two_commits(place)
    pile = place.home / "pile"
    pile.mkdir()
    ten = place.git("diff", "v1", "ours~1")
    (pile / "ten.patch").write_text(ten)
    (pile / "ten-v2.patch").write_text(ten)
    (pile / "docker.patch").write_text(ten.replace("src/app.py", "build/Dockerfile"))
    (pile / "no.patch").write_text(ten.replace("line 9\n", "line IX\n"))
    (pile / "no-v9.1.patch").write_text(ten.replace("line 9\n", "line 99\n"))
    (pile / "notes.txt").write_text("nothing\n")
    place.start()
    assert place.patchq("lock", "v1", "v2", cwd=place.root).returncode == 0
    said = place.patchq("import", pile, cwd=place.root)
    assert said.returncode == 1
    assert "for another repository: 1\n    docker.patch\n" in said.stdout
    assert "no.patch: at most 0 of 1 hunks have a place" in said.stdout
    assert "v9.1, by its name, is not locked: `patchq lock v9.1`" in " ".join(said.stdout.split())
    assert f"patchq import {pile} --take" in said.stdout
    document = json.loads(place.patchq("import", pile, "--json", cwd=place.root).stdout)
    rows = {Path(one["file"]).name: one for one in document["files"]}
    assert rows["ten.patch"]["name"] == rows["ten-v2.patch"]["name"] == "ten.patch"
    assert (rows["ten.patch"]["best"], rows["ten-v2.patch"]["best"]) == ("v1", "v2")
    assert set(rows["ten.patch"]["fits"].values()) == {"applies"}
    taken = place.patchq("import", pile, "--take", cwd=place.root)
    assert taken.returncode == 1, taken.stderr
    assert "docker.patch: skipped: for another repository" in taken.stderr
    assert place.series("v1") == place.series("v2") == "ten.patch\n"
    assert "series/v2 starts over" in taken.stderr
    undone = place.patchq("undo", cwd=place.root)
    assert re.fullmatch(r"took back `import \S+/pile --take \(v1, v2\)`\n", undone.stdout)
    assert not any((place.root / "series" / tag).exists() for tag in ("v1", "v2"))
    document = json.loads(place.patchq("import", pile, "--take", "--json", cwd=place.root).stdout)
    assert [one["tag"] for one in document["imports"]] == ["v1", "v2"]
    passed = {Path(one["file"]).name: one["text"] for one in document["passed_over"]}
    assert passed.keys() == {"docker.patch", "no.patch", "no-v9.1.patch"}
    assert passed["docker.patch"] == "for another repository"


def test_a_series_file_says_the_order_whatever_the_subjects_count(place: Place) -> None:
    for name in ("one", "two"):
        (place.clone / f"src/{name}.py").write_text("x\n")
        place.git("add", "-A")
        place.commit(f"Add {name}")
    place.git("format-patch", "-q", "-n", "-o", "pile", "v1")
    pile = place.clone / "pile"
    assert b"[PATCH 2/2]" in (pile / "0002-Add-two.patch").read_bytes()
    (pile / "series").write_text("0002-Add-two.patch\n0001-Add-one.patch\n")
    place.start()
    assert place.patchq("lock", "v1", cwd=place.root).returncode == 0
    done = place.patchq("import", pile, "--tag", "v1", cwd=place.root)
    assert (done.returncode, "order" in done.stderr) == (0, False)
    assert place.series() == "Add-two.patch\nAdd-one.patch\n"


def test_order_and_what_becomes_of_the_others(place: Place) -> None:
    (place.clone / "src/fresh.py").write_text("one\n")
    place.git("add", "-A")
    place.commit("Add it")
    place.edit("one", "two", "src/fresh.py")
    place.commit("Change it")
    place.git("format-patch", "-q", "-N", "-o", "pile", "v1")
    pile = place.clone / "pile"
    (pile / "0001-Add-it.patch").rename(pile / "zz.patch")
    (pile / "0002-Change-it.patch").rename(pile / "aa.patch")
    (pile / "bad.patch").write_text("--- a/src/fresh.py\n+++ b/src/fresh.py\n@@ -1 +1 @@\n-x\n+y\n")
    place.start()
    assert place.patchq("lock", "v1", cwd=place.root).returncode == 0
    done = place.patchq("import", pile, "--tag", "v1", cwd=place.root)
    assert done.returncode == 2
    assert "2 patches would: zz.patch, aa.patch" in done.stderr
    assert "`--keep-going` takes the others without it." in done.stderr
    assert not (place.root / "series/v1/series").exists()
    kept = place.patchq("import", pile, "--tag", "v1", "--keep-going", cwd=place.root)
    assert kept.returncode == 1
    assert "needs what comes with a later one: put behind zz.patch" in kept.stderr
    assert place.series() == "zz.patch\naa.patch\n"
    again = place.patchq("import", pile / "aa.patch", "--tag", "v1", cwd=place.root)
    assert (again.returncode, again.stdout) == (2, "")  # its name is taken
    other = place.patchq("import", pile / "zz.patch", "--name", "z", "--tag", "v1", cwd=place.root)
    assert (other.returncode, other.stdout) == (0, "nothing to import onto v1\n")
    assert "it is in the series on v1 already, as zz.patch" in other.stderr


RECIPE = """\
# pins
FLASHINFER_VERSION=0.6.17  # ahead
HUB_MIN_VERSION="1.26.0"
APP_REF=v1
KERNEL_DIR=kernel
APPLY_WORDS=1
APPLY_TEN=0
APPLY_NOTHING=1
PATCH_VARIANT="-v1"
IMAGE_TAG=me/app:1
echo done
"""


def test_a_shell_recipe(place: Place) -> None:
    requires = '[project]\nname = "app"\ndependencies = ["flashinfer_python==0.6", "hub>=1"]\n'
    (place.clone / "kernel").mkdir()
    (place.clone / "kernel/CMakeLists.txt").write_text("project(kernel)\n")
    (place.clone / "pyproject.toml").write_text(requires)
    place.git("add", "-A")
    place.git("push", "-q", "-f", "origin", f"{place.commit('More')}:refs/tags/v3")
    place.start()
    assert place.patchq("lock", "v3", cwd=place.root).returncode == 0
    place.edit("line 10", "line ten, as a word")
    (place.clone / "say-ten.patch").write_text(place.git("diff"))
    file = str(place.clone / "say-ten.patch")
    guarded = ("import", file, "--tag", "v3", "--guard", "words")
    assert place.patchq(*guarded, cwd=place.root).returncode == 0
    (place.clone / "app-1.recipe").write_text(RECIPE)
    recipe = ("import", "--recipe", str(place.clone / "app-1.recipe"), "--tag", "v3")
    done = place.patchq(*recipe, cwd=place.root)
    assert done.returncode == 0, done.stderr
    assert "v3: wrote recipe.yaml\n" in done.stderr
    assert (place.root / "series/v3/recipe.yaml").read_text() == (
        "# From app-1.recipe.\nversion: 1\nproject: kernel\npyprojects: [pyproject.toml]\n"
        'pins:\n  flashinfer-python: 0.6.17\n  hub: ">=1.26.0"\n'
        "variants:\n  app-1:\n    guards: [words]\n"
    )
    for line, why in (
        (4, "nothing in a recipe"),
        (7, "a gate that is off: say-ten.patch would be off"),
        (8, "no guard and no patch"),
        (9, "chooses among generations"),
        (10, "nothing in a recipe"),
        (11, "not a setting"),
    ):
        assert f"app-1.recipe:{line}: " in done.stderr
        assert why in done.stderr
    again = place.patchq(*recipe, cwd=place.root)
    assert (again.returncode, "v3 has a recipe already" in again.stderr) == (2, True)


def test_the_page_shows_options_that_there_are(patchq: CommandLine, tmp_path: Path) -> None:
    page = (Path(__file__).parent.parent / "docs/how-to/moving-in.md").read_text()
    lines = [line.partition("patchq ") for line in page.split("\n") if line.count("patchq ") == 1]
    shown = [rest.split() for before, _, rest in lines if before in ("", "git diff | ")]
    assert len(shown) == 10  # the ways to start
    known = {
        command: patchq(command, "--help", cwd=tmp_path).stdout for command in ("init", "import")
    }
    for command, *words in shown:
        for word in words:
            assert not word.startswith("--") or word in known[command], word
