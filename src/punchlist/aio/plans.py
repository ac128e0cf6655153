"""Plans and questions on an async handle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from punchlist import agent as synchronous_agent
from punchlist.agent.plans import seconds_left
from punchlist.dialects.base import Reply

if TYPE_CHECKING:
    from punchlist.aio.board import Board
    from punchlist.core.approval import Plan
    from punchlist.core.question import Question

T = TypeVar("T")
P = ParamSpec("P")


class Plans:
    """What the handle says of its plan, and what it asks of people."""

    board: Board
    synchronous: synchronous_agent.Agent

    async def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        raise NotImplementedError

    @property
    def plan(self) -> Awaitable[Plan | None]:
        return self._run(lambda: self.synchronous.plan)

    @property
    def plans(self) -> Awaitable[tuple[Plan, ...]]:
        return self._run(lambda: self.synchronous.plans)

    async def propose_plan(
        self,
        text: str,
        *,
        by: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the synchronous name; it is how long the plan may wait
    ) -> Plan:
        return await self._run(self.synchronous.propose_plan, text, by=by, timeout=timeout)

    async def approve_plan(self, revision: int | None = None, *, by: str = "user", todos: bool = False) -> Plan:
        return await self._run(self.synchronous.approve_plan, revision, by=by, todos=todos)

    async def reject_plan(self, reason: str, *, by: str = "user", revision: int | None = None) -> Plan:
        return await self._run(self.synchronous.reject_plan, reason, by=by, revision=revision)

    async def wait_for_plan(
        self,
        id: str | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the synchronous name; then the plan is given as it stands
    ) -> Plan:
        """The plan once it is decided, superseded or too late; or as it stands after `timeout` seconds.

        No thread waits meanwhile, and calls of this agent go on.
        """
        seen = await self._run(self.board.store.last_seq)
        plan = await self._run(self.synchronous.wait_for_plan, id, timeout=0)
        loop = asyncio.get_running_loop()
        ends = None if timeout is None else loop.time() + timeout
        while True:
            left = seconds_left(plan, self.board.now(), None if ends is None else ends - loop.time())
            if left is not None and left <= 0:
                return plan
            with suppress(TimeoutError):
                async with asyncio.timeout(left), aclosing(self.board.follow(seen)) as feed:
                    async for event in feed:
                        seen = event.seq
                        if event.kind.startswith("approval."):
                            break
            plan = await self._run(self.synchronous.wait_for_plan, id, timeout=0)

    async def plan_reply(self, plan: Plan) -> Reply:
        return await self._run(self.synchronous.plan_reply, plan)

    async def plan_delta(self, text: str, *, turn: str) -> str:
        return await self._run(self.synchronous.plan_delta, text, turn=turn)

    async def plan_message(self, text: str, *, turn: str) -> tuple[str, Plan | None]:
        return await self._run(self.synchronous.plan_message, text, turn=turn)

    async def ask(self, item: str, question: str, *, of: str | None = None) -> Question:
        return await self._run(self.synchronous.ask, item, question, of=of)

    async def answer(self, item: str, text: str, *, by: str) -> Question:
        return await self._run(self.synchronous.answer, item, text, by=by)

    async def take_answers(self) -> str | None:
        return await self._run(self.synchronous.take_answers)
