"""`punchlist restore`: bring a list, or its whole history, back from the transcript of an agent."""

import os
from argparse import Namespace
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from punchlist.agent import Agent
from punchlist.board import Board
from punchlist.cli import FAILED, OK
from punchlist.cli.arguments import Parser, author, command_parser, complete_session, open_board
from punchlist.cli.terminal import detect_display, show, show_json
from punchlist.core.events import Draft
from punchlist.core.programs import name_session
from punchlist.errors import InvalidInput
from punchlist.logs import replay
from punchlist.store import Transaction
from punchlist.terminal.spans import Span, safe_line
from punchlist.text import plural
from punchlist.transcripts.claude_code import TaskReading, TaskWrite
from punchlist.transcripts.formats import list_sessions, open_transcript, read_steps
from punchlist.transcripts.lines import LineTranscript
from punchlist.transcripts.steps import CallStart
from punchlist.transcripts.values import Transcript, Written
from punchlist.views.list_owners import MAIN, load_owner_activity, name_path_session

_EXAMPLES = """\
  punchlist restore                       from the newest transcript of this project
  punchlist restore run.jsonl --dry-run   what a transcript holds
  punchlist restore 0198c2d4-…            of that session, wherever its agent keeps it
  punchlist restore run.jsonl --history   every write that it tells of, at its own time
  punchlist restore run.jsonl --with-work   its tool calls too, so that `punchlist report` can judge its items
"""


def parser() -> Parser:
    about = (
        "Restores the list with which an agent's transcript ends. A list on the board that was written later is kept. "
        "A session that is known only by its log shows in `punchlist todos` from then on like any other."
    )
    made = command_parser("restore", about, run=_restore, examples=_EXAMPLES)
    made.add_argument("what", nargs="?", metavar="PATH|SESSION", help="a transcript, or the id of its session")
    made.add_argument("--format", metavar="F", help="whose transcript it is (default: told from the transcript)")
    made.add_argument(
        "--session",
        dest="target",  # no `session`: it may be a new one, and is never completed
        metavar="S",
        help="the session to restore to (default: the transcript's own, else named after the file)",
    )
    made.add_argument(
        "--agent", metavar="A", help="the agent to restore to (default: main, or the subagent whose it is)"
    )
    made.add_by()
    made.add_argument("--history", action="store_true", help="import every write, not only the last")
    made.add_argument(
        "--with-work", action="store_true", help="also put its tool calls on the board (Claude Code, Codex)"
    )
    made.add_argument("--force", action="store_true", help="even over a list that was written later")
    made.add_argument("--dry-run", action="store_true", help="only say what was found")
    made.add_json()
    return made


def _restore(options: Namespace) -> int:
    place = _find_place(options)
    transcript = open_transcript(place.path, options.format or place.format or None)
    conversation = place.session
    if transcript.is_store and options.target in transcript.sessions:
        conversation = options.target
    written = transcript.latest(session=conversation)
    if options.dry_run:
        return _show_found(options, transcript, written)
    with open_board(options) as board:
        agent = _choose_agent(board, options, transcript, written)
        name = safe_line(name_session(agent.project, agent.session, agent.name, transcript.format))
        with _noting_copy(agent, transcript, options):
            before, label = agent.todos.revision, f"from {os.path.basename(place.path)}"
            work = _replay_work(agent, options, transcript, written, label=label) if options.with_work else None
            if options.history:
                count = agent.import_history(place.path, transcript.format, session=conversation)
                calls = _replay_tasks(agent, transcript, work)
                text = f"Imported {plural(count, 'write')} of {name} from {_source(transcript)}."
                found = {**_data(options, transcript, written), "imported": count}
                _report(options, transcript, found, text + _add_calls(found, agent, calls, work))
                return OK
            taken = work is not None and work.has_list
            if not taken:
                taken = agent.take_over(transcript, written, by=author(options), force=options.force, label=label)
            children = _restore_subagents(agent, transcript, options)
            changed = agent.todos.revision != before
            calls = _replay_tasks(agent, transcript, work)
    all_known = not (taken or calls) and next(_read_task_writes(transcript), None) is not None
    restored = taken or calls > 0 or all_known or (work is not None and work.seen > 0)
    found = {
        **_data(options, transcript, written, tasks=calls > 0 or all_known),
        "restored": restored,
        "changed": changed or calls > 0,
        "subagents": children,
    }
    text = ""
    if written is not None or taken or not (calls or all_known):
        text = _describe_outcome(name, transcript, written, taken=taken, changed=changed)
    if children:
        text += f" Subagents: {', '.join(children)}."
    if all_known:
        text += f" The tasks of {safe_line(transcript.source)} are all on the board."
    _report(options, transcript, found, text + _add_calls(found, agent, calls, work))
    return OK if restored else FAILED


# Copies: an agent that is known from its log alone does not see what people change here.


@contextmanager
def _noting_copy(agent: Agent, transcript: Transcript, options: Namespace) -> Generator[None]:
    """After a restore, note that the list and the session's tasks are copies, unless the agent itself was heard of."""

    def is_copy(tx: Transaction) -> bool:
        activity = load_owner_activity(tx, agent.name, agent.session)
        return activity.state == "new" or bool(activity.copy_of)

    def note(tx: Transaction) -> None:
        row = tx.agent(agent.session, agent.name)
        if row is None or tx.overviews.load_activity(row.number).copy_of:
            return
        if row.state.todos.revision or tx.tasks.find_list(agent.task_list) is not None:
            copied = Draft("agent.copied", {"source": transcript.source, "format": transcript.format})
            tx.add_events(row, [copied], by=author(options), at=agent.board.now())

    was_copy = agent.board.store.read(is_copy)
    yield
    if was_copy:
        agent.board.store.transact(note)


def _show_found(options: Namespace, transcript: Transcript, written: Written | None) -> int:
    calls = sum(1 for _ in _read_task_writes(transcript))
    found = {**_data(options, transcript, written, tasks=calls > 0), "task_calls": calls}
    text = _describe_found(transcript, written)
    if calls:
        lists = "" if written is None else f" {text}"
        text = f"Found {plural(calls, 'task call')} in {_source(transcript)}.{lists}"
    if options.with_work:
        work = sum(isinstance(step, CallStart) for step in read_steps(transcript))
        found["tool_calls"] = work
        text += f" It tells of {plural(work, 'tool call')}."
    _report(options, transcript, found, text)
    if written is not None and not options.json:
        display = detect_display()
        boxes = display.glyphs.boxes
        for entry in written.command.entries:
            show([display.cut((Span(f"  {boxes[entry.status.value]} {safe_line(entry.content)}"),))])
    return OK if written is not None or calls else FAILED


# The tool calls of a session.


def _replay_work(
    agent: Agent, options: Namespace, transcript: Transcript, written: Written | None, *, label: str
) -> replay.ReplayedCalls:
    others = (session for session in list_sessions(transcript) if session != agent.session)
    if any(agent.board.lists(session=session) for session in others):
        # The list of the session before comes first, with what people changed there; a replayed one would hide it.
        agent.take_over(transcript, written, by=author(options), force=options.force, label=label)
    return replay.replay_work(agent, transcript, label=label)


# The tasks of a Claude Code session.


def _replay_tasks(agent: Agent, transcript: Transcript, work: replay.ReplayedCalls | None) -> int:
    """Replay the task calls of a session and of its subagents; return how many were new, with those of its `work`."""
    known = 0 if work is None else work.tasks
    return known + sum(agent.restore_tasks(file, transcript.format) for file in _find_task_files(transcript))


def _find_task_files(transcript: Transcript) -> list[str]:
    if transcript.format != "claude-code" or not os.path.isfile(transcript.source):
        return []
    return [transcript.source, *(file for _, file in replay.list_subagents(transcript.source))]


def _read_task_writes(transcript: Transcript) -> Iterator[TaskWrite]:
    for file in _find_task_files(transcript):
        found = open_transcript(file, transcript.format)
        if isinstance(found, LineTranscript):
            yield from TaskReading(found)


# Which transcript, and which agent.


def _find_place(options: Namespace) -> replay.FoundTranscript:
    what: str | None = options.what
    if what is not None and (os.path.exists(os.path.expanduser(what)) or os.sep in what):
        return replay.FoundTranscript(os.path.expanduser(what), "", None, 0.0)
    problem = f"`{what}` is neither a file nor the id of a session whose transcript could be found."
    if what is None:
        problem = "No transcript of this project was found; name a file, or the id of a session."
    found = replay.find_newest(os.getcwd()) if what is None else replay.find_session(what)
    if found is None and what is not None:
        with open_board(options) as board:
            complete_session(board, options, "what")
        found = replay.find_session(options.what)
    if found is None:
        raise InvalidInput(problem=problem)
    return found


def _choose_agent(board: Board, options: Namespace, transcript: Transcript, written: Written | None) -> Agent:
    origin = transcript.origin if written is None else written.origin
    session = _choose_session(options, transcript, written)
    if options.agent is None and transcript.origin.agent != MAIN:
        # The subagent whose transcript this is: a child of the main agent, unless the session is its own.
        own, project = transcript.origin.agent, transcript.origin.cwd
        name = replay.subagent_name(transcript.source, transcript.format, own)
        if written is None or session == own:
            return board.agent(name, session=session, dialect=transcript.dialect, project=project, subagent=True)
        main = board.agent(MAIN, session=session, dialect=transcript.dialect, project=project)
        return main.spawn(name, id=own, label=f"from {os.path.basename(transcript.source)}")
    return board.agent(options.agent or MAIN, session=session, dialect=transcript.dialect, project=origin.cwd)


def _choose_session(options: Namespace, transcript: Transcript, written: Written | None) -> str:
    """Return the session that is named, else the transcript's own; plain messages have none, and get the file's name.

    The transcript's present session comes first: a resumed one begins with a copy of that before, under its old id.
    """
    origin = transcript.origin if written is None else written.origin
    own = options.target or transcript.origin.session or origin.session
    return own or name_path_session(os.path.realpath(transcript.source))


def _restore_subagents(agent: Agent, transcript: Transcript, options: Namespace) -> list[str]:
    if transcript.format != "claude-code" or transcript.origin.agent != MAIN:
        return []
    names: list[str] = []
    for own, file in replay.list_subagents(transcript.source):
        inner = open_transcript(file, transcript.format)
        written = inner.latest()
        if written is not None and written.counts[0] < written.counts[1]:
            name = replay.subagent_name(file, transcript.format, own)
            child = agent.spawn(name, id=own, label=f"from {os.path.basename(file)}")
            with _noting_copy(child, inner, options):
                if child.take_over(inner, written, by=author(options), force=options.force):
                    names.append(child.name)
    return names


# The report of it.


def _progress(written: Written) -> str:
    done, total = written.counts
    return f"{done}/{total}"


def _source(transcript: Transcript) -> str:
    return f"{safe_line(transcript.source)} ({transcript.format})"


def _describe_found(transcript: Transcript, written: Written | None) -> str:
    if written is None:
        return f"There is no list in {_source(transcript)}."
    at = "" if written.origin.at is None else f", written {written.origin.at:%Y-%m-%d %H:%M:%S} UTC"
    return f"Found {_progress(written)}{at}, in {_source(transcript)}."


def _describe_outcome(name: str, transcript: Transcript, written: Written | None, *, taken: bool, changed: bool) -> str:
    if taken and changed:
        what = _progress(written) if written is not None else "the session that this one goes on from"
        return f"Restored {what} for {name} from {_source(transcript)}."
    if taken:
        return f"The list of {name} is already what {safe_line(transcript.source)} ends with."
    if written is None:
        return _describe_found(transcript, written)
    return (
        f"The list of {name} was written later than that of {safe_line(transcript.source)} "
        f"({_progress(written)}) and stands; --force puts the older one in its place."
    )


def _add_calls(found: dict[str, Any], agent: Agent, calls: int, work: replay.ReplayedCalls | None) -> str:
    """Add the numbers of task calls and tool calls to what was found; return them in words."""
    found["task_calls"] = calls
    text = f" Replayed {plural(calls, 'task call')} on the list {safe_line(agent.task_list)}." if calls else ""
    if work is None:
        return text
    found |= {"tool_calls": work.seen, "new_tool_calls": work.new}
    if work.new:
        return f"{text} Put {plural(work.new, 'tool call')} on the board."
    if work.seen:
        return f"{text} Its {plural(work.seen, 'tool call')} were on the board already."
    return f"{text} It has no tool calls."


def _report(options: Namespace, transcript: Transcript, found: dict[str, Any], text: str) -> None:
    if options.json:
        show_json(found)
        return
    print(text.strip())
    if transcript.skipped:
        lines = "line was" if transcript.skipped == 1 else "lines were"
        print(f"{transcript.skipped} {lines} broken and skipped.")


def _data(
    options: Namespace, transcript: Transcript, written: Written | None, *, tasks: bool = False
) -> dict[str, Any]:
    origin = transcript.origin if written is None else written.origin
    done, total = (0, 0) if written is None else written.counts
    entries = () if written is None else written.command.entries
    return {
        "path": transcript.source,
        "format": transcript.format,
        "dialect": transcript.dialect,
        "session": _choose_session(options, transcript, written),
        "agent": origin.agent,
        "project": origin.cwd,
        "at": origin.at,
        "found": written is not None or tasks,
        "progress": {"done": done, "total": total},
        "items": [{"content": entry.content, "status": entry.status} for entry in entries],
        "skipped": transcript.skipped,
    }
