"""The cost of the todo layer itself, by dialect and profile."""

from __future__ import annotations

from msgspec import Struct

from punchlist.guidance.ledger import NOTHING, Cost, Size


class SizeView(Struct, frozen=True):
    """How many texts, their bytes, and an estimate of their tokens."""

    count: int
    bytes: int
    tokens: int


class SaidView(SizeView, frozen=True):
    """The size of all texts that were put before the model, and of each kind of them."""

    by_kind: dict[str, SizeView]


class CostView(Struct, frozen=True, kw_only=True):
    """Tokens that Punchlist itself cost, in one dialect and profile."""

    dialect: str
    profile: str | None
    turns: int
    turns_caused: int
    turns_with_no_other_tool: int
    calls: int
    calls_refused: int
    calls_of_other_tools: int
    share_of_calls: float
    descriptions: SizeView
    said: SaidView
    arguments: SizeView
    replies: SizeView
    withheld: int
    bytes: int
    tokens: int


def view_cost(cost: Cost) -> CostView:
    """Return what one dialect and profile cost."""
    spent, calls, said = cost.spent, cost.calls, said_size(cost)
    by_kind = {kind: _view_size(size) for kind, size in spent.injections.items()}
    return CostView(
        dialect=cost.dialect,
        profile=cost.profile or None,
        turns=spent.turns,
        turns_caused=spent.caused,
        turns_with_no_other_tool=spent.own_turns,
        calls=calls.arguments.count,
        calls_refused=calls.refused,
        calls_of_other_tools=spent.others,
        share_of_calls=round(cost.share, 4),
        descriptions=_view_size(spent.descriptions),
        said=SaidView(said.count, said.bytes, said.tokens, by_kind),
        arguments=_view_size(calls.arguments),
        replies=_view_size(calls.replies),
        withheld=spent.withheld,
        bytes=cost.total.bytes,
        tokens=cost.tokens,
    )


def _view_size(size: Size) -> SizeView:
    return SizeView(size.count, size.bytes, size.tokens)


def said_size(cost: Cost) -> Size:
    """Return the size of all texts that were put before the model, of whatever kind."""
    return sum(cost.spent.injections.values(), NOTHING)
