"""`punchlist dialects`: list the todo tools that agents may use, and what each cannot say."""

import textwrap
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from punchlist.cli.arguments import Parser, command_parser
from punchlist.cli.terminal import detect_display, show, show_json
from punchlist.core.commands import Limits
from punchlist.dialects import REGISTRY, dialect
from punchlist.dialects.base import Dialect
from punchlist.terminal.spans import Line, Span

_FOCUS = {
    "accept": "several at once are accepted",
    "first": "the first stays, others go back to pending",
    "refuse": "a second one is refused",
}


def parser() -> Parser:
    made = command_parser("dialects", "Lists the todo tools that agents may use, and what each cannot say.", run=_list)
    made.add_json()
    return made


def _list(options: Namespace) -> None:
    known = [dialect(name) for name in REGISTRY]
    if options.json:
        show_json([_data(one) for one in known])
    else:
        display = detect_display()
        show(line for one in known for line in _lines(one, f" {display.glyphs.dot} ", display.columns))


def _data(one: Dialect) -> dict[str, Any]:
    limits = one.policy.limits
    return {
        "name": one.name,
        "layer": one.layer,
        "tools": [tool.name for tool in one.tools],
        "statuses": list(one.statuses),
        "limits": {
            "items": limits.items,
            "characters": limits.characters,
            "bytes": limits.bytes,
            "others": list(one.limits),
        },
        "focus": one.policy.focus,
        "wipes_finished": one.policy.wipe_finished,
        "in_plan_mode": one.refused_in_plan_mode is None,
        "subagents": one.subagents,
        "withheld_in": sorted(one.withheld_in),
        "repairs": sorted(one.repairs),
        "lossy": list(one.lossy),
    }


def describe_dialect(one: Dialect) -> dict[str, str]:
    """Return the traits of a dialect in a few words each, for the terminal and for the page of the docs."""
    wiped = "a list that is all completed is cleared; " if one.policy.wipe_finished else ""
    whose = "each with its own list" if one.layer == "todos" else "who share what it writes"
    offer = f"to subagents, {whose}" if one.subagents == "own_list" else "not to subagents"
    if one.withheld_in:
        offer += f"; not in the context {' or '.join(f'`{name}`' for name in sorted(one.withheld_in))}"
    return {
        "statuses": ", ".join(one.statuses),
        "limits": "; ".join([*_describe_limits(one.policy.limits), *one.limits]) or "none of its own",
        "focus": f"{wiped}{_FOCUS[one.policy.focus]}",
        "plan mode": "may be used" if one.refused_in_plan_mode is None else "refused",
        "offered": offer,
        "repairs": ", ".join(sorted(one.repairs)) or "none",
        "lossy": "; ".join(one.lossy) or "nothing is lost",
    }


def _describe_limits(limits: Limits) -> Iterator[str]:
    """Yield the limits that the dialect sets itself; ours are far away."""
    ours = Limits()
    if limits.items != ours.items:
        yield f"{limits.items:,} items"
    if limits.bytes is not None:
        yield f"texts of {limits.bytes:,} bytes"
    elif limits.characters != ours.characters:
        yield f"texts of {limits.characters:,} characters"
    if limits.refuse_blank:
        yield "no blank texts"


def _lines(one: Dialect, dot: str, columns: int | None) -> Iterator[Line]:
    tools = ", ".join(f"`{tool.name}`" for tool in one.tools)
    yield (Span(one.name, "bold"), Span(f"{dot}{tools}", "accent"))
    for name, said in describe_dialect(one).items():
        first, *rest = textwrap.wrap(said, max(20, (columns or 100) - 12), break_on_hyphens=False)
        yield (Span(f"  {name:<9} ", "dim"), Span(first))
        yield from ((Span(" " * 12 + line),) for line in rest)
