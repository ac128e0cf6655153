"""`punchlist answer`: list what waits on a person, and resolve it."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator, Sequence
from datetime import datetime
from shlex import quote

from msgspec.structs import asdict

from punchlist.board import Board
from punchlist.cli.arguments import Parser, author, command_parser, find_doubt, find_folder, open_board
from punchlist.cli.targets import add_target, find_owner
from punchlist.cli.terminal import detect_display, show, show_json, tell
from punchlist.core.overview import PersonWait
from punchlist.core.todo import find_item
from punchlist.errors import EditRefused
from punchlist.hosts import back_channel
from punchlist.hosts.back_channel import Outcome, deliver_outcome, find_idle
from punchlist.surfaces.reports import name_task_list
from punchlist.surfaces.spans import Display, Line, Span, ago, safe_line
from punchlist.text import repair
from punchlist.views.now import answer_commands, view_wait

_EXAMPLES = """\
  punchlist answer                            what waits on you, and how to answer each
  punchlist answer region "Use eu-west"       the item that holds `region`; its agent hears it at its next turn
  punchlist answer plan-1 approve             revision 1; or: punchlist answer plan-1 reject "Tests first"
  punchlist answer task-3                     the task goes on; so does a blocked item
"""
_MOST_NAMED = 5
_A_PLAN = re.compile(r"plan(-\d+)?")
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
    text, query = repair(" ".join(options.text)).strip(), repair(options.item).strip()
    if not query:
        raise EditRefused(problem="Name what you answer; `punchlist answer` lists what waits on you.")
    with open_board(options) as board:
        waits = _load_waits(board, options)
        wait = _find_wait(waits, query) or _find_by_item(board, options, query)
        before = board.store.last_seq()
        outcome, said = resolve_wait(board, options, wait, query, text)
        seconds = _RECEIPT_SECONDS if options.json else 0.0
        receipt = deliver_outcome(board, wait, before, outcome, wait_seconds=seconds)
    data = asdict(view_wait(wait)) | {"outcome": outcome, "answer": text, "by": author(options), "receipt": receipt}
    tell(options, data, f"{outcome.capitalize()}: {safe_line(wait.title)}{said}")


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
        show_json([view_wait(wait) for wait in waits])
    elif waits:
        show(_lines(waits, detect_display(), now))
    else:
        is_narrow = not (options.all or options.project or options.session or options.list)
        more = "; `punchlist answer --all` looks in every project" if is_narrow else ""
        print(f"Nothing waits on you{more}.")


def _lines(waits: Sequence[PersonWait], display: Display, now: datetime) -> Iterator[Line]:
    dot = f" {display.glyphs.dot} "
    for wait in waits:
        place = [wait.agent, _place(wait)]
        when = "" if wait.since is None else ago(wait.since, now)
        more = "".join(f"{dot}{safe_line(part)}" for part in (*place, when) if part)
        yield display.cut((Span(safe_line(wait.title), "bold"), Span(more, "dim")))
        yield (Span(f"  {safe_line(_why(wait))}", "warning"),)
        for command in answer_commands(wait):
            yield (Span(f"    {safe_line(command)}", "dim"),)


def _place(wait: PersonWait) -> str:
    if wait.session:
        return f"session {wait.session}"
    return name_task_list(wait.list) if wait.list else ""


def _why(wait: PersonWait) -> str:
    match wait.kind:
        case "question":
            return wait.text
        case "plan":
            return f"a plan to approve or reject; `{_plan_command(wait)}` shows it"
        case "item":
            blocked = f"blocked, waits on {wait.on}" if wait.on else "blocked"
            return f"{blocked}: {wait.text}" if wait.text else blocked
        case _:
            return f"a {wait.kind} that waits for a person"


def _plan_command(wait: PersonWait) -> str:
    return f"punchlist plan show --session {quote(wait.session)} --agent {quote(wait.agent)}"


# Resolving.


def _find_wait(waits: Sequence[PersonWait], query: str) -> PersonWait | None:
    """Return the wait of this name, else of this title or id, else the only one that holds the words.

    Of several plans none is meant by its revision alone: the one that the person read may have a newer one by now.
    """
    wanted = query.lower()
    number = wanted.removeprefix("#")
    plans = [wait for wait in waits if wait.kind == "plan" and _A_PLAN.fullmatch(wanted)]
    named = [wait for wait in waits if number == wait.name.lower()]
    same = [wait for wait in waits if wanted == wait.title.lower() or number in _full_ids(wait)]
    held = [wait for wait in waits if wanted in f"{wait.title} {'' if wait.kind == 'plan' else wait.text}".lower()]
    found = plans or named or same or held
    if len(found) > 1:
        commands = "; ".join(f"`{answer_commands(wait)[0]}`" for wait in found[:_MOST_NAMED])
        raise EditRefused(problem=f'{len(found)} things that wait match "{query}"; say which one: {commands}.')
    return found[0] if found else None


def _full_ids(wait: PersonWait) -> tuple[str, ...]:
    return (wait.id, f"{wait.kind}-{wait.id}") if wait.kind in ("task", "flow") else ()


def _find_by_item(board: Board, options: Namespace, query: str) -> PersonWait:
    """Return the wait of the item that the query means on a list; raise why there is none."""
    if not (options.list or options.project):  # those name a place in which no item is looked for
        agent = find_owner(board, options, query, wanted="question")
        item = find_item(agent.todos.items, query)
        if item is not None:
            for wait in board.waits(session=agent.session):
                if (wait.agent, wait.name) == (agent.name, item.id):
                    return wait
            agent.answer(item.id, " ".join(options.text) or "-", by=author(options))  # raises: it asks nothing
    raise EditRefused(problem=f'Nothing that waits matched "{query}"; `punchlist answer` lists what does.')


def resolve_wait(board: Board, options: Namespace, wait: PersonWait, query: str, text: str) -> tuple[Outcome, str]:
    """Resolve a wait; return what was done in a word, and the rest of the sentence."""
    if wait.kind == "question" and not text:
        raise EditRefused(problem=f'Say the answer too, as in `punchlist answer {wait.name} "Use eu-west"`.')
    if wait.kind == "plan" and not _is_decision(wait, query, text):
        ways = " or ".join(f"`{command}`" for command in answer_commands(wait))
        shows = f"`{_plan_command(wait)}` shows it"
        raise EditRefused(problem=f"Revision {wait.id} of the plan waits, and is decided with {ways}; {shows}.")
    outcome = back_channel.resolve_wait(board, wait, text, by=author(options), person=find_doubt(options) is None)
    match wait.kind:
        case "task":
            return outcome, f" (task {wait.id})."
        case "flow":
            return outcome, f" (flow {wait.id[:8]})."
        case "question":
            when = "now" if find_idle(board, wait.session, wait.agent) else "at its next turn"
            return outcome, f". {safe_line(wait.agent)} is told {when}."
        case _:
            return outcome, f" ({safe_line(wait.agent)} in session {safe_line(wait.session)})."


def _is_decision(wait: PersonWait, query: str, text: str) -> bool:
    """True if a text decides on a plan by its own name: by any other it may be a revision that nobody has read."""
    decision, _, reason = text.partition(" ")
    decides = not reason if decision == "approve" else decision == "reject" and bool(reason.strip())
    return decides and query.lower() == wait.name
