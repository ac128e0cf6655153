"""`/live`: parts of pages as they change, rendered once for all readers."""

import asyncio
import threading

import httpx
import pytest

from punchlist.board import Board
from punchlist.server.broadcast import FeedReader
from punchlist.server.streams import TopicHub
from tests.server.conftest import Running
from tests.server.streams import open_stream


def add(board: Board, text: str, session: str = "s") -> None:
    board.agent(session=session, project="/projects/shop").call(
        "todo", {"add": [{"text": text, "status": "in_progress"}]}
    )


def test_all_parts_come_first_and_then_those_that_changed(client: httpx.Client, board: Board):
    add(board, "Paint the gate")
    with open_stream(client, path="/live", topic=["now", "session:s"]) as stream:
        first = {frame.data["topic"]: frame.data["parts"] for frame in stream.take(2)}
        assert set(first) == {"now", "session:s"}
        assert "Paint the gate" in first["session:s"]["lists"]
        add(board, "Oil the hinges")
        for frame in stream:
            if "Oil the hinges" in frame.data["parts"].get("lists", ""):
                assert set(frame.data["parts"]) < set(first["session:s"])
                break


def test_a_change_is_rendered_once_for_all_readers_of_a_topic(running: Running, client: httpx.Client, board: Board):
    add(board, "Paint the gate")
    with open_stream(client, path="/live", topic="session:s") as one:
        one.take(1)
        with open_stream(client, path="/live", topic="session:s") as two:
            two.take(1)
            (topic,) = running.state.app.state.topics.list_topics()
            assert len(topic.readers) == 2
            add(board, "Oil the hinges")
            changes = [next(frame for frame in stream if "lists" in frame.data["parts"]) for stream in (one, two)]
            assert changes[0].data == changes[1].data


@pytest.mark.parametrize("query", [{}, {"topic": "weather"}, {"topic": "session:nope"}, {"topic": ["now"] * 1 + ["x"]}])
def test_a_topic_that_is_none_is_refused_and_leaves_nothing(
    running: Running, client: httpx.Client, query: dict[str, str]
):
    answer = client.get("/live", params=query)
    assert answer.status_code in (404, 422)
    assert running.state.app.state.topics.list_topics() == []


def test_a_topic_that_is_being_rendered_for_its_first_reader_stays_when_another_reader_leaves():
    goes_on = threading.Event()
    goes_on.set()

    def render(name: str) -> dict[str, str]:
        goes_on.wait()
        return {"title": name}

    async def change_pages() -> None:
        hub = TopicHub(render)
        old, new, second = (FeedReader(follows_events=False) for _ in range(3))
        await hub.join(["now"], old)
        goes_on.clear()
        joins = [asyncio.ensure_future(hub.join(["session:s"], reader)) for reader in (new, second)]
        await asyncio.sleep(0)
        assert len(hub.list_topics()) == 2
        hub.leave(old)
        goes_on.set()
        (topic,) = await joins[0]
        assert await joins[1] == [topic]
        assert hub.list_topics() == [topic]
        assert topic.readers == {new, second}
        hub.leave(new)
        assert hub.list_topics() == [topic]
        hub.leave(second)
        assert hub.list_topics() == []

    asyncio.run(change_pages())
