"""`punchlist stats`: what the todo layer itself costs."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from typing import Any

from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import Parser, add_all, add_json, command_parser, here, open_board
from punchlist.cli.terminal import look, show, show_json
from punchlist.guidance.ledger import Cost, Size, summed
from punchlist.surfaces.costs import comparison, said, table, title
from punchlist.surfaces.spans import cut, shown

_EXAMPLES = """\
  punchlist stats                                              of this project, by dialect and profile
  punchlist stats --session s1                                 of one session
  punchlist stats --compare claude-code/quiet claude-code/classic
"""
_LEGEND = (
    "Estimated tokens (4 bytes of ASCII each, 3 of anything else). tools: their descriptions, once a turn, as every "
    "request carries them; said: put before the model; written: arguments of calls; read: replies."
)


def parser() -> Parser:
    made = command_parser(
        "stats", "Shows what the todo layer itself costs, by dialect and profile.", examples=_EXAMPLES
    )
    made.add_argument("--session", metavar="S", help="only this session")
    add_all(made)
    made.add_argument(
        "--compare", nargs=2, metavar=("A", "B"), help="two side by side, each a dialect or `dialect/profile`"
    )
    add_json(made)
    return made


def run(options: Namespace) -> int:
    with open_board(options) as board:
        project = None if options.session else here(options)
        rows = board.costs(project=project, session=options.session)
    costs = summed(row.cost for row in rows)
    if options.compare:
        return _compare(costs, *options.compare, as_json=options.json)
    if options.json:
        show_json([_data(cost) for cost in costs])
        return OK
    if not costs:
        print(_nothing(options))
        return OK
    seen = look()
    agents = len({(row.session, row.agent) for row in rows})
    print(f"What the todo layer cost {agents} agent{'' if agents == 1 else 's'}:\n")
    show(cut(line, seen.columns, seen.glyphs) for line in table(costs))
    print(f"\n{_LEGEND}")
    return OK


def _nothing(options: Namespace) -> str:
    if options.session:
        return f"Nothing is counted for session {shown(options.session)}; `punchlist sessions` lists the sessions."
    where = "on this board yet" if options.all else "in this project yet; `punchlist stats --all` shows every project's"
    return (
        f"Nothing is counted {where}. Calls of the todo tool are counted by themselves; what is said to the model, "
        "and how many turns there were, once the agent's host calls `agent.assistant_turn()`."
    )


def _compare(costs: list[Cost], one: str, other: str, *, as_json: bool) -> int:
    found: list[Cost] = []
    for name in (one, other):
        cost = _named(costs, name)
        if cost is None:
            known = ", ".join(f"`{title(cost)}`" for cost in costs) or "nothing yet"
            return complain(f"Nothing is counted for `{name}`; there is: {known}.", FAILED)
        found.append(cost)
    if as_json:
        show_json([_data(cost) for cost in found])
    else:
        show(comparison(*found))
    return OK


def _named(costs: Iterable[Cost], name: str) -> Cost | None:
    """What a dialect cost with a profile, or with all of them when only the dialect is named."""
    dialect, _, profile = name.partition("/")
    total: Cost | None = None
    for cost in costs:
        if cost.dialect == dialect and profile in ("", cost.profile):
            total = cost if total is None else total + cost
    return total if total is None or profile else Cost(dialect, "", total.calls, total.spent)


def _data(cost: Cost) -> dict[str, Any]:
    spent, calls = cost.spent, cost.calls
    return {
        "dialect": cost.dialect,
        "profile": cost.profile or None,
        "turns": spent.turns,
        "turns_caused": spent.caused,
        "turns_with_no_other_tool": spent.own_turns,
        "calls": calls.arguments.count,
        "calls_refused": calls.refused,
        "calls_of_other_tools": spent.others,
        "share_of_calls": round(cost.share, 4),
        "descriptions": _size(spent.descriptions),
        "said": {**_size(said(cost)), "by_kind": {kind: _size(size) for kind, size in spent.injections.items()}},
        "arguments": _size(calls.arguments),
        "replies": _size(calls.replies),
        "withheld": spent.withheld,
        "bytes": cost.total.bytes,
        "tokens": cost.tokens,
    }


def _size(size: Size) -> dict[str, int]:
    return {"count": size.count, "bytes": size.bytes, "tokens": size.tokens}
