"""`punchlist flows`: flows that agents run, for the person who looks after them."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from punchlist.cli import OK
from punchlist.cli.arguments import (
    Parser,
    add_db,
    add_json,
    add_limit,
    author,
    command_parser,
    most_of,
    open_board,
)
from punchlist.cli.sessions import duration
from punchlist.cli.terminal import look, show, show_json
from punchlist.errors import FlowUnknown, InvalidInput

if TYPE_CHECKING:
    from punchlist.board import Board
    from punchlist.core.flow import Flow
    from punchlist.flows import Flows

_EXAMPLES = """\
  punchlist flows list --status waiting
  punchlist flows show 3f2a                 the beginning of an id will do
  punchlist flows resume 3f2a --state '{"approved": true}'
  punchlist flows cancel 3f2a
  punchlist flows prune --older-than 30d
"""
_STATUSES = ("created", "running", "waiting", "cancelled", "finished", "failed")
_EVENTS = 20
_LISTED = 50


def parser() -> Parser:
    said = "Flows: work in named steps that goes on after a conversation, and waits for times, events or people."
    made = command_parser("flows", f"{said} Without a verb: `list`.", examples=_EXAMPLES)
    made.first_verb = "list"
    verbs = made.add_subparsers(metavar="VERB", required=True, parser_class=Parser)

    def verb(name: str, help: str, run: Callable[[Namespace], int]) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
        add_db(added)
        add_json(added)
        added.set_defaults(run=run)
        return added

    def change(name: str, help: str, run: Callable[[Namespace], int]) -> argparse.ArgumentParser:
        added = verb(name, help, run)
        added.add_argument("id", metavar="ID", help="the flow's id, or the beginning of it")
        added.add_argument("--by", metavar="NAME", help="who does it (default: your login name)")
        return added

    added = verb("list", "list the flows of the board, the newest first", _list)
    added.add_argument("--status", choices=_STATUSES, help="only those, what changed longest ago first")
    added.add_argument("--owner", metavar="KEY", help="only those of agent:NAME:session:ID")
    add_limit(added, None, f"flows (default: {_LISTED}; all of them with --json)")
    added = verb("show", "show all about a flow: its state, its steps, what happened to it", _show)
    added.add_argument("id", metavar="ID", help="the flow's id, or the beginning of it")
    added = change("cancel", "cancel a flow", _cancel)
    added.add_argument("--request", action="store_true", help="only ask for it: its controller cancels it, or a tick")
    added = change("resume", "let a flow go on, whatever it waits for", _resume)
    added.add_argument("--state", type=_json, metavar="JSON", help="what to merge into its state")
    verb("tick", "let flows go on whose time has come, and cancel those that are to be", _tick)
    added = verb("prune", "delete flows that ended that long ago; what happened to them stays on record", _prune)
    added.add_argument("--older-than", type=duration, required=True, metavar="AGE", help="such as 12h, 30d or 8w")
    return made


def _json(text: str) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"`{text[:80]}` is no JSON") from error


def _list(options: Namespace) -> int:
    from punchlist.surfaces.flows import flow_data, flow_row

    most = most_of(options, _LISTED)
    with open_board(options, reads=True) as board:
        found = _listed(board.flows(), options, most + 1)
        now = board.now()
    if options.json:
        show_json([flow_data(flow) for flow in found[:most]])
    elif not found:
        print("(no flows)")
    else:
        seen = look()
        show(flow_row(flow, now, seen) for flow in found[:most])
        if len(found) > most:
            print(f"{seen.glyphs.ellipsis} and more; `--limit N` shows N of them.")
    return OK


def _listed(flows: Flows, options: Namespace, most: int) -> tuple[Flow, ...]:
    if options.status is not None:
        found = flows.list_by_status(options.status)
        found = tuple(flow for flow in found if options.owner in {None, flow.owner_session_key})
    elif options.owner is not None:
        found = flows.list_by_owner(options.owner)
    else:
        found = flows.list(limit=most)
    return found[:most]


def _chosen(board: Board, beginning: str) -> str:
    """The id that begins so; one that is typed whole is taken as it is."""
    wanted = beginning.strip().lower()
    hexes = set(wanted) <= set("0123456789abcdef-")
    found = board.store.read(lambda tx: tx.flows.like(wanted, limit=5)) if hexes and wanted else ()
    if len(found) > 1 and wanted not in found:
        raise InvalidInput(problem=f"`{wanted}` begins several flows: {', '.join(found)}; type more of the id.")
    if not found:
        raise FlowUnknown(id=beginning[:80])
    return found[0]


def _show(options: Namespace) -> int:
    from punchlist.surfaces.flows import flow_card, flow_data

    with open_board(options, reads=True) as board:
        flows, now = board.flows(), board.now()
        chosen = _chosen(board, options.id)
        flow = flows.get(chosen)
        steps, events = flows.list_steps(chosen), flows.list_events(chosen, _EVENTS)
    if flow is None:
        raise FlowUnknown(id=chosen)
    if options.json:
        show_json({**flow_data(flow), "steps": steps, "events": events})
        return OK
    show(flow_card(flow, steps, events, now, look()))
    return OK


def _cancel(options: Namespace) -> int:
    with open_board(options) as board:
        flows = board.flows(by=author(options))
        cancel = flows.request_cancel if options.request else flows.cancel
        flow = cancel(_chosen(board, options.id))
    _told(options, flow, "is to be cancelled" if options.request and not flow.is_terminal else f"is {flow.status}")
    return OK


def _resume(options: Namespace) -> int:
    with open_board(options) as board:
        flow = board.flows(by=author(options)).resume(_chosen(board, options.id), options.state)
    _told(options, flow, "goes on")
    return OK


def _told(options: Namespace, flow: Flow, deed: str) -> None:
    from punchlist.surfaces.flows import flow_data
    from punchlist.surfaces.spans import shown

    if options.json:
        show_json(flow_data(flow))
    else:
        print(f"Flow {flow.id[:8]} {deed}: {shown(flow.goal)}")


def _tick(options: Namespace) -> int:
    with open_board(options) as board:
        report = board.flows().tick()
    if options.json:
        show_json(report)
    else:
        said = f"{report.resumed} go on, {report.cancelled} cancelled, {report.still_waiting} still waiting"
        print(f"{report.scanned} waited: {said}, {report.errors} failed.")
    return OK


def _prune(options: Namespace) -> int:
    from punchlist.surfaces.spans import plural

    with open_board(options) as board:
        count = board.flows().prune_terminal_flows(options.older_than.total_seconds() / 86_400)
    if options.json:
        show_json({"deleted": count})
    else:
        print(f"Deleted {plural(count, 'flow')}; what happened to them stays on record.")
    return OK
