"""Write events as sentences: lists, plans, tasks and flows."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, cast

from punchlist.core.events import Event
from punchlist.core.overview import STALLS
from punchlist.core.programs import name_agent
from punchlist.terminal.spans import Glyphs, quote, safe_line
from punchlist.views.findings import finding_words

_FIELD: Final = re.compile(r"{(\w+)}")

_DEEDS = {
    "plan.started": "began a new list",
    "list.refused": "was refused: {problem}",
    "approval.refused": "was refused: {problem}",
    "flow.refused": "was refused: {problem}",
    "list.restored": "restored the list from {source}",
    "reports.dropped": "could not have {count} reports recorded",
    "turn.ended": "ended a turn",
    "agent.output": "said something",
    "agent.finished": "finished",
    "agent.attached": "is attached to {host}",
    "agent.copied": "is known only from {source}",
    "agent.joined": "joined",
    "agent.state": "is {state}",
    "agent.usage": "has used {input} tokens, {cached} from the cache, and written {output}",
    "agent.spawned": "started the agent {child}",
    "finding.cleared": "works as usual again",
    "transcript.write": "had written an earlier list, found in {source}",
    "mode.changed": "left plan mode",
    "mode.refused": "was refused {tool} in plan mode",
    "mode.unjudged": "called {tool} in plan mode, of which nothing is known",
    "news.sent": "was sent news ({via})",
    "news.accepted": "began a turn with the news",
    "news.seen": "has seen the news",
    "session.handed_off": "handed the session over from {from} to {to}",
    "session.continued": "continues the session, which was begun with {from}",
    "session.copied": "began as a copy of session {source}",
    "session.moved": "came over from session {source}",
    "token.created": "made the token {name}, with the scope {scope}",
    "token.renewed": "renewed the token {name}",
    "token.revoked": "revoked the token {name}",
    "token.signed_in": "signed in with a link for {name}",
    "board.pruned": "was deleted with its session or project",
    "tool.started": "began a call of {name}",
    "tool.finished": "ended a call of {name}",
    "tool.updated": "is at a call of {name}: {preview}",
    "tool.failed": "ended a call of {name}, which failed",
    "guidance.said": "was told something ({kind}, {characters} characters)",
    "question.asked": "asks about {item}: {question}",
    "question.answered": "answered {item}: {answer}",
    "item.added": "added {item}",
    "item.started": "started {item}",
    "item.paused": "paused {item}",
    "item.completed": "completed {item}",
    "item.failed": "failed at {item}",
    "item.cancelled": "cancelled {item}",
    "item.blocked": "blocked {item}",
    "item.unblocked": "unblocked {item}",
    "item.reopened": "reopened {item}",
    "item.changed": "changed {item}",
    "item.omitted": "left out {item}",
    "item.restored": "restored {item}",
    "item.removed": "removed {item}",
    "item.graded": "graded {item}",
    "approval.started": "began to write {plan}",
    "approval.delta": "wrote more of {plan}",
    "approval.dropped": "dropped {plan}",
    "approval.proposed": "proposed {plan}",
    "approval.approved": "approved {plan}",
    "approval.rejected": "rejected {plan}",
    "approval.superseded": "replaced {plan} by a newer one",
    "list.ordered": "put {list} in another order",
    "list.wiped": "cleared {list}, which is finished",
    "list.replaced": "wrote {list}",
    "list.merged": "merged items into {list}",
    "list.edited": "edited {list}",
    "list.undone": "rolled back a change to {list}",
    "list.graded": "graded completed items of {list} again",
    "list.confirmed": "wrote {list} as it was",
    "flow.created": "created {flow}",
    "flow.started": "started {flow}",
    "flow.waiting": "set {flow} waiting",
    "flow.resumed": "resumed {flow}",
    "flow.finished": "finished {flow}",
    "flow.failed": "failed at {flow}",
    "flow.cancel_requested": "asked to cancel {flow}",
    "flow.cancelled": "cancelled {flow}",
    "flow.state_updated": "moved {flow} on",
    "flow.step_observed": "saw a step of {flow}: {run_id} {status}",
    "flow.linked": "lets {flow} come after another one",
    "flow.unlinked": "no longer lets {flow} come after another one",
    "flow.pruned": "deleted {flow}, which ended long ago",
    "task.created": "added {task}",
    "task.changed": "changed {task}",
    "task.linked": "made {task} wait for task {blocker}",
    "task.unlinked": "let {task} no longer wait for task {blocker}",
    "task.claimed": "claimed {task}",
    "task.started": "started {task}",
    "task.released": "released {task}",
    "task.waiting": "set {task} waiting",
    "task.resumed": "resumed {task}",
    "task.completed": "completed {task}",
    "task.graded": "graded {task} again",
    "task.late": "came too late with {task}",
    "task.failed": "failed at {task}",
    "task.retrying": "failed at {task}, which will be retried",
    "task.reopened": "reopened {task}",
    "task.cancel_requested": "asked to cancel {task}",
    "task.cancelled": "cancelled {task}",
    "task.refused": "was not allowed to complete {task}",
    "task.deleted": "deleted {task}",
}
"""Deeds with fields of the event's data in braces, or what they are about: an item, a list, a plan, a flow,
a task."""

_BY_ITSELF = {
    "task.expired": "the lease on {task} ended",
    "task.due": "{task} may be retried",
    "task.resumed": "the wait of {task} is over",
    "task.cancelled": "{task} was cancelled, as asked",
}
"""Events that come with the time have no author."""
_MISSING: Final = {"name": "a tool", "kind": "guidance", "characters": "0", "input": "0", "output": "0", "cached": "0"}
"""The words for fields that an event may lack."""


def sentence(event: Event, glyphs: Glyphs, host: str = "") -> str:
    """Return an event without its time: `main started “Run tests”`. Unknown kinds are named as they are.

    The first agent of a program is called by the program's name, if its `host` is given.
    """
    agent = safe_line(name_agent(event.agent or "", host))
    author = safe_line(name_agent(event.by, host)) or agent or "someone"
    if event.kind.startswith("agent."):
        author = agent or author  # a person may have brought the news
    other = f" of {agent}" if agent and agent != author else ""
    if event.kind == "finding.raised":
        return _finding_sentence(author, event.data)
    if event.kind == "mode.changed" and other:
        is_plan = event.data.get("mode") == "plan"
        return f"{author} put {agent} into plan mode" if is_plan else f"{author} let {agent} leave plan mode"
    by_itself = _BY_ITSELF.get(event.kind) if not event.by or event.kind not in _DEEDS else None
    deed = by_itself or _choose_deed(event.kind, event.data)

    def fill(found: re.Match[str]) -> str:
        match found[1]:
            case "item":
                data = event.data
                content = data.get("content") or _inner(data, "item").get("content") or data.get("id") or ""
                return quote(str(content), glyphs)
            case "list":
                return f"the list{other}"
            case "plan":
                return f"the plan{other} (revision {_text(event.data, 'plan_revision')})"
            case "flow":
                return f"the flow {quote(str(event.data.get('goal') or ''), glyphs)}"
            case "task":
                return f"task {_text(event.data, 'id')} {quote(str(event.data.get('subject') or ''), glyphs)}"
            case name:
                return _text(event.data, name) or _MISSING.get(name, "")

    said = _FIELD.sub(fill, deed)
    if by_itself:
        return said
    is_for = event.kind.startswith(("item.", "list.", "plan.")) and "{list}" not in deed
    whose = f" for {agent}" if other and (is_for or "{flow}" in deed) else ""
    return f"{author} {said}{whose}{_reason(event)}"


def _choose_deed(kind: str, data: Mapping[str, Any]) -> str:
    """Return the deed of an event; of some kinds it depends on the fields that are there."""
    match kind:
        case "tool.finished" if data.get("is_error"):
            return _DEEDS["tool.failed"]
        case "turn.ended" if data.get("abandoned"):
            return "ended a turn with {abandoned} calls still open"
        case "agent.output" if data.get("preview"):
            return "said: {preview}"
        case "agent.finished" if data.get("outcome") == "failed":
            return "failed"
        case "finding.cleared" if data.get("detector") in STALLS:
            return "is no longer silent"
        case "agent.spawned" if data.get("label"):
            return "started the agent {child} ({label})"
        case "mode.changed" if data.get("mode") == "plan":
            return "entered plan mode"
        case "flow.state_updated" if data.get("next_step"):
            return "moved {flow} on to {next_step}"
        case "flow.failed" if data.get("reason"):
            return "failed at {flow}: {reason}"
        case _:
            return _DEEDS.get(kind, safe_line(kind))


def _finding_sentence(author: str, data: Mapping[str, Any]) -> str:
    """Return a finding for people; the count of a silence is its length in seconds."""
    detector, subject, seen = (_text(data, name) for name in ("detector", "subject", "seen"))
    count = data.get("count")
    length = timedelta(seconds=count) if isinstance(count, int) and 0 < count < 10**8 else None
    return finding_words(author, detector, subject, seen, length).rstrip(".")


def _reason(event: Event) -> str:
    data = event.data
    if event.kind == "item.blocked":
        data = _inner(_inner(data, "set"), "blocker")
    elif not event.kind.startswith("task.") and "{plan}" not in _DEEDS.get(event.kind, ""):
        return ""
    reason = _text(data, "reason") or _text(_inner(data, "set"), "failure")
    return f": {reason}" if reason else ""


def _inner(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return an inner object; another version may have written another shape."""
    value = data.get(key)
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _text(data: Mapping[str, Any], key: str) -> str:
    return safe_line(str(data.get(key) or ""))
