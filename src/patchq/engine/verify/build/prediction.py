"""What the build of a series in place holds, as far as CMake's own evaluation can tell."""

from __future__ import annotations

from patchq.engine.build.evaluate import BuildQuestion, Prober
from patchq.engine.build.project_dir import project_at
from patchq.engine.build.trust import is_trusted, sandbox_for
from patchq.engine.languages.cmake_text import LISTS
from patchq.engine.series.selection import Selection
from patchq.engine.verify.subject import Subject, put_in_place
from patchq.engine.workspace.project import Project
from patchq.errors import InputError
from patchq.model.prediction import Prediction, predict
from patchq.model.verification import Build, TargetBuild


def predicted_builds(subject: Subject) -> tuple[TargetBuild, ...]:
    """The build of the patched tree for each target of the settings; none without a project.

    Raises :class:`~patchq.errors.PatchqError` if there is no CMake to evaluate it with,
    :class:`~patchq.errors.UpstreamError` if there is no sandbox and no trust.
    """
    project, directory = subject.project, subject.recipe.project
    targets = project.settings.targets
    if directory is None or not targets:
        return ()
    if not subject.coverage.covers_path(f"{directory}/{LISTS}".removeprefix("./")):
        return ()
    tree = project_at(project.store.objects, subject.tree, directory)
    if tree is None:
        return ()
    prober = Prober(project.store, project.settings.checks.build, project.cache)
    trusted = is_trusted(project.workspace, subject.base)
    questions = [BuildQuestion(tree, directory, target, trusted=trusted) for target in targets]
    with sandbox_for(subject.base):
        builds = prober.probe_all(questions)
    return tuple(
        TargetBuild(target, Build(), build) for target, build in zip(targets, builds, strict=True)
    )


def predictions_of(project: Project, selection: Selection) -> tuple[Prediction, ...]:
    """What is predicted of a wheel of this series, by target; raises :class:`InputError`."""
    subject = put_in_place(project, selection)
    predictions = predict(predicted_builds(subject))
    if not predictions:
        raise InputError(
            f"no build of {subject.base.name} can be predicted",
            hint="Name the project in the series' recipe.yaml, and targets in patchq.yaml.",
        )
    return predictions
