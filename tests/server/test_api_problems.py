"""What the API refuses, and how it says so: problem documents that name the field, never a 5xx."""

import json
from collections.abc import Iterator

import httpx
import pytest

from punchlist import Board
from punchlist.server.api.routing import ApiRoute
from punchlist.server.api.table import ROUTES
from tests.server.conftest import Running
from tests.server.worlds import OURS, build, make_example, name_route

TODOS = f"/api/v1/sessions/{OURS.session}/agents/main/todos"
TASK = f"/api/v1/task-lists/{OURS.list.replace('/', '%2F')}/tasks/1"


@pytest.fixture(scope="module")
def board(shared: Running) -> Board:
    build(shared.board, OURS)
    return shared.board


@pytest.fixture(scope="module")
def client(board: Board, shared_client: httpx.Client) -> httpx.Client:
    """A client of one server for all tests: what they ask for is refused."""
    return shared_client


@pytest.mark.parametrize(
    "path",
    ["/", "/nothing", "/sessions//agents", "/sessions/s/agents/", "/sessions/%ff", "/now/", "/sessions/..%2f../now"],
)
def test_an_unknown_path_is_404(client: httpx.Client, path: str):
    answer = client.get(f"/api/v1{path}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == 404
    assert problem["type"] == f"urn:punchlist:problem:{problem['code']}"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "BREW"])
def test_a_method_that_is_not_possible_is_405_and_names_those_that_are(client: httpx.Client, method: str):
    answer = client.request(method, "/api/v1/now")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"


def test_head_has_no_body_and_options_names_the_methods(client: httpx.Client):
    answer = client.head(TODOS)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["etag"]
    assert client.options(TODOS).headers["allow"] == "GET, HEAD, OPTIONS, PATCH"


@pytest.mark.parametrize(
    "route", [route for route in ROUTES if (route.query or route.body) and route.scope != "report"], ids=name_route
)
def test_an_unknown_key_is_refused_by_its_name(client: httpx.Client, route: ApiRoute):
    _, url, query, body = make_example(route, OURS)
    extra = {"surprise": "yes"}
    if route.query is not None:
        answer = client.request(route.method, url, params={**query, **extra})
    else:
        answer = client.request(route.method, url, json={**body, **extra})
    assert (answer.status_code, answer.json()["field"]) == (422, "surprise")


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "multipart/form-data; boundary=x", ""])
def test_a_body_of_another_type_is_415(client: httpx.Client, kind: str):
    answer = client.patch(TODOS, content=b'{"operations": []}', headers={"content-type": kind})
    assert answer.status_code == 415


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("GET", "/api/v1/events?limit=many", None, "limit"),
        ("GET", "/api/v1/events?limit=0", None, "limit"),
        ("GET", "/api/v1/events?limit=5&limit=6", None, "limit"),
        ("GET", "/api/v1/events?after=-1", None, "after"),
        ("GET", "/api/v1/events?kind=nothing", None, "kind"),
        ("GET", "/api/v1/events?what=ever", None, "what"),
        ("GET", "/api/v1/now?project=%00", None, "project"),
        ("GET", "/api/v1/search", None, "q"),
        ("PATCH", TODOS, {}, "operations"),
        ("PATCH", TODOS, {"operations": []}, "operations"),
        ("PATCH", TODOS, {"operations": [{"op": "done"}, {"op": "explode"}]}, "operations[1].op"),
        ("PATCH", TODOS, {"operations": [{"op": "done", "itme": "2"}]}, "operations[0].itme"),
        ("PATCH", TODOS, {"operations": [{"op": "note", "item": 2}]}, "operations[0].item"),
        ("PATCH", TASK, {"priority": 9}, "priority"),
        ("PATCH", TASK, {"status": "completed"}, "status"),
        ("PATCH", TASK, {"not_before": "2026-01-01T00:00:00"}, "not_before"),
        ("POST", f"{TASK}/heartbeat", {"fence": "1"}, "fence"),
        ("POST", f"{TASK}/heartbeat", {}, "fence"),
    ],
)
def test_input_that_does_not_fit_is_422_and_names_the_field(
    client: httpx.Client, method: str, path: str, body: object, field: str
):
    answer = client.request(method, path, json=body)
    assert (answer.status_code, answer.json()["field"]) == (422, field), answer.text


def _nest(depth: int) -> str:
    return "[" * depth + "]" * depth


BOMBS = {
    "deep arrays": f'{{"operations": {_nest(100_000)}}}',
    "deep objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "deep enough": f'{{"tool": "todo", "arguments": {_nest(150)}}}',
    "a huge number": f'{{"operations": {"9" * 900_000}}}',
    "a huge exponent": '{"tool": "todo", "arguments": 1e400}',
    "not a number": '{"tool": "todo", "arguments": NaN}',
    "many keys": "{" + ",".join(f'"{number}":1' for number in range(80_000)) + "}",
    "one key again and again": '{"operations": [' + ",".join(['{"op":"done","op":"done"}'] * 30_000) + "]}",
    "not UTF-8": '{"operations": "\xff"}',
    "cut off": '{"operations": [{"op": "done"',
    "two values": "{} {}",
    "a long text without an end": '"' + "x" * 900_000,
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
@pytest.mark.parametrize("url", [TODOS, TODOS.replace("/todos", "/call")])
def test_a_bomb_is_refused_at_once_and_changes_nothing(client: httpx.Client, board: Board, bomb: str, url: str):
    before = board.store.last_seq()
    content = bomb.encode("latin-1")
    method = "PATCH" if url is TODOS else "POST"
    answer = client.request(method, url, content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "json_malformed"), answer.text[:300]
    assert len(answer.content) < 1_000
    assert board.store.last_seq() == before


def test_a_body_beyond_the_limit_is_413(client: httpx.Client):
    content = json.dumps({"operations": [{"op": "append", "items": ["x" * 1_100_000]}]}).encode()
    answer = client.patch(TODOS, content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 413

    def send_in_pieces() -> Iterator[bytes]:
        yield from (content[start : start + 65_536] for start in range(0, len(content), 65_536))

    answer = client.patch(TODOS, content=send_in_pieces(), headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"


def test_text_that_no_json_can_hold_is_replaced_and_not_a_fault(client: httpx.Client):
    body = b'{"operations": [{"op": "append", "items": ["lone \\ud800 surrogate"]}]}'
    answer = client.patch(TODOS, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 200
    assert answer.json()["items"][-1]["content"] == "lone \ufffd surrogate"


@pytest.mark.parametrize(
    ("verb", "body", "status", "code"),
    [
        ("complete", {"fence": 7}, 409, "fence_stale"),
        ("complete", {}, 409, "task_taken"),
        ("heartbeat", {"fence": 7}, 409, "fence_stale"),
        ("resume", {}, 409, "transition_refused"),
        ("wait", {"seconds": 1e9}, 422, "invalid_input"),
        ("wait", {"fence": 1, "until": "2020-01-01T00:00:00Z"}, 422, "wait_refused"),
    ],
)
def test_conflicts_of_tasks_are_409_with_their_codes(
    client: httpx.Client, verb: str, body: object, status: int, code: str
):
    answer = client.post(f"{TASK}/{verb}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


def test_a_browser_gets_a_page_instead_of_a_problem_document(client: httpx.Client):
    answer = client.get("/api/v1/nothing", headers={"accept": "text/html"})
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "<h1>" in answer.text
