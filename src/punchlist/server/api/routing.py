"""Match requests with the table of routes, read their parts, run their handlers on worker threads, and reply."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NoReturn
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec
from anyio import to_thread
from msgspec import Struct
from starlette.background import BackgroundTask
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from punchlist.core.inputs import to_json_value
from punchlist.errors import PunchlistError, RevisionConflict
from punchlist.server.access import Grant, needs
from punchlist.server.api.calls import Answer, ApiCall
from punchlist.server.problems import ApiProblem, respond_to_error
from punchlist.server.state import run_read, state_of
from punchlist.text.hashing import blake2b

Method = Literal["GET", "POST", "PATCH", "DELETE"]
Need = Literal["look", "answer", "edit", "report"]
Handler = Callable[..., Any]
"""Takes the call and, if the route has a query or a body, that; returns the reply."""

PREFIX: Final = "/api/v1"
_LONGEST_KEY: Final = 200
_MOST_FIELDS: Final = 50
"""Fields of a query: no route knows half as many."""
_MOST_VALUES: Final = 50_000
"""Keys in a body: a list of 10,000 items has fewer."""

_log = logging.getLogger("punchlist.server")
_WHERE: Final = re.compile(r" - at `(?:key in )?\$\.?(?P<path>[^`]*)`$")
_NAMED: Final = re.compile(r"(?:missing required|contains unknown) field `(?P<name>[^`]*)`")
_TAG: Final = re.compile(r'"(?P<revision>\d{1,18})(?:\.[0-9a-f]*)?"')


class ApiRoute(Struct, frozen=True, kw_only=True):
    """One row of the table: a method and a path, what it needs, takes and returns."""

    method: Method
    path: str
    summary: str
    handler: Handler
    reply: Any
    scope: Need = "look"
    query: type[Struct] | None = None
    body: type[Struct] | None = None
    status: int = 200
    errors: tuple[type[PunchlistError], ...] = ()
    for_machines: bool = False
    """The token of a machine reaches it too, for its own sessions and the tasks of its projects: see `ApiCall`."""
    takes_revision: bool = False
    """`If-Match` is taken: the change is made only at that revision. A change by another route refuses it."""

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.path.strip("/").split("/"))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the path's parameters."""
        return tuple(part[1:-1] for part in self.parts if _is_parameter(part))


@needs("look", per_project=True, for_machines=True)
class Api:
    """The application that answers everything under `/api/v1`."""

    access_rule: Any  # set by `needs`

    def __init__(self, routes: Sequence[ApiRoute]) -> None:
        self._paths: dict[tuple[str, ...], dict[str, ApiRoute]] = {}
        for route in routes:
            self._paths.setdefault(route.parts, {})[route.method] = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answer(request, scope)
        except Exception as error:
            response = respond_to_error(error, request.headers)
        await response(scope, receive, send)

    async def _answer(self, request: Request, scope: Scope) -> Response:
        parts = _split_path(scope)
        routes, path = self._find(parts)
        allowed = ", ".join(sorted({*routes, *({"HEAD"} if "GET" in routes else ()), "OPTIONS"}))
        method = "GET" if request.method == "HEAD" else request.method
        if method == "OPTIONS":
            return Response(status_code=204, headers={"allow": allowed})
        route = routes.get(method)
        if route is None:
            detail = f"{request.method} is not possible here; possible are: {allowed}."
            raise ApiProblem(405, "method_not_allowed", detail, headers={"allow": allowed})
        grant: Grant = scope["state"]["grant"]
        if route.scope not in grant.scopes and not (grant.machine and route.for_machines):
            raise ApiProblem(403, "scope_missing", f"This needs a token with the scope `{route.scope}`.")
        body = await request.body() if route.body is not None or route.method != "GET" else b""
        state = state_of(request)
        call = ApiCall(
            state.board,
            grant,
            path=path,
            status=route.status,
            revision=None if route.method == "GET" else _read_revision(request.headers, route),
            key=None if route.method == "GET" else _read_key(request.headers),
            acting=request.headers.get("punchlist-agent", ""),
            fingerprint=_fingerprint(request, scope, body),
            live=state.live,
        )
        run = run_read if route.method == "GET" else state.writes.run
        answer = await run(_run, route, call, scope["query_string"], body)
        return _respond(answer, call, request)

    def _find(self, given: Sequence[str]) -> tuple[dict[str, ApiRoute], dict[str, str]]:
        """Return the routes of a path by method, and its parameters; a path with fewer of them comes first."""
        fitting = [parts for parts in self._paths if _fits(parts, given)]
        if not fitting or "" in given:
            raise ApiProblem(404, "path_unknown", "There is nothing at this path; see `/openapi.json`.")
        best = min(fitting, key=lambda parts: sum(map(_is_parameter, parts)))
        values = {own[1:-1]: part for own, part in zip(best, given, strict=True) if _is_parameter(own)}
        return self._paths[best], values


def _is_parameter(part: str) -> bool:
    return part.startswith("{")


def _fits(parts: Sequence[str], given: Sequence[str]) -> bool:
    pairs = zip(parts, given, strict=False)
    return len(parts) == len(given) and all(own == part or _is_parameter(own) for own, part in pairs)


def _split_path(scope: Scope) -> list[str]:
    """Return the parts of a path after the prefix. A slash that is a part of a name is sent as `%2F`."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    rest = raw.partition(b"?")[0].removeprefix(PREFIX.encode()).removeprefix(b"/")
    try:
        return [unquote_to_bytes(part).decode() for part in rest.split(b"/")]
    except UnicodeDecodeError:
        raise ApiProblem(404, "path_unknown", "The path is not UTF-8.") from None


def _run(route: ApiRoute, call: ApiCall, query: bytes, body: bytes) -> Answer:
    given: tuple[Struct, ...] = ()
    if route.query is not None:
        given = (read_query(query, route.query),)
    elif route.body is not None:
        given = (read_body(body, route.body),)
    try:
        return call.answer(route.handler(call, *given))
    except RevisionConflict as error:
        if call.revision is None:
            raise
        raise ApiProblem(412, error.code, str(error), field="If-Match") from error


def _respond(answer: Answer, call: ApiCall, request: Request) -> Response:
    headers = {"etag": answer.etag} if answer.etag else {}
    if request.method in ("GET", "HEAD"):
        headers["cache-control"] = "private, no-cache"
        tags = request.headers.get("if-none-match", "")
        if answer.etag in [tag.strip().removeprefix("W/") for tag in tags.split(",")] or tags.strip() == "*":
            return Response(status_code=304, headers=headers)

    def run_after() -> None:
        for each in call.after:
            try:
                each()
            except Exception:  # the reply was sent, and the agent is told at its next turn
                _log.exception("an agent could not be told what was changed")

    task = BackgroundTask(to_thread.run_sync, run_after, limiter=state_of(request).deliveries) if call.after else None
    return Response(answer.body, answer.status, headers, "application/json", task)


# Reading the parts of a request.


def read_query(raw: bytes, kind: type[Struct]) -> Struct:
    """Return the fields of a query; raise a problem that names the first one that is wrong."""
    try:
        pairs = parse_qsl(raw.decode("latin-1"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise ApiProblem(400, "query_malformed", f"A query has {_MOST_FIELDS} fields at most.") from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = next(name for name, _ in pairs if sum(name == other for other, _ in pairs) > 1)
        raise ApiProblem(422, "invalid_input", "A field of the query is given twice.", field=twice[:80])
    return _convert(fields, kind, strict=False)


def read_body(body: bytes, kind: type[Struct]) -> Struct:
    """Return a body; raise a problem if it is no JSON (400), or not of this kind (422)."""
    if not body:
        return _convert({}, kind)
    count = 0

    def check_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal count
        count += len(pairs)
        if count > _MOST_VALUES:
            raise ValueError(f"it has more than {_MOST_VALUES:,} keys")
        fields = dict(pairs)
        if len(fields) < len(pairs):
            raise ValueError("an object in it has a key twice")
        return fields

    def refuse_constant(word: str) -> NoReturn:
        raise ValueError(f"{word} is no JSON")

    try:
        given = json.loads(body.decode(), object_pairs_hook=check_object, parse_constant=refuse_constant)
        data = to_json_value(given)
    except RecursionError:
        raise ApiProblem(400, "json_malformed", "The body is nested too deep.") from None
    except (ValueError, TypeError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)[:200]
        raise ApiProblem(400, "json_malformed", f"The body cannot be read as JSON: {reason}.") from None
    return _convert(data, kind)


def _convert(data: Any, kind: type[Struct], *, strict: bool = True) -> Struct:
    try:
        return msgspec.convert(data, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise ApiProblem(422, "invalid_input", f"{error}.", field=_find_field(str(error))) from None


def _find_field(message: str) -> str:
    """Return the field that a message of msgspec is about."""
    where, named = _WHERE.search(message), _NAMED.search(message)
    parts = (where and where["path"], named and named["name"])
    return ".".join(part for part in parts if part)[:200]


def _read_revision(headers: Headers, route: ApiRoute) -> int | None:
    """Return the revision in `If-Match`; None if the change is to be made at any."""
    given = headers.get("if-match", "").strip()
    if given in ("", "*"):
        return None
    if not route.takes_revision:  # a condition that is not looked at would seem to hold
        detail = "This route takes no `If-Match`; nothing was changed."
        raise ApiProblem(422, "invalid_input", detail, field="If-Match")
    tag = _TAG.fullmatch(given)
    if tag is None:
        detail = "`If-Match` takes one ETag, as the resource has it."
        raise ApiProblem(412, "revision_conflict", detail, field="If-Match")
    return int(tag["revision"])


def _read_key(headers: Headers) -> str | None:
    key = headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= _LONGEST_KEY and key.isprintable()):
        detail = f"An `Idempotency-Key` has 1 to {_LONGEST_KEY} printable characters."
        raise ApiProblem(422, "invalid_input", detail, field="Idempotency-Key")
    return key


def _fingerprint(request: Request, scope: Scope, body: bytes) -> bytes:
    parts = (request.method.encode(), scope.get("raw_path") or b"", scope["query_string"], body)
    return blake2b(b"\0".join(parts), digest_size=16).digest()
