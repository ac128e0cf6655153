"""Questions to people: an item waits for an answer, and the answer reaches the agent once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from punchlist.agent.changes import edited
from punchlist.agent.handle import Handle, check_name
from punchlist.core.commands import Block, Edit, Operation, Start, Target, Unblock
from punchlist.core.events import Draft
from punchlist.core.todo import ListState, Status, TodoItem, TodoList
from punchlist.errors import AlreadyAnswered, InvalidInput, ItemGone, NotAsked
from punchlist.store import AgentRow, Transaction

if TYPE_CHECKING:
    from punchlist.core.question import Question
    from punchlist.core.task import Task


class Asking(Handle):
    """What the agent asks, and what it is answered."""

    def ask(self, item: str, question: str, *, of: str | None = None) -> Question:
        """Blocks an item, named by id or text, until a person answers. Asked again, the new question counts."""
        from punchlist.core.question import ANYBODY, Question, one_text

        said, asked = one_text(question), ANYBODY if of is None else of
        check_name("person", asked)
        if not said:
            raise InvalidInput(problem="A question needs a text.")

        def work(tx: Transaction) -> Question:
            now = self.board.now()
            row = self._joined(tx, now)
            found = _named(row.state.todos, item)
            if found is None and tx.has_tasks and _is_task(self._tasks_before(tx, row), item):
                then = f'put it aside with `tasks.wait("{item.lstrip("#")}")`, and let the person resume it'
                raise InvalidInput(problem=f"`{item}` is a task, and only items of a todo list can ask: {then}.")
            if found is None or not found.is_open:
                raise ItemGone(item=item)
            target = Target(item=found.id, by="id")
            earlier = tx.questions.latest(row.number, found.id, row.state.todos.plan_id)
            again = earlier is not None and earlier.answer is None and _waits_for(found, earlier)
            state = _operate(tx, row, Block(target, said, asked), by=self.name, now=now)
            blocked = state.todos.find(found.id)
            reason = said if blocked is None or blocked.blocker is None else blocked.blocker.reason
            made = Question(
                item=found.id,
                plan_id=state.todos.plan_id,
                content=found.content,
                question=reason,
                of=asked,
                asked_at=now,
                asked_by=self.name,
                begun=found.status is Status.IN_PROGRESS or (again and earlier is not None and earlier.begun),
            )
            tx.questions.ask(row.number, made, at=now)
            data = {"item": found.id, "content": found.content, "question": reason}
            tx.add_events(row, [Draft("question.asked", data)], by=self.name, at=now)
            return made

        made = self.board.store.transact(work)
        self._changed()
        return made

    def answer(self, item: str, text: str, *, by: str) -> Question:
        """Answers what an item asks, and lets it go on; the agent is told at its next turn.

        An item that was in progress is so again, unless another is by now.

        Raises `NotAsked`, `AlreadyAnswered`, or `ItemGone` when the item is closed or no longer there.
        """
        from msgspec.structs import replace

        from punchlist.core.question import one_text

        check_name("author", by)
        said = one_text(text)
        if not said:
            raise InvalidInput(problem="An answer needs a text.")

        def work(tx: Transaction) -> Question:
            now = self.board.now()
            row = tx.agent(self.session, self.name)
            if row is None:
                raise NotAsked(item=item)
            found, question = _asked(tx, row, item)
            answered = replace(question, answer=said, answered_at=now, answered_by=by)
            if _waits_for(found, question):
                target = Target(item=found.id, by="id")
                goes_on = question.begun and row.state.todos.focus is None
                _operate(tx, row, Unblock(target), *[Start(target)] * goes_on, by=by, now=now)
            tx.questions.answer(row.number, answered, at=now)
            data = {"item": found.id, "content": found.content, "question": question.question, "answer": said}
            tx.add_events(row, [Draft("question.answered", data)], by=by, at=now)
            return answered

        answered = self.board.store.transact(work)
        self._changed()
        return answered

    def take_answers(self) -> str | None:
        """What to tell the model about answers that it does not know yet, fenced; None if there are none.

        It is given once: whoever takes it puts it before the model.
        """
        row = self._row()
        if row is None or not self.board.store.read(lambda tx: tx.questions.answered(row.number)):
            return None
        return self.board.store.transact(lambda tx: take_answers(tx, row))


def take_answers(tx: Transaction, row: AgentRow) -> str | None:
    """The same within a transaction."""
    from punchlist.core.question import answers_block

    return answers_block(list(tx.questions.take(row.number)))


def _operate(tx: Transaction, row: AgentRow, *operations: Operation, by: str, now: datetime) -> ListState:
    applied = edited(row.state, Edit(operations), now, by=by, own=by == row.name)
    tx.save_list(row, applied.state, unseen=row.unseen, at=now)
    tx.add_events(row, applied.events, by=by, at=now)
    return applied.state


def _asked(tx: Transaction, row: AgentRow, name: str) -> tuple[TodoItem, Question]:
    """The item of that name with its open question."""
    todos = row.state.todos
    item = _named(todos, name)
    question = None if item is None else tx.questions.latest(row.number, item.id, todos.plan_id)
    if item is None or question is None:
        mine = (one.question for one in tx.questions.open() if one.number == row.number)
        gone = any(name in (one.item, one.content) for one in mine)
        raise ItemGone(item=name) if gone else NotAsked(item=name)
    if question.answer is not None:
        raise AlreadyAnswered(item=item.content, by=question.answered_by)
    if not item.is_open:
        raise ItemGone(item=item.content)
    return item, question


def _waits_for(item: TodoItem, question: Question) -> bool:
    """Whether it is this question that the item waits for, and not something that came up since."""
    blocker = item.blocker
    return item.status is Status.BLOCKED and blocker is not None and blocker.reason == question.question


def _named(todos: TodoList, name: str) -> TodoItem | None:
    """The item of that id, else the first open one of that text, else any of that text."""
    same = [item for item in todos.items if item.content == name]
    return todos.find(name) or next((item for item in same if item.is_open), same[0] if same else None)


def _is_task(tasks: Iterable[Task], name: str) -> bool:
    """Whether one of these is called so, by its number or its subject."""
    return any(name in (task.id, f"#{task.id}", task.subject) for task in tasks)
