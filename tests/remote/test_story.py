"""A board over HTTP tells an agent what a local one does."""

import socket
from collections.abc import Callable
from pathlib import Path

from punchlist import Board, Conversation
from punchlist.remote.board import RemoteBoard
from tests.remote.conftest import Served
from tests.remote.story import settle, tell
from tests.remote.wire import forward, serve


def test_the_same_story_is_told_on_a_local_board_and_over_http(remote: RemoteBoard, tmp_path: Path):
    with Board.open(tmp_path / "local.db") as local:
        here = settle(tell(local, "story"))
    there = settle(tell(remote, "story"))
    for name, told in here.items():
        assert there[name] == told, name
    assert there.keys() == here.keys()


def test_a_conversation_runs_on_a_board_over_http(remote: RemoteBoard):
    conversation = Conversation(remote, session="loop")
    conversation.person_spoke("Fix the login")
    conversation.call("todo", {"set": ["Fix it"]}, call_id="1")
    with conversation.tool("c1", "Bash", {"command": "pytest -q"}) as outcome:
        outcome.result, outcome.exit_code = "1 passed in 0.1s", 0
    conversation.model_answered(["todo", "Bash"])
    remote.agent(session="loop").edit([{"op": "append", "items": ["Cover it"]}], by="ada")
    assert "Cover it" in "".join(note.text for note in conversation.for_request())
    assert conversation.keep_going("I am done.") is not None
    assert [item.content for item in conversation.agent.todos.items] == ["Fix it", "Cover it"]
    kinds = [event.kind for event in remote.events() if event.session == "loop"]
    assert kinds.count("tool.finished") == 1


def test_what_a_tool_was_given_and_said_stays_here(served: Served, connect: Callable[..., RemoteBoard]):
    sent: list[bytes] = []

    def listen(connection: socket.socket, request: bytes) -> None:
        sent.append(request)
        connection.sendall(forward(served.url, request))

    with serve(listen) as url:
        agent = connect(url).agent(session="private", redact=["acme-[0-9]+"])
        agent.user_turn("Use the token ghp_0123456789abcdefghijklmnopqrstuvwxyz0123")
        agent.tool_started("c1", "Write", {"file_path": "a.py", "content": "line\n" * 100 + "the end of the file"})
        agent.tool_finished("c1", "a long output\n" * 100)
        agent.call("todo", {"set": ["Call acme-42"]})
    told = b"".join(sent)
    for secret in (b"ghp_0123", b"the end of the file", b"acme-42"):
        assert secret not in told
    assert told.count(b"a long output") <= 12
