"""The table of all routes of the API: what each needs, takes and returns. OpenAPI and the docs are made from it."""

from __future__ import annotations

from typing import Annotated, Any, Final, get_type_hints

from msgspec import Meta

from punchlist import errors
from punchlist.errors import PunchlistError
from punchlist.server.api import changes, reading, replies, tasks
from punchlist.server.api.routing import ApiRoute, Handler, Method, Need
from punchlist.views.lists import PlanView, TaskView, TodosView

PATH_PARAMETERS: Final[dict[str, Any]] = {
    "session": Annotated[str, Meta(min_length=1, max_length=200, description="The id of a session.")],
    "agent": Annotated[
        str, Meta(min_length=1, max_length=200, description="The name of an agent of that session, such as `main`.")
    ],
    "list": Annotated[
        str,
        Meta(
            min_length=1,
            max_length=4_200,
            description="A list of tasks, such as `project:/projects/api` or `session:s1`; a slash is sent as `%2F`.",
        ),
    ],
    "task": Annotated[str, Meta(min_length=1, max_length=20, description="The id of a task, such as `3`.")],
    "dialect": Annotated[str, Meta(min_length=1, max_length=100, description="A dialect, such as `claude-code`.")],
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
_REFUSED: Final = (*_NO_TASK, errors.TaskError, errors.FenceStale, errors.TransitionRefused, errors.RevisionConflict)


def _route(
    method: Method,
    path: str,
    summary: str,
    handler: Handler,
    *raised: type[PunchlistError],
    reply: Any = None,
    scope: Need = "edit",
    status: int = 200,
    takes_revision: bool = False,
) -> ApiRoute:
    """Return a route. The signature of its handler says what it takes and, unless `reply` does, what it returns."""
    known = get_type_hints(handler)
    return ApiRoute(
        method=method,
        path=path,
        summary=summary,
        handler=handler,
        reply=reply or known["return"],
        query=known.get("query"),
        body=known.get("body"),
        scope=scope,
        status=status,
        errors=raised,
        takes_revision=takes_revision,
    )


def _read(path: str, summary: str, handler: Handler, *raised: type[PunchlistError], reply: Any = None) -> ApiRoute:
    return _route("GET", path, summary, handler, *raised, reply=reply, scope="look")


def _change_task(verb: str, summary: str, handler: Handler, *, takes_revision: bool = True) -> ApiRoute:
    path = f"{_TASK}/{verb}"
    return _route("POST", path, summary, handler, *_REFUSED, reply=TaskView, takes_revision=takes_revision)


ROUTES: Final[tuple[ApiRoute, ...]] = (
    # What is going on.
    _read(
        "/now",
        "Show every agent of this machine and of the board, what waits on a person, and what was done.",
        reading.show_now,
    ),
    _read(
        "/waits",
        "List what waits on a person: questions, plans, blocked items, tasks and flows.",
        reading.show_waits,
        *_NO_SESSION,
    ),
    _route(
        "POST",
        "/waits/resolve",
        "Resolve something that waits: answer it, decide on it, or let it go on.",
        changes.resolve,
        errors.EditRefused,
        errors.AlreadyAnswered,
        errors.ItemGone,
        errors.TaskError,
        reply=replies.AnsweredView,
        scope="answer",
    ),
    _read("/search", "Find sessions, items and tasks that hold all words of a query.", reading.search),
    # Projects, sessions and agents.
    _read("/projects", "List the projects, the latest first.", reading.list_projects),
    _read("/sessions", "List sessions, the latest first.", reading.list_sessions, *_NO_SESSION),
    _read("/sessions/{session}", "Show a session.", reading.show_session, *_NO_SESSION),
    _read(
        "/sessions/{session}/receipt",
        "Show how far an answer went to the agent: sent, accepted by its host, seen by the model.",
        reading.show_receipt,
        *_NO_SESSION,
    ),
    _read("/sessions/{session}/agents", "List the agents of a session.", reading.list_agents, *_NO_SESSION),
    _read(_AGENT, "Show an agent.", reading.show_agent, *_NO_AGENT),
    # Todos.
    _read("/todos", "List the todo lists that hold something, the latest first.", reading.list_todos),
    _read(
        f"{_AGENT}/todos", "Show an agent's list, as it is or as it was at a revision.", reading.show_todos, *_NO_AGENT
    ),
    _route(
        "PATCH",
        f"{_AGENT}/todos",
        "Change an agent's list by operations, all or none; returns the new list.",
        changes.edit_todos,
        *_NO_AGENT,
        errors.EditRefused,
        errors.RevisionConflict,
        reply=TodosView,
        takes_revision=True,
    ),
    _route(
        "POST",
        f"{_AGENT}/todos/undo",
        "Roll back your last change to an agent's list; returns the new list.",
        changes.undo_edit,
        *_NO_AGENT,
        errors.NothingToUndo,
        errors.UndoRefused,
        errors.RevisionConflict,
        reply=TodosView,
        takes_revision=True,
    ),
    _route(
        "POST",
        f"{_AGENT}/answers",
        "Answer the question of an item; the agent is told at once if it is idle, else at its next turn.",
        changes.answer_question,
        *_NO_AGENT,
        errors.EditRefused,
        errors.NotAsked,
        errors.AlreadyAnswered,
        errors.ItemGone,
        reply=replies.AnsweredView,
        scope="answer",
    ),
    # Plans.
    _read("/plans", "List the plans that wait for a decision, or the latest one of each agent.", reading.list_plans),
    _read(
        f"{_AGENT}/plan",
        "Show the latest revision of an agent's plan.",
        reading.show_plan,
        *_NO_AGENT,
        errors.PlanMissing,
        reply=PlanView,
    ),
    _read(
        f"{_AGENT}/plan/revisions",
        "List all revisions of an agent's plan, the oldest first.",
        reading.list_plan_revisions,
        *_NO_AGENT,
    ),
    _read(
        f"{_AGENT}/plan/diff",
        "Show how the latest revision of a plan differs from the one before.",
        reading.diff_plan,
        *_NO_AGENT,
        errors.PlanMissing,
    ),
    _route(
        "POST",
        f"{_AGENT}/plan/approve",
        "Approve the revision of a plan that was read.",
        changes.approve_plan,
        *_NO_DECISION,
        errors.PlanWithoutSteps,
        reply=PlanView,
        scope="answer",
    ),
    _route(
        "POST",
        f"{_AGENT}/plan/reject",
        "Reject the revision of a plan that was read, with a reason.",
        changes.reject_plan,
        *_NO_DECISION,
        reply=PlanView,
        scope="answer",
    ),
    # Tasks.
    _read("/task-lists", "List the lists of tasks.", tasks.list_task_lists),
    _read(f"{_LIST}/tasks", "List the tasks of a list, by id.", tasks.list_tasks, *_NO_TASK),
    _route(
        "POST",
        f"{_LIST}/tasks",
        "Create a task; the list is made if it is not there yet.",
        tasks.create_task,
        errors.TaskUnknown,
        errors.CycleRefused,
        errors.GateRefused,
        reply=TaskView,
        status=201,
    ),
    _read(
        f"{_LIST}/ready",
        "List the tasks that a worker may claim now, in the order of claims.",
        tasks.list_ready,
        *_NO_LIST,
    ),
    _read(f"{_LIST}/graph", "Show all tasks of a list, and which waits for which.", tasks.show_graph, *_NO_LIST),
    _route(
        "POST",
        f"{_LIST}/claim",
        "Claim the next ready tasks, or a certain one, under a lease; returns none if nothing is ready.",
        tasks.claim_tasks,
        *_NO_TASK,
        errors.TaskTaken,
        errors.TaskBlocked,
        errors.TaskNotReady,
        errors.ReservationRefused,
    ),
    _route(
        "POST",
        f"{_LIST}/signal",
        "Deliver an event to the tasks that wait for it; returns those.",
        tasks.signal_tasks,
        *_NO_LIST,
    ),
    _route(
        "POST",
        f"{_LIST}/promote",
        "Make tasks of the open items of an agent's list; again, it returns the same tasks.",
        tasks.promote_items,
        *_NO_AGENT,
        errors.TaskUnknown,
        errors.GateRefused,
        reply=replies.TasksView,
    ),
    _read(_TASK, "Show a task.", tasks.show_task, *_NO_TASK, reply=TaskView),
    _route(
        "PATCH",
        _TASK,
        "Change the fields, edges or status of a task, all or none.",
        tasks.update_task,
        *_REFUSED,
        errors.CycleRefused,
        reply=TaskView,
        takes_revision=True,
    ),
    _route(
        "DELETE",
        _TASK,
        "Delete a task from its list; its history stays. Returns it as it was.",
        tasks.delete_task,
        *_REFUSED,
        reply=TaskView,
        takes_revision=True,
    ),
    _read(
        f"{_TASK}/history", "List every event of a task, also of one that was deleted.", tasks.show_history, *_NO_TASK
    ),
    _change_task("start", "Start a task, without a lease.", tasks.start_task),
    _change_task("heartbeat", "Renew the lease of a claim.", tasks.send_heartbeat),
    _change_task("release", "Release a task, so that others may claim it.", tasks.release_task),
    _change_task("complete", "Complete a task.", tasks.complete_task),
    _change_task("fail", "Say that an attempt at a task failed.", tasks.fail_task),
    _change_task("retry", "Open a task again that has ended.", tasks.retry_task),
    _change_task("cancel", "Cancel a task, or ask its worker to.", tasks.cancel_task),
    _change_task("wait", "Let a task wait for a time, an event or a person.", tasks.set_waiting),
    _change_task("resume", "Let a task go on, whatever it waits for.", tasks.resume_task),
    _route(
        "POST",
        f"{_TASK}/todos",
        "Give an agent the steps of a task as its list; returns that list.",
        tasks.give_steps,
        *_NO_TASK,
        *_NO_AGENT,
        reply=TodosView,
    ),
    # Events, reports and costs.
    _read("/events", "List what happened after a cursor, in order.", reading.list_events, *_NO_SESSION),
    _read(
        "/report",
        "Report on each item: its grade, time, work and evidence, and on the state of each session.",
        reading.show_report,
        *_NO_SESSION,
    ),
    _read("/brief", "Show what happened since your mark, or since an event.", reading.show_brief),
    _route(
        "POST",
        "/brief/mark",
        "Move your mark: you have seen everything up to this event.",
        changes.save_brief_mark,
        reply=replies.MarkView,
        scope="answer",
    ),
    _read(
        "/stats",
        "Show what Punchlist itself cost the agents, in tokens, by dialect and profile.",
        reading.show_stats,
        *_NO_SESSION,
    ),
    # Tools.
    _read("/dialects", "List the dialects in which tools can be called.", reading.list_dialects),
    _read(
        "/dialects/{dialect}",
        "Show the tools of a dialect, to offer them to a model.",
        reading.show_dialect,
        errors.UnknownName,
    ),
    _route(
        "POST",
        f"{_AGENT}/call",
        "Answer a tool call of a model, in any dialect; the session and the agent are made if they are new.",
        changes.call_tool,
        errors.SessionUnknown,
        errors.UnknownName,
    ),
)
