"""`punchlist dialects`: the todo tools that agents may use, and what each cannot say."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from punchlist.cli import OK
from punchlist.cli.arguments import Parser, add_json, command_parser
from punchlist.cli.terminal import look, show, show_json
from punchlist.dialects import REGISTRY, dialect
from punchlist.dialects.base import Dialect
from punchlist.surfaces.spans import Line, Span


def parser() -> Parser:
    made = command_parser("dialects", "Lists the todo tools that agents may use, and what each cannot say.")
    add_json(made)
    return made


def run(options: Namespace) -> int:
    known = [dialect(name) for name in REGISTRY]
    if options.json:
        show_json([_data(one) for one in known])
    else:
        seen = look()
        show(line for one in known for line in _lines(one, f" {seen.glyphs.dot} "))
    return OK


def _data(one: Dialect) -> dict[str, Any]:
    limits = one.policy.limits
    return {
        "name": one.name,
        "tools": [tool.name for tool in one.tools],
        "statuses": list(one.statuses),
        "limits": {"items": limits.items, "characters": limits.characters, "bytes": limits.bytes},
        "focus": one.policy.focus,
        "wipes_finished": one.policy.wipe_finished,
        "in_plan_mode": one.refused_in_plan_mode is None,
        "repairs": sorted(one.repairs),
        "lossy": list(one.lossy),
    }


def _lines(one: Dialect, dot: str) -> Iterator[Line]:
    limits = one.policy.limits
    size = f"{limits.bytes:,} bytes" if limits.bytes is not None else f"{limits.characters:,} characters"
    tools = ", ".join(f"`{tool.name}`" for tool in one.tools)
    yield (Span(one.name, "bold"), Span(f"{dot}{tools}", "accent"))
    for name, said in (
        ("statuses", ", ".join(one.statuses)),
        ("limits", f"{limits.items:,} items of {size}"),
        ("lossy", "; ".join(one.lossy) or "nothing is lost"),
    ):
        yield (Span(f"  {name:<9} ", "dim"), Span(said))
