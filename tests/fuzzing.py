"""Feed the readers with what nobody would write: ``python tests/fuzzing.py READER SECONDS [SEED]``.

A reader may refuse its input with a :class:`PatchqError`, in linear time; anything else it raises
is a fault. The patch reader is also compared with ``git apply`` (``git``) and GNU patch
(``gnu``): what we take, they take with the same tree. With atheris installed, inputs follow the
code they reach; else they are mutations of the corpus.
"""

from __future__ import annotations

import io
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from patchq.git.apply import Applied
    from patchq.model.ids import TreeId
    from patchq.model.patch import Patch


def _archives() -> list[bytes]:
    """A tar of each kind of entry, in three formats, and a zip."""
    made = []
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w", format=form) as archive:
            for name, kind, target in (
                ("x-1", tarfile.DIRTYPE, ""),
                ("x-1/f", tarfile.REGTYPE, ""),
                ("x-1/link", tarfile.SYMTYPE, "f"),
                ("x-1/hard", tarfile.LNKTYPE, "x-1/f"),
                ("x-1/PKG-INFO" if form == tarfile.USTAR_FORMAT else "x-1/ö" * 30, b"0", ""),
            ):
                entry = tarfile.TarInfo(name)
                entry.type, entry.linkname, entry.mtime = kind, target, 1_780_000_000
                content = b"Requires-Dist: a>1\n" if kind == tarfile.REGTYPE else b""
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        made.append(stream.getvalue()[: 512 * 14])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("x/f", b"words " * 9)
        packed.writestr("x-1.dist-info/METADATA", b"Requires-Dist: a>1\n")
        link = zipfile.ZipInfo("x/link")
        link.external_attr = 0o120777 << 16
        packed.writestr(link, b"f")
    return [*made, stream.getvalue()]


SEEDS: dict[str, list[bytes]] = {
    "archive": _archives(),
    "patch": [
        b"diff --git a/f b/f\nindex 1234567..89abcde 100644\n--- a/f\n+++ b/f\n"
        b"@@ -1,3 +1,3 @@ def f():\n 1\n-2\n+two\n 3\n",
        b"diff --git a/f b/m\nsimilarity index 98%\nrename from f\nrename to m\n--- a/f\n+++ b/m\n"
        b"@@ -8,3 +8,4 @@\n 8\n 9\n 10\n+tail\n",
        b"diff --git a/run b/run\nold mode 100644\nnew mode 100755\n",
        b"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"
        b"\\ No newline at end of file\n",
        b"diff --git a/d/g b/d/g\ndeleted file mode 100644\n--- a/d/g\n+++ /dev/null\n"
        b"@@ -1,2 +0,0 @@\n-1\n-2\n",
        b"prose\n\nIndex: f\n" + b"=" * 67 + b"\n--- f.orig\t2026-01-01 00:00:00 +0000\n"
        b"+++ f\t2026-01-02 00:00:00 +0000\n@@ -4 +4 @@\n-4\n+four\n",
        b'diff --git "a/\\303\\244" "b/\\303\\244"\nnew file mode 120000\n--- /dev/null\n'
        b'+++ "b/\\303\\244"\n@@ -0,0 +1 @@\n+f\n\\ No newline at end of file\n',
        b"diff --git a/f b/c\nsimilarity index 100%\ncopy from f\ncopy to c\n",
    ],
    "header": [
        b"From 0000 Mon Sep 17 00:00:00 2001\nFrom: =?utf-8?q?J=C3=B6e?= <a@b>\nDate: Mon, 3 Aug "
        b"2026 10:00:00 +0200\nSubject: [PATCH 1/2] fix\n it\n\nBody.\n\nX-Kind: fix\n"
        b"X-Retire-When: contains f 'a|b'\nX-Upstream-PR: 1 | 2\n---\n f | 2 +-\n"
        b" 1 file changed\n\n",
        b"Description: words\n .\n more\nOrigin: upstream, https://x\nLast-Update: 2026-01-01\n\n",
        b"commit 0123456789abcdef\nauthor A <a@b> 1780000000 +0200\n\n    Subject\n\n    Body\n\n",
        b"# one\n# two\n\nprose\n-- >8 --\nSubject: inner\n",
    ],
    "series": [b"a.patch\nb.patch -p0 #+x #-y\n# comment\n\nc.patch # words\n"],
    "lock": [
        b"version: 1\nupstream: https://x/y.git\nbases:\n  - name: v1\n    commit: "
        + b"1" * 40
        + b"\n    tree: "
        + b"2" * 40
        + b"\n    date: 2026-04-05T09:47:12-07:00\n"
    ],
    "settings": [
        b"version: 1\npr_pattern: '\\(#(\\d+)\\)'\nguards: {x: words}\ndefault_guards: [x]\n"
        b"targets:\n  t: {processor: aarch64, cuda: '13.0'}\n"
    ],
    "predicate": [b"contains a/b 'x(y|z)*'", b"path-missing 'a b'", b"lacks f ^a$", b"always"],
    "recipe": [
        b"version: 1\nproject: k\nlocal_version: sm121.1\npyprojects: [a/pyproject.toml]\n"
        b"pins:\n  a: 1.2\n  b: '>=1.26.0'\nvariants:\n"
        b"  slim:\n    guards: [x]\n    pins: {a: 1.3}\n"
    ],
    "retired": [
        b"version: 1\npatches:\n  - name: a.patch\n    standing: retired\n    verdict: upstreamed\n"
        b"    since: v2\n    base: v1\n    reason: words\n    evidence:\n      - kind: merged\n"
        b"        text: words\n        commit: " + b"1" * 40 + b"\n        pr: 3\n"
        b"        date: 2026-07-30T14:30:26-07:00\n        first_tag: v2\n        paths: [f]\n"
        b"    content: |\n      Subject: x\n\n"
    ],
    "trust": [b"version: 1\ntrees:\n- {base: v1, tree: " + b"1" * 40 + b"}\n"],
    "mail": [
        b"From x Mon Sep 17 00:00:00 2001\nFrom: a <a@b>\nSubject: s\nMIME-Version: 1.0\n"
        b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\nZGlmZg==\n",
        b"From: a\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain\n"
        b"\nhi\n--x--\n",
    ],
}
WORDS = [
    b"diff --git a/f b/f\n", b"--- a/f\n", b"+++ b/f\n", b"@@ -1 +1 @@\n", b"\\ No newline at end",
    b"rename from f\n", b"rename to g\n", b"copy from f\n", b"index 1..2 100755\n", b"new mode ",
    b"/dev/null", b"similarity index ", b"GIT binary patch\n", b"Binary files a and b differ\n",
    b"literal 3\nKcmZQ", b"\r\n", b"\n", b" ", b"-", b"+", b"\t", b'"', b"\\", b"\0", b"\xff",
    b"9" * 30, b"(", b"*", b"[", b"100644", b"120000", b"Subject: ", b"---\n", b"From ", b": ",
    b"&a *a", b"d/d",
]  # fmt: skip
FILES = {
    "f": "".join(f"{n}\n" for n in range(1, 11)),
    "run": "#!/bin/sh\necho\n",
    "d/g": "1\n2\n",
    "no-end": "a\nb",
}


def mutated(chance: random.Random, reader: str) -> bytes:
    """A seed of ``reader``, changed in one to six places."""
    data = bytearray(chance.choice(SEEDS[reader]))
    for _ in range(chance.randint(1, 6)):
        start = chance.randrange(len(data) + 1)
        stop = min(len(data), start + chance.choice((0, 0, 1, 1, 2, 5, 20)))
        other = chance.choice(SEEDS[reader])
        cut = chance.randrange(len(other))
        new = chance.choice(
            (
                b"",
                chance.choice(WORDS),
                bytes([chance.randrange(256)]),
                bytes(data[start : start + 30]) * 2,
                other[cut : cut + chance.randrange(60)],
                str(chance.choice((0, 1, 2, 3, 10, 2**31, 2**63))).encode(),
            )
        )
        data[start:stop] = new
    return bytes(data)


def readers() -> Mapping[str, Callable[[bytes], object]]:
    """Each reader, as something that takes bytes."""
    from patchq.archives.reader import read_archive, requirements_in
    from patchq.engine.importing.given.read import read_given
    from patchq.errors import PatchqError, Where
    from patchq.model.coverage import Coverage
    from patchq.model.header import description, read_header
    from patchq.model.lock import read_lock
    from patchq.model.patch import read_patch, repair
    from patchq.model.predicate import parse_predicate
    from patchq.model.recipe import read_recipe
    from patchq.model.retired import read_retired
    from patchq.model.series import read_series
    from patchq.model.settings import read_settings
    from patchq.model.trust import read_trust

    def header(data: bytes) -> None:
        read = read_header(data)
        description(read)
        read.check_fields()

    def patch(data: bytes) -> None:
        repair(data)
        read_patch("p", data)

    def archive(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as home:
            file = Path(home, "x.zip" if data.startswith(b"PK") else "x.tar")
            file.write_bytes(data if data.startswith(b"PK") else _summed(data))
            with suppress(PatchqError):
                requirements_in(file)
            read_archive(file, prefix="python", coverage=Coverage())

    return {
        "archive": archive,
        "patch": patch,
        "header": header,
        "series": lambda data: read_series(data, Where("series")),
        "lock": lambda data: read_lock(data, Where("lock")),
        "settings": lambda data: read_settings(data, Where("settings")),
        "predicate": lambda data: parse_predicate(data.decode("utf-8", "surrogateescape")).holds_on(
            b"abc\n"
        ),
        "mail": lambda data: read_given("f.mbox", data),
        "recipe": lambda data: read_recipe(data, Where("recipe")),
        "retired": lambda data: read_retired(data, Where("retired")),
        "trust": lambda data: read_trust(data, Where("trust")),
    }


def _summed(data: bytes) -> bytes:
    """A tar whose headers have the checksums that they should have."""
    blocks = [bytearray(data[start : start + 512]) for start in range(0, len(data), 512)]
    for block in blocks:
        if block[257:262] == b"ustar" and len(block) == 512:
            block[148:156] = b" " * 8
            block[148:156] = b"%06o\0 " % sum(block)
    return b"".join(blocks)


def feed(reader: Callable[[bytes], object], data: bytes) -> None:
    """Let ``reader`` have ``data``; raises whatever is a fault."""
    from patchq.errors import PatchqError

    start = time.process_time()
    with suppress(PatchqError):
        reader(data)
    spent = time.process_time() - start
    assert spent < 1 + len(data) / 1e5, f"{spent:.1f} seconds for {len(data)} bytes"


class Differential:
    """Our reading of a patch and that of others, on the tree of :data:`FILES`."""

    def __init__(self, home: Path):
        from patchq.engine.series.stack import Stack
        from patchq.git.objects import Entry
        from patchq.git.store import open_store

        self._home = home / "upstream"
        self._scratch = home / "scratch"
        self._home.mkdir()
        self._git("init", "--quiet")
        for name, text in FILES.items():
            file = self._home / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        self._git("add", "--all")
        self._tree = self._written()
        self._store = open_store(home / "store.git")
        objects = self._store.objects
        entries = {
            name: Entry("100644", objects.write_blob(text.encode())) for name, text in FILES.items()
        }
        assert objects.tree_of(entries) == self._tree
        self._stack = Stack(self._store)
        self.taken = self.refused = 0

    def git(self, data: bytes) -> None:
        """Raise AssertionError if we take ``data`` and git makes something else of it."""
        taken = self._take(data)
        if taken is None:
            return
        ours = taken[1].tree
        self._git("read-tree", self._tree)
        done = self._git("apply", "-p1", "--cached", "--whitespace=nowarn", stdin=data, check=False)
        assert done.returncode == 0, f"git refuses it: {done.stderr!r}"
        theirs = self._written()
        assert theirs == ours, f"git makes {theirs} of it, we {ours}"

    def gnu(self, data: bytes) -> None:
        """Raise AssertionError unless GNU patch makes our tree of what is written for quilt."""
        from patchq.errors import InputError

        taken = self._take(data)
        if taken is None:
            return
        try:
            written, strip = self._written_for_quilt(*taken)
        except InputError:  # a binary file, a submodule, a name that ends in a space
            return
        applied = taken[1]
        shutil.rmtree(self._scratch, ignore_errors=True)
        shutil.copytree(self._home, self._scratch, ignore=shutil.ignore_patterns(".git"))
        options = ["-F0", "-f", "-N", "-r", "-", "--no-backup-if-mismatch"]
        done = subprocess.run(
            ["patch", f"-p{strip}", *options],
            input=written,
            cwd=self._scratch,
            capture_output=True,
            env={"PATH": "/usr/bin:/bin:/usr/local/bin", "LC_ALL": "C"},
            check=False,
        )
        assert done.returncode == 0, f"GNU patch refuses it: {done.stdout!r}"
        self._git(f"--work-tree={self._scratch}", "add", "--all", "--force")
        theirs = self._written()
        assert theirs == applied.tree, f"GNU patch makes {theirs} of it, we {applied.tree}"

    def for_quilt(self, data: bytes) -> bytes:
        """What is written for quilt of a patch that we take."""
        taken = self._take(data)
        assert taken
        return self._written_for_quilt(*taken)[0]

    def _written_for_quilt(self, patch: Patch, applied: Applied) -> tuple[bytes, int]:
        from patchq.engine.export.formats import for_gnu_patch
        from patchq.engine.verify.subject import PatchStep

        return for_gnu_patch(self._store, PatchStep(patch, self._tree, applied))

    def _take(self, data: bytes) -> tuple[Patch, Applied] | None:
        from patchq.errors import PatchqError
        from patchq.git.apply import Applied, Refused
        from patchq.model.patch import read_patch

        try:
            patch = read_patch("p", data)
            applied = self._stack.try_apply(self._tree, patch)
            names = self._store.applier.names(patch.diff)
        except PatchqError:
            self.refused += 1
            return None
        found = sorted(change.new or change.old or "" for change in patch.files)
        if (
            not isinstance(applied, Applied)
            or isinstance(names, Refused)
            or sorted(names) != found  # import refuses it, too
        ):
            self.refused += 1
            return None
        self.taken += 1
        return patch, applied

    def _written(self) -> TreeId:
        from patchq.model.ids import tree_id

        return tree_id(self._git("write-tree").stdout.decode().strip())

    def _git(
        self, *args: str, stdin: bytes = b"", check: bool = True
    ) -> subprocess.CompletedProcess[bytes]:
        environment = {"GIT_CONFIG_GLOBAL": "/dev/null", "PATH": "/usr/bin:/bin:/usr/local/bin"}
        command = ["git", "-C", str(self._home), *args]
        return subprocess.run(
            command, input=stdin, capture_output=True, env=environment, check=check
        )


_OTHERS = ("git", "gnu")


def main() -> None:
    """Run one reader for so many seconds."""
    name, seconds = sys.argv[1], float(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with tempfile.TemporaryDirectory() as home:
        try:
            import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]
        except ImportError:
            take = _Take(name, Path(home), seconds)
            chance = random.Random(seed)
            while take(mutated(chance, take.seeds)):
                pass
            return
        with atheris.instrument_imports(
            include=["patchq.model", "patchq.engine.importing", "patchq.archives", "tarfile"]
        ):
            take = _Take(name, Path(home), seconds)
        corpus = Path(home, "corpus")
        corpus.mkdir()
        for number, data in enumerate(SEEDS[take.seeds]):
            (corpus / str(number)).write_bytes(data)

        def once(data: bytes) -> None:
            if not take(data):  # libFuzzer knows no other end that runs what comes after it
                shutil.rmtree(home)
                os._exit(0)

        options = ["-max_len=8192", "-verbosity=0", f"-seed={seed}", f"-artifact_prefix={home}/"]
        atheris.Setup([sys.argv[0], *options, str(corpus)], once)
        atheris.Fuzz()


class _Take:
    """Takes inputs, prints each kind of fault once, and counts."""

    def __init__(self, name: str, home: Path, seconds: float):
        self._name = name
        self._end = time.monotonic() + seconds
        self.seeds = "patch" if name in _OTHERS else name
        self._count = 0
        self._faults: dict[str, int] = {}
        self._differential: Differential | None = None
        if name in _OTHERS:
            self._differential = Differential(home)
            self._reader = getattr(self._differential, name)
        else:
            self._reader = partial(feed, readers()[name])

    def __call__(self, data: bytes) -> bool:
        """Take one; False when the time is over, and said."""
        self._count += 1
        try:
            self._reader(data)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            kind = f"{type(error).__name__} in {frames[-1].name}: {str(error)[:16]}"
            self._faults[kind] = self._faults.get(kind, 0) + 1
            if self._faults[kind] == 1:
                print(f"fault: {type(error).__name__}: {error}\n{data!r}", flush=True)

        if time.monotonic() < self._end:
            return True
        words = f"{self._name}: {self._count} inputs"
        if self._differential:
            words += f", {self._differential.taken} taken"
        faults = f"{sum(self._faults.values())} faults of {len(self._faults)} kinds"
        print(f"{words}, {faults}", flush=True)
        return False


if __name__ == "__main__":
    main()
