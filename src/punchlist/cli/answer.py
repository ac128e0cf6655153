"""`punchlist answer` and `plan`: list what waits on a person, and resolve it; read plans and decide on them."""

from __future__ import annotations

import os
import re
import shlex
from argparse import Namespace
from collections.abc import Container, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from punchlist.board import Board
from punchlist.cli.arguments import (
    Parser,
    Run,
    author,
    check_person,
    check_session,
    command_parser,
    find_doubt,
    find_folder,
    open_board,
    parse_count,
)
from punchlist.cli.terminal import detect_display, show, show_json, tell
from punchlist.cli.todo import add_target, find_owner
from punchlist.core.approval import Plan
from punchlist.core.overview import PersonWait
from punchlist.core.programs import find_alike
from punchlist.core.todo import find_item
from punchlist.errors import EditRefused, PlanMissing, PlanRefused
from punchlist.store.plans import PlanRow
from punchlist.terminal.reports import name_task_list
from punchlist.terminal.spans import Display, Line, Span, safe_line, show_name
from punchlist.text import for_terminal, plural, repair
from punchlist.views.findings import ago
from punchlist.views.list_owners import MAIN
from punchlist.views.list_screen import load_session_names
from punchlist.views.now import ReceiptView, answer_commands, name_place, view_waits

if TYPE_CHECKING:
    from punchlist.people.back_channel import Outcome, Step

_EXAMPLES = """\
  punchlist answer                            what waits on you, and how to answer each
  punchlist answer region "Use eu-west"       the item that holds `region`; its agent hears it at its next turn
  punchlist answer plan-1 approve             revision 1; or: punchlist answer plan-1 reject "Tests first"
  punchlist answer task-3                     the task goes on; so does a blocked item
"""
_MOST_NAMED = 5
_A_PLAN = re.compile(r"plan(-\d+)?")
SENT_SECONDS = 1.0
"""How long a person waits to learn that an idle agent is told now: its server sends the line within some 50 ms."""

_RECEIPT_SECONDS = 3.0
"""With `--json`, how long to wait until the model of an idle agent has seen the answer."""


def parser() -> Parser:
    about = (
        "Lists what waits on you: questions, plans, blocked items and tasks. With a name, resolves it: answers the "
        "question, decides on the plan, or lets the item or the task go on."
    )
    made = command_parser("answer", about, run=_answer, examples=_EXAMPLES)
    made.add_argument("item", nargs="?", metavar="NAME", help="its name in the list, or a few letters of its text")
    words = "the answer; `approve` or `reject REASON` for a plan; a note for what goes on"
    made.add_argument("text", nargs="*", metavar="TEXT", help=words)
    add_target(made)
    made.add_argument("--list", metavar="L", help="only tasks of this list")
    made.add_all()
    made.add_json()
    return made


def _answer(options: Namespace) -> None:
    if options.item is None:
        _list(options)
        return
    from punchlist.people.back_channel import deliver_outcome  # dear: what waits is listed without it

    text, query = repair(" ".join(options.text)).strip(), repair(options.item).strip()
    if not query:
        raise EditRefused(problem="Name what you answer; `punchlist answer` lists what waits on you.")
    with open_board(options) as board:
        waits = _load_waits(board, options)
        wait = _find_wait(board, waits, query) or _find_by_item(board, options, query)
        before = board.store.last_seq()
        outcome = resolve_wait(board, options, wait, query, text)
        seconds = _RECEIPT_SECONDS if options.json else SENT_SECONDS
        until: Step = "seen" if options.json else "sent"
        receipt = deliver_outcome(board, wait, before, outcome, wait_seconds=seconds, until=until)
        said = describe_outcome(board, wait, outcome, receipt)
    shown = asdict(view_waits([wait])[0])
    data = shown | {"outcome": outcome, "answer": text, "by": author(options), "receipt": receipt}
    tell(options, data, said)


def _load_waits(board: Board, options: Namespace) -> list[PersonWait]:
    where = None if options.session or options.list else find_folder(options)
    found = board.waits(project=where, session=options.session)
    return [wait for wait in found if options.agent in (None, wait.agent) and options.list in (None, wait.list)]


# Listing.


def _list(options: Namespace) -> None:
    with open_board(options, reads=True) as board:
        waits = _load_waits(board, options)
        now = board.now()
    if options.json:
        show_json(view_waits(waits))
    elif waits:
        show(_lines(waits, detect_display(), now))
    else:
        is_narrow = not (options.all or options.project or options.session or options.list)
        more = "; `punchlist answer --all` looks in every project" if is_narrow else ""
        print(f"Nothing waits on you{more}.")


def _lines(waits: Sequence[PersonWait], display: Display, now: datetime) -> Iterator[Line]:
    dot = f" {display.glyphs.dot} "
    alike = find_alike(wait.session for wait in waits)
    for wait in waits:
        place = show_name(wait.owner, display.glyphs) if wait.session else safe_line(name_task_list(wait.list))
        when = "" if wait.since is None else ago(wait.since, now)
        more = "".join(f"{dot}{part}" for part in (place, when) if part)
        yield display.cut((Span(safe_line(wait.title), "bold"), Span(more, "dim")))
        yield (Span(f"  {safe_line(_why(wait, alike))}", "warning"),)
        for command in answer_commands(wait, alike):
            yield (Span(f"    {safe_line(command)}", "dim"),)


def _why(wait: PersonWait, alike: Container[str]) -> str:
    match wait.kind:
        case "question":
            return wait.text
        case "plan":
            shows = f"punchlist plan show{name_place(wait.session, wait.agent, alike)}"
            return f"a plan to approve or reject; `{shows}` shows it"
        case "item":
            blocked = f"blocked, waits on {wait.on}" if wait.on else "blocked"
            return f"{blocked}: {wait.text}" if wait.text else blocked
        case _:
            return f"a {wait.kind} that waits for a person"


# Resolving.


def _find_wait(board: Board, waits: Sequence[PersonWait], query: str) -> PersonWait | None:
    """Return the wait of this name, else of this title or id, else the only one that holds the words.

    Of several, that of the only session that runs is meant, and in a session that of the main agent. Of several plans
    none is meant by its revision alone: the one that the person read may have a newer one by now.
    """
    from punchlist.people.back_channel import prefer_running

    wanted = query.lower()
    number = wanted.removeprefix("#")
    plans = [wait for wait in waits if wait.kind == "plan" and _A_PLAN.fullmatch(wanted)]
    named = [wait for wait in waits if number == wait.name.lower()]
    ids = [wait for wait in waits if wait.kind in ("task", "flow") and number in (wait.id, f"{wait.kind}-{wait.id}")]
    same = [wait for wait in waits if wanted == wait.title.lower() or wait in ids]
    held = [wait for wait in waits if wanted in f"{wait.title} {'' if wait.kind == 'plan' else wait.text}".lower()]
    found = prefer_running(board, plans or named or same or held)
    if len({wait.session for wait in found}) == 1:
        found = [wait for wait in found if wait.agent == MAIN] or found
    if len(found) > 1:
        alike = find_alike(wait.session for wait in found)
        commands = "; ".join(f"`{answer_commands(wait, alike)[0]}`" for wait in found[:_MOST_NAMED])
        raise EditRefused(problem=f'{len(found)} things that wait match "{query}"; say which one: {commands}.')
    return found[0] if found else None


def _find_by_item(board: Board, options: Namespace, query: str) -> PersonWait:
    if not (options.list or options.project):  # those name a place in which no item is looked for
        agent = find_owner(board, options, query, wanted="question")
        item = find_item(agent.todos.items, query)
        if item is not None:
            for wait in board.waits(session=agent.session):
                if (wait.agent, wait.name) == (agent.name, item.id):
                    return wait
            agent.answer(item.id, " ".join(options.text) or "-", by=author(options))  # raises: it asks nothing
    raise EditRefused(problem=f'Nothing that waits matched "{query}"; `punchlist answer` lists what does.')


def resolve_wait(board: Board, options: Namespace, wait: PersonWait, query: str, text: str) -> Outcome:
    """Resolve a wait; return what was done in a word."""
    from punchlist.people import back_channel

    if wait.kind == "question" and not text:
        raise EditRefused(problem=f'Say the answer too, as in `punchlist answer {wait.name} "Use eu-west"`.')
    if wait.kind == "plan" and not _is_decision(wait, query, text):
        ways = " or ".join(f"`{command}`" for command in answer_commands(wait))
        shows = f"`punchlist plan show{name_place(wait.session, wait.agent)}` shows it"
        raise EditRefused(problem=f"Revision {wait.id} of the plan waits, and is decided with {ways}; {shows}.")
    check_person("Nothing was answered", decides=True)
    person = find_doubt(options) is None
    return back_channel.resolve_wait(board, wait, text, by=author(options), person=person)


def describe_outcome(board: Board, wait: PersonWait, outcome: Outcome, receipt: ReceiptView | None) -> str:
    """Return what was done, and when its agent hears it."""
    from punchlist.people.back_channel import describe_hearing

    said = f"{outcome.capitalize()}: {safe_line(wait.title)}"
    match wait.kind:
        case "task":
            return f"{said} (task {wait.id})."
        case "flow":
            return f"{said} (flow {wait.id[:8]})."
        case _:
            return f"{said}. {safe_line(describe_hearing(board, wait.session, wait.agent, receipt))}"


def _is_decision(wait: PersonWait, query: str, text: str) -> bool:
    """True if a text decides on a plan by its own name: by any other it may be a revision that nobody has read."""
    decision, _, reason = text.partition(" ")
    decides = not reason if decision == "approve" else decision == "reject" and bool(reason.strip())
    return decides and query.lower() == wait.name


# Plans.

_PLAN_EXAMPLES = """\
  punchlist plan show                       the plan that waits, else the latest
  punchlist plan approve 2 --todos          revision 2; its steps become the todo list
  punchlist plan reject 2 "Tests first"     the agent stays in plan mode and hears why
  punchlist plan history
"""


def plan_parser() -> Parser:
    about = "Shows the plan that an agent proposes, and approves or rejects it. Without a verb: `show`."
    made = command_parser("plan", about, examples=_PLAN_EXAMPLES)
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

    verb("show", "show the plan that waits, else the latest", _show_plan)
    added = verb("approve", "approve the revision that you have read", _decide, decides=True)
    added.set_defaults(reason=None)
    added.add_argument("--todos", action="store_true", help="make the plan's steps the todo list")
    added = verb("reject", "reject the revision that you have read, and say why", _decide, decides=True)
    added.add_argument("reason", nargs="+", metavar="REASON")
    verb("history", "show every revision, the oldest first", _history)
    return made


def _show_plan(options: Namespace) -> None:
    with open_board(options, reads=True) as board:
        row = next(iter(_find_candidates(board, options)), None)
        name = "" if row is None else load_session_names(board, row.session).name(row.session, row.agent)
        now = board.now()
    if options.json:
        show_json(None if row is None else plan_data(row, now))
    elif row is None:
        print(_describe_nothing(options))
    else:
        show(_plan_lines(row, name, now))


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


def _decide(options: Namespace) -> None:
    """Reject a revision for a reason; without one, approve it."""
    from punchlist.people.back_channel import deliver, describe_hearing  # dear: plans are shown without it

    with open_board(options) as board:
        row = _find_undecided(board, options)
        check_person("Nothing was decided", decides=True)
        agent = board.agent(row.agent, session=row.session, project=row.project)
        person = find_doubt(options) is None
        by, before = author(options), board.store.last_seq()
        if options.reason is None:
            plan = agent.approve_plan(options.revision, by=by, todos=options.todos, person=person)
            deed = f"Approved revision {plan.revision}"
            if options.todos:
                deed += f" and made {plural(len(agent.todos.items), 'item')} of it; see `punchlist todos`"
        else:
            plan = agent.reject_plan(" ".join(options.reason), by=by, revision=options.revision, person=person)
            deed = f"Rejected revision {plan.revision}"
        receipt = deliver(
            board, row.session, row.agent, before, is_approval=options.reason is None, wait=SENT_SECONDS, until="sent"
        )
        heard = describe_hearing(board, row.session, row.agent, receipt)
        now = board.now()
    tell(options, plan_data(row._replace(plan=plan), now), f"{deed}. {safe_line(heard)}")


# Which plan is meant.


def _find_candidates(board: Board, options: Namespace) -> list[PlanRow]:
    """Return those that wait, else the latest of each agent; narrowed down by `--session`, `--agent` and what runs."""
    from punchlist.people.back_channel import prefer_running

    session = options.session or os.environ.get("PUNCHLIST_SESSION")
    where = None if session else find_folder(options)
    for waiting in (True, False):
        rows = [
            row
            for row in board.plans(project=where, waiting=waiting)
            if (not session or row.session == session) and options.agent in (None, row.agent)
        ]
        if rows:
            # `plan show --session S` means the main agent's.
            return sorted(rows, key=lambda row: row.agent != MAIN) if session else prefer_running(board, rows)
    return []


def _find_undecided(board: Board, options: Namespace) -> PlanRow:
    rows = _find_candidates(board, options)
    if not rows:
        check_session(board, options)
        raise PlanMissing
    if len(rows) > 1 and rows[0].plan.waits(board.now()):
        typed = shlex.join(["punchlist", *options.typed])
        alike = find_alike(row.session for row in rows)
        ways = "; ".join(f"`{typed}{name_place(row.session, row.agent, alike)}`" for row in rows[:_MOST_NAMED])
        raise PlanRefused(problem=f"{len(rows)} plans wait here; say which one is meant: {ways}.")
    return rows[0]


def _describe_nothing(options: Namespace) -> str:
    if options.session or options.agent:
        return "No plan was proposed under that name; `punchlist plan show --all` shows the latest of the board."
    where = "on this board" if options.all else "of this project"
    more = "" if options.all else "; `punchlist plan show --all` looks in every project"
    return f"No agent {where} has proposed a plan. One comes from an agent in plan mode{more}."


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


def _plan_lines(row: PlanRow, name: str, now: datetime) -> Iterator[Line]:
    """Yield a plan and, while it waits, the commands that decide on it alone, also once more are proposed."""
    display, plan = detect_display(), row.plan
    dot = f" {display.glyphs.dot} "
    when, who = _when_and_who(plan, now)
    rest = f"{dot}revision {plan.revision}{dot}{_state(plan, now)}{who} "
    yield display.cut((Span(show_name(name, display.glyphs), "bold"), Span(rest), Span(when, "dim")))
    yield ()
    for line in plan.text.split("\n"):
        yield (Span(for_terminal(line)),)
    if plan.reason:
        yield ()
        yield (Span(f"Rejected: {safe_line(plan.reason)}", "warning"),)
    if plan.waits(now):
        steps = len(plan.todos.items)
        todos = f" (--todos: {plural(steps, 'step')} for the list)" if steps else ""
        place = safe_line(name_place(row.session, row.agent))
        yield ()
        yield (Span(f"punchlist plan approve {plan.revision} {place.strip()}{todos}", "dim"),)
        yield (Span(f"punchlist plan reject {plan.revision} REASON {place.strip()}", "dim"),)


def _revision_line(plan: Plan, now: datetime) -> Line:
    when, who = _when_and_who(plan, now)
    why = f": {safe_line(plan.reason)}" if plan.reason else ""
    return (
        Span(f"{plan.revision:>3}  ", "dim"),
        Span(f"{_state(plan, now):<10}  ", "good" if plan.state.value == "approved" else "plain"),
        Span(safe_line(plan.title), "bold"),
        Span(f"  {when}{who}{why}", "dim"),
    )
