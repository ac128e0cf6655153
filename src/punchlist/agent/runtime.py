"""What an agent's tools really do: the host reports it, and each item of the list has its work beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from punchlist.agent.turns import Turns

if TYPE_CHECKING:
    from punchlist.core.grounding import Tally
    from punchlist.detect.findings import Verdict
    from punchlist.store import Transaction


class Runtime(Turns):
    """Reports may come late, twice and in any order. None raises: on a fault nothing is kept, and it is logged."""

    def tool_started(self, call_id: str | None, name: str, args: Any = None) -> Verdict:
        """A tool call of the agent begins: what is thought of it, from the calls before. It belongs to the focus.

        Kept are the call's name, a hash of its arguments and a short preview without secrets. Calls without an id are
        told apart by name, the first begun being the first to end.
        """
        return self._steps.tool_started(call_id or "", name, args)

    def tool_updated(self, call_id: str | None, text: str, *, name: str = "") -> None:
        """A tool call that still runs says something. `name` is needed only for a call that has no id."""
        self._steps.tool_updated(call_id or "", text, name)

    def tool_finished(
        self,
        call_id: str | None,
        result: Any = None,
        *,
        is_error: bool | None = None,
        exit_code: int | None = None,
        name: str = "",
    ) -> None:
        """A tool call of the agent has ended. `name` is needed only for a call that has no id.

        Say how it went: `exit_code`, or else `is_error`. Without either (None is "not told") a check is judged by what
        its result says of itself, and where that says nothing, it proves nothing.
        """
        self._steps.tool_ended(
            call_id or "", result, is_error=is_error, exit_code=exit_code, name=name, event="tool.finished"
        )

    def tool_failed(self, call_id: str | None, error: Any = None, *, name: str = "") -> None:
        """A tool call of the agent came to nothing: it was refused, timed out, or its tool broke."""
        self._steps.tool_ended(call_id or "", error, is_error=True, exit_code=None, name=name, event="tool.failed")

    def output(self, text: str) -> None:
        """The agent said something that people see. Whoever speaks is not stalled."""
        self._steps.output(text)

    def finished(self, text: str = "", *, outcome: Literal["completed", "failed", "cancelled"] = "completed") -> None:
        """The agent is done. Calls that it left open are given up.

        Where its label names an open item of its parent, that item is completed, if the parent was told to do so by
        `complete_by_subagents`, and the agent finished well.
        """
        self._steps.finished(outcome, text)
        self._finished_as_child(outcome)

    def compacted(self) -> None:
        """The agent's context was compacted: whether it now does again what it did before is watched closely."""
        self._steps.compacted()

    @property
    def grounding(self) -> Mapping[str, Tally]:
        """What was seen of the work on each item of the present list, by id; under "" that with nothing in focus.

        That on a task is under `task:<list>/<id>`.
        """
        return self.board.store.read(self._grounding_in)

    def work_on(self, item: str) -> Tally:
        """What was seen of the work on one item of the present list, that of children included."""
        from punchlist.core.grounding import NOTHING

        return self.grounding.get(item, NOTHING)

    def _grounding_in(self, tx: Transaction) -> Mapping[str, Tally]:
        from punchlist.agent.kept_work import tallies, wholes
        from punchlist.core.grounding import is_task, item_key

        row = tx.agent(self.session, self.name)
        if row is None:
            return {}
        todos = row.state.todos
        tasks = {key: key for key in tallies(tx, row.number) if is_task(key)}
        keys = {"": "", **{item.id: item_key(todos.plan_id, item.id) for item in todos.items}, **tasks}
        found = wholes(tx, row.number, keys.values())
        return {name: found[key] for name, key in keys.items() if not found[key].is_empty}

    def _finished_as_child(self, outcome: str) -> None:
        raise NotImplementedError
