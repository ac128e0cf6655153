"""Punchlist: the todo and progress layer for AI agents. The names here are resolved on first use."""

# Not imported from `typing`, which alone takes as long as a bare start of Python: the status line starts every second.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from punchlist.agent import Agent
    from punchlist.board import Board
    from punchlist.core.approval import Plan
    from punchlist.core.commands import Problem
    from punchlist.core.events import Event
    from punchlist.core.task import CurrentWork, Task, TaskStatus
    from punchlist.core.todo import Blocker, Evidence, Phase, Progress, Status, TodoItem, TodoList
    from punchlist.detect.findings import Verdict
    from punchlist.dialects.base import Reply, Tool
    from punchlist.errors import PunchlistError, StoreError, TaskError
    from punchlist.guidance.plan_mode import Refusal
    from punchlist.guidance.words import Injection
    from punchlist.loop import Conversation, Outcome
    from punchlist.tasks import Tasks

__version__ = "0.1.0"

_HOMES = {
    "Agent": "agent",
    "Blocker": "core.todo",
    "Board": "board",
    "Conversation": "loop",
    "CurrentWork": "core.task",
    "Event": "core.events",
    "Evidence": "core.todo",
    "Injection": "guidance.words",
    "Outcome": "loop",
    "Phase": "core.todo",
    "Plan": "core.approval",
    "Problem": "core.commands",
    "Progress": "core.todo",
    "PunchlistError": "errors",
    "Refusal": "guidance.plan_mode",
    "Reply": "dialects.base",
    "Status": "core.todo",
    "StoreError": "errors",
    "Task": "core.task",
    "TaskError": "errors",
    "TaskStatus": "core.task",
    "Tasks": "tasks",
    "TodoItem": "core.todo",
    "TodoList": "core.todo",
    "Tool": "dialects.base",
    "Verdict": "detect.findings",
}

__all__ = [
    "Agent",
    "Blocker",
    "Board",
    "Conversation",
    "CurrentWork",
    "Event",
    "Evidence",
    "Injection",
    "Outcome",
    "Phase",
    "Plan",
    "Problem",
    "Progress",
    "PunchlistError",
    "Refusal",
    "Reply",
    "Status",
    "StoreError",
    "Task",
    "TaskError",
    "TaskStatus",
    "Tasks",
    "TodoItem",
    "TodoList",
    "Tool",
    "Verdict",
    "__version__",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "adapters":
        return import_module("punchlist.adapters")
    if name not in _HOMES:
        raise AttributeError(f"module 'punchlist' has no attribute {name!r}")
    if name == "Board":
        # A fork while another thread imports a module leaves the child waiting for its lock. So a program that uses the
        # library loads all of it here, and nothing later; a command of ours, which does not fork, loads what it needs.
        for module in ("briefs", "recovery"):
            import_module(f"punchlist.agent.{module}")
        import_module("punchlist.transcripts.formats")
    return getattr(import_module(f"punchlist.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
