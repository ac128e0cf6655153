"""Every route × Host × Origin × token × content type: none is answered that should not be."""

import asyncio
import re
from collections.abc import Iterator
from hashlib import sha256
from itertools import product
from typing import Any, NamedTuple

import pytest
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message

from punchlist.board import Board
from punchlist.server.access import SECURITY_HEADERS, Access, Rule, find_rule
from punchlist.server.api.routing import PREFIX
from punchlist.server.api.table import ROUTES
from punchlist.server.app import McpEndpoint, list_routes, make_app
from punchlist.server.state import ServerState

PORT = 8137
OWN = f"127.0.0.1:{PORT}"
HOSTS = {
    OWN: True,
    f"localhost:{PORT}": True,
    f"[::1]:{PORT}": True,
    "evil.example": False,
    f"evil@{OWN}": False,
    "[": False,
    "[evil]": False,
}
ORIGINS = ("", "own", "http://evil.example", "https://board.example", "http://127.0.0.1:3000", "null", "http://[")
FETCHES = ("", "same-origin", "same-site", "cross-site")
TOKENS = (
    "none",
    "wrong",
    "cookie",
    "wrong key",
    "page",
    "forged",
    "link",
    "look",
    "answer",
    "edit",
    "project",
    "report",
)
TYPES = ("", "application/json", "application/x-www-form-urlencoded", "text/plain", "multipart/form-data")
BROWSERS = ("cookie", "wrong key", "page")
"""A browser that was signed in: without the key of its page, with another one, and with it."""
ENOUGH = {
    "look": {"cookie", "wrong key", "page", "link", "look", "answer", "edit", "project"},
    "answer": {"page", "link", "answer", "edit", "project"},
    "edit": {"page", "link", "edit", "project"},
    "report": {"report"},
}


class Asked(NamedTuple):
    method: str
    path: str
    host: str
    origin: str
    fetch: str
    token: str
    type: str


class Row(NamedTuple):
    """A path of the server, the method that it is for, and what that needs."""

    method: str
    path: str
    rule: Rule

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def list_rows() -> list[Row]:
    """Return every route of the application, and of the table of the API, with an address that fits it."""
    rows: list[Row] = []
    for route in list_routes(McpEndpoint()):
        assert isinstance(route, Route | Mount)
        if isinstance(route, Route):
            path = re.sub(r"\{.*?\}", "1", route.path)
            rows += [Row(method, path, find_rule(route)) for method in sorted(route.methods or ()) if method != "HEAD"]
        elif route.path == PREFIX:
            for each in ROUTES:
                path = re.sub(r"\{.*?\}", "1", each.path)
                rows.append(Row(each.method, f"{PREFIX}{path}", Rule(each.scope, True, each.for_machines)))
        else:
            rows.append(Row("GET", f"{route.path}/x", find_rule(route)))
    return rows


def list_cases(row: Row) -> Iterator[Asked]:
    method, path, _ = row
    for host, origin, fetch, token, kind in product(HOSTS, ORIGINS, FETCHES, TOKENS, TYPES):
        # The whole table at our own host and one type; the other hosts and types at a few of its rows.
        is_usual = host == OWN and kind in ("", "application/json")
        is_row = fetch == "" and origin in ("", "own") and (host == OWN or kind == "")
        if (is_usual or is_row) and not (method == "GET" and kind):
            yield Asked(method, path, host, f"http://{host}" if origin == "own" else origin, fetch, token, kind)


def may_pass(asked: Asked, rule: Rule) -> bool:
    """True if a request may be answered with success, in the words of the promise and not of the code."""
    is_change = asked.method not in ("GET", "HEAD")
    # A form of a page without a referrer has the origin `null`, and a page behind a proxy that of the proxy: their
    # browser says that it is the same.
    is_own_origin = asked.fetch == "same-origin" or asked.origin == f"http://{asked.host}"
    is_allowed_type = asked.type in TYPES[:2] or (
        asked.type == TYPES[2] and not asked.path.startswith(("/api/", "/mcp"))
    )
    if not HOSTS[asked.host] or asked.token == "wrong":
        return False
    is_for_machine = asked.token == "report" and rule.for_machines
    if rule.need != "public" and asked.token not in ENOUGH[rule.need] and not is_for_machine:
        return False
    if rule.need != "public" and asked.token == "project" and not rule.per_project:
        return False
    if is_change and (not is_allowed_type or (asked.origin and not is_own_origin)):
        return False
    if asked.token in BROWSERS and not is_own_origin:
        return not is_change and asked.fetch == ""
    # A server on another port of this host is sent the cookie too; the key it is not.
    return asked.token not in ("cookie", "wrong key") or not is_change


class Gate:
    """The application with tokens of every kind, asked without a network: thousands of times."""

    def __init__(self, board: Board) -> None:
        access = Access("s" * 43, board.store, port=PORT)
        for scope in ("look", "answer", "edit"):
            self._add(board, scope, scope, None)
        self._add(board, "project", "edit", "/somewhere")
        self._add(board, "report", "report", None, machine="m1", projects=["*"])
        token = access.find_token("s" * 43)
        assert token is not None
        self.app: ASGIApp = make_app(ServerState(board, access))
        self._cookie = f"{access.cookie_name}={access.make_cookie(token)}"
        self._key = access.make_key(token)
        self._forged = f"{access.cookie_name}=link.{'0' * 64}"

    def _add(self, board: Board, name: str, scope: str, project: str | None, **more: Any) -> None:
        digest = sha256(name.encode()).digest()
        board.store.transact(lambda tx: tx.tokens.add(name, digest, scope, project, at=board.now(), **more))

    def _headers(self, asked: Asked) -> list[tuple[bytes, bytes]]:
        given = {"host": asked.host, "origin": asked.origin, "sec-fetch-site": asked.fetch, "content-type": asked.type}
        if asked.token in (*BROWSERS, "forged"):
            given["cookie"] = self._forged if asked.token == "forged" else self._cookie
            given["x-punchlist-key"] = {"page": self._key, "wrong key": "0" * 64, "forged": self._key}.get(
                asked.token, ""
            )
        elif asked.token != "none":
            given["authorization"] = f"Bearer {'s' * 43 if asked.token == 'link' else asked.token}"
        if asked.type:
            given["content-length"] = "2"
        return [(name.encode(), value.encode()) for name, value in given.items() if value]

    async def ask(self, asked: Asked) -> tuple[int, dict[str, str]]:
        """Return status and headers of the answer, without waiting for its body: a stream has no end."""
        begun = asyncio.get_running_loop().create_future()
        scope: dict[str, Any] = {
            "type": "http",
            "method": asked.method,
            "path": asked.path,
            "raw_path": asked.path.encode(),
            "query_string": b"",
            "headers": self._headers(asked),
            "http_version": "1.1",
            "scheme": "http",
            "server": ("127.0.0.1", PORT),
            "client": ("127.0.0.1", 1),
            "root_path": "",
        }
        bodies = iter([{"type": "http.request", "body": b"{}" if asked.type else b""}])

        async def receive() -> Message:
            for message in bodies:
                return message
            return await asyncio.get_running_loop().create_future()  # the client stays

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start" and not begun.done():
                begun.set_result(message)

        task = asyncio.ensure_future(self.app(scope, receive, send))
        await asyncio.wait([task, begun], return_when=asyncio.FIRST_COMPLETED)
        if not begun.done():
            task.result()  # raises what went wrong
        task.cancel()
        await asyncio.wait([task])
        answer = begun.result()
        return answer["status"], {name.decode(): value.decode() for name, value in answer["headers"]}


@pytest.mark.parametrize("row", list_rows(), ids=str)
def test_no_request_is_answered_that_should_not_be(board: Board, row: Row):
    gate = Gate(board)

    async def ask_all() -> list[tuple[Asked, int]]:
        wrong: list[tuple[Asked, int]] = []
        for asked in list_cases(row):
            status, headers = await gate.ask(asked)
            assert {name: headers.get(name) for name in SECURITY_HEADERS} == SECURITY_HEADERS, asked
            is_right = status not in (401, 403, 415, 421) if may_pass(asked, row.rule) else status >= 400
            if not is_right:
                wrong.append((asked, status))
        return wrong

    assert asyncio.run(ask_all()) == []


def test_a_board_that_cannot_be_read_lets_nobody_in_and_is_answered_in_the_same_form(board: Board):
    gate = Gate(board)
    board.close()
    status, headers = asyncio.run(gate.ask(Asked("GET", "/metrics", OWN, "", "", "look", "")))
    assert (status, headers["content-type"]) == (503, "application/problem+json")
    assert {name: headers.get(name) for name in SECURITY_HEADERS} == SECURITY_HEADERS
