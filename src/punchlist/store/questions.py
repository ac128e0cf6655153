"""The rows of questions to people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from punchlist.core.question import Question
from punchlist.store.codec import microseconds
from punchlist.store.records import Record
from punchlist.store.waiting import QuestionRow

if TYPE_CHECKING:
    from punchlist.store.parts import Parts

_question = Record(Question)


class QuestionRows:
    """Reads and writes questions within a transaction."""

    def __init__(self, rows: Parts) -> None:
        self._rows = rows

    def latest(self, agent: int, item: str, plan_id: str) -> Question | None:
        row = self._latest(agent, item, plan_id)
        return None if row is None else _question.read(_head(agent, row[0]), *row[2:])

    def _latest(self, agent: int, item: str, plan_id: str) -> tuple[int, str, int, bytes] | None:
        return self._rows.one("latest_question", {"agent": agent, "item": item, "plan_id": plan_id})

    def open(self, *, limit: int = 1000) -> Sequence[QuestionRow]:
        return [
            QuestionRow(session, name, project, agent, _question.read(_head(agent, number), total, body))
            for session, name, project, agent, number, total, body in self._rows.all("open_questions", {"limit": limit})
        ]

    def ask(self, agent: int, question: Question, *, at: datetime) -> None:
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
        total, body = _question.written(_head(agent, number), question)
        key = {"agent": agent, "number": number, "item": question.item, "plan_id": question.plan_id}
        self._rows.run("save_question", {**key, "state": state, "sum": total, "body": body})
        self._rows.run("touch_agent", {"agent": agent, "at": microseconds(at)})

    def answered(self, agent: int) -> Sequence[Question]:
        found = self._rows.all("answered_questions", {"agent": agent})
        return [_question.read(_head(agent, number), total, body) for number, total, body in found]

    def take(self, agent: int) -> Sequence[Question]:
        answered = self.answered(agent)
        if answered:
            self._rows.run("answers_told", {"agent": agent})
        return answered


def _head(agent: int, number: int) -> str:
    return f"{agent} {number}"
