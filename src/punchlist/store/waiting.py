"""What waits on a person, as the contract of a store names it: plans to be approved, questions to be answered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from punchlist.core.approval import Plan
from punchlist.core.question import Question


class PlanRow(NamedTuple):
    """A plan, and whose it is."""

    session: str
    agent: str
    project: str
    number: int
    plan: Plan


class QuestionRow(NamedTuple):
    """An open question, and whose it is."""

    session: str
    agent: str
    project: str
    number: int
    question: Question


class PlanTable(Protocol):
    """The plans of a board; `agent` is the store's number of an agent."""

    def current(self, agent: int) -> Plan | None: ...
    def history(self, agent: int) -> Sequence[Plan]: ...
    def find(self, id: str) -> PlanRow | None: ...
    def proposed(self, *, limit: int = 1000) -> Sequence[PlanRow]: ...
    def latest(self, project: str | None, *, limit: int = 1000) -> Sequence[PlanRow]:
        """The latest revision of each agent's plan; None stands for all projects."""
        ...

    def save(self, agent: int, plan: Plan, *, at: datetime) -> None: ...
    def delete(self, agent: int, revision: int) -> None: ...


class QuestionTable(Protocol):
    """The questions of a board. An item has at most one that is open."""

    def latest(self, agent: int, item: str, plan_id: str) -> Question | None: ...
    def open(self, *, limit: int = 1000) -> Sequence[QuestionRow]: ...
    def ask(self, agent: int, question: Question, *, at: datetime) -> None:
        """Writes an open question, in place of one that the item asks already."""
        ...

    def answer(self, agent: int, question: Question, *, at: datetime) -> None: ...
    def answered(self, agent: int) -> Sequence[Question]:
        """Answers of which the agent was not told yet, the oldest first."""
        ...

    def take(self, agent: int) -> Sequence[Question]:
        """The same, and from now on the agent was told."""
        ...
