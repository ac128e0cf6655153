"""Answer the requests of the pages, and render their parts that follow the board.

Forms are answered by a redirect, which their script follows. A topic of `/live` is `now`; `now:` and the name
of a reader other than the owner; `session:` and the id of a session; `tasks` for all lists of tasks; `tasks-states:`,
`tasks-table:` or `tasks-graph:` and the name of a list; `task:`, the name of a list, a slash and the id of a task. Its
parts are elements with these ids; a page replaces those that it has. They hold no more than a reader with the scope
`look` may see: what a reader may not do, their page hides.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, unquote_to_bytes

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from punchlist.board import Board
from punchlist.core.overview import PersonWait
from punchlist.errors import InvalidInput, PunchlistError, StoreBusy, StoreClosed
from punchlist.people.back_channel import Outcome, deliver_outcome, find_wait, resolve_wait
from punchlist.server.access import SCOPES, needs
from punchlist.server.api.calls import ApiCall
from punchlist.server.api.changes import MarkBody, save_brief_mark
from punchlist.server.pages.edits import add_task, change_task, deliver_signal, edit_list
from punchlist.server.pages.home import find_agent, find_rows, load_home
from punchlist.server.pages.night import FEW_LANES, draw_night
from punchlist.server.pages.plan import load_plan
from punchlist.server.pages.rendering import Values, element_id, list_path, render, session_path, task_path
from punchlist.server.pages.session import LATEST, load_session
from punchlist.server.pages.sessions import SessionQuery, load_sessions
from punchlist.server.pages.stats import load_stats
from punchlist.server.pages.tasks import TableQuery, load_list, load_lists, load_task
from punchlist.server.problems import describe_problem, status_of
from punchlist.server.search import find_items, find_sessions, find_tasks, split_words
from punchlist.server.state import ServerState, grant_of, has_person, run_read, state_of
from punchlist.settings.environment import login_name
from punchlist.store import Transaction
from punchlist.testing.demo_script import Troupe
from punchlist.views.brief_groups import count_to_do
from punchlist.views.now import Roster

THEMES: Final = ("auto", "light", "dark")
_THEME_COOKIE: Final = "punchlist_theme"
_THEME_SECONDS: Final = 365 * 24 * 3600
_MOST_FIELDS: Final = 50
_MOST_DIGITS: Final = 15
_LONGEST_QUERY: Final = 200
_TASKS: Final = b"/tasks/"
_KINDS: Final = {"items": find_items, "sessions": find_sessions, "tasks": find_tasks}

NOTICES: Final = {
    "answered": "Answered. The agent is told at its next turn, or now if it is idle.",
    "unblocked": "It goes on.",
    "resumed": "It goes on.",
    "approved": "{plan} is approved. The agent is told at its next turn, or now if it is idle and may be told so.",
    "rejected": "{plan} is rejected. The agent is told why.",
    "continued": "The open items of the session that ended are on this list now.",
    "playing": "The demo plays for half a minute. Watch “Run the tests”: it becomes failing, then verified.",
    "read": "Marked as read.",
    "deleted": "The task is deleted; its history stays.",
    "delivered": "The event was delivered.",
    "kept": "No task waits for it yet; it is kept for the first that does.",
}
"""Notices after a redirect, by the word in its address: of an address only a number is shown."""


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
            except PunchlistError as error:
                if status_of(type(error)) != 404:
                    raise
                return render("problem.html", {"page": frame, **describe_problem(404, str(error))}), 404

        return HTMLResponse(*await run_read(make))

    return show


def _make_frame(request: Request, roster: Roster, problem: str) -> Values:
    """Return what the frame of every page shows. `scope` is the most that the reader may do."""
    grant = grant_of(request)
    chosen = request.cookies.get(_THEME_COOKIE, "auto")
    theme = chosen if chosen in THEMES else "auto"
    revision = _read_number(request, "revision")
    plan = "The plan" if revision is None else f"Revision {revision} of the plan"
    notice = problem or NOTICES.get(request.query_params.get("said", ""), "").replace("{plan}", plan)
    query = request.url.query if request.method == "GET" else ""
    return {
        "path": request.url.path,
        "back": f"{request.url.path}?{query}" if query else request.url.path,
        "query": request.query_params.get("q", "")[:_LONGEST_QUERY],
        "theme": theme,
        "next_theme": THEMES[(THEMES.index(theme) + 1) % len(THEMES)],
        "waits": count_to_do(roster),
        "epoch": int(roster.at.timestamp()),
        "scope": next(scope for scope in reversed(SCOPES) if scope in grant.scopes),
        "notice": notice,
        "notice_style": "bad" if problem else "good",
    }


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


def own_path(text: str) -> str:
    """Return an address to lead back to: only a path of this server, else its first page."""
    is_path = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable()
    return text if is_path else "/"


async def set_theme(request: Request) -> Response:
    """Keep the theme that the person chose in a cookie, and show the page again."""
    form = await read_form(request)
    theme = form.get("theme", "auto")
    response = RedirectResponse(own_path(form.get("back", "/")), 303)
    if theme in THEMES:
        response.set_cookie(_THEME_COOKIE, theme, max_age=_THEME_SECONDS, httponly=True, samesite="strict")
    return response


# Home.


def _load_home(request: Request, state: ServerState, roster: Roster) -> Values:
    """Return what happened since the person last looked, in every project; `mark_read` moves their mark."""
    who = grant_of(request).name
    words = request.query_params.get("q", "")[:_LONGEST_QUERY].strip()
    topic = "now" if who == login_name() else f"now:{who}"
    return {"topic": "" if words else topic, **_show_brief(state, roster, who, words)}


def _show_brief(state: ServerState, roster: Roster, who: str, words: str = "", *, is_live: bool = False) -> Values:
    loaded, calls = state.briefs.load(who, roster, is_live=is_live)
    home = load_home(loaded, roster, words)
    night = None if words else draw_night(home["rows"], loaded, calls, roster.at)
    return {"home": home, "night": night, "few_lanes": FEW_LANES}


def answer(request: Request, board: Board, form: Mapping[str, str]) -> str:
    """Answer a question, decide on a plan, or let something go on; lead back to where the person was."""
    text, decision = form.get("text", "").strip(), form.get("decision", "")
    if decision:
        text = f"{decision} {text}".strip() if decision == "reject" else decision
    grant, session = grant_of(request), form.get("session", "")

    def resolve(_: Transaction) -> tuple[PersonWait, Outcome]:
        waits = board.waits(session=session or None)
        wait = find_wait(
            # Only what the person has read, text and all.
            (one for one in waits if element_id(one) == form.get("wait")),
            kind=form.get("kind", ""),
            session=session,
            agent=form.get("agent", ""),
            id=form.get("id", ""),
            list=form.get("list", ""),
        )
        make_list = "make_list" in form
        return wait, resolve_wait(board, wait, text, by=grant.name, person=has_person(grant), make_list=make_list)

    before = board.store.last_seq()
    wait, outcome = board.store.joined(resolve)
    deliver_outcome(board, wait, before, outcome)
    revision = f"&revision={wait.id}" if wait.kind == "plan" else ""
    return f"{own_path(form.get('back', '/'))}?said={outcome}{revision}"


# Sessions.


def _load_sessions(request: Request, state: ServerState, roster: Roster) -> Values:
    given = request.query_params
    query = SessionQuery(**{name: given.get(name, "")[:_LONGEST_QUERY] for name in SessionQuery.__struct_fields__})
    page, step = _read_number(request, "page") or 1, _read_number(request, "step") or 0
    return {"sessions": load_sessions(state.board, roster, query, page, step)}


def _load_session(request: Request, state: ServerState, roster: Roster) -> Values:
    session = request.path_params["session"]
    name, revision = request.query_params.get("agent", "main"), _read_number(request, "revision")
    past = None if revision is None else (name, revision)
    before = _read_number(request, "before") or LATEST
    return {"session": load_session(state.board, session, find_agent(roster, session), past=past, before=before)}


def change_session(request: Request, board: Board, form: Mapping[str, str]) -> str:
    session = request.path_params["session"]
    shown = edit_list(board, session, form, by=grant_of(request).name, person=has_person(grant_of(request)))
    return session_path(shown) + ("" if shown == session else "?said=continued")


def _load_plan(request: Request, state: ServerState, roster: Roster) -> Values:
    session, agent = request.path_params["session"], request.query_params.get("agent", "main")
    seen = find_agent(roster, session)
    return {"plan": load_plan(state.board, session, agent, _read_number(request, "revision"), seen)}


def _read_number(request: Request, name: str) -> int | None:
    return _parse_number(request.query_params.get(name, ""))


def _parse_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


# Tasks. A slash that is part of a list's name is sent as `%2F`.


def add_anywhere(request: Request, board: Board, form: Mapping[str, str]) -> str:
    return list_path(add_task(board, form.get("list", ""), form, by=grant_of(request).name))


def _load_list(request: Request, state: ServerState, _: Roster) -> Values:
    name, query = _read_place(request)[0], request.query_params
    filters = TableQuery(**{field: query.get(field, "")[:200] for field in TableQuery.__struct_fields__})
    look = query["view"] if query.get("view") in ("table", "graph") else "states"
    return {"tasks": load_list(state.board, name, look, filters, has_done=query.get("done") == "1")}


def _load_task(request: Request, state: ServerState, _: Roster) -> Values:
    name, task = _read_place(request)
    return {"task": load_task(state.board, name, task or "")}


_show_list: Final = make_page("task_list.html", _load_list)
_show_task: Final = make_page("task.html", _load_task)


async def show_place(request: Request, problem: str = "") -> Response:
    """Show a list, or one task of it."""
    show = _show_list if _read_place(request)[1] is None else _show_task
    return await show(request, problem)


def change_place(request: Request, board: Board, form: Mapping[str, str]) -> str:
    """Change a list or a task as a form of its page says, and lead back to that page."""
    name, task = _read_place(request)
    by, person = grant_of(request).name, has_person(grant_of(request))
    if task is not None:
        stays = change_task(board, name, task, form, by=by, person=person)
        return task_path(name, task) if stays else f"{list_path(name)}?said=deleted"
    match form.get("do"):
        case "add":
            add_task(board, name, form, by=by)
        case "signal":
            return f"{list_path(name)}?said={deliver_signal(board, name, form, by=by)}"
        case _:
            change_task(board, name, form.get("task", ""), form, by=by, person=person)
    return list_path(name)


def _read_place(request: Request) -> tuple[str, str | None]:
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    parts = [unquote_to_bytes(part).decode("utf-8", "replace") for part in raw.removeprefix(_TASKS).split(b"/")]
    if len(parts) == 2 and parts[1].isascii() and parts[1].isdecimal() and len(parts[1]) < 19:
        return parts[0], parts[1]
    return "/".join(parts), None


# Search, the mark of a reader.


def _load_search(request: Request, state: ServerState, roster: Roster) -> Values:
    query = request.query_params.get("q", "")[:_LONGEST_QUERY].strip()
    words = split_words(query)
    loaded, _ = state.briefs.load(grant_of(request).name, roster)
    rows = find_rows(loaded, roster, query) if words else []
    groups = {name: list(find(state.board, words)) for name, find in _KINDS.items()} if words else {}
    number = len(rows) + sum(map(len, groups.values()))
    return {"search": {"query": query, "at": roster.at, "rows": rows, "groups": groups, "number": number}}


def mark_read(request: Request, board: Board, form: Mapping[str, str]) -> str:
    """Move the person's mark to the end of the brief that they read."""
    until = _parse_number(form.get("until", "")) or 0
    if until <= board.store.last_seq():
        save_brief_mark(ApiCall(board, grant_of(request)), MarkBody(until))
    return "/?said=read"


# The demo.

_playing = threading.Lock()
"""Held while the demo plays: one at a time."""

DEMO_PROJECT: Final = "/demo"


def play_demo(_request: Request, board: Board, _form: Mapping[str, str]) -> str:
    """Play the demo on the board that is served, in a project of its own."""
    if _playing.acquire(blocking=False):
        threading.Thread(target=_perform, args=(board,), name="punchlist-demo", daemon=True).start()
    return "/?said=playing"


def _perform(board: Board) -> None:
    try:
        troupe = Troupe(board, f"demo-{int(time.time()):x}", project=DEMO_PROJECT)
        for scene in troupe.scenes():
            scene.act()
            time.sleep(scene.seconds)
    except StoreClosed:
        pass  # the server stops
    finally:
        _playing.release()


# The parts of pages.

_PARTS: Final[Mapping[str, Mapping[str, str]]] = {
    "now": {
        "lead": "lead",
        "night": "night",
        "night-below": "night_below",
        "do-now": "do_now",
        "look-first": "look_first",
        "at-work": "at_work",
        "checked": "checked",
        "rest": "rest",
    },
    "session": {
        "head": "head",
        "session-waits": "session_waits",
        "failures": "failures",
        "lists": "lists",
        "timeline": "timeline",
        "events": "events",
    },
    "tasks": {"tasks": "tasks"},
    "tasks-states": {"tasks-head": "task_list_head", "tasks-states": "task_states"},
    "tasks-table": {"tasks-head": "task_list_head", "tasks-table": "task_table"},
    "tasks-graph": {"tasks-head": "task_list_head", "tasks-graph": "task_graph"},
    "task": {"task-head": "task_head", "task-body": "task_body", "task-history": "task_history"},
}
"""The template of each part of a topic, by the id of its element."""

_CLOCK: Final = re.compile(r"(<time [^>]*data-(?:age|until)[^>]*>)[^<]*|(<rect class=\"left\") width=\"[^\"]*\"")


def render_topic(state: ServerState, topic: str) -> dict[str, str]:
    """Return the parts of a topic as they are now, by the ids of their elements; raise `InvalidInput` for no topic."""
    kind, _, name = topic.partition(":")
    roster = state.load_roster()
    values: dict[str, Any] = {"page": {"waits": count_to_do(roster)}}
    match kind:
        case "now":
            values |= _show_brief(state, roster, name or login_name(), is_live=True)
        case "session" if name:
            values["session"] = load_session(state.board, name, find_agent(roster, name))
        case "tasks" if not name:
            values["lists"] = load_lists(state.board)
        case "tasks-states" | "tasks-table" | "tasks-graph" if name:
            values["tasks"] = load_list(state.board, name, kind.removeprefix("tasks-"))
        case "task" if name.rpartition("/")[2].isdecimal():
            where, _, number = name.rpartition("/")
            values["task"] = load_task(state.board, where, number)
        case "":
            pass  # a page without parts of its own still counts what waits
        case _:
            raise InvalidInput(problem=f"`{topic}` is no topic; use `now`, `session:ID` or `tasks`.")
    parts = {"count": "count", **_PARTS.get(kind, {})}
    return {element: _stop_clocks(render(f"parts/{template}.html", values)) for element, template in parts.items()}


def _stop_clocks(html: str) -> str:
    """Leave out how long ago times were: the page says that itself, and a part would change all the time."""
    return _CLOCK.sub(r"\1\2", html).strip()


# Routes.

_show_home: Final = make_page("home.html", _load_home)
_show_session: Final = make_page("session.html", _load_session)
_show_task_lists: Final = make_page("tasks.html", lambda _, state, __: {"lists": load_lists(state.board)})
_static: Final = needs("public")(StaticFiles(packages=[("punchlist.server", "static")]))

routes: list[BaseRoute] = [
    Route("/", _show_home),
    Route("/answer", needs("answer")(make_form(answer, _show_home)), methods=["POST"]),
    Route("/sessions", make_page("sessions.html", _load_sessions)),
    Route("/sessions/{session:path}/plan", make_page("plan.html", _load_plan)),
    Route("/sessions/{session:path}", _show_session, methods=["GET"]),
    Route("/sessions/{session:path}", make_form(change_session, _show_session), methods=["POST"]),
    Route("/tasks", _show_task_lists, methods=["GET"]),
    Route("/tasks", make_form(add_anywhere, _show_task_lists), methods=["POST"]),
    Route("/tasks/{place:path}", show_place, methods=["GET"]),
    Route("/tasks/{place:path}", make_form(change_place, show_place), methods=["POST"]),
    Route("/stats", make_page("stats.html", lambda _, state, __: {"stats": load_stats(state.board)})),
    Route("/search", make_page("search.html", _load_search)),
    Route("/brief", RedirectResponse("/", 308), methods=["GET"]),
    Route("/brief", needs("answer")(make_form(mark_read, _show_home)), methods=["POST"]),
    Route("/demo", make_form(play_demo, _show_home), methods=["POST"]),
    Route("/theme", needs("look")(set_theme), methods=["POST"]),
    Mount("/static", _static),
]
