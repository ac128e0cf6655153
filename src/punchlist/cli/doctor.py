"""`punchlist doctor`: is this installation and its board all right, and if not, what to do."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from punchlist.cli import FAILED, OK
from punchlist.cli.arguments import Parser, add_json, board_url, command_parser
from punchlist.cli.checks import NOT_SET, Finding, findings
from punchlist.cli.terminal import look, show, show_json
from punchlist.surfaces.spans import Line, Look, Span, Style, shown
from punchlist.surfaces.text import plural

_MARKS: dict[str, tuple[str, Style]] = {
    "ok": ("completed", "good"),
    "note": ("pending", "dim"),
    "wrong": ("failed", "bad"),
}


def parser() -> Parser:
    said = "Checks the board and this installation. Changes nothing; ends with 1 if something is wrong."
    made = command_parser("doctor", said)
    add_json(made)
    return made


def run(options: Namespace) -> int:
    from punchlist.store import store_path

    found = list(findings(store_path(board_url(options))))
    wrong = sum(finding.state == "wrong" for finding in found)
    if options.json:
        show_json({"ok": not wrong, "findings": [finding._asdict() for finding in found]})
    else:
        unset = [finding for finding in found if finding.text.startswith(NOT_SET)]
        show(_lines([*(finding for finding in found if finding not in unset), _others(len(unset))], look()))
        print()
        print(f"{plural(wrong, 'thing')} to mend." if wrong else "All is well.")
    return FAILED if wrong else OK


def _others(unset: int) -> Finding:
    """A line for all settings that are not in use."""
    return Finding("settings", "ok", f"{unset} more are not set; `punchlist doctor --json` says what they are for")


def _lines(found: list[Finding], seen: Look) -> Iterator[Line]:
    column = max(len(finding.name) for finding in found)
    for finding in found:
        box, style = _MARKS[finding.state]
        yield (
            Span(f"{seen.glyphs.boxes[box]} ", style),
            Span(f"{finding.name:<{column}}  ", "bold"),
            Span(shown(finding.text), "bad" if finding.state == "wrong" else "plain"),
        )
        if finding.fix:
            yield (
                Span(" " * (column + 2 + len(seen.glyphs.boxes[box]) + 1)),
                Span(f"fix: {shown(finding.fix)}", "warning"),
            )
