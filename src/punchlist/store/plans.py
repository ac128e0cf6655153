"""Read and write approval plans, questions to people, and the modes of agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from punchlist.core.approval import Plan, Question
from punchlist.store.records import AgentRow, Record, Rows, microseconds

_plan = Record(Plan)
_question = Record(Question)
_entry = Record(dict[str, Any])


class PlanRow(NamedTuple):
    """A plan, and the agent that it belongs to."""

    session: str
    agent: str
    project: str
    number: int
    plan: Plan


class QuestionRow(NamedTuple):
    """An open question, and the agent that asks it."""

    session: str
    agent: str
    project: str
    number: int
    question: Question


class PlanRows(Rows):
    """Reads and writes plans, within one transaction. `agent` is the store's number of an agent."""

    def current(self, agent: int) -> Plan | None:
        kept = self._rows.kept
        if agent not in kept:
            row = self._rows.one("current_plan", {"agent": agent})
            kept[agent] = None if row is None else _plan.decode(str(agent), *row)
        return kept[agent]

    def history(self, agent: int) -> Sequence[Plan]:
        return [_plan.decode(str(agent), *row) for row in self._rows.all("plans_of_agent", {"agent": agent})]

    def find(self, id: str) -> PlanRow | None:
        row = self._rows.one("find_plan", {"id": id})
        return None if row is None else _plan_row(row)

    def find_proposed(self, *, limit: int = 1000) -> Sequence[PlanRow]:
        return [_plan_row(row) for row in self._rows.all("proposed_plans", {"limit": limit})]

    def latest(self, project: str | None, *, limit: int = 1000) -> Sequence[PlanRow]:
        """Return the latest plan of each agent, of a project or the board; the agent that worked last comes first."""
        rows = self._rows.all("latest_plans", {"project": project, "limit": limit})
        return [_plan_row(row) for _, *row in sorted(rows, key=lambda row: (-row[0], row[4]))]

    def save(self, agent: int, plan: Plan, *, at: datetime) -> None:
        total, body = _plan.encode(str(agent), plan)
        key = {"agent": agent, "revision": plan.revision, "id": plan.id}
        self._rows.kept.pop(agent, None)
        self._rows.run("save_plan", {**key, "state": plan.state.value, "sum": total, "body": body})
        self._rows.touch(agent, at)

    def find_decided(self, agent: int) -> Sequence[Plan]:
        """Return the decided plans of which the agent was not told yet, the oldest first."""
        return [_plan.decode(str(agent), *row) for row in self._rows.all("decided_plans", {"agent": agent})]

    def mark_told(self, agent: int, id: str | None = None) -> None:
        """Note that the agent was told of the decision on a plan; without an id, of all decisions."""
        self._rows.run("decisions_told", {"agent": agent, "id": id})

    def delete(self, agent: int, revision: int) -> None:
        self._rows.kept.pop(agent, None)
        self._rows.run("delete_plan", {"agent": agent, "revision": revision})


def _plan_row(row: Any) -> PlanRow:
    session, agent, project, number, total, body = row
    return PlanRow(session, agent, project, number, _plan.decode(str(number), total, body))


class QuestionRows(Rows):
    """Reads and writes questions, within one transaction. An item has at most one that is open."""

    def latest(self, agent: int, item: str, plan_id: str) -> Question | None:
        row = self._latest(agent, item, plan_id)
        return None if row is None else _question.decode(_head(agent, row[0]), *row[2:])

    def _latest(self, agent: int, item: str, plan_id: str) -> tuple[int, str, int, bytes] | None:
        return self._rows.one("latest_question", {"agent": agent, "item": item, "plan_id": plan_id})

    def open(self, *, agent: int | None = None, limit: int = 1000) -> Sequence[QuestionRow]:
        """Return the open questions of an agent or, for None, of the board."""
        return [
            QuestionRow(session, name, project, number, _question.decode(_head(number, place), total, body))
            for session, name, project, number, place, total, body in self._rows.all(
                "open_questions", {"agent": agent, "limit": limit}
            )
        ]

    def ask(self, agent: int, question: Question, *, at: datetime) -> None:
        """Write an open question, in place of one that the item asks already."""
        row = self._latest(agent, question.item, question.plan_id)
        if row is not None and row[1] == "open":
            number = row[0]
        else:
            (number,) = self._rows.one("next_question", {"agent": agent})
        self._save(agent, number, question, "open", at)

    def answer(self, agent: int, question: Question, *, at: datetime) -> None:
        row = self._latest(agent, question.item, question.plan_id)
        if row is not None:
            self._save(agent, row[0], question, "answered", at)

    def _save(self, agent: int, number: int, question: Question, state: str, at: datetime) -> None:
        total, body = _question.encode(_head(agent, number), question)
        key = {"agent": agent, "number": number, "item": question.item, "plan_id": question.plan_id}
        self._rows.run("save_question", {**key, "state": state, "sum": total, "body": body})
        self._rows.touch(agent, at)

    def find_answered(self, agent: int) -> Sequence[Question]:
        """Return the answers that the agent was not told yet, the oldest first."""
        found = self._rows.all("answered_questions", {"agent": agent})
        return [_question.decode(_head(agent, number), total, body) for number, total, body in found]

    def mark_told(self, agent: int) -> None:
        """Note that the agent was told of all answers."""
        self._rows.run("answers_told", {"agent": agent})


def _head(agent: int, number: int) -> str:
    return f"{agent} {number}"


class ModeRows(Rows):
    def load_entry(self, agent: int) -> dict[str, Any] | None:
        """Return the reason that was given when the agent entered its mode, with its time; None if none was."""
        row = self._rows.one("find_mode", {"agent": agent})
        if row is None or row[1] is None:
            return None
        return _entry.decode(f"{agent} mode", *row)

    def save(self, agent: AgentRow, mode: str, entered: Mapping[str, Any] | None, *, at: datetime) -> None:
        total, body = (None, None) if entered is None else _entry.encode(f"{agent.number} mode", dict(entered))
        values = {"agent": agent.number, "mode": mode, "body": body, "sum": total, "at": microseconds(at)}
        self._rows.run("save_mode", values)
