"""`punchlist todos`: show the lists of this project's agents."""

import os
from argparse import Namespace
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import asdict

from punchlist.cli import UNUSABLE, complain
from punchlist.cli.arguments import Parser, command_parser, find_folder, open_reader, settle_due_tasks
from punchlist.cli.terminal import detect_display, show, show_json
from punchlist.core.overview import AgentState, show_left_open
from punchlist.core.programs import name_agent
from punchlist.core.task import find_shown_focus
from punchlist.reader import BoardReader
from punchlist.settings.environment import project_of
from punchlist.store import ListRow
from punchlist.terminal.lists import STATES, Helped, board_lines, waiting_lines, with_tasks
from punchlist.terminal.spans import Glyphs, Line, Span, plain, safe_line, show_name
from punchlist.views.grades import state_name
from punchlist.views.list_owners import SessionNames, is_personal_list
from punchlist.views.list_screen import ListScreen, load_list_screen

_FRAME_SECONDS = 0.1
_FEED = 40
_EXAMPLES = """\
  punchlist todos                      the lists of this project, the latest first
  punchlist todos --follow             live, as agents work
  punchlist todos --session s1         all agents of one session
  punchlist todos --all --json         everything, for a program
"""


def parser() -> Parser:
    made = command_parser("todos", "Shows the lists of this project, the latest first.", run=_show, examples=_EXAMPLES)
    made.add_all()
    made.add_argument("--session", metavar="S", help="all agents of this session")
    made.add_argument("--agent", metavar="A", help="only agents of this name")
    made.add_argument("--follow", action="store_true", help="show them live, as they change")
    made.add_argument("--ids", action="store_true", help="show the id of each item")
    made.add_limit(20, "lists (default: 20)")
    made.add_json()
    return made


def _show(options: Namespace) -> int:
    if options.follow:
        return _follow(options)
    with open_reader(options) as board:
        screen = _load(board, options)
        now = board.now()
    rows, states, helped = screen.rows, screen.states, screen.helped
    shown = _show_work(rows, screen.activities, helped)
    if options.json:
        show_json([_list_data(row, rows, states[row.session][0], helped.get(row.number, {})) for row in rows])
    elif rows:
        for place, row in enumerate(shown):
            if row.label is None and is_personal_list(row.session, row.agent, row.project):
                shown[place] = row._replace(label="yours")
        display = detect_display()
        lines = board_lines(
            _name_programs(shown, screen.names),
            display,
            now=now,
            projects=options.all,
            ids=options.ids,
            helped=helped,
            states=states,
            reasons=screen.reasons,
            names=screen.names,
        )
        show(lines)
        show(waiting_lines(screen.waits))
    else:
        print(_describe_nothing(options))
    return 0


def _load(board: BoardReader, options: Namespace) -> ListScreen:
    settle_due_tasks(board)
    where = None if options.session else find_folder(options)
    return load_list_screen(board, project=where, session=options.session, agent=options.agent, limit=options.limit)


def _follow(options: Namespace) -> int:
    from punchlist.cli.screen import Screen, can_draw  # the plain list starts without these
    from punchlist.terminal.lists import Frame, find_news, frame_lines
    from punchlist.terminal.sentences import sentence

    if options.json or not can_draw():
        return complain("`--follow` draws on a terminal; in a pipe use `punchlist events --follow`.", UNUSABLE)
    with open_reader(options, reads=False) as board, Screen() as screen, suppress(KeyboardInterrupt):
        title = "Every project" if options.all else os.path.basename(project_of(options.project))
        tick, seen = 0, board.store.last_seq()
        feed: deque[Line] = deque(maxlen=_FEED)
        lists = _load(board, options)
        while True:
            now, names = board.now(), lists.names
            shown = [row for row in _show_work(lists.rows, lists.activities, lists.helped) if row.todos.items]
            caption = "".join(map(plain, waiting_lines(lists.waits))) if shown else _describe_nothing(options)
            clock = f"{now.astimezone():%H:%M:%S}"
            notes = _describe_sessions(shown, lists, screen.display.glyphs)
            frame = Frame(title, clock, caption, _name_programs(shown, names), list(feed), notes, tick, now=now)
            screen.draw(frame_lines(frame, screen.display, screen.height - 1))
            if board.store.wait(seen, _FRAME_SECONDS):
                events = list(board.events(seen))
                # After the events, so that the lists show all that those tell.
                lists = _load(board, options)
                names = lists.names
                for event in find_news([event for event in events if event.session in names.known]):
                    session = event.session or ""
                    name = show_name(names.name(session), screen.display.glyphs) if len(names.known) > 1 else ""
                    before = f"{event.at.astimezone():%H:%M:%S}  {name}".rstrip()
                    said = sentence(event, screen.display.glyphs, names.known[session][1])
                    feed.append((Span(f"{before}  ", "dim"), Span(said)))
                seen = max([seen, *(event.seq for event in events)])
            tick += 1
    return 0


def _name_programs(rows: Sequence[ListRow], names: SessionNames) -> list[ListRow]:
    return [row._replace(agent=name_agent(row.agent, names.known[row.session][1])) for row in rows]


def _describe_sessions(rows: Sequence[ListRow], lists: ListScreen, glyphs: Glyphs) -> dict[int, Line]:
    notes: dict[int, Line] = {}
    for row in rows:
        name = show_name(lists.names.name(row.session, row.agent), glyphs)
        words = [name, *([safe_line(row.label)] if row.label else [])]
        dot, state = f" {glyphs.dot} ", lists.states[row.session][0]
        first = (Span(state_name(state), STATES[state]), Span(dot, "dim")) if state != "idle" else ()
        notes[row.number] = (*first, Span(dot.join(words), "dim"))
    return notes


def _show_work(
    rows: Sequence[ListRow], activities: Sequence[AgentState], helped: Mapping[int, Helped]
) -> list[ListRow]:
    """Return lists and tasks as people see them; those that finished agents left open say so."""
    found: list[ListRow] = []
    for row, state in zip(rows, activities, strict=True):
        todos = show_left_open(with_tasks(row).todos, state, helped.get(row.number, {}))
        label = row.label
        if state == "finished" and todos.open_items:
            label = ", ".join(filter(None, (label, "agent finished")))
        found.append(row._replace(todos=todos, label=label))
    return found


def _describe_nothing(options: Namespace) -> str:
    if options.session or options.agent:
        return "There are no lists under that name; `punchlist todos --all` shows every list."
    if options.all:
        return 'There are no lists on this board; begin with `punchlist todo append "My first item"`.'
    return (
        "There are no lists in this project; begin with "
        '`punchlist todo append "My first item"`, or see other projects with `punchlist todos --all`.'
    )


def _list_data(row: ListRow, rows: Sequence[ListRow], state: str, helped: Helped) -> dict[str, Any]:
    """Return an agent's list and tasks as JSON values. Every key is always there; `progress` counts both."""
    from punchlist.views.lists import view_task  # the plain list starts without it

    todos, shown = row.todos, with_tasks(row).todos
    focus = find_shown_focus(row.todos, row.tasks)
    return {
        "session": row.session,
        "agent": row.agent,
        "parent": next((other.agent for other in rows if other.number == row.parent), None),
        "label": row.label,
        "project": row.project,
        "worktree": row.worktree,
        "mode": row.mode,
        "updated_at": row.updated_at,
        "revision": todos.revision,
        "plan_id": todos.plan_id,
        "progress": shown.progress._asdict(),
        "focus": None if focus is None else focus.id,
        "explanation": todos.explanation,
        "phases": todos.phases,
        "items": [asdict(item) for item in todos.items],
        "tasks": [view_task(task) for task in row.tasks],
        "omitted": [asdict(item) for item in todos.omitted],
        "session_state": state,
        "helpers": helped,
    }
