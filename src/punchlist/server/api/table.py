"""The table of all routes of the API: what each needs, takes and returns. OpenAPI and the docs are made from it."""

from __future__ import annotations

from typing import Annotated, Any, Final, get_type_hints

from msgspec import Meta

from punchlist import errors
from punchlist.errors import PunchlistError
from punchlist.remote.records import RECORDS
from punchlist.remote.verbs import list_verbs
from punchlist.server.api import agents, changes, machines, reading, tasks
from punchlist.server.api.routing import ApiRoute, Handler, Method, Need
from punchlist.views.lists import PlanView, TaskView, TodosView


def _describe_text(longest: int, about: str) -> Any:
    return Annotated[str, Meta(min_length=1, max_length=longest, description=about)]


PATH_PARAMETERS: Final[dict[str, Any]] = {
    "session": _describe_text(200, "The id of a session."),
    "agent": _describe_text(200, "The name of an agent of that session, such as `main`."),
    "list": _describe_text(
        4_200, "A list of tasks, such as `project:/projects/api` or `session:s1`; a slash is sent as `%2F`."
    ),
    "task": _describe_text(20, "The id of a task, such as `3`."),
    "dialect": _describe_text(100, "A dialect, such as `claude-code`."),
}
"""The parameters of paths, by their names."""

_AGENT: Final = "/sessions/{session}/agents/{agent}"
_LIST: Final = "/task-lists/{list}"
_TASK: Final = "/task-lists/{list}/tasks/{task}"
_NO_SESSION: Final = (errors.SessionUnknown,)
_NO_AGENT: Final = (errors.SessionUnknown, errors.AgentUnknown)
_NO_LIST: Final = (errors.TaskListUnknown,)
_NO_TASK: Final = (errors.TaskListUnknown, errors.TaskUnknown)
_NO_DECISION: Final = (
    *_NO_AGENT,
    errors.PlanMissing,
    errors.PlanRevisionConflict,
    errors.PlanDecided,
    errors.PlanExpired,
    errors.PlanUnfinished,
)
_NO_EDIT: Final = (*_NO_AGENT, errors.EditRefused, errors.RevisionConflict)
_NO_UNDO: Final = (*_NO_AGENT, errors.NothingToUndo, errors.UndoRefused, errors.RevisionConflict)
_NO_WAIT: Final = (errors.EditRefused, errors.AlreadyAnswered, errors.ItemGone, errors.TaskError)
_NO_QUESTION: Final = (*_NO_AGENT, errors.EditRefused, errors.NotAsked, errors.AlreadyAnswered, errors.ItemGone)
_NO_NEW_TASK: Final = (errors.TaskUnknown, errors.CycleRefused, errors.GateRefused)
_NO_APPROVAL: Final = (*_NO_DECISION, errors.PlanWithoutSteps)
_NO_CLAIM: Final = (*_NO_TASK, errors.TaskTaken, errors.TaskBlocked, errors.TaskNotReady, errors.ReservationRefused)
_NO_PROMOTION: Final = (*_NO_AGENT, errors.TaskUnknown, errors.GateRefused)
_NO_HANDLE: Final = (errors.SessionUnknown, errors.UnknownName, errors.ConfigInvalid)
_REFUSED: Final = (*_NO_TASK, errors.TaskError, errors.FenceStale, errors.TransitionRefused, errors.RevisionConflict)


def _route(
    method: Method,
    path: str,
    handler: Handler,
    *raised: type[PunchlistError],
    reply: Any = None,
    scope: Need = "edit",
    status: int = 200,
    takes_revision: bool = False,
    for_machines: bool = False,
) -> ApiRoute:
    """Return a route. Its handler says what it does, takes and, unless `reply` does, returns."""
    known = get_type_hints(handler)
    return ApiRoute(
        method=method,
        path=path,
        summary=handler.__doc__ or "",
        handler=handler,
        reply=reply or known["return"],
        query=known.get("query"),
        body=known.get("body"),
        scope=scope,
        status=status,
        errors=raised,
        takes_revision=takes_revision,
        for_machines=for_machines,
    )


def _read(
    path: str, handler: Handler, *raised: type[PunchlistError], reply: Any = None, for_machines: bool = False
) -> ApiRoute:
    return _route("GET", path, handler, *raised, reply=reply, scope="look", for_machines=for_machines)


def _change_task(verb: str, handler: Handler, *, for_machines: bool = False) -> ApiRoute:
    path = f"{_TASK}/{verb}"
    return _route("POST", path, handler, *_REFUSED, reply=TaskView, takes_revision=True, for_machines=for_machines)


ROUTES: Final[tuple[ApiRoute, ...]] = (
    # What is going on.
    _read("/now", reading.show_now),
    _read("/waits", reading.show_waits, *_NO_SESSION),
    _route("POST", "/waits/resolve", changes.resolve, *_NO_WAIT, reply=changes.AnsweredView, scope="answer"),
    _read("/search", reading.search),
    # Projects, sessions and agents.
    _read("/projects", reading.list_projects),
    _read("/sessions", reading.list_sessions, *_NO_SESSION),
    _read("/sessions/{session}", reading.show_session, *_NO_SESSION),
    _read("/sessions/{session}/receipt", reading.show_receipt, *_NO_SESSION),
    _read("/sessions/{session}/agents", reading.list_agents, *_NO_SESSION),
    _read(_AGENT, reading.show_agent, *_NO_AGENT, for_machines=True),
    # Todos.
    _read("/todos", reading.list_todos),
    _read(f"{_AGENT}/todos", reading.show_todos, *_NO_AGENT, for_machines=True),
    _route("PATCH", f"{_AGENT}/todos", changes.edit_todos, *_NO_EDIT, reply=TodosView, takes_revision=True),
    _route("POST", f"{_AGENT}/todos/undo", changes.undo_edit, *_NO_UNDO, reply=TodosView, takes_revision=True),
    _route(
        "POST", f"{_AGENT}/answers", changes.answer_question, *_NO_QUESTION, reply=changes.AnsweredView, scope="answer"
    ),
    # Plans.
    _read("/plans", reading.list_plans),
    _read(f"{_AGENT}/plan", reading.show_plan, *_NO_AGENT, errors.PlanMissing, reply=PlanView, for_machines=True),
    _read(f"{_AGENT}/plan/revisions", reading.list_plan_revisions, *_NO_AGENT),
    _read(f"{_AGENT}/plan/diff", reading.diff_plan, *_NO_AGENT, errors.PlanMissing),
    _route("POST", f"{_AGENT}/plan/approve", changes.approve_plan, *_NO_APPROVAL, reply=PlanView, scope="answer"),
    _route("POST", f"{_AGENT}/plan/reject", changes.reject_plan, *_NO_DECISION, reply=PlanView, scope="answer"),
    # Tasks.
    _read("/task-lists", tasks.list_task_lists, for_machines=True),
    _read(f"{_LIST}/tasks", tasks.list_tasks, *_NO_TASK, for_machines=True),
    _route("POST", f"{_LIST}/tasks", tasks.create_task, *_NO_NEW_TASK, reply=TaskView, status=201, for_machines=True),
    _read(f"{_LIST}/ready", tasks.list_ready, *_NO_LIST, for_machines=True),
    _read(f"{_LIST}/graph", tasks.show_graph, *_NO_LIST),
    _route("POST", f"{_LIST}/claim", tasks.claim_tasks, *_NO_CLAIM, for_machines=True),
    _route("POST", f"{_LIST}/signal", tasks.signal_tasks, *_NO_LIST),
    _route("POST", f"{_LIST}/promote", tasks.promote_items, *_NO_PROMOTION, reply=tasks.TasksView),
    _read(_TASK, tasks.show_task, *_NO_TASK, reply=TaskView, for_machines=True),
    _route("PATCH", _TASK, tasks.update_task, *_REFUSED, errors.CycleRefused, reply=TaskView, takes_revision=True),
    _route("DELETE", _TASK, tasks.delete_task, *_REFUSED, reply=TaskView, takes_revision=True),
    _read(f"{_TASK}/history", tasks.show_history, *_NO_TASK),
    _change_task("start", tasks.start_task),
    _change_task("heartbeat", tasks.send_heartbeat, for_machines=True),
    _change_task("release", tasks.release_task, for_machines=True),
    _change_task("complete", tasks.complete_task, for_machines=True),
    _change_task("fail", tasks.fail_task, for_machines=True),
    _change_task("retry", tasks.retry_task),
    _change_task("cancel", tasks.cancel_task),
    _change_task("wait", tasks.set_waiting, for_machines=True),
    _change_task("resume", tasks.resume_task),
    _route("POST", f"{_TASK}/todos", tasks.give_steps, *_NO_TASK, *_NO_AGENT, reply=TodosView),
    # Events, reports and costs.
    _read("/events", reading.list_events, *_NO_SESSION),
    _read("/report", reading.show_report, *_NO_SESSION),
    _read("/brief", reading.show_brief),
    _route("POST", "/brief/mark", changes.save_brief_mark, reply=changes.MarkView, scope="answer"),
    _read("/stats", reading.show_stats, *_NO_SESSION),
    # Machines of a team.
    _route("POST", "/machine/heartbeat", machines.take_heartbeat, scope="report"),
    _route(
        "POST",
        "/machine/receipts",
        machines.take_receipt,
        errors.MachineRefused,
        reply=machines.MachineReceiptView,
        scope="report",
    ),
    # Tools.
    _read("/dialects", reading.list_dialects, for_machines=True),
    _read("/dialects/{dialect}", reading.show_dialect, errors.UnknownName),
    # What an agent in another process does.
    _route("POST", f"{_AGENT}/call", agents.call_tool, *_NO_HANDLE, for_machines=True),
    _route("POST", f"{_AGENT}/spawn", agents.spawn, *_NO_HANDLE, reply=agents.SpawnView, for_machines=True),
    _read(f"{_AGENT}/state", agents.show_state, reply=Any, for_machines=True),
    _read("/records/roster", reading.load_roster_record, reply=Any),
    _read("/records/loaded_report", reading.load_report_record, *_NO_SESSION, reply=Any),
    _read("/records/loaded_brief", reading.load_brief_record, reply=Any),
    _read("/records/list_screen", reading.load_lists_record, *_NO_SESSION, reply=Any),
    *(_read(f"/records/{name}", agents.make_record_handler(name), *_NO_SESSION, reply=Any) for name in RECORDS),
    *(
        _route("POST", f"{_AGENT}/{verb.name}", agents.make_handler(verb), *_NO_HANDLE, reply=Any, for_machines=True)
        for verb in list_verbs().values()
    ),
)
