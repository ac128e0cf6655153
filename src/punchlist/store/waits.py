"""Read what waits on a person: questions, plans, blocked items, tasks and flows, by the rule of `core/overview.py`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

from punchlist.core.approval import Plan
from punchlist.core.overview import Owner, PersonWait, find_waits
from punchlist.core.question import Question
from punchlist.core.task import Task
from punchlist.store.records import moment
from punchlist.store.transaction import Transaction

_NEVER = datetime.max.replace(tzinfo=UTC)


def load_waits(
    tx: Transaction, now: datetime, *, project: str | None = None, session: str | None = None
) -> Sequence[PersonWait]:
    """Return what waits on a person in a session, in a project or on the board, what waits longest first.

    A flow of no agent belongs to every project. The list of an agent that is not attached is a copy, and left out.
    """
    questions: defaultdict[Owner, list[Question]] = defaultdict(list)
    plans: defaultdict[Owner, list[Plan]] = defaultdict(list)
    tasks: defaultdict[Owner, list[Task]] = defaultdict(list)
    blocked: defaultdict[Owner, dict[str, datetime]] = defaultdict(dict)
    for asked in tx.questions.open():
        questions[Owner(asked.project, asked.session, asked.agent)].append(asked.question)
    for proposed in tx.plans.find_proposed():
        plans[Owner(proposed.project, proposed.session, proposed.agent)].append(proposed.plan)
    for where, its_session, agent, item, at in tx.all("blocked_items"):
        blocked[Owner(where, its_session, agent)][item] = moment(at)
    for number, where, its_session, agent in tx.all("tasks_waiting_for_person") if tx.has_tasks else ():
        row = tx.tasks.get(number)
        of_list = Owner(row.list.project, row.list.session or "", row.task.owner or "")
        tasks[of_list if agent is None else Owner(where, its_session, agent)].append(row.task)
    found: list[PersonWait] = []
    for owner in dict.fromkeys((*questions, *plans, *blocked, *tasks)):
        if session not in (None, owner.session) or (owner.project and project not in (None, owner.project)):
            continue
        has_items = owner in questions or owner in blocked
        row = tx.agent(owner.session, owner.agent) if has_items else None
        is_own = row is not None and not tx.overviews.load_activity(row.number).copy_of
        found += find_waits(
            owner,
            now,
            todos=row.state.todos if row is not None and is_own else None,
            questions=questions[owner],
            plans=plans[owner],
            tasks=tasks[owner],
            agents=tx.names(owner.session) if has_items else (),
            blocked_at=blocked[owner],
        )
    return sorted(found, key=lambda wait: wait.since or _NEVER)
