"""Whatever a transcript holds, reading it never raises and never takes long or much."""

import json
import tracemalloc
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.transcripts.formats import LINES, LOGS, open_transcript
from punchlist.transcripts.steps import StepReader
from tests.sizes import size
from tests.transcripts.chats import CHATS, Chat
from tests.transcripts.records import line, output, plan, result, save, todos, told, write
from tests.transcripts.test_hermes import BASE
from tests.transcripts.test_oh_my_pi import edit, phase
from tests.transcripts.test_oh_my_pi import result as todo_result
from tests.transcripts.test_openclaw import logged, v1, v2

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
REAL: list[dict[str, Any]] = [
    write("t1", "Paint"),
    result("t1", "Paint"),
    plan("c1", "Saw"),
    output("c1"),
    edit(phase("A", "a1")),
    todo_result(phase("A", "a1")),
    logged(v1("Saw")),
    logged(v2("Saw")),
    *BASE,
]


def _tell(chat: Chat) -> list[dict[str, Any]]:
    chat.user("Go on")
    chat.todo("> Paint")
    chat.run("make", "ok")
    chat.say("Done.")
    return chat.records


PIECE = {
    "type": "tool",
    "tool": "bash",
    "callID": "c1",
    "updated": 1_772_000_000_000,
    "state": {"status": "completed", "input": {"command": "make"}, "output": "ok", "metadata": {"exit": 0}},
}
TOLD = [*REAL, PIECE, *(record for chat in CHATS.values() for record in _tell(chat()))]


def _keys(value: Any) -> list[Any]:
    return list(cast("Any", value)) if isinstance(value, dict) else list(range(len(value)))


@st.composite
def mutated(draw: st.DrawFn, real: list[dict[str, Any]] = REAL) -> Any:
    """A real record with something else in one place, or in several."""
    record = json.loads(json.dumps(draw(st.sampled_from(real))))
    for _ in range(draw(st.integers(1, 3))):
        at: Any = record
        while True:
            key = draw(st.sampled_from(_keys(at)))
            inner: Any = at[key]
            if not isinstance(inner, dict | list) or not inner or draw(st.integers(0, 3)) == 0:
                at[key] = draw(junk)
                break
            at = cast("Any", inner)
    return record


@given(records=st.lists(mutated() | junk, max_size=6), name=st.sampled_from([*LINES, "hermes", "messages"]))
def test_wrong_types_everywhere_never_raise(records: list[Any], name: str) -> None:
    found = open_transcript(records, name)
    found.latest()
    found.latest(subagent="a1")
    list(found.history())


@given(records=st.lists(mutated(TOLD), max_size=8), name=st.sampled_from([*LOGS]))
def test_no_record_stops_the_reading_of_steps(records: list[dict[str, Any]], name: str) -> None:
    reader = StepReader(LOGS[name], None)
    for record in records:
        list(reader.take(record))
        reader = StepReader(LOGS[name], None, json.loads(json.dumps(reader.save())))


@given(body=st.binary(max_size=200), name=st.sampled_from([*LINES]))
def test_any_bytes_are_a_transcript_without_a_list(
    tmp_path_factory: pytest.TempPathFactory, body: bytes, name: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(body + b'\n"TodoWrite" "update_plan" "user_todo_edit" "plan"\n' + body)
    found = open_transcript(path, name)
    assert found.latest() is None
    assert list(found.history()) == []


@pytest.mark.parametrize(
    "bomb",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"type":"assistant","n":' + "9" * 100_000 + "}",
        '{"message":{"content":' + "[" * 5000 + "]" * 5000 + "}}",
        '{"type":"assistant",' + ",".join(f'"k{n}":1' for n in range(20_000)) + "}",
    ],
    ids=["lists", "objects", "digits", "nested", "keys"],
)
def test_a_bomb_is_skipped(tmp_path: Path, bomb: str) -> None:
    path = save(tmp_path / "s.jsonl", [write("t1", "Paint"), bomb + '"TodoWrite"', bomb])
    found = open_transcript(path, "claude-code")
    assert told(found.latest()) == ["Paint"]
    assert found.skipped >= 1


def test_lone_surrogates_are_mended(tmp_path: Path) -> None:
    text = json.dumps(write("t1", given={"todos": [{**todos("Paint")[0], "content": "half \ud83d"}]}))
    written = open_transcript(save(tmp_path / "s.jsonl", [text]), "claude-code").latest()
    assert told(written) == ["half \ufffd"]


def test_a_line_of_many_megabytes_takes_no_more_memory_than_a_block(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    huge = json.dumps(line("user", {"type": "tool_result", "tool_use_id": "t9", "content": "x" * 10}))
    with path.open("w") as file:
        file.write(json.dumps(write("t1", "Paint")) + "\n")
        head, _, tail = huge.partition("xxxxxxxxxx")
        file.write(head)
        for _ in range(size(40, 400)):
            file.write("x" * 1_000_000)
        file.write(f"{tail}\n")
    tracemalloc.start()
    assert told(open_transcript(path).latest()) == ["Paint"]
    assert [told(written) for written in open_transcript(path).history()] == [["Paint"]]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8_000_000


def test_calls_without_end_and_without_an_answer_are_read_in_linear_time(tmp_path: Path) -> None:
    """Each looks for its answer up to the end of the file; together they may not read it more than twice."""
    path = save(tmp_path / "s.jsonl", [plan(f"c{number}", "Saw") for number in range(size(5_000, 50_000))])
    found = open_transcript(path, "codex")
    assert found.latest() is None
    assert list(found.history()) == []


def test_records_at_hand_are_not_changed(tmp_path: Path) -> None:
    records = [write("t1", "Paint"), result("t1", "Paint")]
    before = json.dumps(records)
    found = open_transcript(records)
    found.latest()
    list(found.history())
    assert json.dumps(records) == before
