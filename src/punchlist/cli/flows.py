"""`punchlist flows`: list, show, cancel and resume the flows that agents run."""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import asdict

from punchlist.board import Board
from punchlist.cli.arguments import Parser, Run, author, choose_limit, command_parser, open_board, parse_age
from punchlist.cli.terminal import detect_display, show, show_json, tell
from punchlist.core.events import Event
from punchlist.core.flow import Flow, FlowStatus, FlowStep, parse_condition
from punchlist.errors import FlowUnknown, InvalidInput
from punchlist.tasks.flows import Flows
from punchlist.terminal.lists import waiting_lines
from punchlist.terminal.sentences import sentence
from punchlist.terminal.spans import Display, Line, Span, pad, safe_line
from punchlist.text import plural
from punchlist.views.findings import ago

_EXAMPLES = """\
  punchlist flows list --status waiting
  punchlist flows show 3f2a                 the beginning of an id will do
  punchlist flows resume 3f2a --state '{"approved": true}'
  punchlist flows cancel 3f2a
  punchlist flows prune --older-than 30d
"""
_EVENTS = 20
_LISTED = 50
_SHORT = 8
"""So much of an id tells flows apart, as a rule; people may type no more of it."""


def parser() -> Parser:
    about = "Flows: work in named steps that continues after a conversation, and waits for times, events or people."
    made = command_parser("flows", f"{about} Without a verb: `list`.", examples=_EXAMPLES)
    add_verb = made.add_verbs(first="list")

    def verb(name: str, help: str, run: Run, *, on_one: bool = False) -> Parser:
        added = add_verb(name, help, run)
        added.add_json()
        if on_one:
            added.add_argument("id", metavar="ID", help="the flow's id, or the beginning of it")
        return added

    added = verb("list", "list the flows of the board, the newest first", _list)
    added.add_argument("--status", choices=tuple(FlowStatus), help="only those, what changed longest ago first")
    added.add_argument("--owner", metavar="KEY", help="only those of agent:NAME:session:ID")
    added.add_limit(None, f"flows (default: {_LISTED}; all of them with --json)")
    verb("show", "show all about a flow: its state, its steps, what happened to it", _show, on_one=True)
    added = verb("cancel", "cancel a flow", _cancel, on_one=True)
    added.add_by()
    added.add_argument("--request", action="store_true", help="only ask for it: its controller cancels it, or a tick")
    added = verb("resume", "resume a flow, whatever it waits for", _resume, on_one=True)
    added.add_by()
    added.add_argument("--state", type=_parse_json, metavar="JSON", help="what to merge into its state")
    verb("tick", "resume flows whose time has come, and cancel those that were asked to be cancelled", _tick)
    added = verb("prune", "delete flows that ended that long ago; what happened to them stays on record", _prune)
    added.add_argument("--older-than", type=parse_age, required=True, metavar="AGE", help="such as 12h, 30d or 8w")
    return made


def _parse_json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError) as error:
        raise ArgumentTypeError(f"`{text[:80]}` is no JSON") from error


def _list(options: Namespace) -> None:
    most = choose_limit(options, _LISTED)
    with open_board(options, reads=True) as board:
        found = _find_flows(board.flows(), options, most + 1)
        waits = sum(wait.kind == "flow" for wait in board.waits())
        now = board.now()
    if options.json:
        show_json(found[:most])
    elif not found:
        print("(no flows)")
    else:
        display = detect_display()
        show(_make_row(flow, now, display) for flow in found[:most])
        if len(found) > most:
            print(f"{display.glyphs.ellipsis} and more; `--limit N` shows N of them.")
        show(waiting_lines(waits))


def _find_flows(flows: Flows, options: Namespace, most: int) -> tuple[Flow, ...]:
    if options.status is not None:
        found = flows.list_by_status(options.status)
        found = tuple(flow for flow in found if options.owner in {None, flow.owner_session_key})
    elif options.owner is not None:
        found = flows.list_by_owner(options.owner)
    else:
        found = flows.list(limit=most)
    return found[:most]


def _find_id(board: Board, beginning: str) -> str:
    wanted = beginning.strip().lower()
    is_hex = set(wanted) <= set("0123456789abcdef-")
    found = board.store.read(lambda tx: tx.flows.like(wanted, limit=5)) if is_hex and wanted else ()
    if len(found) > 1 and wanted not in found:
        raise InvalidInput(problem=f"`{wanted}` begins several flows: {', '.join(found)}; type more of the id.")
    if not found:
        raise FlowUnknown(id=beginning[:80])
    return found[0]


def _show(options: Namespace) -> None:
    with open_board(options, reads=True) as board:
        flows, now = board.flows(), board.now()
        chosen = _find_id(board, options.id)
        flow = flows.get(chosen)
        steps, events = flows.list_steps(chosen), flows.list_events(chosen, _EVENTS)
    if flow is None:
        raise FlowUnknown(id=chosen)
    if options.json:
        show_json({**asdict(flow), "steps": steps, "events": events})
    else:
        show(_make_card(flow, steps, events, now, detect_display()))


def _cancel(options: Namespace) -> None:
    with open_board(options) as board:
        flows = board.flows(by=author(options))
        cancel = flows.request_cancel if options.request else flows.cancel
        flow = cancel(_find_id(board, options.id))
    _report(options, flow, "is to be cancelled" if options.request and not flow.is_terminal else f"is {flow.status}")


def _resume(options: Namespace) -> None:
    with open_board(options) as board:
        flow = board.flows(by=author(options)).resume(_find_id(board, options.id), options.state)
    _report(options, flow, "resumed")


def _report(options: Namespace, flow: Flow, deed: str) -> None:
    tell(options, flow, f"Flow {flow.id[:_SHORT]} {deed}: {safe_line(flow.goal)}")


def _tick(options: Namespace) -> None:
    with open_board(options) as board:
        report = board.flows().tick()
    outcome = f"{report.resumed} resumed, {report.cancelled} cancelled, {report.still_waiting} still waiting"
    tell(options, report, f"{report.scanned} waited: {outcome}, {report.errors} failed.")


def _prune(options: Namespace) -> None:
    with open_board(options) as board:
        count = board.flows().prune_terminal_flows(options.older_than.total_seconds() / 86_400)
    tell(options, {"deleted": count}, f"Deleted {plural(count, 'flow')}; what happened to them stays on record.")


# Text.


def _make_row(flow: Flow, now: datetime, display: Display) -> Line:
    return display.cut(
        (
            Span(f"{flow.id[:_SHORT]}  ", "dim"),
            Span(f"{flow.status:<11}"),
            *pad((Span(safe_line(flow.current_step)),), 16, display.glyphs),
            Span(f"  {safe_line(flow.goal)}", "bold"),
            Span(_more(flow), "warning"),
            Span(f"  {ago(flow.updated_at, now)}", "dim"),
        )
    )


def _more(flow: Flow) -> str:
    if flow.cancel_requested and not flow.is_terminal:
        return "  to be cancelled"
    if flow.status is FlowStatus.CREATED and flow.held_by:
        return f"  after {', '.join(each[:_SHORT] for each in flow.held_by[:3])}"
    return f"  for {_condition(flow)}" if flow.status is FlowStatus.WAITING else ""


def _condition(flow: Flow) -> str:
    found = parse_condition(flow.wait)
    if found is None:
        return "something of its own"
    if found.at is not None:
        return f"{found.at:%Y-%m-%d %H:%M:%S} UTC"
    if found.kind == "external_event":
        return f"{safe_line(found.topic)} {safe_line(found.correlation_id)}"
    return "a person"


def _make_card(
    flow: Flow, steps: Sequence[FlowStep], events: Sequence[Event], now: datetime, display: Display
) -> Iterator[Line]:
    yield (Span(safe_line(flow.goal), "bold"),)
    facts = {
        "id": flow.id,
        "status": f"{flow.status.value}{_more(flow)}",
        "step": flow.current_step,
        "controller": flow.controller_id,
        "owner": flow.owner_session_key or "nobody",
        "asked by": flow.requester_origin,
        "after": ", ".join(flow.after),
        "revision": f"{flow.revision}, {ago(flow.updated_at, now)}",
        "state": msgspec.json.encode(flow.state).decode(),
    }
    for name, said in facts.items():
        if said:
            yield _fact(name, said, display)
    for step in steps:
        yield _fact("step run", f"{step.run_id} {step.status} {step.task}", display)
    for event in events:
        yield _fact("event", f"{event.at:%Y-%m-%d %H:%M:%S}  {sentence(event, display.glyphs)}", display)


def _fact(name: str, said: str, display: Display) -> Line:
    return display.cut((Span(f"  {name:<11} ", "dim"), Span(safe_line(said))))
