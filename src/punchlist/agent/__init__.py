"""Build an agent's handle from a dialect, the rules of core and the store: one module per group of methods."""

from __future__ import annotations

from hashlib import blake2b

from punchlist.agent.calls import Calls
from punchlist.agent.edits import Edits
from punchlist.agent.handle import LONGEST_ID, PROFILES, AgentContext, Mode, check_name
from punchlist.agent.overview import CurrentWorks
from punchlist.agent.plans import Plans
from punchlist.agent.questions import Questions
from punchlist.agent.recovery import Recovery
from punchlist.agent.subagents import Subagents
from punchlist.core.events import Draft
from punchlist.options import AgentOptions

__all__ = ["PROFILES", "Agent", "AgentOptions", "Mode"]


class Agent(Calls, Edits, Subagents, Plans, Questions, CurrentWorks, Recovery):
    """One agent of one session. Nothing is written before its first change; until then its list is empty."""

    def spawn(
        self,
        name: str,
        *,
        label: str | None = None,
        id: str | None = None,
        dialect: str | None = None,
        offered: bool | None = None,
    ) -> Agent:
        """Start a child of this agent: always a new one, numbered if the name is taken. The same `id` finds it again.

        It has the todo tool, with a list of its own, unless its dialect withholds that from subagents; `offered` says
        otherwise. An agent that has been denied the tool by its host denies it to its children.
        """
        check_name("agent", name)
        label = self._clean_label(label)
        spawn_id = id
        if id is not None and len(id) > LONGEST_ID:  # a hash is the same each time, too
            spawn_id = f"#{blake2b(id.encode(errors='replace'), digest_size=16).hexdigest()}"

        def work(ctx: AgentContext) -> str:
            tx, row, now = ctx.tx, ctx.row, ctx.now
            self._observe_call(ctx)
            if spawn_id is not None and (known := tx.find_spawned(self.session, row.number, spawn_id)) is not None:
                return known
            taken = tx.names(self.session)
            number = 1
            free = name
            while free in taken:
                number += 1
                free = f"{name}-{number}"
            check_name("agent", free)
            made = tx.add_agent(
                self.session, free, project=row.project, at=now, parent=row.number, label=label, spawn_id=spawn_id
            )
            item = self._lit_up(ctx, made)
            ctx.add(Draft("agent.spawned", {"child": free, "label": label} | ({"item": item} if item else {})))
            return free

        child = self._run(work)
        denied = False if self._options.get("offered") is False else None
        options = self._options.copy()
        options.update(subagent=True, offered=denied if offered is None else offered)
        return self._board.agent(
            child,
            session=self.session,
            dialect=dialect or self.dialect,
            profile=self.profile,
            project=self._project,
            **options,
        )
