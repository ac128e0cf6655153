"""Short ways to say runtime events, shared by the tests of grounding."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from punchlist.core.checks.commands import Patterns
from punchlist.core.events import Event
from punchlist.core.grounding.observe import Watch, call_from, end_facts, start_facts
from punchlist.core.grounding.tally import Tally, tally_of
from punchlist.core.grounding.tool_call import ToolCall, joined
from tests.core.build import NOW

SHELL = "Bash"
ITEM = "p1/1"


def event(second: float, what: str, /, *, agent: str = "main", seq: int | None = None, **data: Any) -> Event:
    at = NOW + timedelta(seconds=second)
    number = round(1000 * second) if seq is None else seq
    return Event(number, at, what, agent, "/p", "s1", agent, data)


def begun(
    second: float,
    name: str,
    arguments: Any = None,
    *,
    call_id: str = "",
    item: str = ITEM,
    via: str = "",
    agent: str = "main",
    patterns: Patterns | None = None,
) -> Event:
    kind = {
        "Bash": "shell",
        "Edit": "edit",
        "Read": "read",
        "TodoWrite": "todo",
        "Task": "delegate",
        "think": "talk",
    }.get(name, "unknown")
    facts = start_facts(
        name,
        arguments,
        kind=kind,
        changes=kind in ("edit", "shell"),
        item=item,
        via=via,
        watch=Watch(patterns=patterns),
    )
    return event(second, "tool.started", agent=agent, call_id=call_id, **facts)


def ended(start: Event | None, second: float, result: Any = "", *, is_error: bool = False, **more: Any) -> Event:
    facts = end_facts(result, is_error=is_error, started=None if start is None else start.data)
    data: dict[str, Any] = {"call_id": "", "name": ""}
    if start is not None:
        data = {"call_id": start.data.get("call_id", ""), "name": start.data["name"], "via": start.data.get("via", "")}
    agent = "main" if start is None else start.agent or ""
    return event(second, "tool.finished", agent=agent, **{**data, **facts, **more})


class Script:
    """Calls one after the other, a second each."""

    def __init__(self, item: str = ITEM, agent: str = "main") -> None:
        self.events: list[Event] = []
        self.item = item
        self.agent = agent
        self.second = 0.0
        self.count = 0

    def call(self, name: str, arguments: Any = None, result: Any = "", *, is_error: bool = False) -> "Script":
        self.count += 1
        call_id = f"{self.agent}-c{self.count}"
        start = begun(self.second, name, arguments, call_id=call_id, item=self.item, agent=self.agent)
        self.events += [start, ended(start, self.second + 1, result, is_error=is_error)]
        self.second += 2
        return self

    def run(self, command: str, result: Any = "", *, is_error: bool = False) -> "Script":
        return self.call(SHELL, {"command": command}, result, is_error=is_error)

    def edit(self, path: str = "a.py", *, is_error: bool = False) -> "Script":
        return self.call("Edit", {"file_path": path}, "", is_error=is_error)

    def on(self, item: str) -> "Script":
        self.item = item
        return self


def calls_of(events: Iterable[Event]) -> list[ToolCall]:
    """The calls that these reports tell of, by their ids."""
    found: dict[str, ToolCall] = {}
    for each in events:
        report = call_from(each.kind, each.data, each.at, each.seq)
        found[report.id] = joined(found[report.id], report) if report.id in found else report
    return list(found.values())


def tally(events: Iterable[Event]) -> Tally:
    return tally_of(calls_of(events))
