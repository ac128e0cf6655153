"""Write events as sentences: lists, plans, tasks and flows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, cast

from msgspec import Struct

from punchlist.core.events import Event
from punchlist.core.overview import STALLS
from punchlist.surfaces.spans import Glyphs, quote, safe_line

_STALLS: Final = {
    "nothing_submitted": "was started{for} and was given nothing to do",
    "no_runtime_event": "was given something to do{for} and has not begun",
    "no_output": "has been silent{for}, without any output; perhaps a tool still runs",
    "silent_after_output": "has been silent{for}; perhaps it waits for an answer",
    "timed_out": "never ended its turn, and is no longer watched",
}
_SINCE: Final = frozenset({"nothing_submitted", "no_runtime_event"})
_LOOPS: Final = {
    "generic_repeat": "keeps calling {tool} with the same arguments",
    "known_poll_no_progress": "keeps asking {tool} the same, and nothing moves",
    "ping_pong": "goes back and forth between the same calls ({tool})",
    "global_circuit_breaker": "was stopped: {tool} gave the same result again and again",
    "unknown_tool_repeat": "keeps calling {tool}, a tool that does not exist",
    "error_streak": "has call after call fail",
}
"""Loops in words for people: what a detector of loops says itself is written for the model."""

_ITEM_VERBS = {
    "item.added": "added",
    "item.started": "started",
    "item.paused": "paused",
    "item.completed": "completed",
    "item.failed": "failed at",
    "item.cancelled": "cancelled",
    "item.blocked": "blocked",
    "item.unblocked": "unblocked",
    "item.reopened": "reopened",
    "item.changed": "changed",
    "item.omitted": "left out",
    "item.restored": "restored",
    "item.removed": "removed",
    "item.graded": "graded",
}
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
    "finding.cleared": "gives no more cause for concern ({detector})",
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
}
"""Deeds with fields of the event's data in braces."""

_PLAN_DEEDS = {
    "approval.started": "began to write {plan}",
    "approval.delta": "wrote more of {plan}",
    "approval.dropped": "dropped {plan}",
    "approval.proposed": "proposed {plan}",
    "approval.approved": "approved {plan}",
    "approval.rejected": "rejected {plan}",
    "approval.superseded": "replaced {plan} by a newer one",
}
_LIST_DEEDS = {
    "list.ordered": "put {list} in another order",
    "list.wiped": "cleared {list}, which is finished",
    "list.replaced": "wrote {list}",
    "list.merged": "merged items into {list}",
    "list.edited": "edited {list}",
    "list.undone": "rolled back a change to {list}",
    "list.graded": "graded completed items of {list} again",
    "list.confirmed": "wrote {list} as it was",
}
_TASK_DEEDS = {
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
_BY_ITSELF = {
    "task.expired": "the lease on {task} ended",
    "task.due": "{task} may be retried",
    "task.resumed": "the wait of {task} is over",
    "task.cancelled": "{task} was cancelled, as asked",
}
"""Events that come with the time have no author."""
_FLOW_DEEDS = {
    "flow.created": "created {flow}",
    "flow.started": "started {flow}",
    "flow.waiting": "set {flow} waiting",
    "flow.resumed": "resumed {flow}",
    "flow.finished": "finished {flow}",
    "flow.failed": "failed at {flow}",
    "flow.cancel_requested": "asked to cancel {flow}",
    "flow.cancelled": "cancelled {flow}",
    "flow.state_updated": "moved {flow} on",
    "flow.step_observed": "saw a step of {flow}",
    "flow.linked": "lets {flow} come after another one",
    "flow.unlinked": "no longer lets {flow} come after another one",
    "flow.pruned": "deleted {flow}, which ended long ago",
}


def sentence(event: Event, glyphs: Glyphs) -> str:
    """Return an event without its time: `main started “Run tests”`. Unknown kinds are named as they are."""
    if event.kind.startswith("task."):
        return _task_sentence(event, glyphs)
    agent = safe_line(event.agent or "")
    author = safe_line(event.by) or agent or "someone"
    if event.kind.startswith("agent."):
        author = agent or author  # a person may have brought the news
    other = bool(agent) and agent != author
    if event.kind == "finding.raised":
        return _finding_sentence(author, event.data)
    if event.kind in _LIST_DEEDS:
        return f"{author} {_LIST_DEEDS[event.kind].replace('{list}', f'the list of {agent}' if other else 'the list')}"
    if event.kind == "mode.changed" and other:
        into = "put {0} into plan mode" if event.data.get("mode") == "plan" else "let {0} leave plan mode"
        return f"{author} {into.replace('{0}', agent)}"
    if event.kind in _PLAN_DEEDS:
        plan = f"the plan of {agent}" if other else "the plan"
        number = f"{plan} (revision {_text(event.data, 'plan_revision')})"
        return f"{author} {_PLAN_DEEDS[event.kind].replace('{plan}', number)}{_reason(event)}"
    if event.kind in _FLOW_DEEDS:
        return f"{author} {_flow_deed(event.kind, event.data, glyphs)}{f' for {agent}' if other else ''}"
    whose = f" for {agent}" if other and event.kind.partition(".")[0] in ("item", "list", "plan") else ""
    return f"{author} {_deed(event.kind, event.data, glyphs)}{whose}{_reason(event)}"


def _deed(kind: str, data: Mapping[str, Any], glyphs: Glyphs) -> str:
    name = _text(data, "name") or "a tool"
    match kind:
        case _ if kind in _ITEM_VERBS:
            content = data.get("content") or _inner(data, "item").get("content") or data.get("id") or ""
            return f"{_ITEM_VERBS[kind]} {quote(str(content), glyphs)}"
        case "tool.started":
            return f"began a call of {name}"
        case "tool.finished":
            return f"ended a call of {name}{', which failed' if data.get('is_error') else ''}"
        case "tool.updated":
            return f"is at a call of {name}: {_text(data, 'preview')}"
        case "tool.failed":
            return f"ended a call of {name}, which failed"
        case "turn.ended" if data.get("abandoned"):
            return f"ended a turn with {_text(data, 'abandoned')} calls still open"
        case "agent.output" if data.get("preview"):
            return f"said: {_text(data, 'preview')}"
        case "agent.finished" if data.get("outcome") == "failed":
            return "failed"
        case "finding.cleared" if data.get("detector") in STALLS:
            return "is no longer silent"
        case "finding.cleared" if data.get("subject"):
            return f"gives no more cause for concern ({_text(data, 'detector')}) about {_text(data, 'subject')}"
        case "guidance.said":
            characters = _text(data, "characters") or 0
            return f"was told something ({_text(data, 'kind') or 'guidance'}, {characters} characters)"
        case "question.asked":
            return f"asks about {quote(str(data.get('content', '')), glyphs)}: {_text(data, 'question')}"
        case "question.answered":
            return f"answered {quote(str(data.get('content', '')), glyphs)}: {_text(data, 'answer')}"
        case "agent.spawned" if data.get("label"):
            return f"started the agent {_text(data, 'child')} ({_text(data, 'label')})"
        case "mode.changed" if data.get("mode") == "plan":
            return "entered plan mode"
        case _ if kind in _DEEDS:
            return re.sub(r"{(\w+)}", lambda found: _text(data, found[1]), _DEEDS[kind])
        case _:
            return safe_line(kind)


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
    elif event.kind not in _PLAN_DEEDS:
        return ""
    reason = _text(data, "reason")
    return f": {reason}" if reason else ""


def _inner(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return an inner object; another version may have written another shape."""
    value = data.get(key)
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _task_sentence(event: Event, glyphs: Glyphs) -> str:
    """Return an event of a task: `worker-1 took task 3 “Ship it”`."""
    by_itself = _BY_ITSELF.get(event.kind) if not event.by else None
    template = by_itself or _TASK_DEEDS.get(event.kind) or _BY_ITSELF.get(event.kind) or safe_line(event.kind)
    subject = str(event.data.get("subject") or "")
    task = f"task {_text(event.data, 'id')} {quote(subject, glyphs)}"
    said = template.replace("{blocker}", _text(event.data, "blocker")).replace("{task}", task)
    if event.kind in _BY_ITSELF and (by_itself or event.kind not in _TASK_DEEDS):
        return said
    reason = _text(event.data, "reason") or _text(_inner(event.data, "set"), "failure")
    author = safe_line(event.by or event.agent or "") or "someone"
    return f"{author} {said}{f': {reason}' if reason else ''}"


def _flow_deed(kind: str, data: Mapping[str, Any], glyphs: Glyphs) -> str:
    """Return an event of a flow without its author: `started the flow “Sort the inbox”`."""
    flow = f"the flow {quote(str(data.get('goal') or ''), glyphs)}"
    said = _FLOW_DEEDS[kind].replace("{flow}", flow)
    match kind:
        case "flow.state_updated":
            return f"{said} to {_text(data, 'next_step')}" if data.get("next_step") else said
        case "flow.failed":
            return f"{said}: {_text(data, 'reason')}" if data.get("reason") else said
        case "flow.step_observed":
            return f"{said}: {_text(data, 'run_id')} {_text(data, 'status')}"
        case _:
            return said


def _text(data: Mapping[str, Any], key: str) -> str:
    return safe_line(str(data.get(key) or ""))


# Findings of detectors, and the length of a silence.


class Silent(Struct, frozen=True):
    """An agent that has fallen silent: the stall that was detected, its length if that is known, and its place."""

    session: str
    agent: str
    detector: str
    silent: timedelta | None = None
    place: str = ""


def finding_words(who: str, detector: str, subject: str, seen: str, length: timedelta | None = None) -> str:
    """Return a finding about an agent of that name as a sentence for people."""
    if detector in STALLS:
        return stall_words(who, Silent("", "", detector, length))
    said = _LOOPS.get(detector)
    return f"{who}: {seen}" if said is None else f"{who} {said.replace('{tool}', subject or 'a tool')}."


def stall_words(who: str, silent: Silent) -> str:
    """Return the stall of an agent of that name as a sentence."""
    said = _STALLS.get(silent.detector, "has been silent{for}")
    long = "" if silent.silent is None else span(silent.silent)
    when = "" if not long else f" {long} ago" if silent.detector in _SINCE else f" for {long}"
    where = f", {silent.place}," if silent.place else ""
    return f"{who}{where} {said.replace('{for}', when)}."


def span(length: timedelta | None) -> str:
    """Return a length of time as a person says it: `45 s`, `3 min`, `2 h 5 min`."""
    if length is None:
        return ""
    seconds = int(length.total_seconds())
    if seconds < 60:
        return f"{seconds} s"
    minutes = seconds // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
