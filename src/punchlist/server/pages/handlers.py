"""Answer the requests of the pages. Forms are answered by a redirect, so that they work without a script."""

from __future__ import annotations

import threading
import time
from functools import cache
from importlib.resources import files
from typing import Final
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from punchlist.board import Board
from punchlist.core.overview import PersonWait
from punchlist.core.presence import Roster
from punchlist.errors import PlanMissing, SessionUnknown, StoreClosed, TaskListUnknown, TaskUnknown
from punchlist.hosts.answers import Outcome, deliver_outcome, find_wait, resolve_wait
from punchlist.hosts.demo_script import Troupe
from punchlist.hosts.reports import load_brief, save_mark
from punchlist.server.access import needs
from punchlist.server.pages.edits import edit_list
from punchlist.server.pages.frame import (
    LONGEST_QUERY,
    Values,
    act,
    author_of,
    is_person,
    own_path,
    read_form,
    set_theme,
    show_missing,
    show_page,
)
from punchlist.server.pages.now import find_agent, load_now
from punchlist.server.pages.plan import describe_steps, load_plan
from punchlist.server.pages.rendering import element_id, list_path, session_path, task_path
from punchlist.server.pages.search import search
from punchlist.server.pages.session import LATEST, load_session
from punchlist.server.pages.stats import load_stats
from punchlist.server.pages.task_edits import add_task, change_task, deliver_signal
from punchlist.server.pages.tasks import TableQuery, find_look, load_list, load_lists, load_task
from punchlist.server.state import ServerState
from punchlist.store import Transaction
from punchlist.surfaces.brief import brief_lines
from punchlist.surfaces.spans import UNICODE
from punchlist.text.hashing import blake2b

_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_MOST_DIGITS: Final = 15
_TASKS: Final = b"/tasks/"


# Now.


async def show_now(request: Request, problem: str = "") -> Response:
    return await show_page(
        request,
        "now.html",
        lambda state, roster: {"now": load_now(state.board, roster)},
        problem=problem,
        status=409 if problem else 200,
    )


@needs("answer")
async def answer(request: Request) -> Response:
    """Answer a question, decide on a plan, or let something go on; lead back to where the person was."""
    form = await read_form(request)
    text, decision = form.get("text", "").strip(), form.get("decision", "")
    if decision:
        text = f"{decision} {text}".strip() if decision == "reject" else decision
    by, person = author_of(request), is_person(request)

    def resolve(board: Board) -> tuple[PersonWait, Outcome]:
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

    def work(state: ServerState) -> str:
        board = state.board
        before = board.store.last_seq()
        # Who keeps a list of tasks elsewhere holds it still before the transaction begins.
        is_task = form.get("kind") == "task"
        wait, outcome = resolve(board) if is_task else board.store.joined(lambda _: resolve(board))
        deliver_outcome(board, wait, before, outcome)
        return f"{own_path(form.get('back', '/'))}?said={outcome}"

    return await act(request, work, lambda problem: show_now(request, problem))


# Sessions.


async def show_session(request: Request, problem: str = "") -> Response:
    session = request.path_params["session"]
    name, revision = request.query_params.get("agent", "main"), _read_number(request, "revision")
    past = None if revision is None else (name, revision)
    before = _read_number(request, "before") or LATEST

    def load(state: ServerState, roster: Roster) -> Values:
        agent = find_agent(roster, session)
        return {"session": load_session(state.board, session, agent, past=past, before=before)}

    try:
        return await show_page(request, "session.html", load, problem=problem, status=409 if problem else 200)
    except SessionUnknown as error:
        return await show_missing(request, error)


async def change_session(request: Request) -> Response:
    """Change a list of the session as a form of its page says."""
    session, form = request.path_params["session"], await read_form(request)
    by, person = author_of(request), is_person(request)

    def work(state: ServerState) -> str:
        edit_list(state.board, session, form, by=by, person=person)
        return session_path(session)

    return await act(request, work, lambda problem: show_session(request, problem))


async def show_plan(request: Request) -> Response:
    session, agent = request.path_params["session"], request.query_params.get("agent", "main")
    revision = _read_number(request, "revision")

    def load(state: ServerState, _: Roster) -> Values:
        view = load_plan(state.board, session, agent, revision)
        return {"plan": view, "steps": describe_steps(view)}

    try:
        return await show_page(request, "plan.html", load)
    except PlanMissing as error:
        return await show_missing(request, error)


def _read_number(request: Request, name: str) -> int | None:
    return _parse_number(request.query_params.get(name, ""))


def _parse_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


# Tasks. A slash that is part of a list's name is sent as `%2F`.


async def show_task_lists(request: Request, problem: str = "") -> Response:
    def load(state: ServerState, _: Roster) -> Values:
        return {"lists": load_lists(state.board)}

    return await show_page(request, "tasks.html", load, problem=problem, status=409 if problem else 200)


async def add_anywhere(request: Request) -> Response:
    """Add a task to the list that the form names."""
    form, by = await read_form(request), author_of(request)

    def work(state: ServerState) -> str:
        return list_path(add_task(state.board, form.get("list", ""), form, by=by))

    return await act(request, work, lambda problem: show_task_lists(request, problem))


async def show_place(request: Request, problem: str = "") -> Response:
    """Show a list, or one task of it."""
    name, task = _read_place(request)
    try:
        return await (_show_list(request, name, problem) if task is None else _show_task(request, name, task, problem))
    except (TaskListUnknown, TaskUnknown) as error:
        return await show_missing(request, error)


async def _show_list(request: Request, name: str, problem: str) -> Response:
    query = request.query_params
    look = find_look(query.get("view", ""))
    texts = {field: query.get(field, "")[:200] for field in TableQuery.__struct_fields__}
    filters = TableQuery(**texts)

    def load(state: ServerState, _: Roster) -> Values:
        return {"tasks": load_list(state.board, name, look, filters, has_done=query.get("done") == "1")}

    return await show_page(request, "task_list.html", load, problem=problem, status=409 if problem else 200)


async def _show_task(request: Request, name: str, task: str, problem: str) -> Response:
    def load(state: ServerState, _: Roster) -> Values:
        return {"task": load_task(state.board, name, task)}

    return await show_page(request, "task.html", load, problem=problem, status=409 if problem else 200)


async def change_place(request: Request) -> Response:
    """Change a list or a task as a form of its page says, and lead back to that page."""
    (name, task), form = _read_place(request), await read_form(request)
    by, person = author_of(request), is_person(request)

    def work(state: ServerState) -> str:
        if task is not None:
            stays = change_task(state.board, name, task, form, by=by, person=person)
            return task_path(name, task) if stays else f"{list_path(name)}?said=deleted"
        match form.get("do"):
            case "add":
                add_task(state.board, name, form, by=by)
            case "signal":
                return f"{list_path(name)}?said={deliver_signal(state.board, name, form, by=by)}"
            case _:
                change_task(state.board, name, form.get("task", ""), form, by=by, person=person)
        return list_path(name)

    return await act(request, work, lambda problem: show_place(request, problem))


def _read_place(request: Request) -> tuple[str, str | None]:
    """Return the list that a path names, and the task if it names one."""
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    parts = [unquote_to_bytes(part).decode("utf-8", "replace") for part in raw.removeprefix(_TASKS).split(b"/")]
    if len(parts) == 2 and parts[1].isascii() and parts[1].isdecimal() and len(parts[1]) < 19:
        return parts[0], parts[1]
    return "/".join(parts), None


# Figures, search.


async def show_stats(request: Request) -> Response:
    return await show_page(request, "stats.html", lambda state, _: {"stats": load_stats(state.board)})


async def show_search(request: Request) -> Response:
    query = request.query_params.get("q", "")[:LONGEST_QUERY].strip()
    return await show_page(request, "search.html", lambda state, roster: {"search": search(state.board, roster, query)})


# The brief.


async def show_brief(request: Request) -> Response:
    """Show what happened since the person last looked, in every project; `mark_read` moves their mark."""

    who = author_of(request)

    def load(state: ServerState, _: Roster) -> Values:
        loaded = load_brief(state.board, None, project=None, who=who)
        lines = list(brief_lines(loaded.brief, loaded.around, loaded.changes, UNICODE))
        return {"lines": lines, "brief": loaded}

    return await show_page(request, "brief.html", load)


@needs("answer")
async def mark_read(request: Request) -> Response:
    """Move the person's mark to the end of the brief that they read."""
    form = await read_form(request)
    until, mark = _parse_number(form.get("until", "")) or 0, f"brief {author_of(request)} "

    def work(state: ServerState) -> str:
        spent = sum(row.cost.tokens for row in state.board.costs())

        def save(tx: Transaction) -> None:
            if until <= tx.last_seq():
                save_mark(tx, mark, until, spent)

        state.board.store.transact(save)
        return "/?said=read"

    return await act(request, work, lambda problem: show_now(request, problem))


# The demo.

_playing = threading.Lock()
"""Held while the demo plays: one at a time."""

DEMO_PROJECT: Final = "/demo"


async def play_demo(request: Request) -> Response:
    """Play the demo on the board that is served, in a project of its own."""

    def work(state: ServerState) -> str:
        if _playing.acquire(blocking=False):
            threading.Thread(target=_perform, args=(state.board,), name="punchlist-demo", daemon=True).start()
        return "/?said=playing"

    return await act(request, work, lambda problem: show_now(request, problem))


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


# Files.


@cache
def _load_files() -> dict[str, tuple[bytes, str, str]]:
    """Return the static files by name: content, type and entity tag."""
    found: dict[str, tuple[bytes, str, str]] = {}
    for file in files("punchlist.server").joinpath("static").iterdir():
        kind = _TYPES.get(file.name.rpartition(".")[2])
        if kind is not None:
            body = file.read_bytes()
            found[file.name] = (body, kind, f'"{blake2b(body, digest_size=8).hexdigest()}"')
    return found


@needs("public")
async def send_file(request: Request) -> Response:
    """Send a file of the page; it holds nothing of the board."""
    found = _load_files().get(request.path_params["name"])
    if found is None:
        return Response("There is no such file.\n", 404, media_type="text/plain")
    body, kind, tag = found
    headers = {"etag": tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=kind)


routes: list[BaseRoute] = [
    Route("/", show_now),
    Route("/answer", answer, methods=["POST"]),
    Route("/sessions/{session:path}/plan", show_plan),
    Route("/sessions/{session:path}", show_session, methods=["GET"]),
    Route("/sessions/{session:path}", change_session, methods=["POST"]),
    Route("/tasks", show_task_lists, methods=["GET"]),
    Route("/tasks", add_anywhere, methods=["POST"]),
    Route("/tasks/{place:path}", show_place, methods=["GET"]),
    Route("/tasks/{place:path}", change_place, methods=["POST"]),
    Route("/stats", show_stats),
    Route("/search", show_search),
    Route("/brief", show_brief, methods=["GET"]),
    Route("/brief", mark_read, methods=["POST"]),
    Route("/demo", play_demo, methods=["POST"]),
    Route("/theme", needs("look")(set_theme), methods=["POST"]),
    Route("/static/{name}", send_file),
]
