"""`punchlist stats`: the cost of the todo layer itself, as a table."""

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence

from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import Parser, command_parser, find_folder, open_board
from punchlist.cli.terminal import detect_display, show, show_json
from punchlist.guidance.ledger import Cost, sum_costs
from punchlist.terminal.reports import COST_HEADINGS, COST_LEGEND, cost_cells, cost_remarks, cost_title
from punchlist.terminal.spans import Line, Span, safe_line
from punchlist.text import plural
from punchlist.views.reports import view_cost

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
    made.add_argument("--compare", nargs=2, metavar=("A", "B"), help="only these two of its rows, by their names")
    made.add_json()
    return made


def _show(options: Namespace) -> int:
    with open_board(options, reads=True) as board:
        project = None if options.session else find_folder(options)
        rows = board.costs(project=project, session=options.session)
    costs = sum_costs(row.cost for row in rows)
    if options.compare:
        found = [_find_cost(costs, name) for name in options.compare]
        if None in found:
            known = ", ".join(f"`{cost_title(cost)}`" for cost in costs) or "nothing yet"
            missing = options.compare[found.index(None)]
            return complain(f"Nothing is counted for `{missing}`; there is: {known}.", FAILED)
        costs = [cost for cost in found if cost is not None]
    if options.json:
        show_json([view_cost(cost) for cost in costs])
    elif not costs:
        print(_describe_nothing(options))
    else:
        if not options.compare:
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


def _find_cost(costs: Iterable[Cost], name: str) -> Cost | None:
    """Return the cost of a dialect with a profile, or with all profiles when only the dialect is named."""
    dialect, _, profile = name.partition("/")
    total: Cost | None = None
    for cost in costs:
        if cost.dialect == dialect and profile in ("", cost.profile):
            total = cost if total is None else total + cost
    return total if total is None or profile else Cost(dialect, "", total.calls, total.spent)


def _table(costs: Sequence[Cost]) -> Iterator[Line]:
    rows = [(cost_title(cost), *cost_cells(cost)) for cost in costs]
    name, *wide = (max(map(len, column)) for column in zip(("", *COST_HEADINGS), *rows, strict=True))
    heads = "  ".join(head.rjust(width) for head, width in zip(COST_HEADINGS, wide, strict=True))
    yield (Span(f"{'':<{name}}  {heads}", "dim"),)
    for cost, (called, *cells) in zip(costs, rows, strict=True):
        line = "  ".join(cell.rjust(width) for cell, width in zip(cells, wide, strict=True))
        yield Span(called.ljust(name), "bold"), Span(f"  {line}")
        if remarks := cost_remarks(cost):
            yield (Span(f"  {remarks}", "dim"),)
