"""What the vendor fields of headers say: that it can be read, and that no end has come already."""

from __future__ import annotations

from patchq.engine.series.early_end import ends_come
from patchq.engine.series.selection import Selection
from patchq.engine.verify.subject import Subject
from patchq.errors import InputError
from patchq.model.verification import Failure, Section


def readable(selection: Selection) -> Section:
    """No field is malformed: PR numbers and predicates."""
    failures = []
    for patch in selection.patches:
        try:
            patch.header.check_fields()
        except InputError as error:
            failures.append(Failure(error.message, error.where, patch.name))
    return Section("fields", "PR numbers and predicates can be read", tuple(failures))


def ends(subject: Subject) -> Section:
    """No ``X-Retire-When`` holds on the unpatched base: its patch would be retired for nothing."""
    failures = [
        Failure(text, where, patch.name)
        for patch in subject.selection.patches
        for text, where in ends_come(patch, subject.base, subject.predicates)
    ]
    count = sum(len(patch.header.retire_when) for patch in subject.selection.patches)
    summary = f"{count} X-Retire-When, none on the unpatched tree"
    return Section("x-retire-when", summary, tuple(failures), skipped=not count)
