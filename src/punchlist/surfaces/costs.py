"""Describe the cost of the todo layer itself as the cells of a table."""

from __future__ import annotations

from typing import Final

from punchlist.guidance.ledger import Cost
from punchlist.surfaces.spans import plural
from punchlist.views.costs import said_size

COST_HEADINGS: Final = ("turns", "calls", "share", "tools", "said", "written", "read", "tokens", "a turn")
COST_LEGEND: Final = (
    "Estimated tokens (4 bytes of ASCII each, 3 of anything else). tools: their descriptions, once a turn, as every "
    "request carries them; said: put before the model; written: arguments of calls; read: replies."
)


def cost_title(cost: Cost) -> str:
    """Return the name of a row: the dialect, and the profile if there is one."""
    return f"{cost.dialect}/{cost.profile}" if cost.profile else cost.dialect


def cost_cells(cost: Cost) -> tuple[str, ...]:
    """Return the cells of a row, as `COST_HEADINGS` names them."""
    parts = (cost.spent.descriptions, said_size(cost), cost.calls.arguments, cost.calls.replies)
    return (
        f"{cost.spent.turns:,}",
        f"{cost.calls.arguments.count:,}",
        f"{cost.share:.0%}",
        *(f"{part.tokens:,}" for part in parts),
        f"{cost.tokens:,}",
        tokens_each(cost.tokens, cost.spent.turns),
    )


def cost_remarks(cost: Cost) -> str:
    """Return what is out of the ordinary about a row; empty if nothing is."""
    kinds = ", ".join(f"{size.count} × {kind}" for kind, size in sorted(cost.spent.injections.items()))
    spent = cost.spent
    facts = (
        f"said: {kinds}" if kinds else "",
        f"{plural(spent.caused, 'turn')} caused by the stop guard" if spent.caused else "",
        f"{plural(spent.own_turns, 'turn')} with no other tool than ours" if spent.own_turns else "",
        f"{plural(cost.calls.refused, 'call')} refused" if cost.calls.refused else "",
        f"{plural(spent.withheld, 'text')} kept back by the budget" if spent.withheld else "",
    )
    return "; ".join(fact for fact in facts if fact)


def tokens_each(total: float, turns: int) -> str:
    """Return the tokens of one turn; a dash without turns."""
    return f"{total / turns:,.1f}" if turns else "-"
