"""What docs/http-api.md shows works as shown."""

import re
import shlex
from pathlib import Path

import httpx

from punchlist import Board
from tests.server.conftest import Running

PAGE = Path(__file__).parents[2] / "docs" / "http-api.md"


def read_requests(running: Running) -> list[httpx.Request]:
    """Return the requests that the `curl` lines of the page send."""
    found: list[httpx.Request] = []
    for block in re.findall(r"(?ms)^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            filled = line.replace("$TOKEN", running.access.secret).replace("$SERVER", running.origin)
            command, *words = shlex.split(filled)
            assert command == "curl"
            method, headers, body = "GET", dict[str, str](), None
            while len(words) > 1:
                option, value, *words = words
                match option:
                    case "-X":
                        method = value
                    case "-d":
                        body, method = value, "POST" if method == "GET" else method
                    case "-H":
                        name, _, content = value.partition(": ")
                        headers[name] = content
                    case _:
                        raise AssertionError(f"{option} is not known here")
            found.append(httpx.Request(method, words[0], headers=headers, content=body))
    return found


def test_every_call_that_the_page_shows_is_answered(running: Running, board: Board):
    agent = board.agent(session="s1", project="/projects/api")
    agent.call("todo", {"add": [{"text": "Look around"}, {"text": "Deploy"}]})
    agent.ask("2", "Which region?")
    requests = read_requests(running)
    assert len(requests) >= 6
    with running.open_client() as client:
        for request in requests:
            answer = client.send(request)
            assert answer.status_code in (200, 201), (request.url, answer.text)
            assert not answer.json().get("is_error"), answer.text
    assert [task.owner for task in board.tasks("deploys").list()] == ["worker-1"]
    assert [item.content for item in agent.todos.items][-1] == "Write the changelog"
    assert [item.content for item in board.agent(session="s2").todos.items] == ["Fix it"]
