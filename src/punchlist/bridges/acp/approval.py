"""Asking the person at an ACP client about a plan that waits for approval, with `session/request_permission`."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final, Protocol

from punchlist.agent import Agent
from punchlist.bridges.acp.titles import call_content
from punchlist.core.approval import Plan, PlanState
from punchlist.errors import PlanMissing, PunchlistError

logger = logging.getLogger(__name__)
AUTHOR: Final = "acp"
REFUSED: Final = "The person at the editor wants another plan."
_APPROVE, _REJECT = "approve", "reject"


class Connection(Protocol):
    """What is needed of the SDK's `AgentSideConnection`."""

    async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **kwargs: Any) -> Any: ...


async def ask_approval(
    connection: Connection, agent: Agent, *, session_id: str | None = None, by: str = AUTHOR, todos: bool = False
) -> Plan:
    """Puts the plan before the person and decides as they do; the plan as it stands then. Waits as long as they take.

    The decision is about the revision that was shown. Where they do not choose, the client is gone, or somebody else
    decided meanwhile, the plan is left as it is. With `todos` the steps of an approved plan become the todo list.
    Raises `PlanMissing` if none waits.
    """
    plan = await asyncio.to_thread(lambda: agent.plan)
    if plan is None or plan.state is not PlanState.PROPOSED:
        raise PlanMissing
    try:
        chosen = await _choice(connection, agent.session if session_id is None else session_id, plan)
        return await asyncio.to_thread(_decide, agent, plan, chosen, by, todos)
    except PunchlistError as error:
        logger.info("the plan of `%s` was not decided by its editor: %s", agent.session, error)
    except Exception:
        logger.exception("the client of `%s` could not be asked about a plan", agent.session)
    return await asyncio.to_thread(lambda: agent.plan) or plan


async def _choice(connection: Connection, session_id: str, plan: Plan) -> str | None:
    """The option that the person chose; None if they chose none."""
    from acp.schema import RequestPermissionRequest

    request = RequestPermissionRequest.model_validate(
        {
            "sessionId": session_id,
            "toolCall": {
                "toolCallId": f"plan:{plan.id}:{plan.revision}",
                "title": "Approve the plan?",
                "kind": "switch_mode",
                "status": "pending",
                "content": call_content(plan.text),
            },
            "options": [
                {"optionId": _APPROVE, "name": "Approve, and begin", "kind": "allow_once"},
                {"optionId": _REJECT, "name": "Keep planning", "kind": "reject_once"},
            ],
        }
    )
    answer = await connection.request_permission(session_id, request.tool_call, request.options)
    return getattr(answer.outcome, "option_id", None)


def _decide(agent: Agent, plan: Plan, chosen: str | None, by: str, todos: bool) -> Plan:
    if chosen == _APPROVE:
        return agent.approve_plan(plan.revision, by=by, todos=todos)
    if chosen == _REJECT:
        return agent.reject_plan(REFUSED, by=by, revision=plan.revision)
    return agent.plan or plan
