"""Ask the person at the client by elicitation: approve a plan, answer a question.

The client shows the dialog and says what the person did with it, so an answer is a person's word. Without an answer,
the plan or the question waits on the board as it does for a client that has no dialogs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from punchlist.dialects.repair import read_fields
from punchlist.dialects.tool_descriptions import Schema, object_of
from punchlist.errors import PunchlistError
from punchlist.mcp.stdio import Connection, Unanswered
from punchlist.settings.environment import login_name
from punchlist.text import cut, for_terminal

if TYPE_CHECKING:
    from punchlist.agent import Agent
    from punchlist.core.approval import Plan
    from punchlist.dialects.base import Reply

_LONGEST = 6000
"""Characters of a text in a dialog; `punchlist plan show` has the whole plan."""

_LONGEST_ROW = 500

_APPROVE, _REJECT = "approve", "reject"
_DECIDE: Schema = {"type": "string", "title": "Decision", "enum": [_APPROVE, _REJECT]}
_SAY_WHY: Schema = {"type": "string", "title": "Reason", "description": "What should be different"}
_DECISION = object_of({"decision": _DECIDE, "reason": _SAY_WHY}, required=["decision"])
_DECISION_ALONE = object_of({"decision": _DECIDE})
_REASON = object_of({"reason": _SAY_WHY})
_ANSWER = object_of({"answer": {"type": "string", "title": "Answer"}})
DECLINED = "The user declined the plan without a reason."
REJECTED = "The user rejected the plan without a reason."


def has_dialogs(capabilities: Mapping[str, Any]) -> bool:
    """True if the client can show a form. It could before there were kinds of dialogs, and then names none."""
    offered = capabilities.get("elicitation")
    if not isinstance(offered, dict):
        return False
    return not offered or "form" in offered


class Dialogs:
    """The dialogs of one tool call. `host` is the agent program that shows them."""

    def __init__(self, connection: Connection, host: str, is_cancelled: Callable[[], bool]) -> None:
        self._connection = connection
        # Codex submits no form with an empty field. It has no key to decline either: where it declines, it runs
        # without a person.
        self._is_codex = host.startswith("codex")
        self._shows_three_lines = host == "claude-code"
        self._is_cancelled = is_cancelled

    def decide_plan(self, agent: Agent, id: str) -> Reply | None:
        """Let the person decide about a plan; return how it stands then, None if there is no such plan."""
        plan = next((one for one in agent.plans if one.id == id), None)
        if plan is None:
            return None
        if plan.waits(agent.board.now()):
            message = _describe_plan(plan, shortly=self._shows_three_lines)
            action, content = self._ask_decision(
                message, lambda: not any(one.id == id and one.waits(agent.board.now()) for one in agent.plans)
            )
            with suppress(PunchlistError):  # it may come too late: then what was decided elsewhere stands
                _decide(agent, plan.revision, action, content)
        return agent.plan_reply(next(one for one in agent.plans if one.id == id))

    def ask(self, agent: Agent, items: Sequence[str]) -> list[str]:
        """Put the open questions of these items to the person; return what the model has to know."""
        told: list[str] = []
        for item in items:
            question = _find_question(agent, item)
            if question is None:
                continue
            title, text = question
            message = f"{_shorten(text)}\n\nAbout: {_shorten(title)}"
            action, content = self._show(message, _ANSWER, lambda item=item: _find_question(agent, item) is None)
            answer = content.get("answer")
            if action == "accept" and isinstance(answer, str) and answer.strip():
                with suppress(PunchlistError):  # it may come too late: then what was answered elsewhere stands
                    agent.answer(item, answer, by=login_name(), person=True)
            elif action == "decline":
                told.append(f"The user did not answer the question about {item} now; it keeps waiting.")
        return told

    def _ask_decision(self, message: str, is_over: Callable[[], bool]) -> tuple[str, Mapping[str, Any]]:
        """Return the person's action and the fields `decision` and `reason`, from one dialog or from two."""
        if not self._is_codex:
            return self._show(message, _DECISION, is_over)
        action, content = self._show(message, _DECISION_ALONE, is_over)
        if action != "accept" or content.get("decision") != _REJECT:
            return action, content
        _, more = self._show("Why do you reject the plan?", _REASON, is_over)
        return action, {**content, **more}

    def _show(self, message: str, schema: Schema, is_over: Callable[[], bool]) -> tuple[str, Mapping[str, Any]]:
        """Return the person's action and the fields of the form; `cancel` if the dialog ended without the person."""
        try:
            result = self._connection.request(
                "elicitation/create",
                {"message": message, "requestedSchema": schema},
                lambda: self._is_cancelled() or is_over(),
            )
        except Unanswered:
            return "cancel", {}
        action = result.get("action")
        if not isinstance(action, str) or (action == "decline" and self._is_codex):
            return "cancel", {}
        return action, read_fields(result.get("content"))


def _describe_plan(plan: Plan, *, shortly: bool) -> str:
    """Return the message about a plan, with its text; `shortly`: three lines before it say most."""
    steps = [for_terminal(item.content) for item in plan.todos.items]
    count = f", {len(steps)} step{'s' if len(steps) != 1 else ''}" if steps else ""
    head = f"Plan, revision {plan.revision}{count}: {for_terminal(plan.title)}"
    lines = [cut(head, _LONGEST_ROW)]
    if shortly:
        lines += [cut(f"Steps: {' · '.join(steps)}", _LONGEST_ROW)] if steps else []
        lines.append("The whole plan: `punchlist plan show` in another terminal")
    return "\n".join((*lines, "", _shorten(plan.text)))


def _decide(agent: Agent, revision: int, action: str, content: Mapping[str, Any]) -> None:
    decision, reason = content.get("decision"), content.get("reason")
    said = reason.strip() if isinstance(reason, str) else ""
    by = login_name()
    if action == "accept" and decision == _APPROVE:
        agent.approve_plan(revision, by=by, person=True)
    elif action == "accept" and decision == _REJECT:
        agent.reject_plan(said or REJECTED, by=by, revision=revision, person=True)
    elif action == "decline":
        agent.reject_plan(said or DECLINED, by=by, revision=revision, person=True)


def _find_question(agent: Agent, item: str) -> tuple[str, str] | None:
    """Return the text of the item and its open question; None if it has none."""
    for wait in agent.board.waits(session=agent.session):
        if (wait.kind, wait.agent, wait.id) == ("question", agent.name, item):
            return wait.title, wait.text
    return None


def _shorten(text: str) -> str:
    cleaned = for_terminal(text, lines=True)
    if len(cleaned) <= _LONGEST:
        return cleaned
    return f"{cleaned[:_LONGEST]}\n… ({len(cleaned) - _LONGEST} characters more: `punchlist plan show`)"
