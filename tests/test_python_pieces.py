"""Python that is read piece by piece says what it says as a whole."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import patchq
from patchq.engine.judge.landing.binding.python import bound_in_python
from patchq.engine.languages.outline import Outline, outline
from patchq.engine.languages.python_text import STAND_IN, member_pieces, statement_pieces

SOURCES = sorted(Path(patchq.__file__).parent.rglob("*.py"))
AS_ONE = b"#\r#\n"
"""Old Macs' line ends: such a file is in one piece."""
CLASSES = b'''import os
try:
    import fast
except ImportError:
    fast = None


@decorated(
    a=1,
)
class A(B):
    """Says
    def nothing(): pass
    """

    x = {"k": 1}

    @property
    def p(self):
        def inner():
            self.y = {**self.x, "k": 2}
        return inner

    class C:
        z: int = 1

        def f(self):
            self.z = 2
    if os.name:
        def q(self): ...
    else:
        q = None
if fast:
    A.p = None
'''


def test_the_sources_of_patchq() -> None:
    """In pieces and as a whole: the same names, in the same lines and blocks, the same outline."""
    in_pieces = 0
    for path in SOURCES:
        text = path.read_bytes()
        assert not statement_pieces(text + AS_ONE)
        in_pieces += any(len(member_pieces(piece)) > 1 for piece in statement_pieces(text))
        _assert_same(text)
    assert in_pieces > len(SOURCES) // 4


@pytest.mark.parametrize(
    "text",
    [
        CLASSES,
        CLASSES.replace(b"Says\n", b'Says"""\n    """'),
        CLASSES.replace(b"    x = ", b"    async def f(self): ...\n    x = "),
        b"x = '''\ndef f(): pass\n'''\nclass A:\n    def g(self): ...\n",
        b"class A:\n    def f(self): ...\n    x = 1\n# end\n\nx = 2\n",
        b"class " + STAND_IN.encode() + b":\n    def f(self): ...\n",
        b"def f(:\n",
        b"",
    ],
)
def test_what_is_awkward(text: bytes) -> None:
    _assert_same(text)


def _assert_same(text: bytes) -> None:
    whole = text + AS_ONE
    assert Counter(bound_in_python("a.py", text)) == Counter(bound_in_python("a.py", whole))
    assert _rows(outline("a.py", text)) == _rows(outline("a.py", whole))


def _rows(shown: Outline | None) -> object:
    return shown and (Counter(shown.definitions), Counter(shown.imports))
