"""Texts that were read before are read quicker, and read the same; replies build their data when it is wanted."""

import copy
import pickle

import msgspec
import pytest

from punchlist import Board
from punchlist.core.commands import Entry
from punchlist.core.todo import Status
from punchlist.dialects import known
from punchlist.dialects.base import THREE, Reply
from punchlist.dialects.claude_code import parse
from punchlist.dialects.known import KnownTexts


def todo(content: object, status: object = "pending", form: object = "doing") -> dict[str, object]:
    return {"content": content, "status": status, "activeForm": form}


def test_the_same_texts_give_the_same_entries_as_the_same_objects() -> None:
    texts = KnownTexts(THREE)
    first, again = (texts.rows(("paint", "sand"), ("painting", "sanding")) for _ in range(2))
    assert first is not None
    assert again is not None
    assert first[0]["pending"] == Entry("paint", Status.PENDING, "painting")
    assert first[0]["pending"] is again[0]["pending"]
    assert first[1]["completed"] == Entry("sand", Status.COMPLETED, "sanding")


def test_a_word_that_is_no_status_is_not_remembered_as_one() -> None:
    rows = KnownTexts(THREE).rows(("paint",), ("painting",))
    assert rows is not None
    for _ in range(2):
        with pytest.raises(KeyError):
            rows[0]["done"]


@pytest.mark.parametrize("bad", ["", 7, None, b"paint", 1.5, ()])
def test_texts_that_are_none_are_refused_however_often_they_come(bad: object) -> None:
    texts = KnownTexts(THREE)
    for _ in range(2):
        assert texts.rows((bad,), ("painting",)) is None
        assert texts.rows(("paint",), (bad,)) is None


def test_known_texts_with_a_bad_neighbour_are_still_refused() -> None:
    good = parse("TodoWrite", {"todos": [todo("paint")]})
    for bad in (todo("paint", "done"), todo("paint", ["pending"]), todo(["paint"]), todo("paint", form=7), "paint"):
        assert parse("TodoWrite", {"todos": [bad]}) != good
        assert parse("TodoWrite", {"todos": [todo("paint"), bad]}) != good
    assert parse("TodoWrite", {"todos": [todo("paint")]}) == good


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_MOST_LISTS", 4)
    texts = KnownTexts(THREE)
    for number in range(50):
        assert texts.rows((f"paint {number}",), ("painting",)) is not None
        assert texts.rows((f"paint {number}" * 10_000,), ("painting",)) is not None
        assert texts.rows((f"{number}",) * 1000, ("painting",) * 1000) is not None
        assert len(texts._lists) <= 4
        assert all(len(contents) == 1 and len(contents[0]) < 100 for contents, _ in texts._lists)


def test_late_data_is_what_it_was_when_the_call_was_answered() -> None:
    with Board.open("memory:") as board:
        agent = board.agent(session="s", dialect="claude-code")
        args = {"todos": [todo("paint")]}
        first = agent.call("TodoWrite", args)
        args["todos"][0]["status"] = "in_progress"
        second = agent.call("TodoWrite", args)
        args["todos"].clear()
        agent.call("TodoWrite", args)
    assert first.data == {"oldTodos": [], "newTodos": [todo("paint")]}
    assert second.data == {"oldTodos": [todo("paint")], "newTodos": [todo("paint", "in_progress")]}


def test_a_late_reply_is_equal_to_one_that_was_built_at_once() -> None:
    plain = Reply("done", {"items": [1]})

    def late() -> Reply:
        return Reply.late("done", lambda: {"items": [1]})

    assert late() == plain
    assert repr(late()) == repr(plain)
    assert msgspec.json.encode(late()) == msgspec.json.encode(plain)
    assert copy.deepcopy(late()) == pickle.loads(pickle.dumps(plain))
    reply = late()
    assert reply.data is reply.data
    assert not hasattr(reply, "nothing")
