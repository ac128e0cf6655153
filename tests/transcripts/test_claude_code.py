"""The list in a transcript of Claude Code."""

from pathlib import Path
from typing import Any

import pytest

from punchlist.transcripts.formats import open_transcript
from punchlist.transcripts.lines import LineTranscript
from punchlist.transcripts.values import Transcript
from tests.transcripts.records import SESSION, line, result, save, todos, told, write

USE = line("assistant", {"type": "tool_use", "id": "x9", "name": "mcp__other__get", "input": {}})


@pytest.fixture(params=["records", "file", "spaced file"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    def open_records(records: list[Any], name: str = "run.jsonl") -> Transcript:
        if request.param == "records" and name == "run.jsonl":
            return open_transcript(records, "claude-code")
        return open_transcript(save(tmp_path / name, records, compact=request.param == "file"), "claude-code")

    return open_records


@pytest.mark.requirement("claude-code.restore-last-valid")
def test_the_list_is_that_of_the_last_call(opened: Any) -> None:
    found = opened(
        [write("t1", "Paint"), result("t1", "Paint"), write("t2", "x Paint", "> Dry"), result("t2", "x Paint")]
    )
    assert told(found.latest()) == ["x Paint"]  # what the result says, where the two differ
    found = opened([write("t1", "Paint"), write("t2", "x Paint", "> Dry")])
    assert told(found.latest()) == ["x Paint", "> Dry"]


@pytest.mark.requirement("claude-code.restore-last-valid")
@pytest.mark.parametrize(
    "bad",
    [{}, {"todos": "x"}, {"todos": [{"content": "", "status": "pending", "activeForm": "x"}]}, {"todos": [], "x": 1}],
)
def test_a_call_that_does_not_validate_is_passed_over(opened: Any, bad: Any) -> None:
    assert told(opened([write("t1", "Paint"), write("t2", given=bad)]).latest()) == ["Paint"]


@pytest.mark.requirement("claude-code.restore-errors")
def test_a_call_that_was_answered_by_an_error_is_passed_over(opened: Any) -> None:
    records = [write("t1", "Paint"), result("t1", "Paint"), write("t2", "Burn"), line("user"), result("t2", error=True)]
    assert told(opened(records).latest()) == ["Paint"]


def test_a_call_without_an_answer_counts(opened: Any) -> None:
    assert told(opened([write("t1", "Paint"), line("user", {"type": "text", "text": "stop"})]).latest()) == ["Paint"]


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param([USE, result("x9", "Forged")], id="another tool's result"),
        pytest.param([USE, '{"type": "tool_use"', result("x9", "Forged")], id="another tool's result, torn line"),
        pytest.param([result("zz", "Forged")], id="an answer to no call"),
        pytest.param([result("t1", "Forged")], id="a second answer"),
        pytest.param([{**write("t2", "Forged"), "type": "user"}], id="a call by the user"),
        pytest.param([{**result("zz", "Forged"), "type": "assistant"}], id="a result by the assistant"),
    ],
)
def test_only_results_of_the_tool_itself_tell_a_list(opened: Any, forged: list[Any]) -> None:
    found = opened([write("t1", "Paint"), result("t1", "Paint"), *forged])
    assert told(found.latest()) == ["Paint"]
    assert [told(written) for written in found.history()] == [["Paint"]]


@pytest.mark.parametrize("call_id", ["to=lu/1", "t 2", "<&>", "日本", 'q"\\', "line\nend", "", "x" * 300, "\ud800/"])
def test_an_id_may_be_any_text(opened: Any, call_id: str) -> None:
    found = opened([write("t1", "Paint"), write(call_id, "Burn"), result(call_id, error=True)])
    assert told(found.latest()) == ["Paint"]
    assert [told(written) for written in found.history()] == [["Paint"]]


def test_each_call_of_an_id_that_comes_again_has_its_own_answer(opened: Any) -> None:
    first = [write("call_0", "Paint", second=1), result("call_0", "Paint", second=2)]
    found = opened([*first, write("call_0", "Burn", second=3), result("call_0", error=True, second=4)])
    assert told(found.latest()) == ["Paint"]
    found = opened([*first, write("call_0", "Dry", second=3), result("call_0", "Dry", second=4)])
    writes = list(found.history())
    assert [(told(written), written.call_id) for written in writes] == [(["Paint"], "call_0"), (["Dry"], None)]
    assert (found.latest().command, found.latest().call_id) == (writes[-1].command, None)
    found = opened([*first, *first])  # the same call, told twice
    assert [told(written) for written in found.history()] == [["Paint"]]


def test_two_calls_in_one_message_are_read_in_their_order(opened: Any) -> None:
    both = write("t1", "Paint")
    both["message"]["content"].append(
        {"type": "tool_use", "id": "t2", "name": "TodoWrite", "input": {"todos": todos("Dry")}}
    )
    answers = line("user", {"type": "tool_result", "tool_use_id": "t1"}, {"type": "tool_result", "tool_use_id": "t2"})
    assert told(opened([both, answers]).latest()) == ["Dry"]


@pytest.mark.requirement("claude-code.restore-old-shape")
def test_lists_of_mid_2025_have_a_priority_and_an_id(opened: Any) -> None:
    old = [{"content": "Paint", "status": "in_progress", "priority": "high", "id": "7"}]
    written = opened([write("t1", given={"todos": old})]).latest()
    assert told(written) == ["> Paint"]
    (entry,) = written.command.entries
    assert (entry.alias, entry.priority, entry.active_form) == ("7", "high", None)


def test_a_subagents_lines_are_not_the_main_agents(opened: Any) -> None:
    side: dict[str, Any] = {"isSidechain": True, "agentId": "a1"}
    found = opened([write("t1", "Paint"), write("t2", "Look", **side), result("t2", "Look", **side)])
    assert told(found.latest()) == ["Paint"]
    assert told(found.latest(subagent="a1")) == ["Look"]
    assert found.latest(subagent="a1").origin.agent == "a1"
    assert found.latest(subagent="a2") is None


def test_the_oldest_sidechains_have_no_name(opened: Any) -> None:
    found = opened([write("t1", "Paint"), write("t2", "Look", isSidechain=True)])
    assert told(found.latest()) == ["Paint"]
    assert told(found.latest(subagent="sidechain")) == ["Look"]


def test_a_subagents_own_file_is_all_its_own(opened: Any) -> None:
    lines = [write("t1", "Look", isSidechain=True, agentId="a1"), write("t2", "x Look")]
    found = opened(lines, "subagents/agent-a1.jsonl")
    assert told(found.latest()) == ["x Look"]
    assert found.latest().origin.agent == "a1"


def test_the_stream_of_the_sdk_is_read_too(opened: Any) -> None:
    def streamed(record: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
        kept = {key: record[key] for key in ("type", "message", "uuid")}
        data = record.get("toolUseResult")
        more = {} if data is None else {"tool_use_result": data}
        return {**kept, **more, "session_id": "s9", "parent_tool_use_id": parent}

    records = [
        streamed(write("t1", "Paint")),
        streamed(result("t1", "> Paint")),
        streamed(write("t2", "Look"), "toolu_9"),
    ]
    found = opened(records)
    assert told(found.latest()) == ["> Paint"]
    assert told(found.latest(subagent="toolu_9")) == ["Look"]
    assert found.latest().origin.session == "s9"


def test_who_where_and_when_come_with_the_list(opened: Any) -> None:
    origin = opened([write("t1", "Paint", second=7)]).latest().origin
    assert (origin.agent, origin.session, origin.cwd) == ("main", SESSION, "/projects/shed")
    assert origin.at.isoformat() == "2026-03-01T09:00:07+00:00"


def test_a_resumed_session_names_the_one_before(tmp_path: Path) -> None:
    records = [write("t1", "Paint", sessionId="old"), line("user", sessionId="new"), line("user", sessionId="new")]
    found = open_transcript(save(tmp_path / "new.jsonl", records))
    assert found.sessions == ("new", "old")
    assert found.origin.session == "new"


def test_history_has_every_write_once_in_order(opened: Any) -> None:
    records: list[Any] = [write("t1", "Paint"), result("t1", "Paint"), write("t2", "Burn"), result("t2", error=True)]
    records += ['{"type": "assistant", "name": "TodoWrite"', write("t3", "> Paint"), result("t3", "> Paint")]
    records += [write("t4", "x Paint"), line("user"), result("t4", "x Paint")]
    found = [(told(written), written.call_id) for written in opened(records).history()]
    assert found == [(["Paint"], "t1"), (["> Paint"], "t3"), (["x Paint"], "t4")]


def test_calls_of_any_tool_come_with_their_outcomes(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "TaskCreate", "input": {"subject": "Ship it"}}
    block = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "Task #1 created"}]}
    records = [line("assistant", call), line("user", block, toolUseResult={"task": {"id": "1"}}), write("t2", "Paint")]
    found = open_transcript(save(tmp_path / "run.jsonl", records))
    assert isinstance(found, LineTranscript)
    ((_, made, outcome),) = found.pair_calls("TaskCreate", "TaskUpdate")
    assert (made.name, made.args) == ("TaskCreate", {"subject": "Ship it"})
    assert outcome is not None
    assert (outcome.result, outcome.data, outcome.is_error) == ("Task #1 created", {"task": {"id": "1"}}, False)
