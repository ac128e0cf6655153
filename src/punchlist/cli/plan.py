"""`punchlist plan` and `punchlist answer`: a person decides on plans and answers questions."""

from __future__ import annotations

import argparse
import os
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from punchlist.cli import OK
from punchlist.cli.arguments import (
    Parser,
    add_all,
    add_db,
    add_json,
    add_target,
    author,
    chosen_agent,
    command_parser,
    count,
    here,
    open_board,
)
from punchlist.cli.terminal import look, show, show_json
from punchlist.errors import EditRefused, PlanMissing, PlanRefused
from punchlist.surfaces.matching import find_item
from punchlist.surfaces.spans import Line, Look, Span, cut, shown
from punchlist.text import repair

if TYPE_CHECKING:
    from datetime import datetime

    from punchlist.board import Board
    from punchlist.core.approval import Plan
    from punchlist.store.plans import PlanRow, QuestionRow

_EXAMPLES = """\
  punchlist plan show                       the plan that waits, else the latest
  punchlist plan approve 2 --todos          revision 2; its steps become the todo list
  punchlist plan reject 2 "Tests first"     the agent stays in plan mode and hears why
  punchlist plan history
"""
_NOTHING = (
    "No agent of this project has proposed a plan. One comes from an agent in plan mode; "
    "`punchlist plan show --all` looks in every project."
)
_NOTHING_AT_ALL = "No agent on this board has proposed a plan. One comes from an agent in plan mode."


_SAID = "Shows what an agent means to do, before it begins, and decides. Without a verb: `show`."


def parser() -> Parser:
    made = command_parser("plan", _SAID, examples=_EXAMPLES)
    made.first_verb = "show"
    verbs = made.add_subparsers(metavar="VERB", required=True, parser_class=Parser)

    def verb(name: str, help: str, run: Callable[[Namespace], int]) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
        add_db(added)
        added.add_argument("--session", metavar="S", help="the plan of this session (default: the project's)")
        added.add_argument("--agent", metavar="A", help="the plan of the agent of this name")
        add_all(added)
        add_json(added)
        added.set_defaults(run=run)
        return added

    def decision(name: str, help: str, run: Callable[[Namespace], int]) -> argparse.ArgumentParser:
        added = verb(name, help, run)
        added.add_argument("revision", type=count, metavar="REVISION", help="its number, as `plan show` says")
        added.add_argument("--by", metavar="NAME", help="who decides (default: your login name)")
        return added

    verb("show", "show the plan that waits, else the latest", _show)
    added = decision("approve", "agree to the revision that you have read", _approve)
    added.add_argument("--todos", action="store_true", help="make the plan's steps the todo list")
    added = decision("reject", "refuse the revision that you have read, and say why", _reject)
    added.add_argument("reason", nargs="+", metavar="REASON")
    verb("history", "show every revision, the oldest first", _history)
    return made


def _show(options: Namespace) -> int:
    with open_board(options, reads=True) as board:
        row, now = _chosen(board, options), board.now()
    if options.json:
        show_json(None if row is None else plan_data(row, now))
    elif row is None:
        print(_nothing(options))
    else:
        show([_head(row, now), (), *_body(row.plan), *_next_steps(row, now)])
    return OK


def _history(options: Namespace) -> int:
    with open_board(options, reads=True) as board:
        row, now = _chosen(board, options), board.now()
        plans = () if row is None else board.handle(row.agent, session=row.session).plans
    rows = [] if row is None else [row._replace(plan=plan) for plan in plans]
    if options.json:
        show_json([plan_data(one, now) for one in rows])
    elif not rows:
        print(_nothing(options))
    else:
        seen = look()
        show(cut(_entry(one, now), seen.columns, seen.glyphs) for one in rows)
    return OK


def _approve(options: Namespace) -> int:
    with open_board(options) as board:
        row = _to_decide(board, options)
        agent = board.agent(row.agent, session=row.session, project=row.project)
        plan = agent.approve_plan(options.revision, by=author(options), todos=options.todos)
        steps = len(agent.todos.items) if options.todos else 0
        now = board.now()
    made = f" and made {steps} todos of it; see `punchlist todos`" if options.todos else ""
    return _done(options, row._replace(plan=plan), now, f"Approved revision {plan.revision}{made}")


def _reject(options: Namespace) -> int:
    with open_board(options) as board:
        row = _to_decide(board, options)
        agent = board.agent(row.agent, session=row.session, project=row.project)
        plan = agent.reject_plan(" ".join(options.reason), by=author(options), revision=options.revision)
        now = board.now()
    return _done(options, row._replace(plan=plan), now, f"Rejected revision {plan.revision}")


def _done(options: Namespace, row: PlanRow, now: datetime, said: str) -> int:
    if options.json:
        show_json(plan_data(row, now))
    else:
        print(f"{said} ({shown(row.agent)} in session {shown(row.session)}).")
    return OK


# Which plan is meant.


def _candidates(board: Board, options: Namespace) -> list[PlanRow]:
    """Those that wait, else the latest of each agent; narrowed down by `--session` and `--agent`."""
    session = options.session or os.environ.get("PUNCHLIST_SESSION")
    where = None if session else here(options)
    for waiting in (True, False):
        rows = [
            row
            for row in board.plans(project=where, waiting=waiting)
            if (not session or row.session == session) and options.agent in (None, row.agent)
        ]
        if rows:
            return rows
    return []


def _chosen(board: Board, options: Namespace) -> PlanRow | None:
    return next(iter(_candidates(board, options)), None)


def _to_decide(board: Board, options: Namespace) -> PlanRow:
    rows = _candidates(board, options)
    if not rows:
        raise PlanMissing
    now = board.now()
    if len(rows) > 1 and rows[0].plan.waits(now):
        names = "; ".join(f"--session {row.session} --agent {row.agent}" for row in rows[:5])
        raise PlanRefused(problem=f"{len(rows)} plans wait here; say which one is meant: {names}.")
    return rows[0]


def _nothing(options: Namespace) -> str:
    if options.session or options.agent:
        return "No plan was proposed under that name; `punchlist plan show --all` shows the latest of the board."
    return _NOTHING_AT_ALL if options.all else _NOTHING


# How a plan looks.


def standing(plan: Plan, now: datetime) -> str:
    """Its state in a word, `expired` where the time to decide is over."""
    return "expired" if plan.expired(now) else plan.state.value


def plan_data(row: PlanRow, now: datetime) -> dict[str, Any]:
    """A plan as JSON values. Every key is always there."""
    from msgspec.structs import asdict

    place = {"session": row.session, "agent": row.agent, "project": row.project}
    return {**place, **asdict(row.plan), "waits": row.plan.waits(now)}


def _head(row: PlanRow, now: datetime) -> Line:
    from punchlist.surfaces.spans import ago

    seen, plan = look(), row.plan
    dot = f" {seen.glyphs.dot} "
    when = plan.decided_at or plan.proposed_at or plan.created_at or now
    who = f" by {shown(plan.decided_by)}" if plan.decided_by else ""
    rest = f"{dot}session {shown(row.session)}{dot}revision {plan.revision}{dot}{standing(plan, now)}{who} "
    line = (Span(shown(row.agent), "bold"), Span(rest), Span(ago(when, now), "dim"))
    return cut(line, seen.columns, seen.glyphs)


def _body(plan: Plan) -> Sequence[Line]:
    from punchlist.text import for_terminal

    lines: list[Line] = [(Span(for_terminal(line)),) for line in plan.text.split("\n")]
    if plan.reason:
        lines += [(), (Span(f"Rejected: {shown(plan.reason)}", "warning"),)]
    return lines


def _next_steps(row: PlanRow, now: datetime) -> Sequence[Line]:
    if not row.plan.waits(now):
        return []
    number = row.plan.revision
    steps = len(row.plan.todos.items)
    todos = f" (--todos: its {steps} steps become the list)" if steps else ""
    return [
        (),
        (Span(f"punchlist plan approve {number}{todos}", "dim"),),
        (Span(f"punchlist plan reject {number} REASON", "dim"),),
    ]


def _entry(row: PlanRow, now: datetime) -> Line:
    from punchlist.surfaces.spans import ago

    plan = row.plan
    when = plan.decided_at or plan.proposed_at or plan.created_at or now
    who = f" by {shown(plan.decided_by)}" if plan.decided_by else ""
    why = f": {shown(plan.reason)}" if plan.reason else ""
    return (
        Span(f"{plan.revision:>3}  ", "dim"),
        Span(f"{standing(plan, now):<10}  ", "good" if plan.state.value == "approved" else "plain"),
        Span(shown(plan.title), "bold"),
        Span(f"  {ago(when, now)}{who}{why}", "dim"),
    )


_ANSWER_EXAMPLES = """\
  punchlist answer                          what waits on you
  punchlist answer region "Use eu-west"     the item that holds `region`; its agent hears it at its next turn
"""


def answer_parser() -> Parser:
    made = command_parser(
        "answer",
        "Answers what an agent asks; without arguments lists what waits on you.",
        run=run_answer,
        examples=_ANSWER_EXAMPLES,
    )
    made.add_argument("item", nargs="?", metavar="ITEM", help="the item that asks, by id or a few letters of it")
    made.add_argument("text", nargs="*", metavar="TEXT", help="the answer")
    add_target(made)
    add_all(made)
    add_json(made)
    return made


def run_answer(options: Namespace) -> int:
    return _list_waiting(options) if options.item is None else _answer(options)


def _list_waiting(options: Namespace) -> int:
    with open_board(options, reads=True) as board:
        questions = _asked(board, options)
        plans = [row for row in board.plans(project=_where(options)) if _meant(row, options)]
        now = board.now()
    if options.json:
        shown_plans = [plan_data(row, now) for row in plans]
        show_json({"questions": [question_data(row) for row in questions], "plans": shown_plans})
    elif questions or plans:
        show(_waiting_lines(questions, plans, look(), now))
    else:
        more = (
            ""
            if options.all or options.project or options.session
            else "; `punchlist answer --all` looks in every project"
        )
        print(f"Nothing waits on you{more}.")
    return OK


def _answer(options: Namespace) -> int:
    text = repair(" ".join(options.text)).strip()
    if not text:
        raise EditRefused(problem='Say the answer too, as in `punchlist answer region "Use eu-west"`.')
    with open_board(options) as board:
        row = _matching(_asked(board, options), repair(options.item))
        if row is None:
            agent = chosen_agent(board, options)
            item = find_item(agent.todos.items, repair(options.item))
            if item is None:
                problem = f'No question matched "{options.item}". `punchlist answer` lists what waits on you.'
                raise EditRefused(problem=problem)
            name = item.id
        else:
            agent, name = board.agent(row.agent, session=row.session, project=row.project), row.question.item
        answered = agent.answer(name, text, by=author(options))
    if options.json:
        from msgspec.structs import asdict

        show_json({"session": agent.session, "agent": agent.name, **asdict(answered)})
    else:
        print(f"Answered: {shown(answered.content)}. {shown(agent.name)} is told at its next turn.")
    return OK


def _where(options: Namespace) -> str | None:
    return None if options.session else here(options)


def _meant(row: QuestionRow | PlanRow, options: Namespace) -> bool:
    return options.session in (None, row.session) and options.agent in (None, row.agent)


def _asked(board: Board, options: Namespace) -> list[QuestionRow]:
    return [row for row in board.questions(project=_where(options)) if _meant(row, options)]


def _matching(rows: Sequence[QuestionRow], query: str) -> QuestionRow | None:
    """The question whose item has this id or text; else the only one that holds the words."""
    wanted = query.strip().lower()
    same = [row for row in rows if wanted in (f"#{row.question.item}", row.question.item, row.question.content.lower())]
    held = [row for row in rows if wanted in f"{row.question.content} {row.question.question}".lower()]
    found = same or held
    if len(found) > 1:
        names = "; ".join(f"--session {row.session} --agent {row.agent}, item {row.question.item}" for row in found[:5])
        raise EditRefused(problem=f'{len(found)} questions match "{query}"; say which one is meant: {names}.')
    return found[0] if found else None


def question_data(row: QuestionRow) -> dict[str, Any]:
    """A question as JSON values. Every key is always there."""
    from msgspec.structs import asdict

    return {"session": row.session, "agent": row.agent, "project": row.project, **asdict(row.question)}


def _waiting_lines(
    questions: Sequence[QuestionRow], plans: Sequence[PlanRow], seen: Look, now: datetime
) -> Iterator[Line]:
    from punchlist.surfaces.spans import ago

    dot = f" {seen.glyphs.dot} "
    for row in questions:
        one = row.question
        when = "" if one.asked_at is None else f"{dot}{ago(one.asked_at, now)}"
        place = f"{dot}{shown(row.agent)}{dot}session {shown(row.session)}{when}"
        head = (Span(f"{shown(one.item)} ", "dim"), Span(shown(one.content), "bold"), Span(place, "dim"))
        yield cut(head, seen.columns, seen.glyphs)
        yield (Span(f"  {shown(one.question)}", "warning"),)
    for row in plans:
        place = f"{dot}{shown(row.agent)}{dot}session {shown(row.session)}{dot}see `punchlist plan show`"
        head = (Span("plan ", "dim"), Span(shown(row.plan.title), "bold"), Span(place, "dim"))
        yield cut(head, seen.columns, seen.glyphs)
    if questions:
        yield ()
        yield (Span(f"punchlist answer {shown(questions[0].question.item)} TEXT", "dim"),)
