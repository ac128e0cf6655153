"""Which format a transcript is in: told from what it holds, or a clear error."""

import json
from pathlib import Path
from typing import Any

import pytest

from punchlist.errors import InvalidInput, TranscriptError, TranscriptUnknown, UnknownName
from punchlist.transcripts import log_files
from punchlist.transcripts.formats import FORMATS, open_transcript
from tests.transcripts.records import SESSION, line, meta, output, plan, save, told, write
from tests.transcripts.test_hermes import BASE
from tests.transcripts.test_oh_my_pi import HEAD, edit, phase
from tests.transcripts.test_openclaw import logged, v1

KNOWN: dict[str, list[Any]] = {
    "claude-code": [{"type": "summary", "summary": "x", "leafUuid": "u"}, write("t1", "Paint")],
    "codex": [meta(), plan("c1", "Saw"), output("c1")],
    "oh-my-pi": [HEAD, edit(phase("A", "a1"))],
    "openclaw": [logged(v1("Saw"))],
    "hermes": BASE,
}


@pytest.mark.parametrize("name", KNOWN)
def test_records_and_files_are_told_apart_by_what_they_hold(tmp_path: Path, name: str) -> None:
    assert open_transcript(KNOWN[name]).format == name
    assert open_transcript([json.dumps(record) for record in KNOWN[name]]).format == name
    found = open_transcript(save(tmp_path / "some.jsonl", KNOWN[name]))
    assert found.format == name
    assert found.latest() is not None
    assert open_transcript(save(tmp_path / "some.log", KNOWN[name])).format == name


@pytest.mark.parametrize("name", KNOWN)
def test_an_array_of_records_in_one_document_is_read_too(tmp_path: Path, name: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(json.dumps(KNOWN[name], indent=1))
    assert open_transcript(path).format == name


@pytest.mark.parametrize(
    "lines",
    [
        ['{"a": 1}'],
        ["text", "more text"],
        ["[1, 2]"],
        [json.dumps(KNOWN["codex"][0]), json.dumps(KNOWN["claude-code"][1])],
    ],
    ids=["objects", "text", "numbers", "both"],
)
def test_what_is_unknown_or_could_be_two_things_is_an_error_that_names_the_formats(
    tmp_path: Path, lines: list[str]
) -> None:
    with pytest.raises(TranscriptUnknown) as caught:
        open_transcript(save(tmp_path / "some.jsonl", list(lines)))
    assert caught.value.code == "transcript_unknown"
    assert all(name in str(caught.value) for name in FORMATS)


def test_the_format_can_be_named(tmp_path: Path) -> None:
    path = save(tmp_path / "some.jsonl", ["text", "more text"])
    found = open_transcript(path, "claude-code")
    assert (found.format, found.latest()) == ("claude-code", None)
    with pytest.raises(UnknownName):
        open_transcript(path, "word")


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("rollout-2026-03-01T09-00-00-x.jsonl", "codex"),
        ("projects/-shed/s1.jsonl", "claude-code"),
        ("s1/subagents/agent-a1.jsonl", "claude-code"),
        ("s1.acp-stream.jsonl", "openclaw"),
    ],
)
def test_a_name_tells_where_the_lines_cannot(tmp_path: Path, name: str, format: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"type": "assist')
    found = open_transcript(path)
    assert (found.format, found.latest(), found.skipped) == (format, None, 1)


def test_nothing_at_all_holds_no_list(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.touch()
    assert open_transcript(path).latest() is None
    assert open_transcript([]).latest() is None


@pytest.mark.parametrize("what", ["gone", "folder"])
def test_a_file_that_cannot_be_read_is_an_error_with_its_name(tmp_path: Path, what: str) -> None:
    path = tmp_path / "x.jsonl"
    if what == "folder":
        path.mkdir()
    with pytest.raises(TranscriptError) as caught:
        open_transcript(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("source", [5, None, b"bytes"])
def test_what_is_neither_a_path_nor_records_is_refused(source: Any) -> None:
    with pytest.raises(InvalidInput):
        open_transcript(source)


def test_broken_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    records = [
        write("t1", "Paint"),
        '{"type":"assistant","name":"TodoWrite",',
        line("user"),
        '"TodoWrite"',
        '{"type": "user", "mess',
    ]
    found = open_transcript(save(tmp_path / "s.jsonl", records))
    assert told(found.latest()) == ["Paint"]
    assert found.skipped == 3
    assert [told(written) for written in found.history()] == [["Paint"]]
    assert found.skipped == 3
    at_hand = open_transcript([write("t1", "Paint"), "no JSON", 7])
    assert (told(at_hand.latest()), at_hand.skipped) == (["Paint"], 2)


@pytest.mark.parametrize("long", [300_000, 2_000_000])
def test_long_lines_at_both_ends_do_not_hide_the_format(tmp_path: Path, long: int) -> None:
    talk = line("user", {"type": "text", "text": "x" * long})
    found = open_transcript(save(tmp_path / "run.jsonl", [talk, write("t1", "Paint"), talk]))
    assert (found.format, told(found.latest()), found.skipped) == ("claude-code", ["Paint"], 0)
    assert found.sessions == (SESSION,)


def test_lines_too_long_to_read_at_both_ends_do_not_hide_the_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_files, "LARGEST", 400_000)
    talk = line("user", {"type": "text", "text": "x" * 500_000})
    assert told(open_transcript(save(tmp_path / "run.jsonl", [talk, write("t1", "Paint"), talk])).latest()) == ["Paint"]
    with pytest.raises(TranscriptUnknown, match="no line of it can be read"):
        open_transcript(save(tmp_path / "all.jsonl", [talk, talk]))
