"""The board over HTTP: the same names, with a token, for agents and programs on another machine.

What an agent needs is answered by the server; what is not, raises `NotOverHttp`. Tool calls are described here, so that
neither their arguments nor their results leave this machine, and who changes something is the name of the token.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import wraps
from inspect import Parameter, getattr_static, signature
from operator import attrgetter
from time import monotonic, sleep
from typing import Any, Final, TypeVar, cast

import msgspec

from punchlist.agent import Agent
from punchlist.agent.context import AgentRunner
from punchlist.agent.described_calls import StartedCall, describe_end, describe_start
from punchlist.agent.edits import describe_operation
from punchlist.agent.plans import seconds_left
from punchlist.board import Board
from punchlist.core.approval import Plan
from punchlist.core.events import Event
from punchlist.core.task import Task
from punchlist.core.todo import TodoList
from punchlist.detect.findings import FINE, Verdict
from punchlist.dialects.base import Reply
from punchlist.errors import (
    AgentUnknown,
    InvalidInput,
    NotOverHttp,
    PlanMissing,
    RevisionConflict,
    SessionUnknown,
    StoreClosed,
    TaskListUnknown,
    TaskRevisionConflict,
    TaskUnknown,
)
from punchlist.reader import Clock, system_clock
from punchlist.remote.connection import Connection, name_path
from punchlist.remote.records import RECORDS
from punchlist.remote.verbs import LOCAL_OPTIONS, QUIET, AgentState, Verb, list_verbs
from punchlist.settings.environment import Folder, Project, find_project
from punchlist.settings.servers import read_token
from punchlist.store import Store
from punchlist.tasks import Tasks
from punchlist.tasks.handle import TaskGraph
from punchlist.text.hashing import blake2b
from punchlist.text.redaction import redact_value
from punchlist.text.tool_values import passage

C = TypeVar("C", bound=type)
_PAGE: Final = 1000
_POLL_SECONDS: Final = 0.5
"""How often a follower asks for events, and a program whether its plan is decided."""

_MOST_STARTED: Final = 1000
"""Calls that have begun here and not ended, of one agent; the oldest is forgotten."""

_LAST_WORDS: Final = 2000
"""Characters of a model's last message that are sent: the stop guard looks at its end."""


def refuse_others(*local: str) -> Callable[[C], C]:
    """Decorate a handle over HTTP: each public name of the class above that it does not define raises `NotOverHttp`.

    Those in `local` are right as they are: they need no board, or only what is defined here.
    """

    def add_members(kind: C) -> C:
        above = kind.__mro__[1]
        for name in dir(above):
            if name.startswith("_") or name in vars(kind) or name in local:
                continue
            member = getattr_static(above, name)
            if isinstance(member, property):
                setattr(kind, name, property(_refuse(kind, name), doc=member.__doc__))
            elif callable(member):
                setattr(kind, name, wraps(member)(_refuse(kind, name)))
        return kind

    return add_members


def _refuse(kind: type, name: str) -> Callable[..., Any]:
    def refuse(self: Any, *_: object, **__: object) -> Any:
        raise NotOverHttp(what=f"`{kind.__mro__[1].__name__}.{name}`", url=getattr(self, "board", self).store.path)

    return refuse


# The board.


class RemoteStore:
    """Stands for the store of a board on a server: its events can be read and waited for, and nothing else."""

    durable = True

    def __init__(self, connection: Connection, key: bytes) -> None:
        self.connection = connection
        self.path = connection.url
        self.key = key
        self._closed = False

    def events_after(self, after: int, limit: int = _PAGE) -> Sequence[Event]:
        return self._load_events(after, limit).events

    def last_seq(self) -> int:
        return self._load_events(2**62, 1).last

    def _load_events(self, after: int, limit: int) -> _EventsPage:
        if self._closed:
            raise StoreClosed(path=self.path)
        return self.connection.request("GET", "/events", query={"after": after, "limit": limit}, kind=_EventsPage)

    def wait(self, after: int, timeout: float | None) -> bool:
        """Block until there are events after `after`; False when the time is up or the board closes."""
        ends = None if timeout is None else monotonic() + timeout
        while not self._closed:
            page = self._load_events(after, 1)
            if page.events or page.last < after:
                return True
            left = _POLL_SECONDS if ends is None else min(_POLL_SECONDS, ends - monotonic())
            if left <= 0:
                return False
            sleep(left)
        return False

    def close(self) -> None:
        self._closed = True
        self.connection.close()

    def __getattr__(self, name: str) -> Any:
        raise NotOverHttp(what="This", url=self.path)


class _EventsPage(msgspec.Struct, frozen=True):
    events: tuple[Event, ...]
    last: int


@refuse_others(
    "agent",
    "agents_process",
    "close",
    "events",
    "follow",
    "gates",
    "is_remote",
    "log_fault",
    "now",
    "offers_tools",
    "tasks",
)
class RemoteBoard(Board):
    """A board on a server. Safe to use from many threads, whose requests follow one another on one connection."""

    is_remote = True

    def __init__(
        self, url: str, *, token: str | None = None, clock: Clock = system_clock, is_typed: bool = False
    ) -> None:
        secret = read_token(url) if token is None else token
        self.connection = Connection(url, secret, is_typed=is_typed)
        self.is_typed = is_typed
        """A person types what is sent: it counts as theirs if the token was made for one."""
        # The digests of arguments are compared with those of this program alone, and say nothing without the token.
        key = blake2b(secret.encode(), digest_size=32, person=b"calls").digest()
        super().__init__(cast("Store", RemoteStore(self.connection, key)), clock=clock)

    @classmethod
    def open(
        cls, url: str | os.PathLike[str] | None = None, *, durability: Any = None, clock: Clock = system_clock
    ) -> Any:
        """Open the board of a server. What `durability` says is the server's affair."""
        return cls(str(url), clock=clock)

    def _make_agent(self, runner: AgentRunner) -> RemoteAgent:
        return RemoteAgent(runner)

    def load(self, name: str, kind: Any, *, project: Any = None, **query: object) -> Any:
        """Return a record of the board by the name of the method that returns it, or of the screen that shows it."""
        query["project"] = self.name_project(project)
        return self.connection.request("GET", f"/records/{name}", query=query, kind=kind)

    def task_lists(self) -> dict[str, int]:
        """Return the names of the lists of tasks, and how many tasks each ever had."""
        found = self.connection.request("GET", "/task-lists")
        return {one["list"]: one["created"] for one in found["lists"]}

    def send(self, path: str, body: object) -> Any:
        """Send a change; return the reply."""
        return self.connection.request("POST", path, body=body, key=os.urandom(16).hex())

    def name_project(self, folder: Folder) -> str | None:
        """Return the key of a folder's project on this board; None for every project."""
        return None if folder is None else self._find_place(folder).key

    def _find_place(self, folder: Folder) -> Project:
        """Return the project of a folder as its server knows it: a repository of another machine by its address."""
        found = find_project(folder)
        is_here = self.connection.url.startswith("http://")  # then it is on this machine, and has the folder itself
        return found if is_here or not found.remote else found._replace(key=f"repo://{found.remote}")


def _add_record(name: str) -> None:
    @wraps(getattr(Board, name))
    def load(self: RemoteBoard, after: int | str | None = None, **query: Any) -> Any:
        return self.load(name, RECORDS[name], after=after, **query)

    setattr(RemoteBoard, name, load)


for _name in RECORDS:
    _add_record(_name)


# Agents.


@refuse_others(
    "compaction_block", "dialect", "layers", "offered", "prompt", "spawn", "tasks", "tools", "unjudged_tools", "work_on"
)
class RemoteAgent(Agent):
    """One agent of one session, on a server. What never raises does not here either: what fails is logged."""

    board: RemoteBoard

    def __init__(self, runner: AgentRunner) -> None:
        super().__init__(runner)
        self._path = name_path("sessions", self.session, "agents", self.name)
        self._started: OrderedDict[str, StartedCall] = OrderedDict()
        sent = {key: value for key, value in runner.options.items() if key not in LOCAL_OPTIONS}
        self._handle = {"dialect": self.dialect, "profile": self.profile, "options": sent}
        self._handle["project"] = self._runner.place.key

    # Reading.

    @property
    def state(self) -> AgentState:
        """The agent as it is now: its list, tasks, mode and plans."""
        return self.board.connection.request("GET", f"{self._path}/state", kind=AgentState)

    @property
    def project(self) -> str:
        """The project of the session, which is where the session was first seen."""
        return self.state.project or self._runner.project

    @property
    def folder(self) -> str:
        """The root of the worktree in which the session was first seen; without a repository, the folder."""
        return self.state.folder or self._runner.place.folder

    def at(self, revision: int) -> TodoList | None:
        """Return the list as it was at a revision; None if there is no such revision, or it was pruned."""
        try:
            path = f"{self._path}/todos"
            return self.board.connection.request("GET", path, query={"revision": revision}, kind=TodoList)
        except (AgentUnknown, SessionUnknown):
            return None if revision else TodoList()
        except InvalidInput:
            return None

    # Calls.

    def call(self, name: str, args: Any = None, *, call_id: str | None = None) -> Reply:
        """Answer a tool call. The same `call_id` again gets the first reply again, and nothing is applied twice."""
        secrets = self._runner.settings.watch.secrets
        given = args if secrets is None else redact_value(args, secrets)
        body = {**self._handle, "tool": name, "arguments": given}
        if call_id is not None:
            body["call_id"] = call_id
        return self._send("/call", body, Reply)

    def _send(
        self, path: str, body: Mapping[str, Any], kind: Any, *, method: str = "POST", revision: int | None = None
    ) -> Any:
        headers = {} if revision is None else {"If-Match": f'"{revision}"'}
        key = os.urandom(16).hex()
        return self.board.connection.request(method, self._path + path, body=body, key=key, headers=headers, kind=kind)

    def run_verb(self, verb: Verb, given: Mapping[str, Any]) -> Any:
        """Call a method of this agent on the server, once."""
        return self._send(f"/{verb.name}", {**self._handle, **given}, verb.reply).result

    def _add_child(self, name: str, label: str | None, id: str | None) -> str:
        body = {**self._handle, "name": name, "label": self._runner.clean_label(label), "id": id}
        return self._send("/spawn", body, dict[str, str])["name"]

    # Reports: described here.

    def tool_started(self, call_id: str | None, name: str, args: Any = None, *, via: str = "") -> Verdict:
        """Record that a tool call begins; return the verdict on it, from the calls before."""
        try:
            described = describe_start(self._runner, name, args, via=via)
            self._started[call_id or name] = described
            if len(self._started) > _MOST_STARTED:
                self._started.popitem(last=False)
        except Exception:
            return self._runner.log_failure(FINE)
        return self.record_start(call_id, described)

    def tool_finished(
        self,
        call_id: str | None,
        result: Any = None,
        *,
        is_error: bool | None = None,
        exit_code: int | None = None,
        name: str = "",
    ) -> None:
        """Record that a tool call has ended. `name` is needed only for a call that has no id."""
        self._end(call_id, name, result, "tool.finished", is_error=is_error, exit_code=exit_code)

    def tool_failed(self, call_id: str | None, error: Any = None, *, name: str = "") -> None:
        """Record that a tool call failed: it was refused, timed out, or its tool broke."""
        self._end(call_id, name, error, "tool.failed", is_error=True)

    def _end(self, call_id: str | None, name: str, result: Any, kind: Any, **outcome: Any) -> None:
        try:
            started = self._started.pop(call_id or name, None)
            described = describe_end(self._runner, name, result, kind, started=started, **outcome)
        except Exception:
            self._runner.log_failure(None)
        else:
            self.record_end(call_id, described)

    # What people do, in the name of the token.

    def edit(self, ops: Any, *, by: str = "", revision: int | None = None, person: bool = False) -> TodoList:
        """Apply targeted operations, given as mappings, all or none; return the new list."""
        self._refuse_person(person)
        listed: list[Any] = list(cast("list[Any]", ops)) if isinstance(ops, list | tuple) else [ops]
        given: list[Any] = [one if isinstance(one, Mapping) else describe_operation(one) for one in listed]
        return self._send("/todos", {"operations": given}, TodoList, method="PATCH", revision=revision)

    def undo(self, *, by: str = "", revision: int | None = None) -> TodoList:
        """Roll back the last change of this token; refuse, and name the items, if they were changed again since."""
        return self._send("/todos/undo", {}, TodoList, revision=revision)

    def approve_plan(
        self, revision: int | None = None, *, by: str = "", todos: bool = False, person: bool = False
    ) -> Plan:
        """Approve the plan and end plan mode. With `todos` its steps become the todo list."""
        self._refuse_person(person)
        body = {"revision": self._find_revision(revision), "todos": todos}
        return self._send("/plan/approve", body, Plan)

    def reject_plan(self, reason: str, *, by: str = "", revision: int | None = None, person: bool = False) -> Plan:
        """Reject the plan and say why; plan mode stays on."""
        self._refuse_person(person)
        body = {"revision": self._find_revision(revision), "reason": reason}
        return self._send("/plan/reject", body, Plan)

    def _find_revision(self, revision: int | None) -> int:
        if revision is not None:
            return revision
        if (plan := self.plan) is None:
            raise PlanMissing
        return plan.revision

    def _refuse_person(self, person: bool) -> None:
        if person and not self.board.is_typed:
            raise NotOverHttp(what="To act as a person by a token", url=self.board.store.path)

    def wait_for_plan(self, id: str | None = None, *, timeout: float | None = None) -> Plan:
        """Return the plan once it is decided, superseded or expired; or as it stands after `timeout` seconds."""
        ends = None if timeout is None else monotonic() + timeout
        while True:
            plan = next((one for one in reversed(self.plans) if id in (None, one.id)), None)
            if plan is None:
                raise PlanMissing
            left = seconds_left(plan, self.board.now(), None if ends is None else ends - monotonic())
            if left is not None and left <= 0:
                return plan
            sleep(_POLL_SECONDS if left is None else min(_POLL_SECONDS, left))


_SHORTENED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "text": lambda text, secrets: passage(str(text), own=secrets),
    "last_text": lambda text, secrets: passage(str(text)[-_LAST_WORDS:], own=secrets),
    "args": redact_value,
}
"""What is made of arguments before they are sent: no more than the board keeps, and no secrets."""


def _add_verb(verb: Verb) -> None:
    @wraps(getattr(Agent, verb.name))
    def call(self: RemoteAgent, *args: Any, **kwargs: Any) -> Any:
        given = verb.bind(args, kwargs)
        secrets = self._runner.settings.watch.secrets  # pyright: ignore[reportPrivateUsage]
        if verb.name != "propose_plan":  # a person reads it whole
            given |= {name: _SHORTENED[name](given[name], secrets) for name in given.keys() & _SHORTENED.keys()}
        if verb.name not in QUIET:
            return self.run_verb(verb, given)
        try:
            return self.run_verb(verb, given)
        except Exception:
            return self._runner.log_failure(QUIET[verb.name])  # pyright: ignore[reportPrivateUsage]

    setattr(RemoteAgent, verb.name, call)


for _name in ("todos", "work", "mode", "plan_mode", "plan", "plans"):
    _known = property(attrgetter(f"state.{_name}"), doc=getattr_static(Agent, _name).__doc__)
    setattr(RemoteAgent, _name, _known)

for _verb in list_verbs().values():
    _add_verb(_verb)


# Tasks.

_TASK_ROUTES: Final[dict[str, tuple[str, str]]] = {
    "get": ("GET", "/tasks/{id}"),
    "list": ("GET", "/tasks"),
    "ready": ("GET", "/ready"),
    "history": ("GET", "/tasks/{id}/history"),
    "graph": ("GET", "/graph"),
    "create": ("POST", "/tasks"),
    "update": ("PATCH", "/tasks/{id}"),
    "delete": ("DELETE", "/tasks/{id}"),
    "claim": ("POST", "/claim"),
    "signal": ("POST", "/signal"),
    "promote": ("POST", "/promote"),
    "todos": ("POST", "/tasks/{id}/todos"),
    **{
        verb: ("POST", f"/tasks/{{id}}/{verb}")
        for verb in ("heartbeat", "complete", "release", "fail", "retry", "cancel", "wait", "resume")
    },
}
"""The routes of the methods of a list of tasks; their bodies and queries have the names of the parameters."""

_OF_NO_LIST: Final[dict[str, Any]] = {"list": (), "ready": (), "signal": (), "claim": (), "graph": TaskGraph((), ())}
"""What those return for a list that is not there yet; others know no task of it."""


@refuse_others()
class RemoteTasks(Tasks):
    """One list of tasks on a server. A handle that is made for an agent acts in its name."""

    board: RemoteBoard

    def __init__(self, board: RemoteBoard, name: str, *, agent: Any = None, **rest: Any) -> None:
        super().__init__(board, name, agent=agent, **rest)
        self._path = name_path("task-lists", self.name)
        self._headers = {} if agent is None else {"Punchlist-Agent": name_path(agent.session, agent.name)[1:]}

    def list(self, *, limit: int | None = None, after: str | None = None, **filters: Any) -> tuple[Task, ...]:
        """Return the tasks of the list by id, those after `after` and no more than `limit`."""
        found: list[Task] = []
        left = 10**9 if limit is None else limit
        while left > 0:
            page = self.send("list", {"after": after, "limit": min(left, _PAGE), **filters})
            found += page
            if len(page) < _PAGE:
                break
            left, after = left - len(page), page[-1].id
        return tuple(found)

    def update(self, id: str, *, person: bool = False, **changes: Any) -> Task:
        """Change a task, all or nothing; with `revision` only if it is still at that."""
        if changes.get("status") != "completed":
            return self.send("update", {"id": id, "person": person, **changes})
        if changes.keys() - {"status", "result", "fence", "revision"}:
            raise InvalidInput(problem="Over HTTP complete a task by itself, and change its other fields before.")
        del changes["status"]
        return self.complete(id, person=person, **changes)

    def claim(
        self, owner: str | None = None, *, id: str | None = None, limit: int | None = None, **options: Any
    ) -> Any:
        """Claim the next ready task, or None; with `id` that one; with `limit` up to so many, as a tuple."""
        given = {"owner": owner or self.by or None, "id": id, "limit": limit, "lease": self.lease, **options}
        taken = self.send("claim", given)
        return taken if limit is not None else next(iter(taken), None)

    def send(self, name: str, given: dict[str, Any]) -> Any:
        """Send the call of a method, and return what it returns."""
        method, path = _TASK_ROUTES[name]
        if given.pop("person", False) and not self.board.is_typed:
            raise NotOverHttp(what="To act as a person by a token", url=self.board.store.path)
        revision, call_id = given.pop("revision", None), given.pop("call_id", None)
        if "{id}" in path:
            path = path.replace("{id}", name_path(str(given.pop("id")))[1:])
        if isinstance(until := given.get("until"), timedelta):
            given |= {"until": None, "seconds": until.total_seconds()}
        if (agent := given.get("agent")) is not None:
            given |= {"session": agent.session, "agent": agent.name}
        if "checklist" in given:
            given["checklist"] = [{"text": one} if isinstance(one, str) else one for one in given["checklist"]]
        given = {field: value for field, value in given.items() if value is not None or field in _CLEARED}
        key = repr((self.name, path, call_id)).encode() if call_id is not None else os.urandom(16)
        is_sent = method in ("POST", "PATCH")
        try:
            reply = self.board.connection.request(
                method,
                self._path + path,
                query=None if is_sent else given,
                body=given if is_sent else None,
                key="" if method == "GET" else blake2b(key, digest_size=16).hexdigest(),
                headers=self._headers if revision is None else {**self._headers, "If-Match": f'"{revision}"'},
            )
        except TaskListUnknown:
            if name in _OF_NO_LIST:
                return _OF_NO_LIST[name]
            raise TaskUnknown(id=path.split("/")[2][:80], list=self.name) from None
        except RevisionConflict as error:  # the code of both is the same
            raise TaskRevisionConflict.from_text(str(error)) from None
        return _read_reply(reply)


_CLEARED: Final = ("active_form", "parent", "max_attempts", "not_before")
"""Fields of a task that None clears."""


def _add_task_call(name: str) -> None:
    shape = signature(getattr(Tasks, name))

    @wraps(getattr(Tasks, name))
    def call(self: RemoteTasks, *args: Any, **kwargs: Any) -> Any:
        bound = shape.bind(self, *args, **kwargs)
        bound.apply_defaults()
        given: dict[str, Any] = {}
        for field, value in list(bound.arguments.items())[1:]:
            given |= value if shape.parameters[field].kind is Parameter.VAR_KEYWORD else {field: value}
        given.pop("by", None)
        return self.send(name, given)

    setattr(RemoteTasks, name, call)


for _name in _TASK_ROUTES.keys() - {"list", "update", "claim"}:
    _add_task_call(_name)


# Views as records.


def _read_reply(view: dict[str, Any]) -> Any:
    """Return the tasks, the events, the list or the task of a reply."""
    if "events" in view:
        return msgspec.convert(view["events"], tuple[Event, ...])
    if "items" in view:
        return msgspec.convert(view, TodoList)
    if "tasks" not in view:
        return _convert_task(view)
    tasks = tuple(map(_convert_task, view["tasks"]))
    if "edges" not in view:
        return tasks
    return TaskGraph(tasks, tuple((one["blocker"], one["task"]) for one in view["edges"]))


def _convert_task(view: dict[str, Any]) -> Task:
    """Return the task of a `TaskView`, which has objects where a task has tuples."""
    blockers = [(one["id"], one["status"]) for one in view["held_by"]]
    return msgspec.convert({**view, "held_by": blockers, "progress": tuple(view["progress"].values())}, Task)


RemoteBoard._tasks_class = RemoteTasks  # pyright: ignore[reportPrivateUsage]
