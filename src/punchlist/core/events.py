"""Define the kinds of events, diff two lists into events, and fold events back into a list.

`fold` is the inverse of `diff`: folding a list's events up to a revision gives the list at that revision.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

from msgspec import UNSET, Struct, UnsetType, convert, defstruct
from msgspec.structs import asdict, replace
from msgspec.structs import fields as fields_of

from punchlist.core.todo import MOST_OMITTED, Phase, Status, TodoItem, TodoList
from punchlist.errors import InvalidInput, suggest

REPORTS: Final = frozenset({"tool.started", "tool.updated", "tool.finished", "tool.failed"})
TURN_ENDS: Final = frozenset({"turn.ended", "agent.finished"})

KINDS: Mapping[str, str] = {
    "plan.started": "a new list began; the items of the list before are history: {plan_id}",
    "item.added": "an item was added: {item, index}",
    "item.started": "work on an item began: {id, content, set}",
    "item.paused": "an item in progress went back to pending: {id, content, set}",
    "item.completed": "an item was completed: {id, content, set}",
    "item.failed": "an item failed and is still owed: {id, content, set}",
    "item.cancelled": "an item was cancelled: {id, content, set}",
    "item.blocked": "an item was blocked: {id, content, set}",
    "item.unblocked": "a blocked item may continue: {id, content, set}",
    "item.reopened": "a closed or failed item is pending again: {id, content, set}",
    "item.changed": "an item's text or other fields changed: {id, content, set}",
    "item.omitted": "a rewrite left an open item out; it can be restored: {id, content}",
    "item.restored": "an omitted item was restored: {id, content, set, index}",
    "item.graded": "a check changed the grade of an item that has left its list: {plan, id, content, set}",
    "item.removed": "an item was removed from the list: {id, content}",
    "list.ordered": "the items were put in another order: {ids}",
    "list.wiped": "the finished list was cleared, as its dialect does: {ids}",
    "list.replaced": "the list was written whole: {revision, …}",
    "list.merged": "items were merged by id: {revision, …}",
    "list.edited": "items were changed one by one: {revision, …}",
    "list.restored": "the list was restored from elsewhere: {revision, source, written_at, call_id, …}",
    "list.undone": "an author's last change was rolled back: {revision, undid, …}",
    "list.confirmed": "a write changed nothing: the list was like that already: {revision}",
    "list.refused": "a write was refused and changed nothing: {code, problem}",
    "list.graded": "a check changed the grades of completed items: {revision}",
    "tool.started": "a tool call of an agent began: {call_id, name, kind, hash, item, preview, …}",
    "tool.updated": "a running tool call printed something: {call_id, name, preview}",
    "tool.finished": "a tool call of an agent ended: {call_id, name, is_error, seconds, exit_code, result, …}",
    "tool.failed": "a tool call of an agent failed: {call_id, name, is_error, seconds, result, …}",
    "turn.ended": "a turn of an agent ended; its open calls count as abandoned: {abandoned}",
    "agent.output": "an agent said something that people see: {characters, preview, text}",
    "agent.finished": "an agent has finished: {outcome, preview, text}",
    "agent.state": "an agent became busy, waiting, idle or gone: {host, conversation, state, since, waits_for, …}",
    "agent.usage": "the tokens that an agent has used so far: {input, output, cached}",
    "finding.raised": "a detector found something: {detector, level, seen, count, subject}",
    "finding.cleared": "what a detector found is over: {detector, level, seen, count, subject}",
    "guidance.said": "a text was put before the model: {kind, characters}",
    "transcript.write": "a list write older than the present list, seen late: {source, call_id, items}",
    "agent.copied": "a list was copied from an agent's log; read-only until the agent is heard of: {source, format}",
    "agent.attached": "an agent that was known from its log alone is attached: {host}",
    "agent.joined": "an agent was seen for the first time: {project}",
    "agent.spawned": "an agent started a child, for the item in focus if there is one: {child, label, item}",
    "mode.changed": "an agent entered or left plan mode: {mode, because, reason}, without the last two on leaving",
    "mode.refused": "plan mode refused a tool: {tool, kind}",
    "mode.unjudged": "plan mode let a tool pass of which nothing is known: {tool}",
    "approval.started": "a plan begins to stream in: {plan, plan_revision, item}",
    "approval.delta": "a piece of a plan that streams in: {plan, plan_revision, item, delta}",
    "approval.proposed": "a plan was put before a person: {plan, plan_revision, item, text}",
    "approval.approved": "a plan was approved: {plan, plan_revision, person}",
    "approval.rejected": "a plan was rejected: {plan, plan_revision, reason, person}",
    "approval.superseded": "a newer plan replaced an open one: {plan, plan_revision}",
    "approval.dropped": "a plan that streamed in was dropped: {plan, plan_revision, item}",
    "approval.refused": "a call of a plan tool was refused and changed nothing: {code, problem}",
    "question.asked": "an item waits for a person's answer: {item, content, question}",
    "question.answered": "a question was answered: {item, content, question, answer, person}",
    "news.sent": "a host was told that there is news for its model, up to an event: {host, via, upto}",
    "news.accepted": "a host began a turn with news for its model: {host, upto}",
    "news.seen": "a model answered after it was told the news: {host, upto}",
    "session.handed_off": "a session was offered to another host: {from, to}",
    "session.continued": "a conversation of another host continues a session: {from, host, conversation}",
    "session.copied": "a session's lists were copied here: {source}",
    "session.moved": "a session got another id: {source}",
    "token.created": "a token was made: {name, scope, project, projects, owner}",
    "token.renewed": "a token got a new secret and another end: {name}",
    "token.revoked": "a token was revoked: {name}",
    "token.signed_in": "a browser was signed in by a link that works once: {name}",
    "board.pruned": "the event with this number was deleted with its session or project: {}",
    "task.created": "a task was created: {list, id, subject, task}",
    "task.changed": "a task's text or settings changed: {list, id, subject, set}",
    "task.linked": "a task waits for another one: {list, id, subject, blocker}",
    "task.unlinked": "a task no longer waits for another one: {list, id, subject, blocker}",
    "task.claimed": "a worker claimed a task, under a lease: {list, id, subject, set}",
    "task.started": "work on a task began, without a lease: {list, id, subject, set}",
    "task.released": "a worker released a task: {list, id, subject, set, fence}",
    "task.expired": "a worker sent no heartbeat, and its lease ended: {list, id, subject, set}",
    "task.due": "a task may be retried after its pause: {list, id, subject, set}",
    "task.waiting": "a task waits for a time, an event or a person: {list, id, subject, set, fence}",
    "task.resumed": "the wait of a task is over: {list, id, subject, set}",
    "task.completed": "a task was completed: {list, id, subject, set, readied, fence}",
    "task.graded": "a check, or a person's word, changed the grade of a completed task: {list, id, subject, set}",
    "task.late": "a worker came too late; its result is kept: {list, id, subject, set}, or {…, fence, result}",
    "task.failed": "a task failed and is still owed: {list, id, subject, set, fence}",
    "task.retrying": "an attempt failed; the task is retried after a pause: {list, id, subject, set, fence}",
    "task.reopened": "a task that had ended is open again: {list, id, subject, set}",
    "task.cancel_requested": "the worker of a task is asked to cancel it: {list, id, subject, set}",
    "task.cancelled": "a task was cancelled: {list, id, subject, set, fence}",
    "task.refused": "a gate refused a task or its completion: {list, id, subject, on, reason}",
    "task.deleted": "a task was deleted from its list: {list, id, subject, readied}",
    "flow.created": "a flow was created: {flow, goal, revision, controller_id, current_step, after}",
    "flow.started": "a flow began to run: {flow, goal, revision}",
    "flow.waiting": "a flow waits: {flow, goal, revision, wait}",
    "flow.resumed": "the wait of a flow is over: {flow, goal, revision, state_patch}",
    "flow.finished": "a flow was finished: {flow, goal, revision, final_state, readied}",
    "flow.failed": "a flow failed: {flow, goal, revision, reason}",
    "flow.cancel_requested": "a flow is to be cancelled, and nothing else may happen to it: {flow, goal, revision}",
    "flow.cancelled": "a flow was cancelled: {flow, goal, revision}",
    "flow.state_updated": "a flow moved on within its status: {flow, goal, revision, patch, next_step}",
    "flow.step_observed": "a step of a flow was seen: {flow, goal, revision, run_id, status, runtime}",
    "flow.linked": "a flow comes after another one: {flow, goal, revision, before}",
    "flow.unlinked": "a flow need no longer come after another one: {flow, goal, revision, before}",
    "flow.pruned": "a flow that ended long ago was deleted: {flow, goal, revision}",
    "flow.refused": "a call about flows was refused and changed nothing: {code, problem}",
}
"""Every kind that this program writes, with what its data holds. Unknown kinds are kept and passed on."""


class Draft(NamedTuple):
    """An event before it has a number, a time and an author."""

    kind: str
    data: dict[str, Any]


class Event(Struct, frozen=True):
    """One event. `seq` orders all events of a board; numbers may jump, never repeat."""

    seq: int
    at: datetime
    kind: str
    by: str
    project: str | None
    session: str | None
    agent: str | None
    data: Mapping[str, Any]
    v: int = 1

    @property
    def cursor(self) -> str:
        """The cursor after this event, for any engine."""
        return str(self.seq)


class EventFilter(NamedTuple):
    """A choice of events; each field that is set must match. Make it with `make_filter`."""

    project: str | None = None
    session: str | None = None
    agent: str | None = None
    kinds: tuple[str, ...] = ()
    """Kinds, such as `item.started`, and groups, such as `item`."""

    def is_wanted(self, event: Event) -> bool:
        return (
            self.project in (None, event.project)
            and self.session in (None, event.session)
            and self.agent in (None, event.agent)
            and (not self.kinds or event.kind in self.kinds or event.kind.partition(".")[0] in self.kinds)
        )


def make_filter(
    *, project: str | None = None, session: str | None = None, agent: str | None = None, kinds: Iterable[str] = ()
) -> EventFilter:
    """Return a filter; raise `InvalidInput` for a kind that does not exist. A kind may end in `.*` or `.`."""
    given = [kind.removesuffix("*").rstrip(".") for kind in kinds]
    groups = dict.fromkeys(known.partition(".")[0] for known in KINDS)
    for kind in given:
        if kind not in KINDS and kind not in groups:
            near = suggest(kind, [*KINDS, *groups])
            problem = f"There is no kind of event `{kind[:80]}`{near}; the groups are {', '.join(groups)}."
            raise InvalidInput(problem=problem)
    return EventFilter(project, session, agent, tuple(given))


_LAST_SEQ = 2**63 - 1
"""The largest integer of SQLite."""


def parse_cursor(after: int | str) -> int:
    """Return the number of an event, from itself or from its cursor."""
    text = str(after)
    if not text.isdecimal():
        raise InvalidInput(
            problem=f"`{text[:80]}` is no cursor; use `event.seq` or `event.cursor`, or 0 for the start."
        )
    return min(int(text[:20]), _LAST_SEQ)


def diff(before: TodoList, after: TodoList) -> list[Draft]:
    """Return the events that lead from one list to the other, without the closing `list.…` event."""
    drafts: list[Draft] = []
    if after.plan_id != before.plan_id:
        drafts.append(Draft("plan.started", {"plan_id": after.plan_id}))
        before = TodoList(plan_id=after.plan_id, omitted=before.omitted)
    old = {item.id: item for item in before.items}
    kept: list[tuple[TodoItem, TodoItem]] = []
    arrivals: list[Draft] = []
    for index, item in enumerate(after.items):
        known = old.pop(item.id, None)
        if known is None:
            arrivals.append(_draft_arrival(before, item, index))
        else:
            kept.append((known, item))
    drafts.extend(_draft_departures(before, after, old))  # first, so that an arrival's index is its place
    drafts.extend(arrivals)
    for known, item in kept:
        if known is not item and (fields := _ITEMS.diff(known, item)):
            kind = "item.changed"
            if known.status is not item.status:
                kind = ARRIVALS.get(item.status) or RETURNS.get(known.status, "item.reopened")
            drafts.append(Draft(kind, {"id": item.id, "content": item.content, "set": fields}))
    kept_places = {item.id: place for place, (item, _) in enumerate(kept)}
    places = [kept_places[item.id] for item in before.items if item.id in kept_places]
    if places != sorted(places):
        drafts.append(Draft("list.ordered", {"ids": [item.id for item in after.items]}))
    return drafts


def _draft_arrival(before: TodoList, item: TodoItem, index: int) -> Draft:
    known = next((gone for gone in before.omitted if gone.id == item.id), None)
    if known is None:
        return Draft("item.added", {"item": encode_item(item), "index": index})
    fields = _ITEMS.diff(known, item)
    return Draft("item.restored", {"id": item.id, "content": item.content, "set": fields, "index": index})


def _draft_departures(before: TodoList, after: TodoList, gone: dict[str, TodoItem]) -> Iterable[Draft]:
    now_omitted = {item.id for item in after.omitted}
    present = {item.id for item in after.items}
    stayed = [item for item in before.omitted if item.id in now_omitted]
    same = 0
    while same < min(len(stayed), len(after.omitted)) and stayed[same] == after.omitted[same]:
        same += 1
    for item in after.omitted[same:]:
        data: dict[str, Any] = {"id": item.id, "content": item.content}
        if gone.get(item.id) != item:
            data["item"] = encode_item(item)
        yield Draft("item.omitted", data)
    for item in (*gone.values(), *(item for item in before.omitted if item.id not in present)):
        if item.id not in now_omitted:
            yield Draft("item.removed", {"id": item.id, "content": item.content})


ARRIVALS: Mapping[Status, str] = {
    Status.IN_PROGRESS: "item.started",
    Status.BLOCKED: "item.blocked",
    Status.COMPLETED: "item.completed",
    Status.FAILED: "item.failed",
    Status.CANCELLED: "item.cancelled",
}
RETURNS: Mapping[Status, str] = {Status.IN_PROGRESS: "item.paused", Status.BLOCKED: "item.unblocked"}
"""Kinds of events for a change to a status, and for one back to pending from a status."""


def draft_header(kind: str, before: TodoList, after: TodoList, **extra: Any) -> Draft:
    """Draft the event that closes a change: the new revision, and changes of the list as a whole."""
    data: dict[str, Any] = {"revision": after.revision, **extra}
    if after.explanation != before.explanation:
        data["explanation"] = after.explanation
    if after.phases != before.phases:
        data["phases"] = [{"id": phase.id, "name": phase.name} for phase in after.phases]
    if after.next_id != before.next_id:
        data["next_id"] = after.next_id
    return Draft(kind, data)


def fold(todos: TodoList, kind: str, data: Mapping[str, Any]) -> TodoList:
    """Return the list after one more event. Unknown kinds, and kinds of other things, leave it as it is."""
    if kind.startswith("item."):
        return _fold_item(todos, kind, data)
    if kind == "plan.started":
        return replace(todos, plan_id=data["plan_id"], items=())
    if kind == "list.ordered":
        by_id = {item.id: item for item in todos.items}
        return replace(todos, items=tuple(by_id[item_id] for item_id in data["ids"]))
    if kind == "list.wiped":
        gone = set(data["ids"])
        return replace(todos, items=tuple(item for item in todos.items if item.id not in gone))
    if kind.startswith("list.") and kind != "list.refused":
        return _fold_header(todos, data)
    return todos


def _fold_header(todos: TodoList, data: Mapping[str, Any]) -> TodoList:
    phases = todos.phases
    if "phases" in data:
        phases = tuple(Phase(phase["id"], phase["name"]) for phase in data["phases"])
    return replace(
        todos,
        revision=data["revision"],
        explanation=data.get("explanation", todos.explanation),
        phases=phases,
        next_id=data.get("next_id", todos.next_id),
        # Only here, where a change is complete: an event before may bring back the oldest one.
        omitted=todos.omitted[-MOST_OMITTED:],
    )


def _fold_item(todos: TodoList, kind: str, data: Mapping[str, Any]) -> TodoList:
    items = list(todos.items)
    if kind == "item.added":
        items.insert(data["index"], decode_item(data["item"]))
        return replace(todos, items=tuple(items))
    item_id = data["id"]
    if kind == "item.restored":
        known = next(item for item in todos.omitted if item.id == item_id)
        items.insert(data["index"], with_fields(known, data["set"]))
        return replace(todos, items=tuple(items), omitted=_without(todos.omitted, item_id))
    if kind == "item.removed":
        return replace(todos, items=_without(todos.items, item_id), omitted=_without(todos.omitted, item_id))
    if kind == "item.omitted":
        given = data.get("item")
        item = decode_item(given) if given else next(item for item in items if item.id == item_id)
        return replace(todos, items=_without(todos.items, item_id), omitted=(*_without(todos.omitted, item_id), item))
    if "set" not in data:
        return todos
    for place, item in enumerate(items):
        if item.id == item_id:
            items[place] = with_fields(item, data["set"])
    return replace(todos, items=tuple(items))


def _without(items: tuple[TodoItem, ...], item_id: str) -> tuple[TodoItem, ...]:
    return tuple(item for item in items if item.id != item_id)


# Records as JSON values and back: what an event carries.

Record = TypeVar("Record", bound=Struct)


class FieldCodec(Generic[Record]):
    """Turns the fields of a record, but for `without`, into JSON values and back; `encoders` are for special forms."""

    def __init__(
        self, empty: Record, *, without: Container[str], encoders: Mapping[str, Callable[[Any], Any]] | None = None
    ) -> None:
        self._empty = empty
        self._encoders = encoders or {}
        types = {each.name: each.type for each in fields_of(empty) if each.name not in without}
        self._names = tuple(types)
        # One type for any part of the fields: msgspec prepares a Struct once, and another type at each call.
        self._some = defstruct("SomeFields", [(name, one | UnsetType, UNSET) for name, one in types.items()])

    def encode(self, record: Record) -> dict[str, Any]:
        """Return the fields that do not hold their default."""
        return self.diff(self._empty, record)

    def diff(self, before: Record, after: Record) -> dict[str, Any]:
        """Return the fields in which two records differ, with the later value in JSON form."""
        pairs = ((name, getattr(before, name), getattr(after, name)) for name in self._names)
        return {
            name: self._encoders.get(name, to_plain)(new) for name, old, new in pairs if new is not old and new != old
        }

    def apply(self, record: Record, fields: Mapping[str, Any]) -> Record:
        """Return the record with these fields, given in JSON form. Fields of a later version are ignored."""
        given = convert(fields, self._some)
        return replace(record, **{name: getattr(given, name) for name in fields if name in self._names})


def json_time(at: datetime) -> str:
    """Return a time as it stands in all JSON: ISO 8601 in UTC, ending in `Z`, as msgspec writes it too."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def to_plain(value: Any) -> Any:
    """Return a field of a record as JSON values. Values that a host gave are JSON already."""
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, datetime):
        return json_time(value)
    if isinstance(value, tuple):
        return [to_plain(each) for each in cast("tuple[Any, ...]", value)]
    if isinstance(value, Struct):
        return {name: to_plain(each) for name, each in asdict(value).items()}
    return value


_ITEMS = FieldCodec(TodoItem(id="", content=""), without=("id",))


def encode_item(item: TodoItem) -> dict[str, Any]:
    """Return an item as JSON values, without the fields that hold their default."""
    return {"id": item.id, "content": item.content, **_ITEMS.encode(item)}


def decode_item(data: Mapping[str, Any]) -> TodoItem:
    """Return the item that `encode_item` encoded. Fields of a later version are ignored."""
    return _ITEMS.apply(TodoItem(id=data["id"], content=data["content"]), data)


def with_fields(item: TodoItem, fields: Mapping[str, Any]) -> TodoItem:
    """Return the item with these fields, given in JSON form."""
    return _ITEMS.apply(item, fields)
