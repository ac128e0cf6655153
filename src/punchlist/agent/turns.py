"""The rhythm of a conversation: the host says what happens, and is told what to put before the model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from punchlist.agent.handle import Handle
from punchlist.agent.once import once

if TYPE_CHECKING:
    from punchlist.agent.reports import Reports
    from punchlist.agent.watching import Watching
    from punchlist.guidance.words import Injection


class Turns(Handle):
    """Nothing here raises: on a fault it says nothing, and logs."""

    def user_turn(self) -> None:
        """The person spoke: tries of the stop guard and reminders of the last prompt are forgotten.

        A run begins: calls of before are no part of a loop any more.
        """
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

    @once
    def _steps(self) -> Reports:
        from punchlist.agent.reports import Reports  # a command that only shows a list has no use for it
        from punchlist.agent.settling import settle, wanted
        from punchlist.agent.steps import Ground

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
            watching=self._watching,
            offered=self.offered,
            tells_grades=self._grading != "show",
            task_list=self.task_list,
            tasks=self._tasks_before,
            join=self._joined,
            settle=lambda tx, row, now: settle(tx, row, now, name=self.task_list),
            look=lambda: wanted(self),
        )
        return Reports(ground)

    @once
    def _watching(self) -> Watching:
        from punchlist.agent.watch_options import watch_settings
        from punchlist.agent.watching import Watching

        return Watching(watch_settings(self._options, self._own_tools), self.name)
