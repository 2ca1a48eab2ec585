"""The small JSON files of ``.patchq/`` that say which operation is under way.

Each is replaced in one step that survives a crash, and checked when it is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from patchq.errors import InputError, Where
from patchq.files import replace_file, sync
from patchq.model.workspace import Workspace, ensure_state_dir

_State = TypeVar("_State")


@dataclass(frozen=True)
class StateFile(Generic[_State]):
    """One of them: ``what`` it is the state of, and a ``hint`` how to be rid of it.

    ``write`` gives the fields of a state, to which the schema is added; ``read`` makes a state of
    fields, and raises KeyError, TypeError, ValueError or AttributeError where they are not what was
    written.
    """

    name: str
    schema: str
    what: str
    hint: str
    read: Callable[[Mapping[str, Any]], _State]
    write: Callable[[_State], Mapping[str, Any]]

    def exists(self, workspace: Workspace) -> bool:
        """Whether there is a state, readable or not."""
        return self._path(workspace).exists()

    def load(self, workspace: Workspace) -> _State | None:
        """The state, None if there is none.

        Raises :class:`InputError` for a file that is damaged, or that another version wrote.
        """
        path = self._path(workspace)
        try:
            fields = json.loads(path.read_bytes())
            if fields["schema"] == self.schema:
                return self.read(fields)
            message = f"this is no state that this patchq knows: {fields['schema']!r}"
        except FileNotFoundError:
            return None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            message = f"the state of {self.what} is damaged: {error!r}"
        where = Where(str(path.relative_to(workspace.root)))
        raise InputError(message, where=where, hint=self.hint)

    def save(self, workspace: Workspace, state: _State) -> None:
        """Make ``state`` what the file says."""
        directory = ensure_state_dir(workspace)
        fields = {"schema": self.schema, **self.write(state)}
        content = json.dumps(fields, indent=1).encode("ascii")
        replace_file(directory / self.name, content, durable=True)

    def forget(self, workspace: Workspace) -> None:
        """Take the file away, whatever it holds."""
        self._path(workspace).unlink(missing_ok=True)
        sync(workspace.state_dir)

    def _path(self, workspace: Workspace) -> Path:
        return workspace.state_dir / self.name


def text_of(value: object) -> str:
    """``value``, which must be text."""
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {value!r}")
    return value
