"""What a series, and each patch of it, does to what the project builds for each target.

A patch is looked at in three ways: in its place (the series up to it, without and with it), alone
on the unpatched tree, and left out of the whole. The last two take it apart from its neighbours
by a three-way merge, so that touching lines are no obstacle; where that collides, the way is left
out. A patch that changes nothing in any of them is inert.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from patchq.engine.project import Project
from patchq.engine.verify.inert import since
from patchq.engine.verify.probe import LISTS, Prober, Question
from patchq.engine.verify.subject import Step, Subject, stand
from patchq.engine.stack import PatchRefusedError
from patchq.git.merge import Question as Merge
from patchq.git.store import Store
from patchq.model.lock import Base
from patchq.model.patch import Patch
from patchq.model.recipe import read_recipe
from patchq.model.settings import Target
from patchq.model.verification import Build, Change, Effect, PatchEffect, TargetBuild, compare
from patchq.model.workspace import RECIPE
from patchq.errors import Where
"""
PLACEHOLDER
"""
