"""The list in a session file of oh-my-pi."""

from pathlib import Path
from typing import Any

import pytest

from punchlist.transcripts.formats import open_transcript
from punchlist.transcripts.values import Transcript
from tests.transcripts.records import save, told

HEAD = {"type": "session", "id": "s1", "timestamp": "2026-03-01T09:00:00Z", "cwd": "/projects/shed"}


def phase(name: str, *tasks: str) -> dict[str, Any]:
    words = {"> ": "in_progress", "x ": "completed", "- ": "abandoned"}
    return {
        "name": name,
        "tasks": [
            {"content": task[2:] if task[:2] in words else task, "status": words.get(task[:2], "pending")}
            for task in tasks
        ],
    }


def result(*phases: dict[str, Any], error: bool = False, tool: str = "todo_write", **more: Any) -> dict[str, Any]:
    message = {"role": "toolResult", "toolName": tool, "isError": error, "details": {"phases": list(phases)}}
    return {"type": "message", "message": message, **more}


def edit(*phases: Any, **more: Any) -> dict[str, Any]:
    return {"type": "custom", "customType": "user_todo_edit", "data": {"phases": list(phases)}, **more}


@pytest.fixture(params=["records", "file"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    def open_records(*records: Any) -> Transcript:
        given = [HEAD, *records]
        return open_transcript(given if request.param == "records" else save(tmp_path / "s.jsonl", given))

    return open_records


@pytest.mark.requirement("oh-my-pi.restore-newest")
def test_the_newest_of_edits_and_results_wins(opened: Any) -> None:
    assert told(opened(result(phase("A", "> a1")), edit(phase("A", "x a1"))).latest()) == ["x a1"]
    written = opened(edit(phase("A", "a1")), result(phase("A", "> a1", "- a2"), phase("B"))).latest()
    assert told(written) == ["> a1", "- a2"]
    assert written.command.phases == ("A", "B")
    assert written.origin.cwd == "/projects/shed"


@pytest.mark.requirement("oh-my-pi.restore-newest")
def test_errors_and_other_tools_are_passed_over(opened: Any) -> None:
    other = result(phase("A", "x a1"), tool="read")
    empty = {"type": "custom", "customType": "user_todo_edit", "data": "no phases"}
    later = (result(phase("A", "x a1"), error=True), other, empty)
    assert told(opened(result(phase("A", "> a1")), *later).latest()) == ["> a1"]


@pytest.mark.requirement("oh-my-pi.restore-cleared")
def test_no_phases_at_all_is_a_list_that_was_cleared(opened: Any) -> None:
    assert told(opened(result(phase("A", "> a1")), edit()).latest()) == []


def test_notes_come_back_and_what_is_no_task_does_not(opened: Any) -> None:
    given = phase("A", "> a1")
    given["tasks"] += ["text", {"status": "pending"}, {"content": "odd", "status": 7}]
    given["tasks"][0]["notes"] = ["mind the step", 5, ""]
    written = opened(edit(given, "no phase")).latest()
    assert told(written) == ["> a1", "odd"]
    assert written.command.entries[0].notes == ("mind the step",)


def test_only_the_branch_of_the_last_entry_counts(opened: Any) -> None:
    records = (
        result(phase("A", "> a1"), id="e1", parentId=None),
        result(phase("A", "x a1"), id="e2", parentId="e1"),
        {"type": "message", "id": "e3", "parentId": "e1", "message": {"role": "user", "content": "go back"}},
    )
    assert told(opened(*records).latest()) == ["> a1"]
    assert told(opened(*records[:2]).latest()) == ["x a1"]
