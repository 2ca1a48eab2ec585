"""Feed the readers with what nobody would write: ``python tests/fuzzing.py READER SECONDS [SEED]``.

A reader may refuse its input with a :class:`PatchqError`, in linear time; anything else it raises
is a fault. The patch reader is also compared with ``git apply``: what we take, git
takes with the same tree. With atheris installed, inputs follow
the code they reach; else they are mutations of the corpus.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

SEEDS: dict[str, list[bytes]] = {
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
    from patchq.engine.importing.read import read_given
    from patchq.errors import Where
    from patchq.model.header import description, read_header
    from patchq.model.lock import read_lock
    from patchq.model.patch import read_patch, repair
    from patchq.model.predicate import parse_predicate
    from patchq.model.series import read_series
    from patchq.model.settings import read_settings

    def header(data: bytes) -> None:
        read = read_header(data)
        description(read)
        read.check_fields()

    def patch(data: bytes) -> None:
        repair(data)
        read_patch("p", data)

    return {
        "patch": patch,
        "header": header,
        "series": lambda data: read_series(data, Where("series")),
        "lock": lambda data: read_lock(data, Where("lock")),
        "settings": lambda data: read_settings(data, Where("settings")),
        "predicate": lambda data: parse_predicate(data.decode("utf-8", "surrogateescape")).holds_on(
            b"abc\n"
        ),
        "mail": lambda data: read_given("f.mbox", data),
    }


def feed(reader: Callable[[bytes], object], data: bytes) -> None:
    """Let ``reader`` have ``data``; raises whatever is a fault."""
    from patchq.errors import PatchqError

    start = time.process_time()
    with suppress(PatchqError):
        reader(data)
    spent = time.process_time() - start
    assert spent < 1 + len(data) / 1e5, f"{spent:.1f} seconds for {len(data)} bytes"


class Differential:
    """Our reading of a patch and git's, on the tree of :data:`FILES`."""

    def __init__(self, home: Path):
        from patchq.engine.series.stack import Stack
        from patchq.git.store import open_store

        self._home = home / "upstream"
        self._home.mkdir()
        self._git("init", "--quiet")
        for name, text in FILES.items():
            file = self._home / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        self._git("add", "--all")
        self._tree = self._git("write-tree").stdout.decode().strip()
        self._store = open_store(home / "store.git")
        objects = self._store.objects
        entries = {}
        from patchq.git.objects import Entry

        for name, text in FILES.items():
            entries[name] = Entry("100644", objects.write("blob", text.encode()))
        assert objects.tree_of(entries) == self._tree
        self._stack = Stack(self._store)
        self.taken = self.refused = 0

    def compare(self, data: bytes) -> None:
        """Raise AssertionError if we take ``data`` and the others make something else of it."""
        ours = self._ours(data)
        if ours is None:
            self.refused += 1
            return
        self.taken += 1
        self._git("read-tree", self._tree)
        done = self._git("apply", "--cached", "--whitespace=nowarn", stdin=data, check=False)
        assert done.returncode == 0, f"git refuses it: {done.stderr!r}"
        theirs = self._git("write-tree").stdout.decode().strip()
        assert theirs == ours, f"git makes {theirs} of it, we {ours}"

    def _ours(self, data: bytes) -> str | None:
        from patchq.errors import PatchqError
        from patchq.git.apply import Applied, Refused
        from patchq.model.patch import read_patch

        try:
            patch = read_patch("p", data)
            applied = self._stack.try_apply(self._tree, patch)
            names = self._store.applier.names(patch.diff)
        except PatchqError:
            return None
        found = sorted(change.new or change.old or "" for change in patch.files)
        if isinstance(names, Refused) or sorted(names) != found:
            return None  # import refuses it, too
        return applied.tree if isinstance(applied, Applied) else None

    def _git(
        self, *args: str, stdin: bytes = b"", check: bool = True
    ) -> subprocess.CompletedProcess[bytes]:
        environment = {"GIT_CONFIG_GLOBAL": "/dev/null", "PATH": "/usr/bin:/bin:/usr/local/bin"}
        command = ["git", "-C", str(self._home), *args]
        return subprocess.run(
            command, input=stdin, capture_output=True, env=environment, check=check
        )


def main() -> None:
    """Run one reader for so many seconds."""
    name, seconds = sys.argv[1], float(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    if name == "git":
        with tempfile.TemporaryDirectory() as home:
            differential = Differential(Path(home))
            count = _mutate(differential.compare, "patch", seconds, seed)
            taken, refused = differential.taken, differential.refused
            print(f"git: {count} cases, {taken} taken, {refused} refused")
        return
    try:
        import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        print(f"{name}: {_mutate(_feeder(readers()[name]), name, seconds, seed)} cases")
        return
    with atheris.instrument_imports(include=["patchq.model", "patchq.engine.importing"]):
        feeder = _feeder(readers()[name])
    with tempfile.TemporaryDirectory() as corpus:
        for number, data in enumerate(SEEDS[name]):
            Path(corpus, str(number)).write_bytes(data)
        limits = [f"-max_total_time={int(seconds)}", "-max_len=4096", f"-seed={seed}"]
        atheris.Setup([sys.argv[0], *limits, corpus], feeder)
        atheris.Fuzz()


def _feeder(reader: Callable[[bytes], object]) -> Callable[[bytes], None]:
    return lambda data: feed(reader, data)


def _mutate(take: Callable[[bytes], None], name: str, seconds: float, seed: int) -> int:
    chance, end, count = random.Random(seed), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        data = mutated(chance, name)
        count += 1
        try:
            take(data)
        except Exception as error:
            print(f"fault: {type(error).__name__}: {error}\n{data!r}", flush=True)
    return count


if __name__ == "__main__":
    main()
