"""`punchlist todo`: change a list by hand, item by item or as a Markdown file.

Items and phases are found by a few letters of them, on all lists of the project.
Text that a person wrote in an editor is never lost.
"""

import os
import shlex
import shutil
import subprocess
import tempfile
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct

from punchlist.agent import Agent
from punchlist.agent.leftovers import continue_for_person
from punchlist.board import Board
from punchlist.cli import FAILED, OK, complain
from punchlist.cli.arguments import (
    Parser,
    author,
    check_person,
    check_place,
    check_session,
    command_parser,
    explain_doubt,
    find_doubt,
    open_board,
    read_file,
)
from punchlist.cli.terminal import ask
from punchlist.core import commands as do
from punchlist.core.commands import Entry, Target
from punchlist.core.programs import find_alike, short_id
from punchlist.core.task import FLOWS, Task, find_tasks
from punchlist.core.todo import Evidence, Status, TodoItem, TodoList, find_item, find_items, find_phase
from punchlist.errors import EditRefused, InvalidInput, NothingToUndo, RevisionConflict
from punchlist.markdown import count_indented, dumps, loads
from punchlist.people.back_channel import deliver, find_only_running, prefer_running
from punchlist.settings.environment import find_project, project_of
from punchlist.settings.table import find_check_problem, replace_file
from punchlist.store import ListRow
from punchlist.terminal.spans import safe_line
from punchlist.text import for_terminal, plural, repair
from punchlist.views.list_owners import MAIN, is_personal_list, name_path_session, open_list_owner
from punchlist.views.list_screen import load_session_names

_TRIES = 8
"""An agent that writes at the same time moves the list on; the edit is then worked out again."""

_MOST_LISTS = 1000
_MOST_NAMED = 5
_FORMAT = "punchlist"
"""The dialect whose checkboxes a list is written with."""

_EXAMPLES = """\
  punchlist todo append Fix the login page         to the project's only open list, else to your own
  punchlist todo append Cover it --phase Tests     to the phase Tests, which is made if missing
  punchlist todo append Fix CI --check "make ci"   exit code 0 of `make ci` verifies it
  punchlist todo start login                       the only item that holds `login`, on whichever list
  punchlist todo done login --evidence "pytest -q tests/login"
  punchlist todo edit                              in $VISUAL or $EDITOR
  punchlist todo continue                          take over what the last session here left open
  punchlist todo undo
"""


class ListEdit(Struct, frozen=True):
    """An operation on a list, and the message once it is done."""

    operation: do.Operation
    message: str


EditPlanner = Callable[[TodoList], ListEdit]


def parser() -> Parser:
    made = command_parser(
        "todo", "Changes lists by hand: items are found on the lists of this project.", examples=_EXAMPLES
    )
    add_verb = made.add_verbs()

    def verb(name: str, help: str, run: Callable[[Namespace], int | None]) -> Parser:
        added = add_verb(name, help, run)
        add_target(added)
        added.add_argument("--mine", action="store_true", help="only your own list, on which no agent works")
        return added

    for name, line in (("append", "add an item"), ("add", "the same as append")):
        added = verb(name, line, _append)
        added.add_argument("words", nargs="+", metavar="TEXT", help="the item; needs no quotes")
        added.add_argument("--phase", metavar="P", help="the phase (default: the last one, if the list has phases)")
        checks = "the command that shows that it is done: exit code 0 after the last change verifies it"
        added.add_argument("--check", metavar="CMD", help=checks)
    added = verb("start", "put an item in progress", _start)
    added.add_argument("words", nargs="+", metavar="ITEM")
    for name, line, run in (
        ("done", "mark an item, a phase or all as completed", _done),
        ("drop", "mark an item, a phase or all as cancelled", partial(_change_target, "Marked cancelled", do.Drop)),
        ("rm", "remove an item, a phase or all", partial(_change_target, "Removed", partial(do.Remove, phases=True))),
        ("unblock", "unblock an item, a phase or all", partial(_change_target, "Unblocked", do.Unblock)),
    ):
        added = verb(name, line, run)
        added.add_argument("words", nargs="*", metavar="ITEM|PHASE")
        added.add_argument("--all", action="store_true", help="every item of the list")
        if name == "done":
            added.add_argument("--evidence", metavar="TEXT", help="what shows that it is done")
        elif name == "rm":
            added.add_argument("--yes", action="store_true", help="with --all: do not ask")
    added = verb("restore", "restore an item that a rewrite left out, or all of them", _restore)
    added.add_argument("words", nargs="*", metavar="ITEM")
    for name, line, run, least in (
        ("block", "block an item, and say what it waits for", _block, "*"),
        ("note", "add a note to an item", _note, "+"),
        ("reword", "give an item another text", _reword, "+"),
    ):
        added = verb(name, line, run)
        added.add_argument("item", metavar="ITEM", help="the item; quote it if it has several words")
        added.add_argument("text", nargs=least, metavar="TEXT")
        if name == "block":
            added.add_argument("--on", metavar="WHO", help="whom or what it waits on")
    verb("edit", "edit the list as Markdown in $VISUAL or $EDITOR", _edit)
    for name, line, run in (
        ("export", "write the list to a Markdown file", _export),
        ("import", "replace the list by a Markdown checklist", _import),
    ):
        added = verb(name, line, run)
        added.add_argument("path", nargs="?", default="TODO.md", help="the file (default: TODO.md), or `-`")
        added.add_argument("--format", default=_FORMAT, metavar="F", help="whose checkboxes (default: punchlist)")
        if name == "export":
            added.add_argument("--force", action="store_true", help="also over a file that is no checklist")
    added = verb("continue", "take over the open items of a session that ended here", _continue)
    added.add_argument(
        "left", nargs="?", default="", metavar="SESSION", help="its id; `none` declines (default: newest)"
    )
    verb("undo", "roll back your last change", _undo)
    return made


def _apply(agent: Agent, options: Namespace, plan: EditPlanner) -> None:
    by, doubt = author(options), find_doubt(options)
    for tries_left in reversed(range(_TRIES)):
        todos = agent.todos
        edit = plan(todos)
        if _clears_wait(todos, edit.operation):
            check_person("Nothing was changed", decides=True)
        try:
            agent.edit(edit.operation, by=by, revision=todos.revision, person=doubt is None)
        except RevisionConflict:
            if not tries_left:
                raise
            continue
        _report(agent, edit.message)
        is_checked = isinstance(edit.operation, do.Append) and edit.operation.entries[0].check is not None
        if (isinstance(edit.operation, do.Done) or is_checked) and doubt is not None:
            print(explain_doubt(doubt))
        return


def _clears_wait(todos: TodoList, operation: do.Operation) -> bool:
    """True if an operation moves on an item on which somebody was asked."""
    if not isinstance(operation, do.Start | do.Done | do.Fail | do.Drop | do.Reopen | do.Remove | do.Unblock):
        return False
    asked = [item.id for item in _list_asked(todos)]
    return operation.target.item in asked or (operation.target.item is None and bool(asked))


def _list_asked(todos: TodoList) -> list[TodoItem]:
    """Return the items on which somebody was asked."""
    return [item for item in todos.items if item.waits_on_person and item.blocker and item.blocker.on]


def _report(agent: Agent, message: str) -> None:
    """Print what was done, and to whose list; tell its agent, if that is idle."""
    print(f"{message} ({name_list(agent)})", flush=True)
    if not agent.board.is_remote and not is_personal_list(agent.session, agent.name, agent.project):
        deliver(agent.board, agent.session, agent.name, agent.board.store.last_seq())


def _undo(options: Namespace) -> None:
    with open_board(options) as board:
        by = author(options)
        agent = find_last_changed(board, options, by)
        agent.undo(by=by)
        _report(agent, f"Took back the last change by {safe_line(by)}")


def _continue(options: Namespace) -> None:
    with open_board(options) as board:
        into = _named_session(options) or ""
        done = continue_for_person(board, options.left, folder=os.getcwd(), into=into, by=author(options))
        _report(board.agent(MAIN, session=done.into), done.sentence.rstrip("."))


# The edit that each verb plans.


def _append(options: Namespace) -> None:
    content = _join(options.words)
    if not content:
        raise EditRefused(problem="There is no item to append; say one, as in `punchlist todo append Fix the bug`.")

    check = None if options.check is None else repair(options.check).strip()
    if check is not None and (problem := find_check_problem(check)):
        raise EditRefused(problem=f"The item was not appended: {problem}.")

    def plan(todos: TodoList) -> ListEdit:
        phase = _choose_phase(todos, options)
        where = "" if phase is None else f" to {safe_line(phase)}"
        entry = Entry(content=content, check=check)
        return ListEdit(do.Append((entry,), phase), f"Appended{where}: {safe_line(content)}")

    with open_board(options) as board:
        _apply(choose_list(board, options, create=True, agents_first=True), options, plan)


def _choose_phase(todos: TodoList, options: Namespace) -> str | None:
    if options.phase is None:
        return todos.phases[-1].name if todos.phases else None
    name = repair(options.phase).strip()
    known = find_phase(todos.phases, name)
    return name if known is None else known.name


def _change_item(
    options: Namespace, query: str, deed: str, change: Callable[[Target], do.Operation], text: str = "", why: str = ""
) -> None:
    """Change the only item that the query may mean; the message has its new `text`, else the one that it has."""

    def plan(todos: TodoList) -> ListEdit:
        item = _find(todos.items, query)
        return ListEdit(change(_target(item)), f"{deed}: {safe_line(text or item.content)}{why}")

    with open_board(options) as board:
        _apply(find_owner(board, options, query), options, plan)


def _start(options: Namespace) -> None:
    _change_item(options, _join(options.words), "Started", do.Start)


def _block(options: Namespace) -> None:
    reason = _join(options.text)
    on = None if options.on is None else repair(options.on)
    why = f" ({safe_line(reason)})" if reason else ""
    _change_item(options, repair(options.item), "Blocked", lambda item: do.Block(item, reason, on), why=why)


def _note(options: Namespace) -> None:
    text = _join(options.text)
    _change_item(options, repair(options.item), "Noted on", lambda item: do.Note(item, text))


def _reword(options: Namespace) -> None:
    text = _join(options.text)
    _change_item(options, repair(options.item), "Reworded", lambda item: do.Reword(item, text), text)


def _done(options: Namespace) -> int:
    proof = () if options.evidence is None else (Evidence(repair(options.evidence)),)
    again = "Confirmed" if find_doubt(options) is None else "Was completed before"
    return _change_target("Marked completed", lambda target: do.Done(target, proof), options, again=again)


def _change_target(deed: str, change: Callable[[Target], do.Operation], options: Namespace, again: str = "") -> int:
    """Change an item, a phase or, with `--all`, a whole list. `again` is the deed if the item was completed before."""
    query = _join(options.words)
    if bool(query) is options.all:
        return complain("Name an item or a phase, or use --all for every item of the list; nothing was changed.")

    def plan(todos: TodoList) -> ListEdit:
        target, name = _find_target(todos, query)
        known = None if target.item is None else todos.find(target.item)
        was_done = known is not None and known.status is Status.COMPLETED
        return ListEdit(change(target), f"{again if again and was_done else deed}: {name}")

    with open_board(options) as board:
        if options.all:
            agent = choose_list(board, options)
            whose = name_list(agent)
            asks = not getattr(options, "yes", True)  # only to remove them is dangerous
            if asks and not ask(f"Remove {plural(len(agent.todos.items), 'item')} ({whose})?"):
                return complain("Nothing was removed; --yes removes them without a question.", FAILED)
        else:
            agent = find_owner(board, options, query, phases=True, wanted="item or phase")
        _apply(agent, options, plan)
    return OK


def _find_target(todos: TodoList, query: str) -> tuple[Target, str]:
    if not query:
        return Target(), f"all {plural(len(todos.items), 'item')}"
    item = find_item(todos.items, query)
    if item is not None:
        return _target(item), safe_line(item.content)
    phase = find_phase(todos.phases, query)
    if phase is None:
        raise _moved_on_error(query)
    return Target(phase=phase.name), f"phase {safe_line(phase.name)}"


def _restore(options: Namespace) -> None:
    query = _join(options.words)

    def plan(todos: TodoList) -> ListEdit:
        if query:
            item = _find(todos.omitted, query)
            return ListEdit(do.Restore(_target(item)), f"Restored: {safe_line(item.content)}")
        if not todos.omitted:
            raise EditRefused(problem="No item of this list was left out, so there is nothing to restore.")
        return ListEdit(do.Restore(), f"Restored: {'; '.join(safe_line(item.content) for item in todos.omitted)}")

    with open_board(options) as board:
        agent = find_owner(board, options, query, omitted=True) if query else choose_list(board, options)
        _apply(agent, options, plan)


def _join(words: Sequence[str]) -> str:
    return repair(" ".join(words)).strip()


def _target(item: TodoItem) -> Target:
    return Target(item=item.id, by="id")


def _find(items: Sequence[TodoItem], query: str) -> TodoItem:
    item = find_item(items, query)
    if item is None:
        raise _moved_on_error(query)
    return item


def _moved_on_error(query: str) -> EditRefused:
    """Return the error for an item that was found, and that is not on its list any more."""
    return EditRefused(problem=f'"{query}" was changed meanwhile; see `punchlist todos`.')


# Which list is meant: by `--session`, `--agent` and `--mine`, else by the item that is named.


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

    The list of the only session that runs is searched first, then those under way, then the others. With `omitted` the
    items are those that rewrites left out. `wanted` says in the error what was looked for.
    """
    under_way, others = _find_lists(board, options)
    here = _choose_worktree(under_way)
    lists = (prefer_running(board, here), here, prefer_running(board, under_way), under_way, others)
    for rows in lists:
        matches = find_items([row.todos.omitted if omitted else row.todos.items for row in rows], query)
        found = [(rows[match.place], match.item.content) for match in matches]
        is_number = any(match.item.id == query.removeprefix("#") for match in matches)
        if not found and phases:
            named = [(row, find_phase(row.todos.phases, query)) for row in rows]
            found = [(row, phase.name) for row, phase in named if phase is not None]
        if len(found) > 1 or (is_number and len(rows) > 1):
            raise _several_error(options, query, found, rows if is_number else [row for row, _ in found])
        if found:
            row = found[0][0]
            return open_list_owner(board, row.agent, row.session, row.project)
    if (task := _find_task(board, options, query)) is not None:
        how = f"punchlist tasks done {task.id} --list {shlex.quote(task.list)}"
        raise EditRefused(problem=f"“{task.subject}” is a task: `{how}` completes it; see `punchlist tasks --help`.")
    if not any(lists):
        raise _nothing_error(options)
    raise EditRefused(problem=f'No {wanted} matched "{query}"; `punchlist todos` shows the lists.')


def choose_list(
    board: Board, options: Namespace, *, create: bool = False, agents_first: bool = False, reads: bool = False
) -> Agent:
    """Return the agent of the only list under way; if there is none, of the only list. Several are refused, unless one
    session alone runs.

    With `create`, the person's own list is made where none is under way. With `agents_first` it is chosen only where
    no agent has one under way, and no session runs alone, which may have no list yet. A copy is refused, unless the
    command only `reads` it.
    """
    rows, others = _find_lists(board, options)
    session = _named_session(options)
    if agents_first and session is None and options.agent is None:
        rows = [row for row in rows if not is_personal_list(row.session, row.agent, row.project)]
        running = "" if board.is_remote else find_only_running(board, find_project().folder)
        if running and all(row.session != running for row in rows):
            return open_list_owner(board, MAIN, running)
    if not rows and create and options.agent is None and (session is None or not others):
        return open_list_owner(board, MAIN, session or name_path_session(project_of()))
    rows = prefer_running(board, _choose_worktree(rows) or rows or _choose_worktree(others) or others)
    if len(rows) == 1:
        return open_list_owner(board, rows[0].agent, rows[0].session, rows[0].project, reads=reads)
    if not rows:
        raise _nothing_error(options)
    ways = "; ".join(_list_commands(options, rows)[:_MOST_NAMED])
    raise EditRefused(problem=f"There are {len(rows)} lists; say which one is meant: {ways}.")


def find_last_changed(board: Board, options: Namespace, by: str) -> Agent:
    """Return the agent whose list this author changed last."""
    session, project = _named_session(options), project_of()
    if board.is_remote:  # the server knows the last change of the token to a list, and not which list it was
        return choose_list(board, options)
    for place in board.store.read(lambda tx: tx.history.lists_changed_by(by, project=project, session=session)):
        if options.agent in (None, place.agent):
            return open_list_owner(board, place.agent, place.session, project)
    raise NothingToUndo(by=by) if any(_find_lists(board, options)) else _nothing_error(options)


def name_list(agent: Agent) -> str:
    """Return whose list it is, safe to print."""
    return safe_line(load_session_names(agent.board, agent.session).name(agent.session, agent.name))


def _named_session(options: Namespace) -> str | None:
    if options.mine:
        return name_path_session(project_of())
    return options.session or os.environ.get("PUNCHLIST_SESSION") or None


def _find_lists(board: Board, options: Namespace) -> tuple[list[ListRow], list[ListRow]]:
    """Return the lists that a command may mean: those under way, and the others."""
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
    if board.is_remote:
        known = {(one.session, one.agent): one.state not in ("idle", "finished") for one in board.overview()}
        live = [known.get((row.session, row.agent), False) for row in rows]
    else:
        live = board.store.read(lambda tx: [tx.overviews.load_activity(row.number).is_live for row in rows])
    under_way: list[ListRow] = []
    others: list[ListRow] = []
    for row, is_live in zip(rows, live, strict=True):
        is_under_way = is_live and any(item.is_open for item in row.todos.items)
        (under_way if is_under_way else others).append(row)
    return under_way, others


def _choose_worktree(rows: Sequence[ListRow]) -> list[ListRow]:
    """Return the lists of the worktree in which the person stands: they are meant before those of others."""
    here = find_project().folder
    return [row for row in rows if row.folder == here]


def _find_task(board: Board, options: Namespace, query: str) -> Task | None:
    """Return the only task in the agents' current work that a query may mean; None if there is none, or several."""
    session = _named_session(options)
    rows = board.work(project=None if session else os.getcwd(), session=session, limit=_MOST_LISTS)
    tasks = [task for row in rows if options.agent in (None, row.agent) for task in row.tasks if task.list != FLOWS]
    found = [task for task in tasks if query == f"#{task.id}"] or find_tasks(tasks, query)
    return found[0] if len(found) == 1 else None


def _several_error(
    options: Namespace, query: str, found: Sequence[tuple[ListRow, str]], rows: Sequence[ListRow]
) -> EditRefused:
    """Return the error for a query that may mean several items, or an item of several lists."""
    commands = dict(zip((row.number for row in rows), _list_commands(options, rows), strict=True))
    is_one_list = len({row.number for row, _ in found}) == 1 and len(found) > 1
    named = [f"“{text}”" if is_one_list else f"“{text}” ({commands[row.number]})" for row, text in found]
    verb = "matches" if len(found) == 1 else "match"
    how = " Use more of its text, or its number from `punchlist todos --ids`." if is_one_list else ""
    said = "; ".join([*named[:_MOST_NAMED], *(["…"] if len(found) > _MOST_NAMED else [])])
    return EditRefused(problem=f'{plural(len(found), "item")} {verb} "{query}": {said}.{how}')


def _list_commands(options: Namespace, rows: Sequence[ListRow]) -> list[str]:
    """Return for each list the shortest command that means it: as it was typed, with what tells the lists apart."""
    commands: list[str] = []
    alike = find_alike(row.session for row in rows)
    for row in rows:
        words = ["punchlist", *options.typed]
        in_session = [other for other in rows if other.session == row.session]
        is_only_name = len([other for other in rows if other.agent == row.agent]) == 1
        if is_personal_list(row.session, row.agent, row.project) and options.typed[0] == "todo":
            words += ["--mine"]
        elif len(in_session) == 1 or not is_only_name:
            words += ["--session", short_id(row.session, alike)]
        if len(in_session) > 1:
            words += ["--agent", row.agent]
        commands.append(f"`{shlex.join(words)}`")
    return commands


def _nothing_error(options: Namespace) -> EditRefused:
    begin = '`punchlist todo append "My first item"` begins one'
    problem = f"There is no list here; {begin}, and --session or --agent names another."
    if options.agent:
        problem = f"There is no list of `{options.agent}` here; `punchlist todos --all` shows every list."
    return EditRefused(problem=problem)


# The list as a Markdown file.


class ListDraft:
    """A list that is being edited: a file in a private folder, with all that an editor leaves next to it."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.before = agent.todos
        self._text = dumps(self.before, markers=_FORMAT)
        self._folder = tempfile.mkdtemp(prefix="punchlist-")
        self.path = os.path.join(self._folder, "list.todo.md")
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(self._text)

    def edit(self) -> bool:
        """Open the file in the person's editor; True if it was changed. Raise if the editor fails."""
        command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        try:
            status = subprocess.call([*shlex.split(command), self.path])
        except (OSError, ValueError) as error:
            if not self._is_changed():
                self._delete()
            raise InvalidInput(
                problem=f"The editor `{command}` cannot be started ({error}); set $VISUAL or $EDITOR to one that can."
            ) from error
        is_changed = self._is_changed()
        if not is_changed:
            self._delete()
        if status != 0:
            kept = f" Your text is kept in `{self.path}`." if is_changed else ""
            raise EditRefused(problem=f"The editor ended with status {status}; nothing was changed.{kept}")
        return is_changed

    def apply(self, *, by: str, person: bool) -> TodoList:
        """Put the text in the place of the list, unless that moved on; return the list. Raise where the text is."""
        todos, errors = loads(read_file(self.path), markers=_FORMAT)
        if errors:
            listed = "".join(f"\n  {error}" for error in errors)
            problem = f"Could not parse the edited list, so nothing was changed:{listed}\n{self._kept} once mended."
            raise EditRefused(problem=problem)
        try:
            after = self.agent.rewrite(todos, by=by, revision=self.before.revision, person=person)
        except RevisionConflict as error:
            raise EditRefused(
                problem="The list changed while you were editing, so yours was not put in its place. "
                f"See `punchlist todos`. {self._kept} over what is there now."
            ) from error
        except EditRefused as error:
            raise EditRefused(problem=f"{error} {self._kept} once mended.") from error
        self._delete()
        return after

    @property
    def _kept(self) -> str:
        agent = self.agent
        is_own = is_personal_list(agent.session, agent.name, agent.project)
        session = shlex.quote(short_id(agent.session))
        whose = "" if is_own else f" --session {session} --agent {shlex.quote(agent.name)}"
        return f"Your text is kept in `{self.path}`; `punchlist todo import {self.path}{whose}` takes it"

    def _is_changed(self) -> bool:
        return os.path.exists(self.path) and read_file(self.path) != self._text

    def _delete(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def describe_saved(after: TodoList) -> str:
    """Return what an edit left, in a sentence without its end."""
    omitted = len(after.omitted)
    aside = f"; {omitted} left out are set aside, `punchlist todo restore` brings them back" if omitted else ""
    return f"Saved the list: {plural(len(after.items), 'item')}{aside}"


def _edit(options: Namespace) -> None:
    with open_board(options) as board:
        draft = ListDraft(choose_list(board, options, create=True))
        if not draft.edit():
            print("No changes.")
            return
        doubt = find_doubt(options)
        after = draft.apply(by=author(options), person=doubt is None)
        if after.revision == draft.before.revision:
            print("Nothing to change.")
            return
        _report(draft.agent, describe_saved(after))
        if doubt is not None and after.progress.done > draft.before.progress.done:
            print(explain_doubt(doubt))


def _export(options: Namespace) -> None:
    with open_board(options) as board:
        text = dumps(choose_list(board, options, reads=True).todos, markers=options.format)
    if options.path == "-":
        print(for_terminal(text, lines=True), end="")
        return
    check_place(options.path)
    if not options.force and os.path.exists(options.path):
        _check_checklist(options.path, options.format)
    replace_file(options.path, text)
    print(f"Wrote the list to {safe_line(options.path)}")


def _check_checklist(path: str, format: str) -> None:
    text = read_file(path)
    found, problems = loads(text, markers=format)
    is_empty = text.strip() in ("", dumps(TodoList(), markers=format).strip())
    if problems or not (found.items or is_empty):
        problem = f"`{path}` holds more than a checklist of this format; name another file, or use --force."
        raise InvalidInput(problem=problem)


def _import(options: Namespace) -> int:
    text = read_file(options.path)
    todos, errors = loads(text, markers=options.format)
    if errors:
        listed = "\n  ".join(errors)
        return complain(f"Could not parse {options.path}:\n  {listed}\nNothing was changed.", FAILED)
    with open_board(options) as board:
        agent = choose_list(board, options, create=True)
        asked = {item.content for item in _list_asked(agent.todos)}
        if any(item.content in asked and item.status is not Status.BLOCKED for item in todos.items):
            check_person("Nothing was changed", decides=True)
        agent.rewrite(todos, by=author(options))
        counts = f"{plural(len(todos.phases), 'phase')}, {plural(len(todos.items), 'item')}"
        _report(agent, f"Imported {counts} from {safe_line(options.path)}")
    indented = count_indented(text, options.format)
    if indented:
        print(f"{plural(indented, 'item')} stood below others; a list has one level, so all are side by side now.")
    if todos.progress.done:
        print(explain_doubt("a file says what is done"))
    return OK
