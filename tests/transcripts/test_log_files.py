"""The search for lines in raw blocks, against the plain way."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.transcripts import log_files
from punchlist.transcripts.formats import list_sessions, open_transcript
from punchlist.transcripts.log_files import Log, find_sessions
from tests.transcripts.records import SESSION, line, result, told, write

WORDS = (b'"ab"', b"abc")
pieces = st.sampled_from([b'"ab"', b"abc", b"a", b"b", b'"', b"\n", b"\n\n", b"x" * 9, b"ab"])
bodies = st.lists(pieces, max_size=40).map(b"".join)


def plain(body: bytes) -> list[tuple[int, bytes]]:
    """Every line that holds a word, with its place."""
    found: list[tuple[int, bytes]] = []
    start = 0
    for one in body.split(b"\n"):
        if any(word in one for word in WORDS):
            found.append((start, one))
        start += len(one) + 1
    return found


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs") / "log"


@given(body=bodies, block=st.integers(4, 40))
def test_blocks_give_the_lines_that_a_plain_look_finds(path: Path, body: bytes, block: int) -> None:
    path.write_bytes(body)
    with pytest.MonkeyPatch.context() as patch, Log(path) as log:
        patch.setattr(log_files, "BLOCK", block)
        assert [(one.start, one.body) for one in log.forwards(WORDS)] == plain(body)


def test_a_line_too_long_for_any_list_is_found_without_its_body(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "LARGEST", 1000)
    path.write_bytes(b"abc\n" + b"abc" * 500 + b"\nabc\n")
    with Log(path) as log:
        assert [(one.start, one.body) for one in log.forwards(WORDS)] == [(0, b"abc"), (4, None), (1505, b"abc")]


def test_what_is_written_meanwhile_is_not_seen_and_what_is_cut_off_does_no_harm(path: Path) -> None:
    path.write_bytes(b"abc\n" * 1000)
    with Log(path) as log:
        with path.open("ab") as file:
            file.write(b"abc\n")
        assert sum(1 for _ in log.forwards(WORDS)) == 1000
        path.write_bytes(b"abc\n" * 10)
        assert sum(1 for _ in log.forwards(WORDS)) == 10


def test_the_edges_are_whole_lines_and_a_last_one_without_an_end(path: Path) -> None:
    path.write_bytes(b"one\ntwo\n" + b"x" * 50 + b"\nlast\nto")
    with Log(path) as log:
        assert log.edges(10) == ([b"one", b"two"], [b"last", b"to"])
        assert log.edges() == ([b"one", b"two", b"x" * 50, b"last", b"to"],) * 2


def test_of_a_long_log_only_its_ends_are_read_for_the_latest_list_and_its_sessions(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = json.dumps(line("user", {"type": "text", "text": "x" * 10_000})) + "\n"
    ends = "".join(json.dumps(record) + "\n" for record in (write("t1", "Paint"), result("t1", "Paint")))
    path.write_text(talk * 1_000 + ends + talk)
    amounts: list[int] = []
    plain = Log.read

    def watched(self: Log, start: int, end: int) -> bytes:
        amounts.append(end - start)
        return plain(self, start, end)

    monkeypatch.setattr(Log, "read", watched)
    found = open_transcript(path, "claude-code")
    assert told(found.latest()) == ["Paint"]
    assert list_sessions(found) == [SESSION]
    assert sum(amounts) < path.stat().st_size


def test_every_session_of_a_log_is_found_where_its_ends_differ(path: Path) -> None:
    path.write_text("".join(f'{{"sessionId": "{name}"}}\n' for name in ("one", "two", "three", "two")))
    with Log(path) as log:
        assert find_sessions(log, "sessionId") == ["two", "three", "one"]
