"""A transcript that is cut anywhere gives the list after the last call that is there whole."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist import Board
from punchlist.transcripts import lines as transcript_lines
from punchlist.transcripts.formats import open_transcript
from tests.transcripts.records import line, output, plan, result, told, write

TEXTS = ["Paint", "x Paint", "> Dry", "Größe ändern", 'say "hi"', "> 🪚 saw"]
lists = st.lists(st.lists(st.sampled_from(TEXTS), max_size=4), max_size=6)
noise = st.lists(st.sampled_from(['"TodoWrite"', "x" * 50, "\n", '"newTodos":[', "ü"]), max_size=3).map("".join)


def _lines(written: list[list[str]], said: list[str], *, codex: bool) -> list[tuple[bytes, list[str] | None]]:
    """The lines of a transcript, each with the list that it tells when it is whole; None if it tells none."""
    lines: list[tuple[Any, list[str] | None]] = []
    for number, items in enumerate(written):
        talk = said[number % len(said)] if said else ""
        if codex:
            lines += [(plan(f"c{number}", *items), None), (output(f"c{number}"), items)]
        else:
            lines += [(write(f"t{number}", *items), items), (line("user", {"type": "text", "text": talk}), None)]
            lines += [(result(f"t{number}", *items), items)]
    encoded = [(json.dumps(record, ensure_ascii=number % 2 == 0), told) for number, (record, told) in enumerate(lines)]
    return [(body.encode() + b"\n", told) for body, told in encoded]


@given(
    written=lists,
    said=st.lists(noise, max_size=2),
    codex=st.booleans(),
    cut=st.floats(0, 1),
    recent=st.sampled_from([1 << 21, 100]),
)
def test_restore_gives_the_list_after_the_last_complete_call(
    tmp_path_factory: pytest.TempPathFactory,
    written: list[list[str]],
    said: list[str],
    codex: bool,
    cut: float,
    recent: int,
) -> None:
    """However small the piece at the end is in which the list is looked for first."""
    lines = _lines(written, said, codex=codex)
    body = b"".join(text for text, _ in lines)
    length = round(cut * len(body))
    path: Path = tmp_path_factory.getbasetemp() / "cut.jsonl"
    path.write_bytes(body[:length])
    expected: list[str] | None = None
    end = 0
    for text, tells in lines:
        end += len(text)
        if tells is not None and end - 1 <= length:  # the end of the line itself is not needed
            expected = tells
    name = "codex" if codex else "claude-code"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transcript_lines, "_RECENT", recent)
        assert told(open_transcript(path, name).latest()) == expected
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s", dialect=name)
        assert agent.restore(path, name) is (expected is not None)
        left = expected or []
        wiped = not codex and all(item.startswith("x ") for item in left)
        assert [item.content for item in agent.todos.items] == ([] if wiped else [_text(item) for item in left])


def _text(item: str) -> str:
    return item[2:] if item[:2] in ("> ", "x ") else item
