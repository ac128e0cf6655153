"""Every reply and every error of the API is what `/openapi.json` says."""

from typing import Any

import httpx
import jsonschema
import pytest

from punchlist import Board
from punchlist.server.api.routing import ApiRoute
from punchlist.server.api.table import PATH_PARAMETERS, ROUTES
from punchlist.server.openapi import describe_api
from tests.server.conftest import Running
from tests.server.worlds import OURS, Place, build, make_example, name_route

API = describe_api()


@pytest.fixture(scope="module")
def board(shared: Running) -> Board:
    return shared.board


@pytest.fixture(scope="module")
def client(shared_client: httpx.Client) -> httpx.Client:
    """A client of one server for all tests: each has a place of its own on the board."""
    return shared_client


def make_place(route: ApiRoute, board: Board, word: str) -> Place:
    place = Place(f"{word}{ROUTES.index(route)}")
    build(board, place)
    return place


def check_answer(route: ApiRoute, answer: httpx.Response) -> None:
    """Fail unless an answer has a status, a type and a body that the route's description has."""
    described = API["paths"][f"/api/v1{route.path}"][route.method.lower()]["responses"]
    assert str(answer.status_code) in described, (name_route(route), answer.status_code, answer.text)
    content = described[str(answer.status_code)].get("content")
    if content is None:
        assert answer.content == b""
        return
    ((kind, media),) = content.items()
    assert answer.headers["content-type"] == kind
    schema = {**media["schema"], "components": API["components"]}
    validator: Any = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    validator.validate(answer.json())


@pytest.mark.parametrize("route", [route for route in ROUTES if route.scope != "report"], ids=name_route)
def test_a_request_is_answered_as_described(route: ApiRoute, client: httpx.Client, board: Board):
    place = make_place(route, board, "answered")
    match route.path.rpartition("/")[2]:
        case "retry":
            board.tasks(place.list).complete("1")
        case "resume":
            board.tasks(place.list).wait("1")
        case "undo":
            edit = {"operations": [{"op": "note", "item": "2", "text": "Hm"}]}
            assert client.patch(f"/api/v1/sessions/{place.session}/agents/main/todos", json=edit).status_code == 200
        case _:
            pass
    example = make_example(route, place)
    answer = client.request(route.method, example.url, params=example.query, json=example.body)
    assert answer.status_code == route.status, answer.text
    assert "etag" in answer.headers
    check_answer(route, answer)


@pytest.mark.parametrize("route", [route for route in ROUTES if route.scope != "report"], ids=name_route)
def test_a_request_about_nothing_is_refused_as_described(route: ApiRoute, client: httpx.Client):
    example = make_example(route, OURS)
    answer = client.request(route.method, example.url, params=example.query, json=example.body)
    assert answer.status_code < 500
    check_answer(route, answer)


MALFORMED = ((b"{", 400), (b'{"x":1,"x":2}', 400), (b'{"nothing_of_the_kind": 1}', 422), (b"[]", 422), (b"null", 422))


@pytest.mark.parametrize(
    "route", [route for route in ROUTES if route.body is not None and route.scope != "report"], ids=name_route
)
def test_a_body_that_does_not_fit_is_refused_as_described(route: ApiRoute, client: httpx.Client, board: Board):
    place = make_place(route, board, "refused")
    before = board.store.last_seq()
    url = make_example(route, place).url
    for body, status in MALFORMED:
        answer = client.request(route.method, url, content=body, headers={"content-type": "application/json"})
        assert answer.status_code == status, answer.text
        check_answer(route, answer)
    assert board.store.last_seq() == before


def test_the_description_is_served_and_says_what_every_part_is(client: httpx.Client):
    served: dict[str, Any] = client.get("/openapi.json").json()
    assert served == API
    assert served["openapi"] == "3.1.0"
    operations = [operation for methods in served["paths"].values() for operation in methods.values()]
    assert len({operation["operationId"] for operation in operations}) == len(ROUTES)
    assert all(operation["summary"].endswith(".") for operation in operations)
    parameters = [parameter for operation in operations for parameter in operation["parameters"]]
    assert all(parameter["description"] for parameter in parameters)
    assert {name for route in ROUTES for name in route.parameters} == set(PATH_PARAMETERS)
    for name, schema in served["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema.get("description"), name
