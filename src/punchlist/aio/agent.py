"""The async handle of an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from punchlist import agent as synchronous_agent
from punchlist.agent import Mode
from punchlist.aio.plans import Plans
from punchlist.aio.runtime import Runtime
from punchlist.aio.threads import Lane
from punchlist.core.current_work import CurrentWork
from punchlist.core.todo import TodoList
from punchlist.dialects.base import Reply, Tool
from punchlist.observers import Observer
from punchlist.transcripts.values import Transcript, Written

if TYPE_CHECKING:
    from punchlist.aio.board import Board
    from punchlist.aio.flows import Flows
    from punchlist.aio.tasks import Tasks
    from punchlist.guidance.layers import Layer
    from punchlist.guidance.plan_mode import Because, PlanMode, Refusal
    from punchlist.guidance.words import Injection

T = TypeVar("T")
P = ParamSpec("P")


class Agent(Plans, Runtime):
    """One agent of one session, for async code. Made by `board.agent` and `agent.spawn`."""

    def __init__(
        self, board: Board, agent: synchronous_agent.Agent, lane: Lane, announce: Observer | None = None
    ) -> None:
        self.board = board
        self.synchronous = agent
        self.name = agent.name
        self.session = agent.session
        self.profile = agent.profile
        self.task_list = agent.task_list
        self._lane = lane
        self._announce = announce

    def __repr__(self) -> str:
        return repr(self.synchronous)

    async def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Awaits blocking work in the order of this agent's calls."""

        def in_turn() -> T:
            announce, self._announce = self._announce, None
            if announce is not None:
                announce(self.synchronous)
            return work(*args, **kwargs)

        self.board.check_open()
        return await asyncio.wrap_future(self._lane.submit(in_turn))

    @property
    def dialect(self) -> str:
        return self.synchronous.dialect

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self.synchronous.tools

    @property
    def offered(self) -> bool:
        return self.synchronous.offered

    @property
    def todos(self) -> Awaitable[TodoList]:
        return self._run(lambda: self.synchronous.todos)

    @property
    def project(self) -> Awaitable[str]:
        """The project of the session, which is where the session was first seen."""
        return self._run(lambda: self.synchronous.project)

    @property
    def mode(self) -> Awaitable[Mode]:
        return self._run(lambda: self.synchronous.mode)

    async def at(self, revision: int) -> TodoList | None:
        return await self._run(self.synchronous.at, revision)

    @property
    def work(self) -> Awaitable[CurrentWork]:
        """Its list, and the open tasks that it started or owns."""
        return self._run(lambda: self.synchronous.work)

    def tasks(self, list: str | None = None, *, lease: float | None = None) -> Tasks:
        """A list of tasks in this agent's name."""
        from punchlist.aio.tasks import Tasks

        return Tasks(self.board, self.synchronous.tasks(list, lease=lease))

    def flows(self) -> Flows:
        """The flows of the board, in this agent's name."""
        from punchlist.aio.flows import Flows

        return Flows(self.board, self.synchronous.flows())

    # The model's calls.

    async def call(self, name: str, args: Any = None, *, call_id: str | None = None) -> Reply:
        return await self._run(self.synchronous.call, name, args, call_id=call_id)

    # People's changes.

    async def edit(self, ops: Any, *, by: str, revision: int | None = None) -> TodoList:
        return await self._run(self.synchronous.edit, ops, by=by, revision=revision)

    async def rewrite(self, todos: TodoList, *, by: str, revision: int | None = None) -> TodoList:
        return await self._run(self.synchronous.rewrite, todos, by=by, revision=revision)

    async def undo(self, *, by: str) -> TodoList:
        return await self._run(self.synchronous.undo, by=by)

    async def restore_list(self, todos: TodoList, *, by: str, source: str, revision: int | None = None) -> TodoList:
        return await self._run(self.synchronous.restore_list, todos, by=by, source=source, revision=revision)

    # What the model is told.

    @property
    def layers(self) -> tuple[Layer, ...]:
        return self.synchronous.layers

    @property
    def prompt(self) -> str:
        return self.synchronous.prompt

    async def compaction_block(self) -> str | None:
        return await self._run(self.synchronous.compaction_block)

    # The rhythm of the conversation.

    async def user_turn(self) -> None:
        await self._run(self.synchronous.user_turn)

    async def assistant_turn(self, tools_used: Iterable[str] = ()) -> list[Injection]:
        return await self._run(self.synchronous.assistant_turn, tools_used)

    async def about_to_stop(self, last_text: str = "", *, background: int = 0) -> Injection | None:
        return await self._run(self.synchronous.about_to_stop, last_text, background=background)

    # Lists from elsewhere.

    async def restore(
        self,
        records_or_path: Any,
        format: str | None = None,
        *,
        session: str | None = None,
        subagent: str | None = None,
        by: str | None = None,
        force: bool = False,
    ) -> bool:
        work = self.synchronous.restore
        return await self._run(work, records_or_path, format, session=session, subagent=subagent, by=by, force=force)

    async def take_over(
        self,
        transcript: Transcript,
        written: Written | None,
        *,
        by: str | None = None,
        force: bool = False,
        label: str | None = None,
    ) -> bool:
        work = self.synchronous.take_over
        return await self._run(work, transcript, written, by=by, force=force, label=label)

    async def import_history(
        self,
        records_or_path: Any,
        format: str | None = None,
        *,
        session: str | None = None,
        subagent: str | None = None,
    ) -> int:
        work = self.synchronous.import_history
        return await self._run(work, records_or_path, format, session=session, subagent=subagent)

    async def restore_tasks(self, records_or_path: Any, format: str | None = None) -> int:
        return await self._run(self.synchronous.restore_tasks, records_or_path, format)

    # Modes and children.

    @property
    def plan_mode(self) -> Awaitable[PlanMode | None]:
        """Since when and why plan mode is on; None while the agent works."""
        return self._run(lambda: self.synchronous.plan_mode)

    async def enter_plan_mode(
        self, reason: str | None = None, *, by: str | None = None, because: Because | None = None
    ) -> PlanMode:
        return await self._run(self.synchronous.enter_plan_mode, reason, by=by, because=because)

    async def exit_plan_mode(self, *, by: str | None = None) -> None:
        await self._run(self.synchronous.exit_plan_mode, by=by)

    async def permits(self, tool: str, args: Any = None) -> Refusal | None:
        return await self._run(self.synchronous.permits, tool, args)

    def unjudged_tools(self, tools: Iterable[str]) -> tuple[str, ...]:
        return self.synchronous.unjudged_tools(tools)

    async def spawn(
        self,
        name: str,
        *,
        label: str | None = None,
        id: str | None = None,
        dialect: str | None = None,
        offered: bool | None = None,
    ) -> Agent:
        spawn = self.synchronous.spawn
        child = await self._run(spawn, name, label=label, id=id, dialect=dialect, offered=offered)
        return Agent(self.board, child, self.board.lane(child.session, child.name))
