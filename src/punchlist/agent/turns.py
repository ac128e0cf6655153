"""The rhythm of a conversation: the host says what happens, and is told what to put before the model."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from punchlist.agent.handle import Handle

if TYPE_CHECKING:
    from punchlist.agent.steps import Steps
    from punchlist.core.verdict import Verdict
    from punchlist.guidance.injection import Injection


class Turns(Handle):
    """Nothing here raises: on a fault it says nothing, and logs."""

    def user_turn(self) -> None:
        """The person spoke: tries of the stop guard and reminders of the last prompt are forgotten."""
        self._steps.person_spoke()

    def assistant_turn(self, tools_used: Iterable[str] = ()) -> list[Injection]:
        """To be called once for each assistant message, with the names of the tools that it used, in order.

        What it returns belongs at the tail of the next request, or in front of its tool results, and into no other.
        """
        return self._steps.turn(tools_used)

    def about_to_stop(self, last_text: str = "", *, background: int = 0) -> Injection | None:
        """To be called when the model wants to stop: what to say to it so that it goes on, or None to let it.

        `last_text` is what it said last: whoever asks the person something may stop. `background` is how many pieces
        of its work still run elsewhere.
        """
        return self._steps.stop(last_text, background)

    def tool_started(self, call_id: str, name: str, args: Any = None) -> Verdict:
        """A tool call of the agent begins. The call is recorded, its arguments are not."""
        return self._steps.tool_started(call_id, name, args)

    def tool_finished(self, call_id: str, result: Any = None, *, is_error: bool = False) -> None:
        """A tool call of the agent has ended. What it returned is not recorded."""
        self._steps.tool_finished(call_id, is_error=is_error)

    @cached_property
    def _steps(self) -> Steps:
        from punchlist.agent.steps import Ground, Steps  # a command that only shows a list has no use for it

        ground = Ground(
            board=self.board,
            name=self.name,
            session=self.session,
            dialect=self._dialect,
            policy=self._policy,
            rules=self._rules,
            accounts=self._accounts,
            host=self._own_tools,
            tools=self.tools,
            tasks=self._tasks_before,
            join=self._joined,
        )
        return Steps(ground)
