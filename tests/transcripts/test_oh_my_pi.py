"""The list in a session file of oh-my-pi."""

from pathlib import Path
from typing import Any

import pytest

from punchlist.transcripts import log_files
from punchlist.transcripts.formats import open_transcript
from punchlist.transcripts.values import Transcript
from tests.sizes import size
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


def talk(own: str, parent: str | None, text: str = "go on") -> dict[str, Any]:
    return {"type": "message", "id": own, "parentId": parent, "message": {"role": "user", "content": text}}


def test_history_has_the_present_branch_only(opened: Any) -> None:
    records = (
        result(phase("A", "> a1"), id="e1", parentId=None),
        result(phase("A", "- a1"), id="e2", parentId="e1"),
        result(phase("A", "x a1"), id="e3", parentId="e1"),
        talk("e4", "e3"),
    )
    assert [told(written) for written in opened(*records).history()] == [["> a1"], ["x a1"]]
    again = (*records[:2], talk("e5", None))  # begun anew before the first entry
    assert opened(*again).latest() is None


@pytest.mark.parametrize("kept", ['{"type":"message","id":"e3","parentId":"e2","mess', '{"type":"mess', ""])
def test_a_lost_link_is_bridged(opened: Any, kept: str) -> None:
    records = [talk("e1", None), result(phase("A", "> a1"), id="e2", parentId="e1"), kept, talk("e4", "e3")]
    found = opened(*(entry for entry in records if entry))
    assert told(found.latest()) == ["> a1"]
    assert found.skipped == (1 if kept else 0)
    assert [told(written) for written in found.history()] == [["> a1"]]


def test_a_broken_entry_still_tells_its_parent(opened: Any) -> None:
    branches = [result(phase("A", "> a1"), id="e1", parentId=None), result(phase("A", "- a1"), id="e2", parentId="e1")]
    broken = '{"type":"message","id":"e3","parentId":"e1","mess'
    assert told(opened(*branches, broken, talk("e4", "e3")).latest()) == ["> a1"]
    assert told(opened(branches[0], broken, branches[1], talk("e4", "e3")).latest()) == ["> a1"]


def test_an_entry_too_long_to_read_still_tells_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "LARGEST", 100_000)
    long = [talk("e3", "e2", "x" * 200_000), {**talk("e4", "e3", "x" * 200_000), "id": "e4"}, talk("e5", "e4")]
    long[1]["type"] = long[1].pop("type")  # its ids do not stand where they are looked for
    given = [HEAD, talk("e1", None), result(phase("A", "> a1"), id="e2", parentId="e1"), *long]
    assert told(open_transcript(save(tmp_path / "s.jsonl", given)).latest()) == ["> a1"]


def test_links_that_all_lead_nowhere_are_followed_in_linear_time(tmp_path: Path) -> None:
    records = [HEAD, result(phase("A", "> a1"), id="e", parentId=None)]
    records += [talk(f"e{number}", f"gone{number}") for number in range(size(3_000, 30_000))]
    assert told(open_transcript(save(tmp_path / "s.jsonl", records)).latest()) == ["> a1"]
