"""The error tree. A class's docstring is its message, filled in with its data; its stable `code` is its name in snake
case, where it gives no other."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import partial
from typing import ClassVar, Self


def suggest(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean …?)` with the known name that is nearest to a mistyped one; empty if none is near."""
    from difflib import get_close_matches  # 2 ms that only a typing error needs

    near = get_close_matches(name, known, n=1)
    return f" (did you mean `{near[0]}`?)" if near else ""


class PunchlistError(Exception):
    """Something went wrong in Punchlist."""

    code: ClassVar[str] = "error"

    def __init_subclass__(cls) -> None:
        if "code" not in vars(cls):
            cls.code = "".join(f"_{char.lower()}" if char.isupper() else char for char in cls.__name__).lstrip("_")

    def __init__(self, **data: object) -> None:
        self.data = data
        super().__init__(type(self).message(data))

    @classmethod
    def message(cls, data: dict[str, object]) -> str:
        """The sentence a person reads: the docstring on one line, with `{names}` replaced."""
        template = " ".join((cls.__doc__ or "").split())
        return template.format_map({key: str(value) for key, value in data.items()})

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the error as another process raised it: with its sentence, and without its data."""
        error = cls.__new__(cls)
        error.data = {}
        Exception.__init__(error, text)
        return error

    def __reduce__(self) -> tuple[object, ...]:
        return (partial(type(self), **self.data), ()) if self.data else (type(self).from_text, (str(self),))


def find_error(code: str) -> type[PunchlistError] | None:
    """Return the class of an error by its code; the first one of those that share it."""
    kinds: list[type[PunchlistError]] = [PunchlistError]
    for kind in kinds:
        if kind.code == code:
            return kind
        kinds += kind.__subclasses__()
    return None


class InvalidInput(PunchlistError):
    """{problem}"""


class UnknownName(PunchlistError):
    """There is no {what} `{name}`; known are: {known}."""


class ConfigInvalid(PunchlistError):
    """The setting `{name}` cannot be `{value}`: {problem}."""


class SettingsFileInvalid(ConfigInvalid):
    """The settings file `{file}` cannot be used: {problem}."""


class SettingUnknown(ConfigInvalid):
    """There is no setting `{key}`{near}; `punchlist config get` lists them."""


class AttachRefused(PunchlistError):
    """{problem}"""


class HandoffRefused(PunchlistError):
    """{problem}"""


class EditRefused(PunchlistError):
    """{problem}"""


class PersonDoubted(PunchlistError):
    """{deed}: only a person can do that, and {doubt}; use {where}."""


class RevisionConflict(PunchlistError):
    """The list is at revision {actual}, not {expected}: read it again, then repeat the change."""


class NothingToUndo(PunchlistError):
    """`{by}` has made no change to this list that could be rolled back."""


class UndoRefused(PunchlistError):
    """The last change by `{by}` cannot be rolled back: `{touched}` was changed again since; change it by hand."""


class PlanRefused(PunchlistError):
    """{problem}"""


class PlanMissing(PunchlistError):
    """There is no plan to decide on; an agent proposes one with `propose_plan`."""


class PlanUnfinished(PunchlistError):
    """Revision {revision} of the plan is still being written; decide once it is proposed."""


class PlanRevisionConflict(PunchlistError):
    """The plan is at revision {actual}, not {expected}: look at it again, then decide on that one."""


class PlanDecided(PunchlistError):
    """Revision {revision} of the plan was {state} by `{by}` already; ask the agent to propose again."""


class PlanExpired(PunchlistError):
    """Revision {revision} of the plan expired at {until} without a decision; ask the agent to propose it again."""


class PlanWithoutSteps(PunchlistError):
    """The plan has no checklist, numbered or bullet lines to make items of; approve it without, nothing was changed."""


class NotAsked(PunchlistError):
    """`{item}` has no question; `punchlist answer` lists what waits for an answer."""


class AlreadyAnswered(PunchlistError):
    """`{item}` was answered by `{by}` already; edit the item, or add a note to it."""


class ItemGone(PunchlistError):
    """`{item}` is no longer open on its list, so no answer is needed; see `punchlist todos`."""


class SessionExists(PunchlistError):
    """The session `{session}` already exists on this board; choose another name, or remove that session first."""


class SessionUnknown(PunchlistError):
    """There is no session `{session}` on this board; `punchlist sessions` lists them."""


class MachineRefused(PunchlistError):
    """`{session}` belongs to another machine, so this one may neither read nor change it."""


class SessionAmbiguous(PunchlistError):
    """Several sessions begin or end with `{session}`: {names}; use more of the id."""


class AgentUnknown(PunchlistError):
    """There is no agent `{agent}` {where}; `punchlist todos --all` lists those at work."""


class TaskListUnknown(PunchlistError):
    """There is no task list `{list}` on this board; {known}."""


class TranscriptError(PunchlistError):
    """`{path}` cannot be read as a transcript: {problem}."""

    code = "transcript_unreadable"


class TranscriptUnknown(TranscriptError):
    """`{path}` is no known transcript ({problem}); name its format: {known}."""


class ExtraMissing(PunchlistError):
    """{what} needs more packages: install them with `{how}`."""

    def __init__(self, **data: object) -> None:
        super().__init__(**{"how": _name_installer(str(data["extra"])), **data})


def _name_installer(extra: str) -> str:
    """Return the command that adds an extra to this installation: of pipx, of uv, in a venv or a clone."""
    option, wanted = "", f"punchlist[{extra}]"
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return f"pipx install --force '{wanted}'"
    if os.path.exists(os.path.join(sys.prefix, "uv-receipt.toml")):
        return f"uv tool install '{wanted}'"
    clone = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if os.path.exists(os.path.join(clone, "pyproject.toml")):
        option, wanted = "-e ", f"{clone}[{extra}]"
    from importlib.util import find_spec  # only an error needs it

    if find_spec("pip"):  # a venv of uv has none
        return f"{sys.executable} -m pip install {option}'{wanted}'"
    return f"uv pip install --python {sys.executable} {option}'{wanted}'"


class StoreError(PunchlistError):
    """The board at `{path}` cannot be used: {problem}."""


class StoreUrlInvalid(StoreError):
    """`{url}` names no board; use `memory:`, a path, `sqlite:///work.db` or `postgresql://host/db`."""


class ServerInvalid(StoreError):
    """`{url}` cannot be used as a server: {problem}; name it as `https://HOST`."""


class TokenMissing(StoreError):
    """There is no token for {url}; make one there with `punchlist token create`, and set $PUNCHLIST_TOKEN, or write it
    into `{path}` for you alone (mode 600)."""


class ServerUnreachable(StoreError):
    """The server {url} cannot be reached ({problem}); check the address and the network, then try again."""


class ServerRefused(StoreError):
    """The server {url} cannot be used ({problem}); {next}."""


class NotOverHttp(StoreError):
    """{what} is not possible over HTTP; do it on the machine of the board, {url}."""


class StoreUnavailable(StoreError):
    """The board at `{path}` cannot be opened ({problem}); check that its folder or server is there and lets you in."""


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


class StoreOutdated(StoreError):
    """The board at `{path}` was made by an unreleased version of Punchlist (format {found}); export it with that
    version (`punchlist tasks export`, `punchlist todos --json`), move it aside, then repeat the call."""


class StoreDamaged(StoreError):
    """The board at `{path}` is damaged ({problem}); move it aside with its -wal file, then restore a copy of it."""


class StoreFull(StoreError):
    """There is no room left to write the board at `{path}`; free some space, then repeat the call."""


class StoreBusy(StoreError):
    """Another program holds the board at `{path}` for longer than {seconds} s; see `punchlist doctor`."""


class StoreFailed(StoreError):
    """The disk refused to write the board at `{path}` ({problem}); nothing was changed, repeat the call."""


class StoreUncertain(StoreError):
    """The board at `{path}` did not confirm the commit ({problem}); the change may have been made: look at the board
    before you repeat the call."""


class CopyRefused(StoreError):
    """The board at `{path}` cannot take the copy: {problem}; name an empty one."""


class StoreReplaced(StoreError):
    """The board's file `{path}` was deleted or replaced while this program had it open; nothing was changed, start
    this program again."""


class ListFileRefused(StoreError):
    """The list file `{path}` cannot be used: {problem}."""


class PlanFileRefused(StoreError):
    """The plan file `{path}` cannot be used: {problem}."""


class StoreClosed(StoreError):
    """The board at `{path}` is closed; open it again."""


class TaskError(PunchlistError):
    """{problem}"""


class TaskUnknown(TaskError):
    """There is no task `{id}` in the list `{list}`; look at the list, then use an id that is there."""


class TaskDeleted(TaskUnknown):
    """Task `{id}` was deleted from the list `{list}`; {next}."""


class TaskBlocked(TaskError):
    """Task `{id}` is blocked by {blockers}; finish those first, or remove the edge."""


class TaskTaken(TaskError):
    """Task `{id}` is taken by `{owner}`{until}; claim another one, or wait until it is released."""


class TaskNotReady(TaskError):
    """Task `{id}` cannot be claimed: {problem}."""


class TransitionRefused(TaskError):
    """Task `{id}` is {status} and cannot become {to} from there; {next}."""


class TaskNotGrounded(TaskError):
    """Not accepted as completed: {task} ({why}). Do the work or run a check while it is in progress, then try again."""

    code = "not_grounded"


class CancelPending(TaskError):
    """Task `{id}` is to be cancelled: stop the work, then cancel or release it; nothing else is accepted."""


class FenceStale(TaskError):
    """Task `{id}` changed hands since you claimed it (its fence is {actual}, yours {fence}); stop work on it.{kept}"""


class ChecklistOpen(TaskError):
    """Task `{id}` has lines on its checklist that are still open: {open}."""


class CycleRefused(TaskError):
    """Task `{task}` cannot wait for `{blocker}`, which waits for it: {path}."""


class ReservationRefused(TaskError):
    """`{pattern}` is reserved: {conflicts}; claim another task, or wait until that one is released."""


class WaitRefused(TaskError):
    """{problem}"""


class GateRefused(TaskError):
    """{reason}"""


class TaskRevisionConflict(RevisionConflict):
    """Task `{id}` is at revision {actual}, not {expected}: read it again, then repeat the change."""

    code = "revision_conflict"


class FlowError(PunchlistError):
    """{problem}"""


class FlowUnknown(FlowError):
    """There is no flow `{id}` on this board; `punchlist flows list` shows those that there are."""


class FlowForeign(FlowError):
    """Flow `{id}` belongs to `{owner}`; only that session may touch it."""


class FlowTransitionRefused(FlowError):
    """Flow `{id}` is {status} and cannot become {to} from there, only {ways}."""


class FlowEnded(FlowError):
    """Flow `{id}` has ended, it is {status}; start another one."""


class FlowStarted(FlowError):
    """Flow `{id}` is {status}; what comes before it can be changed only until it begins."""


class FlowCancelPending(FlowError):
    """Flow `{id}` is to be cancelled: cancel it; nothing else is accepted."""


class FlowHeld(FlowError):
    """Flow `{id}` cannot begin before {before}; finish those first, or remove the dependency."""


class FlowCycle(FlowError):
    """Flow `{flow}` cannot come after `{before}`, which comes after it: {path}."""


class FlowWaitRefused(FlowError):
    """{problem}"""


class FlowRevisionMismatch(FlowError, RevisionConflict):
    """Flow `{id}` is at revision {actual}, not {expected}: read it again, then repeat the change."""


class CallReused(PunchlistError):
    """The call id `{call_id}` was used before with other arguments; nothing was changed, use a new id."""

    code = "call_id_reused"
