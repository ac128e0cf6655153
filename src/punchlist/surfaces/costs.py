"""Describe the cost of the todo layer itself as JSON values."""

from __future__ import annotations

from typing import Any

from punchlist.guidance.ledger import NOTHING, Cost, Size


def cost_data(cost: Cost) -> dict[str, Any]:
    """Return what one dialect and profile cost. Every key is always there."""
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
        "said": {
            **_size(said_size(cost)),
            "by_kind": {kind: _size(size) for kind, size in spent.injections.items()},
        },
        "arguments": _size(calls.arguments),
        "replies": _size(calls.replies),
        "withheld": spent.withheld,
        "bytes": cost.total.bytes,
        "tokens": cost.tokens,
    }


def _size(size: Size) -> dict[str, int]:
    return {"count": size.count, "bytes": size.bytes, "tokens": size.tokens}


def said_size(cost: Cost) -> Size:
    """Return the size of all texts that were put before the model, of whatever kind."""
    return sum(cost.spent.injections.values(), NOTHING)
