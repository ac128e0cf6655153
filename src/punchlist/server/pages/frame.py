"""The frame around every page, forms, and the answers to them: who asks, the theme, a notice, a redirect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from punchlist.board import Board
from punchlist.errors import (
    InvalidInput,
    PlanMissing,
    PunchlistError,
    SessionUnknown,
    StoreBusy,
    TaskListUnknown,
    TaskUnknown,
)
from punchlist.server.access import SCOPES
from punchlist.server.pages.now import count_waits
from punchlist.server.pages.rendering import render
from punchlist.server.state import ServerState, grant_of, run_read, state_of
from punchlist.views.now import Roster

THEMES: Final = ("auto", "light", "dark")
_THEME_COOKIE: Final = "punchlist_theme"
_THEME_SECONDS: Final = 365 * 24 * 3600
_MOST_FIELDS: Final = 50
LONGEST_QUERY: Final = 200

NOTICES: Final = {
    "answered": "Answered. The agent is told at its next turn, or now if it is idle.",
    "unblocked": "It goes on.",
    "resumed": "It goes on.",
    "approved": "Plan approved.",
    "rejected": "Plan rejected; the agent is told why.",
    "playing": "The demo plays: three agents begin to work.",
    "read": "Marked as read.",
    "deleted": "The task is deleted; its history stays.",
    "delivered": "The event was delivered.",
    "kept": "No task waits for it yet; it is kept for the first that does.",
}
"""Notices after a redirect, by the word in its address: no text from an address is shown."""


class PageFrame(Struct, frozen=True, kw_only=True):
    """The values that the frame of every page shows."""

    path: str
    back: str
    query: str
    theme: str
    waits: int
    epoch: int
    scope: str
    """The most that the reader may do: look, answer or edit."""
    notice: str = ""
    notice_style: str = ""

    @property
    def next_theme(self) -> str:
        return THEMES[(THEMES.index(self.theme) + 1) % len(THEMES)]


Values = Mapping[str, Any]
Show = Callable[..., Awaitable[Response]]
"""The handler of a page. Takes the request, and a problem that is told above the page."""


def make_page(template: str, load: Callable[[Request, ServerState, Roster], Values]) -> Show:
    """Return the handler of a page. `load` runs in a worker thread, and raises an error if there is no such thing."""

    async def show(request: Request, problem: str = "") -> Response:
        def make() -> tuple[str, int]:
            state = state_of(request)
            roster = state.load_roster()
            frame = _make_frame(request, roster, problem)
            try:
                return render(template, {"page": frame, **load(request, state, roster)}), 409 if problem else 200
            except (SessionUnknown, PlanMissing, TaskListUnknown, TaskUnknown) as error:
                values = {"page": frame, "title": "Not found", "text": str(error)}
                return render("problem.html", values), 404

        return HTMLResponse(*await run_read(make))

    return show


def _make_frame(request: Request, roster: Roster, problem: str) -> PageFrame:
    grant = grant_of(request)
    theme = request.cookies.get(_THEME_COOKIE, "auto")
    notice = problem or NOTICES.get(request.query_params.get("said", ""), "")
    query = request.url.query if request.method == "GET" else ""
    return PageFrame(
        path=request.url.path,
        back=f"{request.url.path}?{query}" if query else request.url.path,
        query=request.query_params.get("q", "")[:LONGEST_QUERY],
        theme=theme if theme in THEMES else "auto",
        waits=count_waits(roster),
        epoch=int(roster.at.timestamp()),
        scope=next(scope for scope in reversed(SCOPES) if scope in grant.scopes),
        notice=notice,
        notice_style="bad" if problem else "good",
    )


# Forms.


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form; the last one of each name. Raise `InvalidInput` for what is no form."""
    try:
        text = (await request.body()).decode()
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise InvalidInput(problem="This is no form that a page here sends.") from error
    return dict(pairs)


def make_form(work: Callable[[Request, Board, Mapping[str, str]], str], show: Show) -> Show:
    """Return the handler of a form: redirect to the address that its work returns, or show what went wrong."""

    async def take(request: Request) -> Response:
        state, form = state_of(request), await read_form(request)
        try:
            return RedirectResponse(await state.writes.run(work, request, state.board, form), 303)
        except StoreBusy:
            raise
        except PunchlistError as error:
            return await show(request, str(error))

    return take


def own_path(text: str, otherwise: str = "/") -> str:
    """Return an address to lead back to: only a path of this server."""
    is_path = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable()
    return text if is_path else otherwise


async def set_theme(request: Request) -> Response:
    """Keep the theme that the person chose in a cookie, and show the page again."""
    form = await read_form(request)
    theme = form.get("theme", "auto")
    response = RedirectResponse(own_path(form.get("back", "/")), 303)
    if theme in THEMES:
        response.set_cookie(_THEME_COOKIE, theme, max_age=_THEME_SECONDS, httponly=True, samesite="strict")
    return response
