"""`punchlist plan`: a person reads plans and decides on them."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from datetime import datetime
from shlex import quote
from typing import Any

from msgspec.structs import asdict

from punchlist.board import Board
from punchlist.cli.arguments import (
    Parser,
    Run,
    author,
    check_session,
    command_parser,
    find_doubt,
    find_folder,
    open_board,
    parse_count,
)
from punchlist.cli.terminal import detect_display, show, show_json, tell
from punchlist.core.approval import Plan
from punchlist.errors import PlanMissing, PlanRefused
from punchlist.hosts.back_channel import deliver
from punchlist.store.plans import PlanRow
from punchlist.surfaces.spans import Line, Span, ago, plural, safe_line
from punchlist.text import for_terminal

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


def parser() -> Parser:
    about = "Shows the plan that an agent proposes, and approves or rejects it. Without a verb: `show`."
    made = command_parser("plan", about, examples=_EXAMPLES)
    add_verb = made.add_verbs(first="show")

    def verb(name: str, help: str, run: Run, *, decides: bool = False) -> Parser:
        added = add_verb(name, help, run)
        added.add_argument("--session", metavar="S", help="the plan of this session (default: the project's)")
        added.add_argument("--agent", metavar="A", help="the plan of the agent of this name")
        added.add_all()
        added.add_json()
        if decides:
            added.add_argument("revision", type=parse_count, metavar="REVISION", help="its number, as `plan show` says")
            added.add_by("who decides")
        return added

    verb("show", "show the plan that waits, else the latest", _show)
    added = verb("approve", "approve the revision that you have read", _approve, decides=True)
    added.add_argument("--todos", action="store_true", help="make the plan's steps the todo list")
    added = verb("reject", "reject the revision that you have read, and say why", _reject, decides=True)
    added.add_argument("reason", nargs="+", metavar="REASON")
    verb("history", "show every revision, the oldest first", _history)
    return made


def _show(options: Namespace) -> None:
    with open_board(options, reads=True) as board:
        row = next(iter(_find_candidates(board, options)), None)
        now = board.now()
    if options.json:
        show_json(None if row is None else plan_data(row, now))
    elif row is None:
        print(_describe_nothing(options))
    else:
        show([_head(row, now), (), *_body(row.plan), *_next_steps(row, now)])


def _history(options: Namespace) -> None:
    with open_board(options, reads=True) as board:
        row = next(iter(_find_candidates(board, options)), None)
        now = board.now()
        plans = () if row is None else board.agent(row.agent, session=row.session).plans
    if options.json:
        show_json([] if row is None else [plan_data(row._replace(plan=plan), now) for plan in plans])
    elif not plans:
        print(_describe_nothing(options))
    else:
        display = detect_display()
        show(display.cut(_revision_line(plan, now)) for plan in plans)


def _approve(options: Namespace) -> None:
    with open_board(options) as board:
        row = _find_undecided(board, options)
        agent = board.agent(row.agent, session=row.session, project=row.project)
        person = find_doubt(options) is None
        plan = agent.approve_plan(options.revision, by=author(options), todos=options.todos, person=person)
        deliver(board, row.session, row.agent, board.store.last_seq(), is_approval=True)
        steps = len(agent.todos.items) if options.todos else 0
        now = board.now()
    made = f" and made {plural(steps, 'item')} of it; see `punchlist todos`" if options.todos else ""
    _report(options, row._replace(plan=plan), now, f"Approved revision {plan.revision}{made}")


def _reject(options: Namespace) -> None:
    with open_board(options) as board:
        row = _find_undecided(board, options)
        agent = board.agent(row.agent, session=row.session, project=row.project)
        person = find_doubt(options) is None
        reason = " ".join(options.reason)
        plan = agent.reject_plan(reason, by=author(options), revision=options.revision, person=person)
        deliver(board, row.session, row.agent, board.store.last_seq())
        now = board.now()
    _report(options, row._replace(plan=plan), now, f"Rejected revision {plan.revision}")


def _report(options: Namespace, row: PlanRow, now: datetime, deed: str) -> None:
    tell(options, plan_data(row, now), f"{deed} ({safe_line(row.agent)} in session {safe_line(row.session)}).")


# Which plan is meant.


def _find_candidates(board: Board, options: Namespace) -> list[PlanRow]:
    """Return those that wait, else the latest of each agent; narrowed down by `--session` and `--agent`."""
    session = options.session or os.environ.get("PUNCHLIST_SESSION")
    where = None if session else find_folder(options)
    for waiting in (True, False):
        rows = [
            row
            for row in board.plans(project=where, waiting=waiting)
            if (not session or row.session == session) and options.agent in (None, row.agent)
        ]
        if rows:
            return rows
    return []


def _find_undecided(board: Board, options: Namespace) -> PlanRow:
    rows = _find_candidates(board, options)
    if not rows:
        check_session(board, options)
        raise PlanMissing
    if len(rows) > 1 and rows[0].plan.waits(board.now()):
        names = "; ".join(f"--session {quote(row.session)} --agent {quote(row.agent)}" for row in rows[:5])
        raise PlanRefused(problem=f"{len(rows)} plans wait here; say which one is meant: {names}.")
    return rows[0]


def _describe_nothing(options: Namespace) -> str:
    if options.session or options.agent:
        return "No plan was proposed under that name; `punchlist plan show --all` shows the latest of the board."
    return _NOTHING_AT_ALL if options.all else _NOTHING


# How a plan looks.


def plan_data(row: PlanRow, now: datetime) -> dict[str, Any]:
    """Return a plan as JSON values. Every key is always there."""
    place = {"session": row.session, "agent": row.agent, "project": row.project}
    return {**place, **asdict(row.plan), "waits": row.plan.waits(now)}


def _state(plan: Plan, now: datetime) -> str:
    return "expired" if plan.expired(now) else plan.state.value


def _when_and_who(plan: Plan, now: datetime) -> tuple[str, str]:
    when = plan.decided_at or plan.proposed_at or plan.created_at or now
    return ago(when, now), f" by {safe_line(plan.decided_by)}" if plan.decided_by else ""


def _head(row: PlanRow, now: datetime) -> Line:
    display, plan = detect_display(), row.plan
    dot = f" {display.glyphs.dot} "
    when, who = _when_and_who(plan, now)
    rest = f"{dot}session {safe_line(row.session)}{dot}revision {plan.revision}{dot}{_state(plan, now)}{who} "
    return display.cut((Span(safe_line(row.agent), "bold"), Span(rest), Span(when, "dim")))


def _body(plan: Plan) -> Sequence[Line]:
    lines: list[Line] = [(Span(for_terminal(line)),) for line in plan.text.split("\n")]
    if plan.reason:
        lines += [(), (Span(f"Rejected: {safe_line(plan.reason)}", "warning"),)]
    return lines


def _next_steps(row: PlanRow, now: datetime) -> Sequence[Line]:
    """Return the commands that decide on this plan and on no other, also once more are proposed."""
    plan = row.plan
    if not plan.waits(now):
        return []
    steps = len(plan.todos.items)
    todos = f" (--todos: {plural(steps, 'step')} for the list)" if steps else ""
    place = safe_line(f"--session {quote(row.session)} --agent {quote(row.agent)}")
    return [
        (),
        (Span(f"punchlist plan approve {plan.revision} {place}{todos}", "dim"),),
        (Span(f"punchlist plan reject {plan.revision} REASON {place}", "dim"),),
    ]


def _revision_line(plan: Plan, now: datetime) -> Line:
    when, who = _when_and_who(plan, now)
    why = f": {safe_line(plan.reason)}" if plan.reason else ""
    return (
        Span(f"{plan.revision:>3}  ", "dim"),
        Span(f"{_state(plan, now):<10}  ", "good" if plan.state.value == "approved" else "plain"),
        Span(safe_line(plan.title), "bold"),
        Span(f"  {when}{who}{why}", "dim"),
    )
