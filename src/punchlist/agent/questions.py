"""Ask people questions: an item waits for an answer, and the answer reaches the agent once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec.structs import replace

from punchlist.agent.context import AgentRunner, check_name, save_applied
from punchlist.agent.edits import apply_edit
from punchlist.agent.plans import resolve_plan
from punchlist.core.approval import (
    ANYBODY,
    Plan,
    PlanState,
    Question,
    clean_answer,
    describe_answers,
    describe_decision,
)
from punchlist.core.commands import Ask, Block, Edit, Operation, Start, Target, Unblock
from punchlist.core.events import Draft
from punchlist.core.todo import ListState, Status, TodoItem, TodoList
from punchlist.dialects.base import Invalid
from punchlist.dialects.nexo import read_decision
from punchlist.errors import AlreadyAnswered, InvalidInput, ItemGone, NotAsked, PlanMissing, PlanRefused
from punchlist.guidance.words import tell_news
from punchlist.store import AgentRow, Store, Transaction


def ask_person(agent: AgentRunner, item: str, question: str, of: str | None) -> Question:
    said, asked = clean_answer(question), ANYBODY if of is None else of
    check_name("person", asked)
    if not said:
        raise InvalidInput(problem="A question needs a text.")

    def work(tx: Transaction, row: AgentRow, now: datetime) -> Question:
        found = _find_item(row.state.todos, item)
        if found is None and _is_task(agent, tx, row, item):
            then = f'put it aside with `tasks.wait("{item.lstrip("#")}")`, and let the person resume it'
            raise InvalidInput(problem=f"`{item}` is a task, and only items of a todo list can ask: {then}.")
        if found is None or not found.is_open:
            raise ItemGone(item=item)
        target = Target(item=found.id, by="id")
        state = _operate(tx, row, Block(target, said, asked), by=agent.name, now=now)
        blocked = state.todos.find(found.id)
        reason = said if blocked is None or blocked.blocker is None else blocked.blocker.reason
        return _save_question(tx, row, found, reason, plan_id=state.todos.plan_id, of=asked, by=agent.name, now=now)

    return agent.change(work)


def save_questions(
    tx: Transaction, row: AgentRow, command: Edit, *, before: TodoList, after: TodoList, by: str, now: datetime
) -> None:
    """Record the questions of a call that has been applied."""
    for operation in command.operations:
        if isinstance(operation, Ask) and operation.target.item is not None:
            item = after.find(operation.target.item)
            if item is not None and item.blocker is not None and item.blocker.on == ANYBODY:
                earlier = before.find(item.id) if before.plan_id == after.plan_id else None
                reason, plan_id = item.blocker.reason, after.plan_id
                _save_question(tx, row, earlier or item, reason, plan_id=plan_id, of=ANYBODY, by=by, now=now)


def _save_question(
    tx: Transaction,
    row: AgentRow,
    item: TodoItem,
    question: str,
    *,
    plan_id: str,
    of: str,
    by: str,
    now: datetime,
) -> Question:
    """Record a question; `item` is as it was before it was blocked."""
    earlier = tx.questions.latest(row.number, item.id, plan_id)
    begun = item.status is Status.IN_PROGRESS
    if earlier is not None and earlier.answer is None and _is_blocked_by(item, earlier):
        begun |= earlier.begun
    made = Question(
        item=item.id,
        plan_id=plan_id,
        content=item.content,
        question=question,
        of=of,
        asked_at=now,
        asked_by=by,
        begun=begun,
    )
    tx.questions.ask(row.number, made, at=now)
    data = {"item": item.id, "content": item.content, "question": question}
    tx.add_events(row, [Draft("question.asked", data)], by=by, at=now)
    return made


def _is_task(agent: AgentRunner, tx: Transaction, row: AgentRow, name: str) -> bool:
    tasks = agent.find_open_tasks(tx, row) if tx.has_tasks else ()
    return any(name in (task.id, f"#{task.id}", task.subject) for task in tasks)


def answer_question(agent: AgentRunner, item: str, text: str, *, by: str, person: bool) -> Question:
    check_name("author", by)
    said = clean_answer(text)
    if not said:
        raise InvalidInput(problem="An answer needs a text.")

    def work(tx: Transaction) -> Question:
        now = agent.board.now()
        row = tx.agent(agent.session, agent.name)
        if row is None:
            raise NotAsked(item=item)
        found, question = _find_question(tx, row, item)
        answered = replace(question, answer=said, answered_at=now, answered_by=by)
        if _is_blocked_by(found, question):
            target = Target(item=found.id, by="id")
            operations: list[Operation] = [Unblock(target)]
            if question.begun and row.state.todos.focus is None:
                operations.append(Start(target))
            _operate(tx, row, *operations, by=by, now=now)
        tx.questions.answer(row.number, answered, at=now)
        data = {"item": found.id, "content": found.content, "question": question.question, "answer": said}
        tx.add_events(row, [Draft("question.answered", {**data, "person": True} if person else data)], by=by, at=now)
        return answered

    return agent.board.store.transact(work)


def load_new_answers(agent: AgentRunner) -> str | None:
    if not agent.read(_find_news, []):
        return None
    news = agent.change(lambda tx, row, _: take_news(tx, row), active=False)
    return tell_news(news) if news else None  # another caller may have taken them meanwhile


def take_news(tx: Transaction, row: AgentRow, *, hold_approvals: bool = False) -> list[str]:
    """Return what people answered and decided since the model was last told, once, a row each.

    Approvals that are held stay news: a channel that the host does not take for the person must not bring them.
    """
    news = _find_news(tx, row, hold_approvals=hold_approvals)
    if news:
        tx.questions.mark_told(row.number)
        for plan in _find_decided(tx, row, hold_approvals=hold_approvals):
            tx.plans.mark_told(row.number, plan.id)
    return news


def _find_news(tx: Transaction, row: AgentRow, *, hold_approvals: bool = False) -> list[str]:
    answers = describe_answers(tx.questions.find_answered(row.number))
    decided = _find_decided(tx, row, hold_approvals=hold_approvals)
    return [*answers, *map(describe_decision, decided)]


def _find_decided(tx: Transaction, row: AgentRow, *, hold_approvals: bool) -> list[Plan]:
    decided = tx.plans.find_decided(row.number)
    return [plan for plan in decided if not (hold_approvals and plan.state is PlanState.APPROVED)]


def _operate(tx: Transaction, row: AgentRow, *operations: Operation, by: str, now: datetime) -> ListState:
    applied = apply_edit(row.state, Edit(operations), now, by=by, own=by == row.name)
    save_applied(tx, row, applied, by=by, at=now)
    return applied.state


def _find_question(tx: Transaction, row: AgentRow, name: str) -> tuple[TodoItem, Question]:
    """Return the item of that name with its open question, or raise the reason why there is none."""
    todos = row.state.todos
    item = _find_item(todos, name)
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


def _is_blocked_by(item: TodoItem, question: Question) -> bool:
    """True if the item waits for this question, and not for something that came up since."""
    blocker = item.blocker
    return item.status is Status.BLOCKED and blocker is not None and blocker.reason == question.question


def _find_item(todos: TodoList, name: str) -> TodoItem | None:
    """Return the item of that id, else the first open one of that text, else any of that text."""
    same = [item for item in todos.items if item.content == name]
    return todos.find(name) or next((item for item in same if item.is_open), same[0] if same else None)


def resolve_message(store: Store, message: str, *, by: str, now: Callable[[], datetime], person: bool) -> bool:
    """Decide about a plan by an operator's chat line; False if the text is none."""
    check_name("author", by)
    call = read_decision(message)
    if call is None:
        return False
    if isinstance(call, Invalid):
        raise PlanRefused(problem="A rejection needs a reason; write `reason=…` after the id of the plan.")
    if not store.transact(lambda tx: resolve_plan(tx, call, now=now(), by=by, person=person)):
        raise PlanMissing
    return True
