"""What an agent's tools really do, reported by async code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

if TYPE_CHECKING:
    from punchlist import agent as synchronous_agent
    from punchlist.core.grounding import Tally
    from punchlist.detect.findings import Verdict

T = TypeVar("T")
P = ParamSpec("P")


class Runtime:
    """The part of the async agent that reports tool calls; in the order in which it is called."""

    synchronous: synchronous_agent.Agent

    async def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        raise NotImplementedError

    async def tool_started(self, call_id: str | None, name: str, args: Any = None) -> Verdict:
        return await self._run(self.synchronous.tool_started, call_id, name, args)

    async def tool_updated(self, call_id: str | None, text: str, *, name: str = "") -> None:
        await self._run(self.synchronous.tool_updated, call_id, text, name=name)

    async def tool_finished(
        self,
        call_id: str | None,
        result: Any = None,
        *,
        is_error: bool | None = None,
        exit_code: int | None = None,
        name: str = "",
    ) -> None:
        finish = self.synchronous.tool_finished
        await self._run(finish, call_id, result, is_error=is_error, exit_code=exit_code, name=name)

    async def tool_failed(self, call_id: str | None, error: Any = None, *, name: str = "") -> None:
        await self._run(self.synchronous.tool_failed, call_id, error, name=name)

    async def output(self, text: str) -> None:
        await self._run(self.synchronous.output, text)

    async def finished(
        self, text: str = "", *, outcome: Literal["completed", "failed", "cancelled"] = "completed"
    ) -> None:
        await self._run(self.synchronous.finished, text, outcome=outcome)

    async def compacted(self) -> None:
        await self._run(self.synchronous.compacted)

    @property
    def grounding(self) -> Awaitable[Mapping[str, Tally]]:
        """What was seen of the work on each item of the present list, by id."""
        return self._run(lambda: self.synchronous.grounding)

    async def work_on(self, item: str) -> Tally:
        return await self._run(self.synchronous.work_on, item)
