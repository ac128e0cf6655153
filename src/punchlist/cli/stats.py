"""`punchlist stats`: the cost of the todo layer itself, as a table or two rows side by side."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence

from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import Parser, command_parser, find_folder, open_board
from punchlist.cli.terminal import detect_display, show, show_json
from punchlist.guidance.ledger import Cost, sum_costs
from punchlist.terminal.reports import (
    COST_HEADINGS,
    COST_LEGEND,
    cost_cells,
    cost_remarks,
    cost_title,
    tokens_each,
)
from punchlist.terminal.spans import Line, Span, Style, plural, safe_line
from punchlist.views.reports import said_size, view_cost

_EXAMPLES = """\
  punchlist stats                                              of this project
  punchlist stats --session s1                                 of one session
  punchlist stats --compare claude-code/quiet claude-code/classic
"""


def parser() -> Parser:
    about = "Shows what Punchlist itself costs the agents, in tokens."
    made = command_parser("stats", about, run=_show, examples=_EXAMPLES)
    made.add_argument("--session", metavar="S", help="only this session")
    made.add_all()
    made.add_argument("--compare", nargs=2, metavar=("A", "B"), help="two of its rows side by side, by their names")
    made.add_json()
    return made


def _show(options: Namespace) -> int:
    with open_board(options, reads=True) as board:
        project = None if options.session else find_folder(options)
        rows = board.costs(project=project, session=options.session)
    costs = sum_costs(row.cost for row in rows)
    if options.compare:
        return _compare(costs, options.compare, as_json=options.json)
    if options.json:
        show_json([view_cost(cost) for cost in costs])
    elif not costs:
        print(_describe_nothing(options))
    else:
        agents = len({(row.session, row.agent) for row in rows})
        print(f"What the todo layer cost {plural(agents, 'agent')}:\n")
        show(map(detect_display().cut, _table(costs)))
        print(f"\n{COST_LEGEND}")
    return OK


def _describe_nothing(options: Namespace) -> str:
    if options.session:
        return f"Nothing is counted for session {safe_line(options.session)} yet."
    where = "on this board yet" if options.all else "in this project yet; `punchlist stats --all` shows every project's"
    return (
        f"Nothing is counted {where}. Calls of the todo tool are counted by themselves; what is said to the model, "
        "and how many turns there were, once the agent's host calls `agent.assistant_turn()`."
    )


def _compare(costs: list[Cost], names: list[str], *, as_json: bool) -> int:
    found: list[Cost] = []
    for name in names:
        cost = _find_cost(costs, name)
        if cost is None:
            known = ", ".join(f"`{cost_title(cost)}`" for cost in costs) or "nothing yet"
            return complain(f"Nothing is counted for `{name}`; there is: {known}.", FAILED)
        found.append(cost)
    if as_json:
        show_json([view_cost(cost) for cost in found])
    else:
        show(_comparison(*found))
    return OK


def _find_cost(costs: Iterable[Cost], name: str) -> Cost | None:
    """Return the cost of a dialect with a profile, or with all profiles when only the dialect is named."""
    dialect, _, profile = name.partition("/")
    total: Cost | None = None
    for cost in costs:
        if cost.dialect == dialect and profile in ("", cost.profile):
            total = cost if total is None else total + cost
    return total if total is None or profile else Cost(dialect, "", total.calls, total.spent)


def _table(costs: Sequence[Cost]) -> Iterator[Line]:
    """Yield a row for each dialect and profile, in estimated tokens, and below it what is out of the ordinary."""
    rows = [(cost_title(cost), *cost_cells(cost)) for cost in costs]
    name, *wide = (max(map(len, column)) for column in zip(("", *COST_HEADINGS), *rows, strict=True))
    heads = "  ".join(head.rjust(width) for head, width in zip(COST_HEADINGS, wide, strict=True))
    yield (Span(f"{'':<{name}}  {heads}", "dim"),)
    for cost, (called, *cells) in zip(costs, rows, strict=True):
        line = "  ".join(cell.rjust(width) for cell, width in zip(cells, wide, strict=True))
        yield Span(called.ljust(name), "bold"), Span(f"  {line}")
        if remarks := cost_remarks(cost):
            yield (Span(f"  {remarks}", "dim"),)


def _comparison(one: Cost, other: Cost) -> Iterator[Line]:
    """Yield two costs side by side; where it makes sense, per turn, so that long and short sessions compare."""
    rows = [("", cost_title(one), cost_title(other), "ratio"), *_comparison_rows(one, other)]
    label, left, right = (max(len(row[column]) for row in rows) for column in range(3))
    for what, first, second, ratio in rows:
        style: Style = "plain" if what else "bold"
        yield Span(f"{what:<{label}}  {first:>{left}}  {second:>{right}}", style), Span(f"  {ratio:>6}", "dim")


def _comparison_rows(one: Cost, other: Cost) -> Iterable[tuple[str, str, str, str]]:
    yield _plain("turns", one.spent.turns, other.spent.turns)
    yield _plain("our calls", one.calls.arguments.count, other.calls.arguments.count)
    yield "share of all calls", f"{one.share:.0%}", f"{other.share:.0%}", _ratio(one.share, other.share)
    for what, first, second in (
        ("tokens a turn: tools", one.spent.descriptions.tokens, other.spent.descriptions.tokens),
        ("tokens a turn: said", said_size(one).tokens, said_size(other).tokens),
        ("tokens a turn: written", one.calls.arguments.tokens, other.calls.arguments.tokens),
        ("tokens a turn: read", one.calls.replies.tokens, other.calls.replies.tokens),
        ("tokens a turn: all", one.tokens, other.tokens),
    ):
        turns, others = one.spent.turns, other.spent.turns
        ratio = _ratio(first / turns, second / others) if turns and others else ""
        yield what, tokens_each(first, turns), tokens_each(second, others), ratio
    yield _plain("turns caused by the stop guard", one.spent.caused, other.spent.caused)
    yield _plain("turns with no other tool", one.spent.own_turns, other.spent.own_turns)
    yield _plain("calls refused", one.calls.refused, other.calls.refused)
    yield _plain("texts kept back", one.spent.withheld, other.spent.withheld)


def _plain(what: str, first: int, second: int) -> tuple[str, str, str, str]:
    return what, f"{first:,}", f"{second:,}", _ratio(first, second)


def _ratio(first: float, second: float) -> str:
    return f"{second / first:.2f}" if first else ""
