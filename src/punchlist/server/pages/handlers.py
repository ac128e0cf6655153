"""Answer the requests of the pages, and render their parts that follow the board.

Forms are answered by a redirect, so that they work without a script. A topic of `/live` is `now`; `session:` and the id
of a session; `tasks` for all lists of tasks; `tasks-states:`, `tasks-table:` or `tasks-graph:` and the name of a list;
`task:`, the name of a list, a slash and the id of a task. Its parts are elements with these ids; a page replaces those
that it has. They hold no more than a reader with the scope `look` may see: what a reader may not do, their page hides.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from punchlist.board import Board
from punchlist.core.overview import PersonWait
from punchlist.errors import InvalidInput, StoreClosed
from punchlist.hosts.answers import Outcome, deliver_outcome, find_wait, resolve_wait
from punchlist.hosts.demo_script import Troupe
from punchlist.hosts.reports import load_brief, save_mark
from punchlist.server.access import needs
from punchlist.server.matches import Hit, find_items, find_sessions, find_tasks, split_words
from punchlist.server.pages.edits import add_task, change_task, deliver_signal, edit_list
from punchlist.server.pages.frame import (
    LONGEST_QUERY,
    Values,
    make_form,
    make_page,
    own_path,
    set_theme,
)
from punchlist.server.pages.now import NowPage, count_waits, find_agent, load_now
from punchlist.server.pages.plan import load_plan
from punchlist.server.pages.rendering import element_id, list_path, render, session_path, task_path
from punchlist.server.pages.session import LATEST, load_session
from punchlist.server.pages.stats import load_stats
from punchlist.server.pages.tasks import TableQuery, load_list, load_lists, load_task
from punchlist.server.state import ServerState, grant_of, has_person
from punchlist.store import Transaction
from punchlist.surfaces.brief import brief_lines
from punchlist.surfaces.spans import UNICODE
from punchlist.views.now import Roster

_MOST_DIGITS: Final = 15
_TASKS: Final = b"/tasks/"
_KINDS: Final = {"items": find_items, "sessions": find_sessions, "tasks": find_tasks}


# Now.


def answer(request: Request, board: Board, form: Mapping[str, str]) -> str:
    """Answer a question, decide on a plan, or let something go on; lead back to where the person was."""
    text, decision = form.get("text", "").strip(), form.get("decision", "")
    if decision:
        text = f"{decision} {text}".strip() if decision == "reject" else decision
    by, person = grant_of(request).name, has_person(grant_of(request))

    def resolve() -> tuple[PersonWait, Outcome]:
        session = form.get("session", "")
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
        return wait, resolve_wait(board, wait, text, by=by, person=person, make_list="make_list" in form)

    before = board.store.last_seq()
    # Who keeps a list of tasks elsewhere holds it still before the transaction begins.
    is_task = form.get("kind") == "task"
    wait, outcome = resolve() if is_task else board.store.joined(lambda _: resolve())
    deliver_outcome(board, wait, before, outcome)
    return f"{own_path(form.get('back', '/'))}?said={outcome}"


# Sessions.


def _load_session(request: Request, state: ServerState, roster: Roster) -> Values:
    session = request.path_params["session"]
    name, revision = request.query_params.get("agent", "main"), _read_number(request, "revision")
    past = None if revision is None else (name, revision)
    before = _read_number(request, "before") or LATEST
    return {"session": load_session(state.board, session, find_agent(roster, session), past=past, before=before)}


def change_session(request: Request, board: Board, form: Mapping[str, str]) -> str:
    """Change a list of the session as a form of its page says."""
    session = request.path_params["session"]
    edit_list(board, session, form, by=grant_of(request).name, person=has_person(grant_of(request)))
    return session_path(session)


def _load_plan(request: Request, state: ServerState, _: Roster) -> Values:
    session, agent = request.path_params["session"], request.query_params.get("agent", "main")
    return {"plan": load_plan(state.board, session, agent, _read_number(request, "revision"))}


def _read_number(request: Request, name: str) -> int | None:
    return _parse_number(request.query_params.get(name, ""))


def _parse_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


# Tasks. A slash that is part of a list's name is sent as `%2F`.


def add_anywhere(request: Request, board: Board, form: Mapping[str, str]) -> str:
    """Add a task to the list that the form names."""
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
    """Return the list that a path names, and the task if it names one."""
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    parts = [unquote_to_bytes(part).decode("utf-8", "replace") for part in raw.removeprefix(_TASKS).split(b"/")]
    if len(parts) == 2 and parts[1].isascii() and parts[1].isdecimal() and len(parts[1]) < 19:
        return parts[0], parts[1]
    return "/".join(parts), None


# Search, the brief.


class SearchPage(Struct, frozen=True):
    query: str
    at: datetime
    now: NowPage
    groups: Mapping[str, Sequence[Hit]]

    @property
    def number(self) -> int:
        agents = self.now.waits.number + sum(section.number for section in self.now.agents)
        return agents + sum(map(len, self.groups.values()))


def _load_search(request: Request, state: ServerState, roster: Roster) -> Values:
    """Return everything that holds all words of the query, in any case."""
    query = request.query_params.get("q", "")[:LONGEST_QUERY].strip()
    words = split_words(query)
    groups = {name: list(find(state.board, words)) for name, find in _KINDS.items()} if words else {}
    return {"search": SearchPage(query, roster.at, load_now(state.board, roster, query), groups)}


def _load_brief(request: Request, state: ServerState, _: Roster) -> Values:
    """Return what happened since the person last looked, in every project; `mark_read` moves their mark."""
    loaded = load_brief(state.board, None, project=None, who=grant_of(request).name)
    lines = list(brief_lines(loaded.brief, loaded.around, loaded.changes, UNICODE))
    return {"lines": lines, "brief": loaded}


def mark_read(request: Request, board: Board, form: Mapping[str, str]) -> str:
    """Move the person's mark to the end of the brief that they read."""
    until, mark = _parse_number(form.get("until", "")) or 0, f"brief {grant_of(request).name} "
    spent = sum(row.cost.tokens for row in board.costs())

    def save(tx: Transaction) -> None:
        if until <= tx.last_seq():
            save_mark(tx, mark, until, spent)

    board.store.transact(save)
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
    "now": {"waits": "waits", "agents": "agents", "done": "done"},
    "session": {
        "head": "head",
        "session-waits": "session_waits",
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
    values: dict[str, Any] = {"page": {"waits": count_waits(roster)}}
    match kind:
        case "now" if not name:
            values["now"] = load_now(state.board, roster)
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

_show_now: Final = make_page("now.html", lambda _, state, roster: {"now": load_now(state.board, roster)})
_show_session: Final = make_page("session.html", _load_session)
_show_task_lists: Final = make_page("tasks.html", lambda _, state, __: {"lists": load_lists(state.board)})
_static: Final = needs("public")(StaticFiles(packages=[("punchlist.server", "static")]))

routes: list[BaseRoute] = [
    Route("/", _show_now),
    Route("/answer", needs("answer")(make_form(answer, _show_now)), methods=["POST"]),
    Route("/sessions/{session:path}/plan", make_page("plan.html", _load_plan)),
    Route("/sessions/{session:path}", _show_session, methods=["GET"]),
    Route("/sessions/{session:path}", make_form(change_session, _show_session), methods=["POST"]),
    Route("/tasks", _show_task_lists, methods=["GET"]),
    Route("/tasks", make_form(add_anywhere, _show_task_lists), methods=["POST"]),
    Route("/tasks/{place:path}", show_place, methods=["GET"]),
    Route("/tasks/{place:path}", make_form(change_place, show_place), methods=["POST"]),
    Route("/stats", make_page("stats.html", lambda _, state, __: {"stats": load_stats(state.board)})),
    Route("/search", make_page("search.html", _load_search)),
    Route("/brief", make_page("brief.html", _load_brief), methods=["GET"]),
    Route("/brief", needs("answer")(make_form(mark_read, _show_now)), methods=["POST"]),
    Route("/demo", make_form(play_demo, _show_now), methods=["POST"]),
    Route("/theme", needs("look")(set_theme), methods=["POST"]),
    Mount("/static", _static),
]
