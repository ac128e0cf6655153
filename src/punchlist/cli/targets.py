"""Find the list that a person's command means: by `--session`, `--agent` and `--mine`, else by the item it names."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from punchlist.board import Board
from punchlist.cli.arguments import Parser, check_session
from punchlist.core.task import FLOWS, Task, find_tasks
from punchlist.core.todo import find_items, find_phase
from punchlist.errors import EditRefused, NothingToUndo
from punchlist.hosts.list_owners import MAIN, is_personal_list, name_path_session, open_list_owner
from punchlist.settings.environment import project_of
from punchlist.store import ListRow
from punchlist.surfaces.spans import plural, safe_line

if TYPE_CHECKING:
    from punchlist.agent import Agent  # commands on tasks start without it

_MOST_LISTS = 1000
_MOST_NAMED = 5


class _Found(NamedTuple):
    row: ListRow
    text: str


class _Lists(NamedTuple):
    """The lists that a command may mean: those under way, and the others."""

    under_way: list[ListRow]
    others: list[ListRow]


def add_target(parser: Parser) -> None:
    parser.add_argument("--session", metavar="S", help="only lists of this session (default: of this project)")
    parser.add_argument("--agent", metavar="A", help="only the list of the agent of this name")
    parser.set_defaults(mine=False)
    parser.add_by("who makes the change")


def find_owner(
    board: Board,
    options: Namespace,
    query: str,
    *,
    phases: bool = False,
    omitted: bool = False,
    wanted: str = "item",
) -> Agent:
    """Return the agent whose list has the only item that the query may mean; with `phases`, else the only phase.

    Lists under way are searched first, then the others. With `omitted` the items are those that rewrites left out.
    `wanted` says in the error what was looked for.
    """
    lists = _find_lists(board, options)
    for rows in lists:
        matches = find_items([row.todos.omitted if omitted else row.todos.items for row in rows], query)
        found = [_Found(rows[match.place], match.item.content) for match in matches]
        is_number = any(match.item.id == query.removeprefix("#") for match in matches)
        if not found and phases:
            named = [(row, find_phase(row.todos.phases, query)) for row in rows]
            found = [_Found(row, phase.name) for row, phase in named if phase is not None]
        if len(found) > 1 or (is_number and len(rows) > 1):
            raise _several_error(query, found, is_number=is_number)
        if found:
            row = found[0].row
            return open_list_owner(board, row.agent, row.session, row.project)
    if (task := _find_task(board, options, query)) is not None:
        how = f"punchlist tasks done {task.id} --list {quote(task.list)}"
        raise EditRefused(problem=f"“{task.subject}” is a task: `{how}` completes it; see `punchlist tasks --help`.")
    if not any(lists):
        raise _nothing_error(options)
    raise EditRefused(problem=f'No {wanted} matched "{query}"; `punchlist todos` shows the lists.')


def choose_list(
    board: Board, options: Namespace, *, create: bool = False, agents_first: bool = False, reads: bool = False
) -> Agent:
    """Return the agent of the only list under way; if there is none, of the only list. Several are refused.

    With `create`, the person's own list is made where none is under way. With `agents_first` it is chosen only where
    no agent has one under way. A copy is refused, unless the command only `reads` it.
    """
    rows, others = _find_lists(board, options)
    session = _named_session(options)
    if agents_first and session is None and options.agent is None:
        rows = [row for row in rows if not is_personal_list(row.session, row.agent, row.project)]
    if not rows and create and options.agent is None and (session is None or not others):
        return open_list_owner(board, MAIN, session or name_path_session(project_of()))
    rows = rows or others
    if len(rows) == 1:
        return open_list_owner(board, rows[0].agent, rows[0].session, rows[0].project, reads=reads)
    if not rows:
        raise _nothing_error(options)
    places = "; ".join(_place_of(row) for row in rows[:_MOST_NAMED])
    raise EditRefused(problem=f"There are {len(rows)} lists: {places}. Name one with --agent, --session or --mine.")


def find_last_changed(board: Board, options: Namespace, by: str) -> Agent:
    """Return the agent whose list this author changed last."""
    session, project = _named_session(options), project_of()
    for place in board.store.read(lambda tx: tx.history.lists_changed_by(by, project=project, session=session)):
        if options.agent in (None, place.agent):
            return open_list_owner(board, place.agent, place.session, project)
    raise NothingToUndo(by=by) if any(_find_lists(board, options)) else _nothing_error(options)


def describe_list(session: str, agent: str, project: str) -> str:
    """Return whose list it is, and its session."""
    whose = "yours" if is_personal_list(session, agent, project) else safe_line(agent)
    return f"{whose}, session {safe_line(session)}"


def _named_session(options: Namespace) -> str | None:
    if options.mine:
        return name_path_session(project_of())
    return options.session or os.environ.get("PUNCHLIST_SESSION") or None


def _find_lists(board: Board, options: Namespace) -> _Lists:
    session = _named_session(options)
    if session is None:
        rows = board.lists(project=os.getcwd(), limit=_MOST_LISTS)
    else:
        check_session(board, options)
        rows = board.lists(session=session)
    if options.agent:
        # A person's own list has the name of a main agent, and no agent: it is meant by its session or `--mine`.
        rows = [row for row in rows if row.agent == options.agent]
        if session is None:
            rows = [row for row in rows if not is_personal_list(row.session, row.agent, row.project)]
    activities = board.store.read(lambda tx: [tx.overviews.load_activity(row.number) for row in rows])
    lists = _Lists([], [])
    for row, activity in zip(rows, activities, strict=True):
        is_under_way = activity.is_live and any(item.is_open for item in row.todos.items)
        (lists.under_way if is_under_way else lists.others).append(row)
    return lists


def _find_task(board: Board, options: Namespace, query: str) -> Task | None:
    """Return the only task in the agents' current work that a query may mean; None if there is none, or several."""
    session = _named_session(options)
    rows = board.work(project=None if session else os.getcwd(), session=session, limit=_MOST_LISTS)
    tasks = [task for row in rows if options.agent in (None, row.agent) for task in row.tasks if task.list != FLOWS]
    found = [task for task in tasks if query == f"#{task.id}"] or find_tasks(tasks, query)
    return found[0] if len(found) == 1 else None


def _several_error(query: str, found: Sequence[_Found], *, is_number: bool) -> EditRefused:
    named = "; ".join(f"“{one.text}” ({_place_of(one.row)})" for one in found[:_MOST_NAMED])
    verb = "matches" if len(found) == 1 else "match"
    if len({one.row.number for one in found}) == 1 and not is_number:
        how = "Use more of its text, or its number from `punchlist todos --ids`"
    elif is_number:
        how = "There are several lists, so a number needs --agent, --session or --mine"
    else:
        how = "Use more of its text, or name its list with --agent, --session or --mine"
    more = "; …" if len(found) > _MOST_NAMED else ""
    return EditRefused(problem=f'{plural(len(found), "item")} {verb} "{query}": {named}{more}. {how}.')


def _place_of(row: ListRow) -> str:
    return describe_list(row.session, row.agent, row.project)


def _nothing_error(options: Namespace) -> EditRefused:
    if options.agent:
        return EditRefused(
            problem=f"There is no list of `{options.agent}` here; `punchlist todos --all` shows every list."
        )
    return EditRefused(
        problem='There is no list here; `punchlist todo append "My first item"` begins one, '
        "and --session or --agent names another."
    )
