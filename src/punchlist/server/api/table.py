"""The table of all routes of the API: what each needs, takes and returns. OpenAPI and the docs are made from it."""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta

from punchlist import errors
from punchlist.server.api import changes, reading, replies, tasks
from punchlist.server.api.routing import ApiRoute
from punchlist.views.lists import AgentView, PlanView, SessionView, TodosView
from punchlist.views.now import NowView
from punchlist.views.reports import BriefView, ReportView
from punchlist.views.tasks import TaskGraphView, TaskView
from punchlist.views.waits import ReceiptView

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


def _change_task(verb: str, summary: str, handler: Any, body: Any, *, takes_revision: bool = True) -> ApiRoute:
    return ApiRoute(
        method="POST",
        path=f"{_TASK}/{verb}",
        summary=summary,
        handler=handler,
        reply=TaskView,
        scope="edit",
        body=body,
        errors=_REFUSED,
        takes_revision=takes_revision,
    )


ROUTES: Final[tuple[ApiRoute, ...]] = (
    # What is going on.
    ApiRoute(
        method="GET",
        path="/now",
        summary="Show every agent of this machine and of the board, what waits on a person, and what was done.",
        handler=reading.show_now,
        reply=NowView,
        query=reading.ProjectQuery,
    ),
    ApiRoute(
        method="GET",
        path="/waits",
        summary="List what waits on a person: questions, plans, blocked items, tasks and flows.",
        handler=reading.show_waits,
        reply=replies.WaitsView,
        query=reading.PlaceQuery,
        errors=_NO_SESSION,
    ),
    ApiRoute(
        method="POST",
        path="/waits/resolve",
        summary="Resolve something that waits: answer it, decide on it, or let it go on.",
        handler=changes.resolve,
        reply=replies.AnsweredView,
        scope="answer",
        body=changes.WaitBody,
        errors=(errors.EditRefused, errors.AlreadyAnswered, errors.ItemGone, errors.TaskError),
    ),
    ApiRoute(
        method="GET",
        path="/search",
        summary="Find sessions, items and tasks that hold all words of a query.",
        handler=reading.search,
        reply=replies.SearchView,
        query=reading.SearchQuery,
    ),
    # Projects, sessions and agents.
    ApiRoute(
        method="GET",
        path="/projects",
        summary="List the projects, the latest first.",
        handler=reading.list_projects,
        reply=replies.ProjectsView,
    ),
    ApiRoute(
        method="GET",
        path="/sessions",
        summary="List sessions, the latest first.",
        handler=reading.list_sessions,
        reply=replies.SessionsView,
        query=reading.SessionsQuery,
        errors=_NO_SESSION,
    ),
    ApiRoute(
        method="GET",
        path="/sessions/{session}",
        summary="Show a session.",
        handler=reading.show_session,
        reply=SessionView,
        errors=_NO_SESSION,
    ),
    ApiRoute(
        method="GET",
        path="/sessions/{session}/receipt",
        summary="Show how far an answer went to the agent: sent, accepted by its host, seen by the model.",
        handler=reading.show_receipt,
        reply=ReceiptView,
        query=reading.ReceiptQuery,
        errors=_NO_SESSION,
    ),
    ApiRoute(
        method="GET",
        path="/sessions/{session}/agents",
        summary="List the agents of a session.",
        handler=reading.list_agents,
        reply=replies.AgentsView,
        errors=_NO_SESSION,
    ),
    ApiRoute(
        method="GET",
        path=_AGENT,
        summary="Show an agent.",
        handler=reading.show_agent,
        reply=AgentView,
        errors=_NO_AGENT,
    ),
    # Todos.
    ApiRoute(
        method="GET",
        path="/todos",
        summary="List the todo lists that hold something, the latest first.",
        handler=reading.list_todos,
        reply=replies.ListsView,
        query=reading.ListsQuery,
    ),
    ApiRoute(
        method="GET",
        path=f"{_AGENT}/todos",
        summary="Show an agent's list, as it is or as it was at a revision.",
        handler=reading.show_todos,
        reply=TodosView,
        query=reading.RevisionQuery,
        errors=_NO_AGENT,
    ),
    ApiRoute(
        method="PATCH",
        path=f"{_AGENT}/todos",
        summary="Change an agent's list by operations, all or none; returns the new list.",
        handler=changes.edit_todos,
        reply=TodosView,
        scope="edit",
        body=changes.EditBody,
        errors=(*_NO_AGENT, errors.EditRefused, errors.RevisionConflict),
        takes_revision=True,
    ),
    ApiRoute(
        method="POST",
        path=f"{_AGENT}/todos/undo",
        summary="Roll back your last change to an agent's list; returns the new list.",
        handler=changes.undo_edit,
        reply=TodosView,
        scope="edit",
        body=changes.EmptyBody,
        errors=(*_NO_AGENT, errors.NothingToUndo, errors.UndoRefused, errors.RevisionConflict),
        takes_revision=True,
    ),
    ApiRoute(
        method="POST",
        path=f"{_AGENT}/answers",
        summary="Answer the question of an item; the agent is told at once if it is idle, else at its next turn.",
        handler=changes.answer_question,
        reply=replies.AnsweredView,
        scope="answer",
        body=changes.QuestionBody,
        errors=(*_NO_AGENT, errors.EditRefused, errors.NotAsked, errors.AlreadyAnswered, errors.ItemGone),
    ),
    # Plans.
    ApiRoute(
        method="GET",
        path="/plans",
        summary="List the plans that wait for a decision, or the latest one of each agent.",
        handler=reading.list_plans,
        reply=replies.PlansView,
        query=reading.PlansQuery,
    ),
    ApiRoute(
        method="GET",
        path=f"{_AGENT}/plan",
        summary="Show the latest revision of an agent's plan.",
        handler=reading.show_plan,
        reply=PlanView,
        errors=(*_NO_AGENT, errors.PlanMissing),
    ),
    ApiRoute(
        method="GET",
        path=f"{_AGENT}/plan/revisions",
        summary="List all revisions of an agent's plan, the oldest first.",
        handler=reading.list_plan_revisions,
        reply=replies.PlansView,
        errors=_NO_AGENT,
    ),
    ApiRoute(
        method="GET",
        path=f"{_AGENT}/plan/diff",
        summary="Show how the latest revision of a plan differs from the one before.",
        handler=reading.diff_plan,
        reply=replies.PlanDiffView,
        errors=(*_NO_AGENT, errors.PlanMissing),
    ),
    ApiRoute(
        method="POST",
        path=f"{_AGENT}/plan/approve",
        summary="Approve the revision of a plan that was read.",
        handler=changes.approve_plan,
        reply=PlanView,
        scope="answer",
        body=changes.ApprovalBody,
        errors=(*_NO_DECISION, errors.PlanWithoutSteps),
    ),
    ApiRoute(
        method="POST",
        path=f"{_AGENT}/plan/reject",
        summary="Reject the revision of a plan that was read, with a reason.",
        handler=changes.reject_plan,
        reply=PlanView,
        scope="answer",
        body=changes.RejectionBody,
        errors=_NO_DECISION,
    ),
    # Tasks.
    ApiRoute(
        method="GET",
        path="/task-lists",
        summary="List the lists of tasks.",
        handler=tasks.list_task_lists,
        reply=replies.TaskListsView,
    ),
    ApiRoute(
        method="GET",
        path=f"{_LIST}/tasks",
        summary="List the tasks of a list, by id.",
        handler=tasks.list_tasks,
        reply=replies.TasksView,
        query=tasks.TasksQuery,
        errors=_NO_TASK,
    ),
    ApiRoute(
        method="POST",
        path=f"{_LIST}/tasks",
        summary="Create a task; the list is made if it is not there yet.",
        handler=tasks.create_task,
        reply=TaskView,
        scope="edit",
        body=tasks.NewTaskBody,
        status=201,
        errors=(errors.TaskUnknown, errors.CycleRefused, errors.GateRefused),
    ),
    ApiRoute(
        method="GET",
        path=f"{_LIST}/ready",
        summary="List the tasks that a worker may claim now, in the order of claims.",
        handler=tasks.list_ready,
        reply=replies.TasksView,
        query=tasks.ReadyQuery,
        errors=_NO_LIST,
    ),
    ApiRoute(
        method="GET",
        path=f"{_LIST}/graph",
        summary="Show all tasks of a list, and which waits for which.",
        handler=tasks.show_graph,
        reply=TaskGraphView,
        errors=_NO_LIST,
    ),
    ApiRoute(
        method="POST",
        path=f"{_LIST}/claim",
        summary="Claim the next ready tasks, or a certain one, under a lease; returns none if nothing is ready.",
        handler=tasks.claim_tasks,
        reply=replies.TasksView,
        scope="edit",
        body=tasks.ClaimBody,
        errors=(*_NO_TASK, errors.TaskTaken, errors.TaskBlocked, errors.TaskNotReady, errors.ReservationRefused),
    ),
    ApiRoute(
        method="POST",
        path=f"{_LIST}/signal",
        summary="Deliver an event to the tasks that wait for it; returns those.",
        handler=tasks.signal_tasks,
        reply=replies.TasksView,
        scope="edit",
        body=tasks.SignalBody,
        errors=_NO_LIST,
    ),
    ApiRoute(
        method="POST",
        path=f"{_LIST}/promote",
        summary="Make tasks of the open items of an agent's list; again, it returns the same tasks.",
        handler=tasks.promote_items,
        reply=replies.TasksView,
        scope="edit",
        body=tasks.PromoteBody,
        errors=(*_NO_AGENT, errors.TaskUnknown, errors.GateRefused),
    ),
    ApiRoute(
        method="GET",
        path=_TASK,
        summary="Show a task.",
        handler=tasks.show_task,
        reply=TaskView,
        errors=_NO_TASK,
    ),
    ApiRoute(
        method="PATCH",
        path=_TASK,
        summary="Change the fields, edges or status of a task, all or none.",
        handler=tasks.update_task,
        reply=TaskView,
        scope="edit",
        body=tasks.TaskChangesBody,
        errors=(*_REFUSED, errors.CycleRefused),
        takes_revision=True,
    ),
    ApiRoute(
        method="DELETE",
        path=_TASK,
        summary="Delete a task from its list; its history stays. Returns it as it was.",
        handler=tasks.delete_task,
        reply=TaskView,
        scope="edit",
        query=tasks.FenceQuery,
        errors=_REFUSED,
        takes_revision=True,
    ),
    ApiRoute(
        method="GET",
        path=f"{_TASK}/history",
        summary="List every event of a task, also of one that was deleted.",
        handler=tasks.show_history,
        reply=replies.HistoryView,
        errors=_NO_TASK,
    ),
    _change_task("start", "Start a task, without a lease.", tasks.start_task, tasks.FenceBody),
    _change_task("heartbeat", "Renew the lease of a claim.", tasks.send_heartbeat, tasks.HeartbeatBody),
    _change_task("release", "Release a task, so that others may claim it.", tasks.release_task, tasks.FenceBody),
    _change_task("complete", "Complete a task.", tasks.complete_task, tasks.CompleteBody),
    _change_task("fail", "Say that an attempt at a task failed.", tasks.fail_task, tasks.FailBody),
    _change_task("retry", "Open a task again that has ended.", tasks.retry_task, tasks.EmptyTaskBody),
    _change_task("cancel", "Cancel a task, or ask its worker to.", tasks.cancel_task, tasks.CancelBody),
    _change_task("wait", "Let a task wait for a time, an event or a person.", tasks.set_waiting, tasks.TaskWaitBody),
    _change_task("resume", "Let a task go on, whatever it waits for.", tasks.resume_task, tasks.ResumeBody),
    ApiRoute(
        method="POST",
        path=f"{_TASK}/todos",
        summary="Give an agent the steps of a task as its list; returns that list.",
        handler=tasks.give_steps,
        reply=TodosView,
        scope="edit",
        body=tasks.StepsBody,
        errors=(*_NO_TASK, *_NO_AGENT),
    ),
    # Events, reports and costs.
    ApiRoute(
        method="GET",
        path="/events",
        summary="List what happened after a cursor, in order.",
        handler=reading.list_events,
        reply=replies.EventsView,
        query=reading.EventsQuery,
        errors=_NO_SESSION,
    ),
    ApiRoute(
        method="GET",
        path="/report",
        summary="Report on each item: its grade, time, work and evidence, and on the state of each session.",
        handler=reading.show_report,
        reply=ReportView,
        query=reading.PlaceQuery,
        errors=_NO_SESSION,
    ),
    ApiRoute(
        method="GET",
        path="/brief",
        summary="Show what happened since your mark, or since an event.",
        handler=reading.show_brief,
        reply=BriefView,
        query=reading.BriefQuery,
    ),
    ApiRoute(
        method="POST",
        path="/brief/mark",
        summary="Move your mark: you have seen everything up to this event.",
        handler=changes.save_brief_mark,
        reply=replies.MarkView,
        scope="answer",
        body=changes.MarkBody,
    ),
    ApiRoute(
        method="GET",
        path="/stats",
        summary="Show what Punchlist itself cost the agents, in tokens, by dialect and profile.",
        handler=reading.show_stats,
        reply=replies.StatsView,
        query=reading.PlaceQuery,
        errors=_NO_SESSION,
    ),
    # Tools.
    ApiRoute(
        method="GET",
        path="/dialects",
        summary="List the dialects in which tools can be called.",
        handler=reading.list_dialects,
        reply=replies.DialectsView,
    ),
    ApiRoute(
        method="GET",
        path="/dialects/{dialect}",
        summary="Show the tools of a dialect, to offer them to a model.",
        handler=reading.show_dialect,
        reply=replies.DialectView,
        errors=(errors.UnknownName,),
    ),
    ApiRoute(
        method="POST",
        path=f"{_AGENT}/call",
        summary="Answer a tool call of a model, in any dialect; the session and the agent are made if they are new.",
        handler=changes.call_tool,
        reply=replies.ToolReplyView,
        scope="edit",
        body=changes.ToolCallBody,
        errors=(errors.SessionUnknown, errors.UnknownName),
    ),
)
