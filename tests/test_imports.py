"""Imports: what a series breaks is found without running it, and nothing else is blamed on it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from miniature import MakeMiniature, Miniature
from workspaces import make_workspace, open_project

from patchq.engine.languages.python_facts import FactsCache
from patchq.engine.languages.python_modules import read_facts
from patchq.engine.series.selection import select
from patchq.engine.verify import imports
from patchq.engine.verify.subject import put_in_place
from patchq.errors import Where
from patchq.model.ids import ObjectId
from patchq.model.verification import Outcome, Section

PACKAGE: Mapping[str, str] = {
    "python/pyproject.toml": '[project]\nname = "demo"\n',
    "python/demo/__init__.py": "",
    "python/demo/util.py": "def helper(): ...\nLIMIT: int = 3\n_private = 1\n",
    "python/demo/models/__init__.py": "from .base import Base\n",
    "python/demo/models/base.py": "class Base: ...\n",
    "python/demo/models/user.py": "from demo.util import helper\nfrom . import base\n",
    "python/demo/lazy.py": "def __getattr__(name): ...\n",
    "python/demo/kernels/fp8.py": "def quantise(): ...\ndef scale(): ...\n",
    "python/demo/typed.py": "from typing import TYPE_CHECKING\n"
    "if TYPE_CHECKING:\n    from demo.util import LIMIT as Bound\n",
}
USER = "python/demo/models/user.py"
NEW = "python/demo/new.py"


class Found(NamedTuple):
    section: Section
    failures: list[str]
    notes: list[str]


class Checker:
    """Checks edits of the package as a series of one patch (or several)."""

    def __init__(self, upstream: Miniature):
        self.upstream = upstream

    def __call__(self, *series: Mapping[str, str | None], on: str = "v1") -> Found:
        at, patches = on, {}
        for number, edits in enumerate(series, 1):
            at = self.upstream.detached(at, f"Change {number}", edits)
            patches[f"{number}.patch"] = self.upstream.format(at)
        root = (
            self.upstream.path.parent / f"workspace{len(list(self.upstream.path.parent.iterdir()))}"
        )
        workspace = make_workspace(
            self.upstream, patches, bases=tuple(dict.fromkeys(("v1", on))), on=on, root=root
        )
        project = open_project(workspace, self.upstream)
        selection = select(workspace.load(on), project.settings, ())
        section = imports.check(put_in_place(project, selection))
        failures = [f"{f.where}: {f.text} [{f.patch}]" for f in section.failures]
        return Found(section, failures, [str(note) for note in section.notes])


@pytest.fixture
def check(miniature: MakeMiniature) -> Checker:
    upstream = miniature()
    upstream.commit("Begin", PACKAGE)
    upstream.tag("v1")
    return Checker(upstream)


def test_a_moved_module_is_named_with_its_new_home(check: Checker) -> None:
    found = check({NEW: "import os\n\nfrom demo.layers.fp8 import quantise, scale\n"})
    assert found.failures == [
        f"{NEW}:3: module demo.layers.fp8 (quantise, scale) is not in the tree; "
        "quantise, scale live in demo.kernels.fp8 now [1.patch]"
    ]
    assert found.section.outcome is Outcome.FAILED
    assert found.section.failures[0].where == Where(NEW, 3)


def test_a_name_that_is_not_there(check: Checker) -> None:
    found = check({NEW: "from demo.util import helper, quantise\n"})
    assert found.failures == [
        f"{NEW}:1: demo.util has no quantise; quantise lives in demo.kernels.fp8 now [1.patch]"
    ]
    found = check({NEW: "from demo.util import nothing\n"})
    assert found.failures == [
        f"{NEW}:1: demo.util has no nothing; nothing of that name is in the tree [1.patch]"
    ]


def test_a_module_alone_is_looked_for_by_its_name(check: Checker) -> None:
    found = check({NEW: "import demo.layers.fp8\n"})
    assert found.failures == [
        f"{NEW}:1: module demo.layers.fp8 is not in the tree; "
        "fp8 lives in demo.kernels.fp8 now [1.patch]"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "from demo.util import helper, LIMIT, _private\n",
        "from demo import util, models, kernels\n",
        "import demo.kernels.fp8 as fp8\nfp8.scale()\n",
        "import demo.kernels.fp8\ndemo.kernels.fp8.scale()\n",
        "from .util import helper\nfrom .models import Base, base\nfrom . import models\n",
        "from demo.lazy import anything\n",
        "import numpy\nfrom torch.nn import Module\n",
        "from demo.models import __path__\n",
        "from demo.models import *\nBase\n",
        "from demo import util\nutil.fresh = 1\nutil.fresh\n",
        "from demo import util\nif hasattr(util, 'more'):\n    util.more\n",
        "from demo import util\ntry:\n    util.more\nexcept AttributeError:\n    pass\n",
        "from demo import util\ndef f(util): util.more\n",
        "try:\n    from demo.layers import x\nexcept ImportError:\n    from numpy import x\n",
    ],
)
def test_what_is_there_is_no_failure(text: str, check: Checker) -> None:
    assert check({NEW: text}).failures == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def f():\n    from demo.util import gone\n", 2),
        ("from demo import util\n\nutil.gone()\n", 3),
        ("import demo.util as u\nprint(u.gone)\n", 2),
        ("from demo.models.base import *\nfrom demo.models.gone import *\n", 2),
        ("import importlib\nimportlib.import_module('demo.gone')\n", 2),
        ("from .models.gone import x\n", 1),
        ("from ..util import x\n", 1),
        ("from demo.typed import Bound\n", 1),
        ("try:\n    import demo.gone\nexcept OSError:\n    pass\n", 2),
    ],
)
def test_what_is_missing_is_found_wherever_it_stands(text: str, line: int, check: Checker) -> None:
    found = check({NEW: text})
    assert [failure.where for failure in found.section.failures] == [Where(NEW, line)]


def test_a_swallowed_import_error_is_still_a_failure(check: Checker) -> None:
    found = check({NEW: "try:\n    from demo.gone import x\nexcept ImportError:\n    x = None\n"})
    assert found.failures == [
        f"{NEW}:2: module demo.gone (x) is not in the tree, which the try on line 1 swallows; "
        "nothing of that name is in the tree [1.patch]"
    ]


def test_two_spellings_in_a_try_are_said(check: Checker) -> None:
    text = (
        "try:\n    from demo.gone import helper\n"
        "except ImportError:\n    from demo.util import helper\n"
    )
    found = check({NEW: text})
    assert found.failures == []
    assert found.notes == [
        f"{NEW}:2: module demo.gone (helper) is not in the tree, which the try on line 1 swallows "
        "(the other side of the try has it)"
    ]


def test_what_only_type_checkers_read_is_said(check: Checker) -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from demo.gone import X\n"
    found = check({NEW: text})
    assert (found.failures, len(found.notes)) == ([], 1)
    assert "never run" in found.notes[0]


def test_what_cannot_be_told_is_said(check: Checker) -> None:
    found = check({NEW: "from demo.lazy import anything\n"})
    assert found.notes == [
        f"{NEW}:1: anything: demo.lazy makes names as it runs, so this is not checked"
    ]


def test_who_asks_for_what_a_patch_took_away(check: Checker) -> None:
    found = check({"setup.txt": "x"}, {"python/demo/util.py": "LIMIT: int = 3\n_private = 1\n"})
    assert found.failures == [
        f"{USER}:1: demo.util has no helper; nothing of that name is in the tree [2.patch]"
    ]
    found = check(
        {"python/demo/util.py": None, "python/demo/tools.py": PACKAGE["python/demo/util.py"]}
    )
    assert f"{USER}:1: module demo.util (helper) is not in the tree; " in found.failures[0]
    assert "helper lives in demo.tools now" in found.failures[0]


def test_a_package_that_lost_a_name_is_asked_for_it_from_inside(check: Checker) -> None:
    inside = "python/demo/models/inside.py"
    check.upstream.commit("More", {inside: "from . import Base\n"})
    check.upstream.tag("v1")
    found = check({"python/demo/models/__init__.py": "\n"})
    assert [failure.where for failure in found.section.failures] == [Where(inside, 1)]


def test_what_a_star_passed_on_is_lost_behind_it(check: Checker) -> None:
    check.upstream.commit(
        "Stars",
        {
            "python/demo/front.py": "from demo.kernels.fp8 import *\n",
            "python/demo/last.py": "from demo.front import scale\n",
        },
    )
    check.upstream.tag("v1")
    found = check({"python/demo/kernels/fp8.py": "def quantise(): ...\n"})
    assert [failure.where for failure in found.section.failures] == [
        Where("python/demo/last.py", 1)
    ]


def test_what_upstream_misses_itself_is_not_ours(check: Checker) -> None:
    check.upstream.commit(
        "Generated",
        {
            "python/demo/old.py": "from demo._version import version\n",
            "python/demo/broken.py": "from demo.util import never\n",
        },
    )
    check.upstream.tag("v1")
    found = check(
        {
            NEW: "from demo._version import version\n",
            "python/demo/broken.py": "from demo.util import never\n# touched\n",
        }
    )
    assert found.failures == []
    assert len(found.notes) == 1
    assert "so do files of the unpatched tree" in found.notes[0]


def test_what_upstream_moved_is_no_build_product(check: Checker) -> None:
    """Files that upstream left behind ask for the old place in vain; a patch may not."""
    check.upstream.commit(
        "Left behind",
        {
            "python/demo/old.py": "from demo.quant.fp8 import scale\n",
            "python/demo/older.py": "from demo.util import quantise\n",
        },
    )
    check.upstream.tag("v1")
    found = check({NEW: "from demo.quant.fp8 import scale\nfrom demo.util import quantise\n"})
    assert [str(failure.where) for failure in found.section.failures] == [f"{NEW}:1", f"{NEW}:2"]


def test_what_another_base_has_is_no_build_product(check: Checker) -> None:
    check.upstream.commit("Drop", {"python/demo/lone.py": "from demo.kernels.fp8 import scale\n"})
    check.upstream.commit("Drop", {"python/demo/kernels/fp8.py": None})
    check.upstream.tag("v2")
    found = check({NEW: "from demo.kernels.fp8 import scale\n"}, on="v2")
    assert [str(failure.where) for failure in found.section.failures] == [f"{NEW}:1"]


def test_a_series_without_python_has_nothing_to_check(check: Checker) -> None:
    section = check({"CMakeLists.txt": "project(demo)\n"}).section
    assert section.outcome is Outcome.SKIPPED


def test_facts_survive_the_cache(tmp_path: Path) -> None:
    text = b"""
from __future__ import annotations
import a.b as c, d.e
from .x import *
try:
    from f import g
except ImportError:
    from h import g
__all__ = ["g"]
__all__ += ["k"]
k: int = 1
def fun(arg=c.z.y):
    global made
    import later
    return d.e.q
class K:
    inside = 1
if __name__ == "__main__":
    import program
match k:
    case [first, *rest]:
        pass
"""
    facts = read_facts(text)
    assert {"c", "d", "g", "k", "fun", "made", "K", "first", "rest"} <= facts.names
    assert not {"later", "inside", "arg", "q"} & facts.names
    assert facts.exported == ("g", "k")
    assert {use.path for use in facts.uses} == {("c", "z", "y"), ("d", "e", "q")}
    FactsCache(tmp_path).put(ObjectId("ab" * 20), facts)
    assert FactsCache(tmp_path).get(ObjectId("ab" * 20)) == facts
    assert FactsCache(tmp_path).get(ObjectId("cd" * 20)) is None
    for file in tmp_path.rglob("*.json"):
        file.write_text("[")
    assert FactsCache(tmp_path).get(ObjectId("ab" * 20)) is None


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("def __getattr__(name): ...\n", True),
        ("globals()['x'] = 1\n", True),
        ("globals().update(x=1)\n", True),
        ("import sys\nsys.modules[__name__] = object()\n", True),
        ("exec('x = 1')\n", True),
        ("import sys\nsys.modules['other'] = object()\n", False),
        ("class K:\n    def __getattr__(self, name): ...\n", False),
        ("x = globals()['y']\n", False),
        ("def f():\n    exec('x = 1')\n", False),
    ],
)
def test_what_makes_names_as_it_runs(text: str, is_open: bool) -> None:
    assert read_facts(text.encode()).open is is_open


def test_text_that_is_not_python() -> None:
    facts = read_facts(b"def f(:\n")
    assert facts.error is not None
    assert facts.error[0] == 1
    assert read_facts(b"\0").error is not None
