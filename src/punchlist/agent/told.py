"""What a model is told outside its turns: the layers about its tool, and its open work after a compaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from punchlist.agent.settling import look
from punchlist.agent.turns import Turns
from punchlist.store import Transaction

if TYPE_CHECKING:
    from punchlist.core.task import Task
    from punchlist.guidance.compaction import OpenWork
    from punchlist.guidance.layers import Layer


class Told(Turns):
    """Texts for the host to put before the model."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The pieces about the todo tool, by the option `layers`, else by the profile. They never change with the list.

        Empty where the tool is not offered and in the profile `off`.
        """
        from punchlist.guidance.layers import PROFILES, layers

        names = self._options.get("layers")
        wanted = PROFILES[self.profile] if names is None or self.profile == "off" else names
        return layers(self._todo_tools, wanted, verbose=self._options.get("verbose", False))

    @property
    def prompt(self) -> str:
        """Those of the layers that belong in the system prompt, as one text."""
        from punchlist.guidance.layers import prompt

        return prompt(self.layers)

    def compaction_block(self) -> str | None:
        """Unfinished work only, for a conversation that was compacted; None when nothing is open.

        Fenced; in Hermes' own format under its dialect. `guidance.compaction.merge_block` puts it in its place. None in
        the profile `off` and where the tool is not offered.
        """
        from punchlist.guidance.compaction import block

        if self.profile == "off" or not self.offered:
            return None
        look(self)
        text = block(self._open_work(), self._dialect)
        if text is not None:
            self._steps.gave("compaction", text)
        return text

    def _open_work(self) -> tuple[OpenWork, ...]:
        """All work that this agent still owes: on its list, and its tasks behind that."""
        from punchlist.guidance.open_work import open_tasks, open_work

        def tasks(tx: Transaction) -> tuple[Task, ...]:
            row = tx.agent(self.session, self.name) if tx.has_tasks else None
            return () if row is None else self._tasks_before(tx, row)

        listed = open_work(self.todos, self._dialect)
        found = self.board.store.read(tasks)
        return (*listed, *open_tasks(found, self._dialect, task_list=self.task_list)) if found else listed
