"""Answer what went wrong: problem documents of RFC 9457 with our own codes, or a plain page for a browser."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any, Final

import msgspec
from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape
from msgspec import UNSET, Struct, UnsetType
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from punchlist import errors
from punchlist.text import for_terminal

PROBLEM_TYPE: Final = "application/problem+json"
RETRY_SECONDS: Final = 1
_log = logging.getLogger("punchlist.server")


class ProblemReply(Struct, frozen=True, kw_only=True):
    """A problem (RFC 9457). `code` is ours and stays; `field` names the part of the request that is wrong."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    field: str | UnsetType = UNSET


class ApiProblem(Exception):
    """A request that cannot be answered, by its status and a stable code."""

    def __init__(
        self, status: int, code: str, detail: str, *, field: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.field = field
        self.headers = dict(headers or {})


_STATUSES: Final[Mapping[type[errors.PunchlistError], int]] = {
    errors.PunchlistError: 422,
    errors.SessionUnknown: 404,
    errors.AgentUnknown: 404,
    errors.TaskListUnknown: 404,
    errors.TaskUnknown: 404,
    errors.FlowUnknown: 404,
    errors.PlanMissing: 404,
    errors.RevisionConflict: 409,
    errors.NothingToUndo: 409,
    errors.UndoRefused: 409,
    errors.PlanUnfinished: 409,
    errors.PlanRevisionConflict: 409,
    errors.PlanDecided: 409,
    errors.PlanExpired: 409,
    errors.PlanWithoutSteps: 409,
    errors.NotAsked: 409,
    errors.AlreadyAnswered: 409,
    errors.ItemGone: 409,
    errors.SessionExists: 409,
    errors.SessionAmbiguous: 409,
    errors.TaskError: 409,
    errors.WaitRefused: 422,
    errors.FlowError: 409,
    errors.FlowWaitRefused: 422,
    errors.ExtraMissing: 501,
    errors.StoreError: 503,
    errors.StoreFull: 507,
    errors.StoreUncertain: 500,  # not 503, which says that nothing was changed
    errors.ListFileRefused: 409,
    errors.PlanFileRefused: 409,
}
"""The status of each error, by its nearest class that is named here."""


def status_of(error: type[errors.PunchlistError]) -> int:
    return next(_STATUSES[kind] for kind in error.__mro__ if kind in _STATUSES)


def find_problem(error: Exception) -> ApiProblem:
    """Return an error as a problem. One that nobody foresaw is logged, and says nothing of itself."""
    match error:
        case ApiProblem():
            return error
        case errors.PunchlistError():
            status = status_of(type(error))
            headers = {"retry-after": str(RETRY_SECONDS)} if status == 503 else {}
            return ApiProblem(status, error.code, str(error), headers=headers)
        case HTTPException():
            code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_").replace("'", "")
            detail = "Nothing is at this address." if error.status_code == 404 else error.detail
            return ApiProblem(error.status_code, code, detail, headers=error.headers)
        case ClientDisconnect():  # within its body; nobody reads the response
            return ApiProblem(400, "client_left", "The client left before its request was complete.")
        case _:
            _log.error("a request met a fault", exc_info=error)
            return ApiProblem(500, "internal_error", "The server met a fault of its own; its log says which.")


_PROBLEM_PAGES: Final[Mapping[int, tuple[str, tuple[str, str]]]] = {
    401: ("This page needs your sign-in link", ("/", "Try again")),
    403: ("This is not allowed here", ("/", "To Home")),
    404: ("There is no such page", ("/sessions", "All sessions")),
    503: ("The board is busy", ("/", "Try again")),
}
"""The title of a problem in a browser, and the one link that leads out of it."""

_FRAME: Final = {
    "path": "",
    "back": "/",
    "theme": "auto",
    "next_theme": "light",
    "waits": 0,
    "epoch": 0,
    "scope": "look",
    "notice": "",
}
"""The frame of a page for somebody who may be nobody."""


def describe_problem(status: int, text: str) -> dict[str, Any]:
    """Return what the page of a problem shows: a title, one sentence, one link."""
    title, link = _PROBLEM_PAGES.get(status, ("This did not work", ("/", "To Home")))
    if status == 401 and "serve" not in text:
        text = f"{text} `punchlist serve --status` shows the link that signs this browser in."
    shown = re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(for_terminal(text))))
    return {"title": title, "text": Markup(shown), "link": link}


@cache
def _templates() -> Environment:
    """Return the templates without the filters of the pages: those import this module."""
    loader = PackageLoader("punchlist.server")
    return Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)


def respond_to_error(error: Exception, headers: Headers) -> Response:
    """Return a problem document; for a program that asks for HTML, a page that says the same."""
    problem = find_problem(error)
    title = problem.code.replace("_", " ").capitalize()
    if "text/html" in headers.get("accept", ""):
        values = {"page": _FRAME, **describe_problem(problem.status, str(problem))}
        page = _templates().get_template("problem.html").render(values)
        return Response(page, problem.status, problem.headers, "text/html; charset=utf-8")
    reply = ProblemReply(
        type=f"urn:punchlist:problem:{problem.code}",
        title=title,
        status=problem.status,
        detail=str(problem),
        code=problem.code,
        field=UNSET if problem.field is None else problem.field,
    )
    return Response(msgspec.json.encode(reply), problem.status, problem.headers, PROBLEM_TYPE)


async def answer_error(request: Request, error: Exception) -> Response:
    return respond_to_error(error, request.headers)


exception_handlers: Final[Mapping[Any, Any]] = dict.fromkeys(
    (HTTPException, ApiProblem, ClientDisconnect, errors.PunchlistError, Exception), answer_error
)
"""For the application: every error of every route is answered in the same form."""
