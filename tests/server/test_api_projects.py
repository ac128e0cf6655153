"""A token for one project sees and changes that one alone, by every route; and a scope opens only its own routes."""

from collections.abc import Iterator

import httpx
import pytest

from punchlist import Board
from punchlist.server.api.routing import ApiRoute
from punchlist.server.api.table import ROUTES
from tests.server.conftest import Running, make_token
from tests.server.worlds import OTHERS, OURS, Example, Place, build, make_example, name_route

SCOPES = ("look", "answer", "edit")


@pytest.fixture(scope="module")
def board(shared: Running) -> Board:
    """One board for all tests: what they change is in a project of their own."""
    build(shared.board, OURS)
    build(shared.board, OTHERS)
    for scope in SCOPES:
        make_token(shared.board, scope, scope)
    make_token(shared.board, "limited", "edit", OURS.project)
    return shared.board


def open_client(shared: Running, token: str) -> httpx.Client:
    return shared.open_client(headers={"Authorization": f"Bearer secret of {token}"})


@pytest.fixture(scope="module")
def limited(shared: Running, board: Board) -> Iterator[httpx.Client]:
    """A client whose token is for our project alone."""
    with open_client(shared, "limited") as client:
        yield client


def make_place(route: ApiRoute, board: Board, word: str) -> Place:
    place = Place(f"{word}{ROUTES.index(route)}")
    build(board, place)
    return place


def send(client: httpx.Client, example: Example, **query: str) -> httpx.Response:
    return client.request(example.route.method, example.url, params=example.query | query, json=example.body)


PEOPLES = [route for route in ROUTES if route.scope != "report"]
"""Routes that are not those of machines alone, which have tests of their own."""


@pytest.mark.parametrize("route", PEOPLES, ids=name_route)
def test_nothing_of_another_project_is_seen_or_changed(route: ApiRoute, limited: httpx.Client, board: Board):
    before = board.store.last_seq()
    answer = send(limited, make_example(route, OTHERS))
    leads_there = {"session", "list"}.intersection(route.parameters) or route.path == "/waits/resolve"
    if leads_there:
        assert answer.status_code in (404, 422), answer.text
        assert board.store.last_seq() == before
    told = answer.text.replace(OTHERS.session, "").replace(OTHERS.list, "")  # as the request itself said it
    assert OTHERS.word not in told
    assert {event.project for event in board.events(before)} <= {OURS.project}


READING = [route for route in ROUTES if route.query is not None and route.method == "GET"]


@pytest.mark.parametrize("route", READING, ids=name_route)
@pytest.mark.parametrize("field", ["project", "session"])
def test_no_filter_leads_to_another_project(route: ApiRoute, field: str, limited: httpx.Client):
    assert route.query is not None
    if field not in route.query.__struct_fields__:
        return
    answer = send(limited, make_example(route, OURS), **{field: getattr(OTHERS, field)})
    assert answer.status_code == 404
    assert answer.json()["code"] in ("project_unknown", "session_unknown")


@pytest.mark.parametrize("route", PEOPLES, ids=name_route)
def test_the_own_project_is_seen(route: ApiRoute, shared: Running, board: Board):
    place = make_place(route, board, "own")
    make_token(board, place.word, "edit", place.project)
    with open_client(shared, place.word) as client:
        answer = send(client, make_example(route, place))
    assert answer.status_code < 300 or answer.json()["code"] in ("nothing_to_undo", "transition_refused"), answer.text


def test_a_call_for_another_project_makes_no_session(limited: httpx.Client, board: Board):
    body = {"tool": "todo", "arguments": {"add": [{"text": "One"}]}}
    url = "/api/v1/sessions/new/agents/main/call"
    assert limited.post(url, json={**body, "project": OTHERS.project}).status_code == 404
    assert board.store.read(lambda tx: tx.session_project("new")) is None
    assert limited.post(url, json=body).status_code == 200
    assert board.store.read(lambda tx: tx.session_project("new")) == OURS.project


@pytest.mark.parametrize("name", [f"project:{OTHERS.project}/deeper", f"session:{OTHERS.session}"])
def test_no_list_of_tasks_is_made_in_another_project(limited: httpx.Client, board: Board, name: str):
    url = f"/api/v1/task-lists/{name.replace('/', '%2F')}/tasks"
    assert limited.post(url, json={"subject": "New"}).status_code == 404
    assert board.store.read(lambda tx: tx.tasks.find_list(name)) is None


@pytest.mark.parametrize("name", [OTHERS.list, f"{OTHERS.list}/deeper", f"session:{OTHERS.session}"])
@pytest.mark.parametrize("dialect", ["claude-tasks", "punchlist-tasks"])
def test_no_tool_of_tasks_reaches_a_list_of_another_project(
    limited: httpx.Client, board: Board, name: str, dialect: str
):
    tool = "TaskList" if dialect == "claude-tasks" else "task"
    body = {"dialect": dialect, "tool": tool, "arguments": {"do": "list"}, "options": {"task_list": name}}
    answer = limited.post(f"/api/v1/sessions/{OURS.session}/agents/main/call", json=body)
    assert answer.status_code == 404, answer.text
    assert f"Task 1 of {OTHERS.word}" not in answer.text


def test_a_new_list_belongs_to_the_project_of_the_token(limited: httpx.Client, board: Board):
    assert limited.post("/api/v1/task-lists/inbox/tasks", json={"subject": "New"}).status_code == 201
    found = board.store.read(lambda tx: tx.tasks.find_list("inbox"))
    assert found is not None
    assert found.project == OURS.project


@pytest.mark.parametrize("route", PEOPLES, ids=name_route)
def test_a_scope_opens_its_own_routes_alone(route: ApiRoute, shared: Running, board: Board):
    place = make_place(route, board, "scoped")
    for scope in SCOPES:
        with open_client(shared, scope) as client:
            answer = send(client, make_example(route, place))
        is_open = SCOPES.index(scope) >= SCOPES.index(route.scope)
        assert (answer.status_code != 403) is is_open, answer.text
        if not is_open:
            assert answer.json()["code"] == "scope_missing"
