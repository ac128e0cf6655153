"""The error tree. Each class has a stable `code`; its docstring is the message, filled in with its data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


def suggest(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean …?)` with the known name that is nearest to a mistyped one; empty if none is near."""
    from difflib import get_close_matches  # 2 ms that only a typing error needs

    near = get_close_matches(name, known, n=1)
    return f" (did you mean `{near[0]}`?)" if near else ""


class PunchlistError(Exception):
    """Something went wrong in Punchlist."""

    code: ClassVar[str] = "error"

    def __init__(self, **data: object) -> None:
        self.data = data
        super().__init__(type(self).message(data))

    @classmethod
    def message(cls, data: dict[str, object]) -> str:
        """The sentence a person reads: the docstring on one line, with `{names}` replaced."""
        template = " ".join((cls.__doc__ or "").split())
        return template.format_map({key: str(value) for key, value in data.items()})

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.data)


def _rebuild(kind: type[PunchlistError], data: dict[str, object]) -> PunchlistError:
    return kind(**data)


class InvalidInput(PunchlistError):
    """{problem}"""

    code = "invalid_input"


class UnknownName(PunchlistError):
    """There is no {what} `{name}`; known are: {known}."""

    code = "unknown_name"


class ConfigInvalid(PunchlistError):
    """The setting `{name}` cannot be `{value}`: {problem}."""

    code = "config_invalid"


class SettingsFileInvalid(ConfigInvalid):
    """The settings file `{file}` cannot be used: {problem}."""

    code = "settings_file_invalid"


class SettingUnknown(ConfigInvalid):
    """There is no setting `{key}`{near}; `punchlist config get` lists them."""

    code = "setting_unknown"


class AttachRefused(PunchlistError):
    """{problem}"""

    code = "attach_refused"


class HandoffRefused(PunchlistError):
    """{problem}"""

    code = "handoff_refused"


class EditRefused(PunchlistError):
    """{problem}"""

    code = "edit_refused"


class RevisionConflict(PunchlistError):
    """The list is at revision {actual}, not {expected}: read it again, then repeat the change."""

    code = "revision_conflict"


class NothingToUndo(PunchlistError):
    """`{by}` has made no change to this list that could be rolled back."""

    code = "nothing_to_undo"


class UndoRefused(PunchlistError):
    """The last change by `{by}` cannot be rolled back: `{touched}` was changed again since; change it by hand."""

    code = "undo_refused"


class PlanRefused(PunchlistError):
    """{problem}"""

    code = "plan_refused"


class PlanMissing(PunchlistError):
    """There is no plan to decide on; an agent proposes one with `propose_plan`."""

    code = "plan_missing"


class PlanUnfinished(PunchlistError):
    """Revision {revision} of the plan is still being written; decide once it is proposed."""

    code = "plan_unfinished"


class PlanRevisionConflict(PunchlistError):
    """The plan is at revision {actual}, not {expected}: look at it again, then decide on that one."""

    code = "plan_revision_conflict"


class PlanDecided(PunchlistError):
    """Revision {revision} of the plan was {state} by `{by}` already; ask the agent to propose again."""

    code = "plan_decided"


class PlanExpired(PunchlistError):
    """Revision {revision} of the plan expired at {until} without a decision; ask the agent to propose it again."""

    code = "plan_expired"


class PlanWithoutSteps(PunchlistError):
    """The plan has no checklist, numbered or bullet lines to make items of; approve it without, nothing was changed."""

    code = "plan_without_steps"


class NotAsked(PunchlistError):
    """`{item}` has no question; `punchlist answer` lists what waits for an answer."""

    code = "not_asked"


class AlreadyAnswered(PunchlistError):
    """`{item}` was answered by `{by}` already; edit the item, or add a note to it."""

    code = "already_answered"


class ItemGone(PunchlistError):
    """`{item}` is no longer open on its list, so no answer is needed; see `punchlist todos`."""

    code = "item_gone"


class SessionExists(PunchlistError):
    """The session `{session}` already exists on this board; choose another name, or remove that session first."""

    code = "session_exists"


class SessionUnknown(PunchlistError):
    """There is no session `{session}` on this board; `punchlist sessions` lists them."""

    code = "session_unknown"


class SessionAmbiguous(PunchlistError):
    """Several sessions begin or end with `{session}`: {names}; use more of the id."""

    code = "session_ambiguous"


class AgentUnknown(PunchlistError):
    """There is no agent `{agent}` {where}; `punchlist todos --all` lists those at work."""

    code = "agent_unknown"


class TaskListUnknown(PunchlistError):
    """There is no task list `{list}` on this board; {known}."""

    code = "task_list_unknown"


class TranscriptError(PunchlistError):
    """`{path}` cannot be read as a transcript: {problem}."""

    code = "transcript_unreadable"


class TranscriptUnknown(TranscriptError):
    """`{path}` is no known transcript ({problem}); name its format: {known}."""

    code = "transcript_unknown"


class ExtraMissing(PunchlistError):
    """{what} needs more packages: install them with `pip install "punchlist[{extra}]"`."""

    code = "extra_missing"


class StoreError(PunchlistError):
    """The board at `{path}` cannot be used: {problem}."""

    code = "store_error"


class StoreUrlInvalid(StoreError):
    """`{url}` names no board; use `memory:`, a path, `sqlite:///work.db` or `sqlite:////absolute/path.db`."""

    code = "store_url_invalid"


class StoreUnavailable(StoreError):
    """The board at `{path}` cannot be opened ({problem}); check that the folder exists and is yours."""

    code = "store_unavailable"


class BoardMissing(StoreError):
    """There is no board at `{path}`; check the path, or make one with `punchlist --db {path} todo append …`."""

    code = "store_missing"


class FolderMissing(StoreError):
    """There is no folder `{folder}` for the board; check the path, or make the folder first: `mkdir -p {folder}`."""

    code = "store_folder_missing"


class NotABoard(StoreError):
    """`{path}` is not a Punchlist board: {problem}; nothing was changed, name a board with `--db` or $PUNCHLIST_DB."""

    code = "store_not_a_board"


class StoreTooNew(StoreError):
    """The board at `{path}` has format {found}, newer than this program knows ({known}); {next}."""

    code = "store_too_new"


class StoreOutdated(StoreError):
    """The board at `{path}` was made by an unreleased version of Punchlist (format {found}); export it with that
    version (`punchlist tasks export`, `punchlist todos --json`), move it aside, then repeat the call."""

    code = "store_outdated"


class StoreDamaged(StoreError):
    """The board at `{path}` is damaged ({problem}); move it aside with its -wal file, then restore a copy of it."""

    code = "store_damaged"


class StoreFull(StoreError):
    """There is no room left to write the board at `{path}`; free some space, then repeat the call."""

    code = "store_full"


class StoreBusy(StoreError):
    """Another program holds the board at `{path}` for longer than {seconds} s; see `punchlist doctor`."""

    code = "store_busy"


class StoreFailed(StoreError):
    """The disk refused to write the board at `{path}` ({problem}); nothing was changed, repeat the call."""

    code = "store_failed"


class StoreReplaced(StoreError):
    """The board's file `{path}` was deleted or replaced while this program had it open; nothing was changed, start
    this program again."""

    code = "store_replaced"


class ListFileRefused(StoreError):
    """The list file `{path}` cannot be used: {problem}."""

    code = "list_file_refused"


class PlanFileRefused(StoreError):
    """The plan file `{path}` cannot be used: {problem}."""

    code = "plan_file_refused"


class StoreClosed(StoreError):
    """The board at `{path}` is closed; open it again."""

    code = "store_closed"


class TaskError(PunchlistError):
    """{problem}"""

    code = "task_error"


class TaskUnknown(TaskError):
    """There is no task `{id}` in the list `{list}`; look at the list, then use an id that is there."""

    code = "task_unknown"


class TaskDeleted(TaskUnknown):
    """Task `{id}` was deleted from the list `{list}`; {next}."""

    code = "task_deleted"


class TaskBlocked(TaskError):
    """Task `{id}` is blocked by {blockers}; finish those first, or remove the edge."""

    code = "task_blocked"


class TaskTaken(TaskError):
    """Task `{id}` is taken by `{owner}`{until}; claim another one, or wait until it is released."""

    code = "task_taken"


class TaskNotReady(TaskError):
    """Task `{id}` cannot be claimed: {problem}."""

    code = "task_not_ready"


class TransitionRefused(TaskError):
    """Task `{id}` is {status} and cannot become {to} from there; {next}."""

    code = "transition_refused"


class TaskNotGrounded(TaskError):
    """Not accepted as completed: {task} ({why}). Do the work or run a check while it is in progress, then try again."""

    code = "not_grounded"


class CancelPending(TaskError):
    """Task `{id}` is to be cancelled: stop the work, then cancel or release it; nothing else is accepted."""

    code = "cancel_pending"


class FenceStale(TaskError):
    """Task `{id}` changed hands since you claimed it (its fence is {actual}, yours {fence}); stop work on it.{kept}"""

    code = "fence_stale"


class ChecklistOpen(TaskError):
    """Task `{id}` has lines on its checklist that are still open: {open}."""

    code = "checklist_open"


class CycleRefused(TaskError):
    """Task `{task}` cannot wait for `{blocker}`, which waits for it: {path}."""

    code = "cycle_refused"


class ReservationRefused(TaskError):
    """`{pattern}` is reserved: {conflicts}; claim another task, or wait until that one is released."""

    code = "reservation_refused"


class WaitRefused(TaskError):
    """{problem}"""

    code = "wait_refused"


class GateRefused(TaskError):
    """{reason}"""

    code = "gate_refused"


class TaskRevisionConflict(RevisionConflict):
    """Task `{id}` is at revision {actual}, not {expected}: read it again, then repeat the change."""


class FlowError(PunchlistError):
    """{problem}"""

    code = "flow_error"


class FlowUnknown(FlowError):
    """There is no flow `{id}` on this board; `punchlist flows list` shows those that there are."""

    code = "flow_unknown"


class FlowForeign(FlowError):
    """Flow `{id}` belongs to `{owner}`; only that session may touch it."""

    code = "flow_foreign"


class FlowTransitionRefused(FlowError):
    """Flow `{id}` is {status} and cannot become {to} from there, only {ways}."""

    code = "flow_transition_refused"


class FlowEnded(FlowError):
    """Flow `{id}` has ended, it is {status}; start another one."""

    code = "flow_ended"


class FlowStarted(FlowError):
    """Flow `{id}` is {status}; what comes before it can be changed only until it begins."""

    code = "flow_started"


class FlowCancelPending(FlowError):
    """Flow `{id}` is to be cancelled: cancel it; nothing else is accepted."""

    code = "flow_cancel_pending"


class FlowHeld(FlowError):
    """Flow `{id}` cannot begin before {before}; finish those first, or remove the dependency."""

    code = "flow_held"


class FlowCycle(FlowError):
    """Flow `{flow}` cannot come after `{before}`, which comes after it: {path}."""

    code = "flow_cycle"


class FlowWaitRefused(FlowError):
    """{problem}"""

    code = "flow_wait_refused"


class FlowRevisionMismatch(FlowError, RevisionConflict):
    """Flow `{id}` is at revision {actual}, not {expected}: read it again, then repeat the change."""

    code = "flow_revision_mismatch"


class CallReused(PunchlistError):
    """The call id `{call_id}` was used before with other arguments; nothing was changed, use a new id."""

    code = "call_id_reused"
