"""Answer the requests of the pages of tasks. A slash that is part of a list's name is sent as `%2F`."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from punchlist.core.presence import Roster
from punchlist.errors import TaskListUnknown, TaskUnknown
from punchlist.server.pages.frame import Values, act, author_of, is_person, read_form, show_missing, show_page
from punchlist.server.pages.rendering import list_path, task_path
from punchlist.server.pages.task_edits import add_task, change_task, deliver_signal
from punchlist.server.pages.tasks import TableQuery, find_look, load_list, load_lists, load_task
from punchlist.server.state import ServerState

_BASE: Final = b"/tasks/"


async def show_lists(request: Request, problem: str = "") -> Response:
    def load(state: ServerState, _: Roster) -> Values:
        return {"lists": load_lists(state.board)}

    return await show_page(request, "tasks.html", load, problem=problem, status=409 if problem else 200)


async def add_anywhere(request: Request) -> Response:
    """Add a task to the list that the form names."""
    form, by = await read_form(request), author_of(request)

    def work(state: ServerState) -> str:
        return list_path(add_task(state.board, form.get("list", ""), form, by=by))

    return await act(request, work, lambda problem: show_lists(request, problem))


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
    parts = [unquote_to_bytes(part).decode("utf-8", "replace") for part in raw.removeprefix(_BASE).split(b"/")]
    if len(parts) == 2 and parts[1].isascii() and parts[1].isdecimal() and len(parts[1]) < 19:
        return parts[0], parts[1]
    return "/".join(parts), None


routes: list[BaseRoute] = [
    Route("/tasks", show_lists, methods=["GET"]),
    Route("/tasks", add_anywhere, methods=["POST"]),
    Route("/tasks/{place:path}", show_place, methods=["GET"]),
    Route("/tasks/{place:path}", change_place, methods=["POST"]),
]
