"""A list as a Markdown file in the person's editor. What they wrote is never lost."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile

from punchlist.agent import Agent
from punchlist.cli.files import read, write_new
from punchlist.core.todo import TodoList
from punchlist.errors import EditRefused, InvalidInput, RevisionConflict
from punchlist.hosts.list_owners import is_personal_list
from punchlist.markdown import dumps, loads
from punchlist.surfaces.spans import plural

FORMAT = "punchlist"
"""The dialect whose checkboxes a list is written with."""


class ListDraft:
    """A list that is being edited: a file in a private folder, with all that an editor leaves next to it."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.before = agent.todos
        self._text = dumps(self.before, markers=FORMAT)
        self._folder = tempfile.mkdtemp(prefix="punchlist-")
        self.path = os.path.join(self._folder, "list.todo.md")
        write_new(self.path, self._text)

    def edit(self) -> bool:
        """Open the file in the person's editor; True if it was changed. Raise if the editor fails."""
        command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        try:
            status = subprocess.call([*shlex.split(command), self.path])
        except (OSError, ValueError) as error:
            if not self._is_changed():
                self._delete()
            raise InvalidInput(
                problem=f"The editor `{command}` cannot be started ({error}); set $VISUAL or $EDITOR to one that can."
            ) from error
        is_changed = self._is_changed()
        if not is_changed:
            self._delete()
        if status != 0:
            kept = f" Your text is kept in `{self.path}`." if is_changed else ""
            raise EditRefused(problem=f"The editor ended with status {status}; nothing was changed.{kept}")
        return is_changed

    def apply(self, *, by: str, person: bool) -> TodoList:
        """Put the text in the place of the list, unless that moved on; return the list. Raise where the text is."""
        todos, errors = loads(read(self.path), markers=FORMAT)
        if errors:
            listed = "".join(f"\n  {error}" for error in errors)
            problem = f"Could not parse the edited list, so nothing was changed:{listed}\n{self._kept} once mended."
            raise EditRefused(problem=problem)
        try:
            after = self.agent.rewrite(todos, by=by, revision=self.before.revision, person=person)
        except RevisionConflict as error:
            raise EditRefused(
                problem="The list changed while you were editing, so yours was not put in its place. "
                f"See `punchlist todos`. {self._kept} over what is there now."
            ) from error
        except EditRefused as error:
            raise EditRefused(problem=f"{error} {self._kept} once mended.") from error
        self._delete()
        return after

    @property
    def _kept(self) -> str:
        agent = self.agent
        is_own = is_personal_list(agent.session, agent.name, agent.project)
        whose = "" if is_own else f" --session {shlex.quote(agent.session)} --agent {shlex.quote(agent.name)}"
        return f"Your text is kept in `{self.path}`; `punchlist todo import {self.path}{whose}` takes it"

    def _is_changed(self) -> bool:
        return os.path.exists(self.path) and read(self.path) != self._text

    def _delete(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def describe_saved(after: TodoList) -> str:
    """Return what an edit left, in a sentence without its end."""
    omitted = len(after.omitted)
    aside = f"; {omitted} left out are set aside, `punchlist todo restore` brings them back" if omitted else ""
    return f"Saved the list: {plural(len(after.items), 'item')}{aside}"
