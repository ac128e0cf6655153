"""`punchlist answer`: what waits on a person, and their word on it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from punchlist.cli import OK
from punchlist.cli.arguments import Parser, add_all, add_json, command_parser, here, open_board
from punchlist.cli.target import add_target, author, chosen_agent
from punchlist.cli.terminal import look, show, show_json
from punchlist.errors import EditRefused
from punchlist.surfaces.matching import find_item
from punchlist.surfaces.spans import Line, Look, Span, cut, shown
from punchlist.text import repair

if TYPE_CHECKING:
    from datetime import datetime

    from punchlist.board import Board
    from punchlist.store.waiting import PlanRow, QuestionRow

_EXAMPLES = """\
  punchlist answer                          what waits on you
  punchlist answer region "Use eu-west"     the item that holds `region`; its agent hears it at its next turn
"""


def parser() -> Parser:
    made = command_parser(
        "answer", "Answers what an agent asks; without arguments lists what waits on you.", examples=_EXAMPLES
    )
    made.add_argument("item", nargs="?", metavar="ITEM", help="the item that asks, by id or a few letters of it")
    made.add_argument("text", nargs="*", metavar="TEXT", help="the answer")
    add_target(made)
    add_all(made)
    add_json(made)
    return made


def run(options: Namespace) -> int:
    return _list(options) if options.item is None else _answer(options)


def _list(options: Namespace) -> int:
    with open_board(options, reads=True) as board:
        questions = _asked(board, options)
        plans = [row for row in board.plans(project=_where(options)) if _meant(row, options)]
        now = board.now()
    if options.json:
        from punchlist.cli.plan import plan_data

        shown_plans = [plan_data(row, now) for row in plans]
        show_json({"questions": [question_data(row) for row in questions], "plans": shown_plans})
    elif questions or plans:
        show(_lines(questions, plans, look(), now))
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


def _lines(questions: Sequence[QuestionRow], plans: Sequence[PlanRow], seen: Look, now: datetime) -> Iterator[Line]:
    from punchlist.surfaces.text import ago

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
