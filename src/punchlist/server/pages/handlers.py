"""Answer the requests of the pages, and render their parts that follow the board.

Forms are answered by a redirect, which their script follows. A topic of `/live` is `now`; `now:` and the name
of a reader other than the owner; `session:` and the id of a session; `tasks` for all lists of tasks; `tasks-states:`,
`tasks-table:` or `tasks-graph:` and the name of a list; `task:`, the name of a list, a slash and the id of a task. Its
parts are elements with these ids; a page replaces those that it has. They hold no more than a reader with the scope
`look` may see: what a reader may not do, their page hides.
"""

import re
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from punchlist.errors import InvalidInput, PunchlistError, StoreBusy, StoreClosed
from punchlist.server.access import SCOPES, needs
from punchlist.server.api.calls import ApiCall
from punchlist.server.api.changes import AnsweredView, MarkBody, WaitBody, resolve_one, save_brief_mark
from punchlist.server.pages.edits import Form, add_task, change_task, deliver_signal, edit_list
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
from punchlist.server.state import ServerState, grant_of, run_read, state_of
from punchlist.settings.environment import login_name
from punchlist.testing.demo_script import Scene, Troupe
from punchlist.views.brief_groups import count_to_do, split_name
from punchlist.views.list_owners import load_names
from punchlist.views.now import Roster

THEMES: Final = ("auto", "light", "dark")
_THEME_COOKIE: Final = "punchlist_theme"
_THEME_SECONDS: Final = 365 * 24 * 3600
_MOST_FIELDS: Final = 50
_MOST_DIGITS: Final = 15
_LONGEST_QUERY: Final = 200
_MOST_HITS: Final = 50
"""Hits of each kind that a search shows."""
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


def make_form(change: Callable[[Request, ApiCall, Form], str], show: Show) -> Show:
    """Return the handler of a form: redirect to the address that `change` returns, or show what went wrong."""

    async def take(request: Request) -> Response:
        state, form = state_of(request), await read_form(request)
        call = ApiCall(state.board, grant_of(request), path=request.path_params)

        def run() -> str:
            address = change(request, call, form)
            for each in call.after:
                each()
            return address

        try:
            return RedirectResponse(await state.writes.run(run), 303)
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


def answer(_request: Request, call: ApiCall, form: Form) -> str:
    """Answer a question, decide on a plan, or let something go on; lead back to where the person was."""
    text, decision = form.get("text", "").strip(), form.get("decision", "")
    if decision:
        text = f"{decision} {text}".strip() if decision == "reject" else decision
    named: dict[str, Any] = {name: form.get(name, "") for name in ("kind", "id", "session", "agent", "list")}
    body = WaitBody(**named, text=text, todos="make_list" in form)
    # Only what the person has read, text and all; of a plan, its revision.
    reply = resolve_one(call, body, lambda one: one.kind == "plan" or element_id(one) == form.get("wait"))
    outcome = msgspec.json.decode(reply.body, type=AnsweredView).outcome
    revision = f"&revision={body.id}" if body.kind == "plan" else ""
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


def change_session(_request: Request, call: ApiCall, form: Form) -> str:
    session = call.path["session"]
    shown = edit_list(call, form)
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


def add_anywhere(_request: Request, call: ApiCall, form: Form) -> str:
    return list_path(add_task(call, form.get("list", ""), form))


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


def change_place(request: Request, call: ApiCall, form: Form) -> str:
    """Change a list or a task as a form of its page says, and lead back to that page."""
    name, task = _read_place(request)
    call.path = {"list": name, "task": task or form.get("task", "")}
    if task is None and form.get("do") == "add":
        add_task(call, name, form)
    elif task is None and form.get("do") == "signal":
        return f"{list_path(name)}?said={deliver_signal(call, form)}"
    else:
        change_task(call, form)
    if task is None:
        return list_path(name)
    return f"{list_path(name)}?said=deleted" if form["do"] == "delete" else task_path(name, task)


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
    sessions = {hit.session for hits in groups.values() for hit in hits[:_MOST_HITS]}
    names = state.board.store.read(lambda tx: load_names(tx, sessions))
    living = {row.list_session for row in roster.agents if row.state in ("busy", "waiting")}
    found = {"rows": rows, "groups": groups, "number": number, "most": _MOST_HITS, "living": living}
    return {"search": {"query": query, "at": roster.at, "names": names, "split": split_name, **found}}


def mark_read(_request: Request, call: ApiCall, form: Form) -> str:
    """Move the person's mark to the end of the brief that they read."""
    until = _parse_number(form.get("until", "")) or 0
    if until <= call.board.store.last_seq():
        save_brief_mark(call, MarkBody(until))
    return "/?said=read"


# The demo.

_playing = threading.Lock()
"""Held while the demo plays: one at a time."""

DEMO_PROJECT: Final = "/demo"


def play_demo(_request: Request, call: ApiCall, _form: Form) -> str:
    """Play the demo on the board that is served, in a project of its own."""
    if not _playing.acquire(blocking=False):
        return "/?said=playing"
    session = f"demo-{int(time.time()):x}"
    scenes = Troupe(call.board, session, project=DEMO_PROJECT).scenes()
    for scene in islice(scenes, 2):  # with the first list there is a page
        scene.act()
    threading.Thread(target=_perform, args=(scenes,), name="punchlist-demo", daemon=True).start()
    return f"{session_path(session)}?said=playing"


def _perform(scenes: Iterator[Scene]) -> None:
    try:
        for scene in scenes:
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
    # Without how long ago times were: the page says that itself, and a part would change all the time.
    return {
        element: _CLOCK.sub(r"\1\2", render(f"parts/{template}.html", values)).strip()
        for element, template in parts.items()
    }


# Routes.

_show_home: Final = make_page("home.html", _load_home)
_show_session: Final = make_page("session.html", _load_session)
_show_plan: Final = make_page("plan.html", _load_plan)
_show_task_lists: Final = make_page("tasks.html", lambda _, state, __: {"lists": load_lists(state.board)})
_static: Final = needs("public")(StaticFiles(packages=[("punchlist.server", "static")]))

routes: list[BaseRoute] = [
    Route("/", _show_home),
    Route("/answer", needs("answer")(make_form(answer, _show_home)), methods=["POST"]),
    Route("/sessions", make_page("sessions.html", _load_sessions)),
    Route("/sessions/{session:path}/plan", _show_plan, methods=["GET"]),
    Route("/sessions/{session:path}/plan", needs("answer")(make_form(answer, _show_plan)), methods=["POST"]),
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
