"""`punchlist restore`: a list, or its whole history, from the transcript of an agent."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from punchlist.cli import FAILED, OK
from punchlist.cli.arguments import MAIN, Parser, add_json, author, command_parser, open_board, own_session
from punchlist.cli.terminal import look, show, show_json
from punchlist.errors import InvalidInput
from punchlist.surfaces.spans import Span, cut, shown

if TYPE_CHECKING:
    from punchlist.agent import Agent
    from punchlist.board import Board
    from punchlist.bridges.homes import Place
    from punchlist.transcripts.claude_code import TaskWrite
    from punchlist.transcripts.values import Transcript, Written

_EXAMPLES = """\
  punchlist restore                       from the newest transcript of this project
  punchlist restore run.jsonl --dry-run   what a transcript holds
  punchlist restore 0198c2d4-…            of that session, wherever its agent keeps it
  punchlist restore run.jsonl --history   every write that it tells of, at its own time
"""


def parser() -> Parser:
    said = (
        "Takes over the list that an agent's transcript ends with. A list on the board that was written later stands. "
        "A session that is known only by its log shows in `punchlist todos` from then on like any other."
    )
    made = command_parser("restore", said, run=run, examples=_EXAMPLES)
    made.add_argument("what", nargs="?", metavar="PATH|SESSION", help="a transcript, or the id of its session")
    made.add_argument("--format", metavar="F", help="whose transcript it is (default: told from the transcript)")
    made.add_argument("--session", metavar="S", help="the session to restore to (default: the transcript's own)")
    made.add_argument(
        "--agent", metavar="A", help="the agent to restore to (default: main, or the subagent whose it is)"
    )
    made.add_argument("--by", metavar="NAME", help="who does it (default: your login name)")
    made.add_argument("--history", action="store_true", help="import every write, not only the last")
    made.add_argument("--force", action="store_true", help="even over a list that was written later")
    made.add_argument("--dry-run", action="store_true", help="only say what was found")
    add_json(made)
    return made


def run(options: Namespace) -> int:
    from punchlist.transcripts.formats import open_transcript

    place = _place(options)
    transcript = open_transcript(place.path, options.format or place.format or None)
    conversation = place.session
    if transcript.is_store and options.session in transcript.sessions:
        conversation = options.session
    written = transcript.latest(session=conversation)
    if options.dry_run:
        calls = sum(1 for _ in _task_writes(transcript))
        told = {**_told(options, transcript, written, tasks=calls > 0), "task_calls": calls}
        _say(options, transcript, told, _found(transcript, written, calls))
        _show_items(options, written)
        return OK if written is not None or calls else FAILED
    with open_board(options) as board:
        agent = _agent(board, options, transcript, written)
        before = agent.todos.revision
        if options.history:
            count = agent.import_history(place.path, transcript.format, session=conversation)
            tasks = _tasks(agent, transcript)
            text = f"Imported {count} {'write' if count == 1 else 'writes'} of {_whose(agent)}{_source(transcript)}."
            told = {**_told(options, transcript, written), "imported": count, "task_calls": tasks}
            _say(options, transcript, told, text + _of_tasks(agent, tasks))
            return OK
        label = f"from {os.path.basename(place.path)}"
        taken = agent.take_over(transcript, written, by=author(options), force=options.force, label=label)
        children = _subagents(agent, transcript, options)
        changed = agent.todos.revision != before
        tasks = _tasks(agent, transcript)
        known = not (taken or tasks) and next(_task_writes(transcript), None) is not None
        told = _told(options, transcript, written, tasks=tasks > 0 or known)
        told |= {"restored": taken or tasks > 0 or known, "changed": changed or tasks > 0, "subagents": children}
        text = _outcome(agent, transcript, written, taken=taken, changed=changed)
        if written is None and not taken and (tasks or known):
            text = ""
        text += "" if not children else f" Subagents: {', '.join(children)}."
        text += f" The tasks of {shown(transcript.source)} are all on the board." if known else ""
        _say(options, transcript, {**told, "task_calls": tasks}, (text + _of_tasks(agent, tasks)).strip())
    return OK if taken or tasks or known else FAILED


def _tasks(agent: Agent, transcript: Transcript) -> int:
    """Replays the task calls of a Claude Code session, those of its subagents too; how many were new."""
    return sum(agent.restore_tasks(file, transcript.format) for file in _task_files(transcript))


def _task_files(transcript: Transcript) -> list[str]:
    from punchlist.bridges.homes import subagents

    if transcript.format != "claude-code" or not os.path.isfile(transcript.source):
        return []
    return [transcript.source, *(file for _, file in subagents(transcript.source))]


def _task_writes(transcript: Transcript) -> Iterator[TaskWrite]:
    """The task calls that there are to be replayed, whether or not they were before."""
    from punchlist.transcripts.claude_code import TaskReading
    from punchlist.transcripts.formats import open_transcript
    from punchlist.transcripts.lines import LineTranscript

    for file in _task_files(transcript):
        found = open_transcript(file, transcript.format)
        if isinstance(found, LineTranscript):
            yield from TaskReading(found)


def _of_tasks(agent: Agent, count: int) -> str:
    return f" Replayed {_calls(count)} on the list {shown(agent.task_list)}." if count else ""


def _calls(count: int) -> str:
    return "1 task call" if count == 1 else f"{count} task calls"


def _place(options: Namespace) -> Place:
    """The transcript that is meant: a file, that of a session, or the newest of this project."""
    from punchlist.bridges import homes

    what: str | None = options.what
    if what is not None and (os.path.exists(os.path.expanduser(what)) or os.sep in what):
        return homes.Place(os.path.expanduser(what), "", None, 0.0)
    found = homes.find_newest(os.getcwd()) if what is None else homes.find_session(what)
    if found is None:
        problem = (
            "No transcript of this project was found; name a file, or the id of a session."
            if what is None
            else f"`{what}` is neither a file nor the id of a session whose transcript could be found."
        )
        raise InvalidInput(problem=problem)
    return found


def _agent(board: Board, options: Namespace, transcript: Transcript, written: Written | None) -> Agent:
    from punchlist.config import project_of

    origin = transcript.origin if written is None else written.origin
    # The transcript's present session comes first: a resumed one begins with a copy of that before, under its old id.
    own = transcript.origin.session or origin.session
    session = options.session or own or own_session(project_of(origin.cwd))
    subagent = transcript.origin.agent
    if options.agent is None and subagent != MAIN:
        return _child(board, session, transcript, written)
    return board.agent(options.agent or MAIN, session=session, dialect=transcript.dialect, project=origin.cwd)


def _child(board: Board, session: str, transcript: Transcript, written: Written | None) -> Agent:
    """The subagent whose own transcript this is: a child of the session's main agent, if the session is not its own."""
    from punchlist.bridges.homes import subagent_name

    own, project = transcript.origin.agent, transcript.origin.cwd
    name = subagent_name(transcript.source, transcript.format, own)
    if written is None or session == own:
        return board.agent(name, session=session, dialect=transcript.dialect, project=project, subagent=True)
    main = board.agent(MAIN, session=session, dialect=transcript.dialect, project=project)
    return main.spawn(name, id=own, label=f"from {os.path.basename(transcript.source)}")


def _subagents(agent: Agent, transcript: Transcript, options: Namespace) -> list[str]:
    """Restores the lists of a Claude Code session's subagents that still have something open; their names."""
    from punchlist.bridges.homes import subagent_name, subagents
    from punchlist.transcripts.formats import open_transcript

    if transcript.format != "claude-code" or transcript.origin.agent != MAIN:
        return []
    names: list[str] = []
    for own, file in subagents(transcript.source):
        inner = open_transcript(file, transcript.format)
        written = inner.latest()
        if written is not None and written.counts[0] < written.counts[1]:
            child = agent.spawn(
                subagent_name(file, transcript.format, own), id=own, label=f"from {os.path.basename(file)}"
            )
            if child.take_over(inner, written, by=author(options), force=options.force):
                names.append(child.name)
    return names


# What is said of it.


def _progress(written: Written) -> str:
    done, total = written.counts
    return f"{done}/{total}"


def _source(transcript: Transcript) -> str:
    return f" from {shown(transcript.source)} ({transcript.format})"


def _whose(agent: Agent) -> str:
    return f"{shown(agent.name)} in session {shown(agent.session)}"


def _found(transcript: Transcript, written: Written | None, calls: int = 0) -> str:
    if calls:
        lists = "" if written is None else f" {_found(transcript, written)}"
        return f"Found {_calls(calls)} in {shown(transcript.source)} ({transcript.format}).{lists}"
    if written is None:
        return f"There is no list in {shown(transcript.source)} ({transcript.format})."
    at = "" if written.origin.at is None else f", written {written.origin.at:%Y-%m-%d %H:%M:%S} UTC"
    return f"Found {_progress(written)}{at}, in {shown(transcript.source)} ({transcript.format})."


def _outcome(agent: Agent, transcript: Transcript, written: Written | None, *, taken: bool, changed: bool) -> str:
    if taken and changed:
        what = _progress(written) if written is not None else "the session that this one goes on from"
        return f"Restored {what} for {_whose(agent)}{_source(transcript)}."
    if taken:
        return f"The list of {_whose(agent)} is already what {shown(transcript.source)} ends with."
    if written is None:
        return _found(transcript, written)
    return (
        f"The list of {_whose(agent)} was written later than that of {shown(transcript.source)} "
        f"({_progress(written)}) and stands; --force puts the older one in its place."
    )


def _say(options: Namespace, transcript: Transcript, told: dict[str, Any], text: str) -> None:
    if options.json:
        show_json(told)
        return
    print(text)
    if transcript.skipped:
        lines = "line was" if transcript.skipped == 1 else "lines were"
        print(f"{transcript.skipped} {lines} broken and skipped.")


def _told(
    options: Namespace, transcript: Transcript, written: Written | None, *, tasks: bool = False
) -> dict[str, Any]:
    """What was found as JSON values: a list, or `tasks`."""
    origin = transcript.origin if written is None else written.origin
    done, total = (0, 0) if written is None else written.counts
    entries = () if written is None else written.command.entries
    return {
        "path": transcript.source,
        "format": transcript.format,
        "dialect": transcript.dialect,
        "session": options.session or transcript.origin.session or origin.session,
        "agent": origin.agent,
        "project": origin.cwd,
        "at": origin.at,
        "found": written is not None or tasks,
        "progress": {"done": done, "total": total},
        "items": [{"content": entry.content, "status": entry.status} for entry in entries],
        "skipped": transcript.skipped,
    }


def _show_items(options: Namespace, written: Written | None) -> None:
    if options.json or written is None:
        return
    seen = look()
    boxes = seen.glyphs.boxes
    for entry in written.command.entries:
        line = (Span(f"  {boxes[entry.status.value]} {shown(entry.content)}"),)
        show([cut(line, seen.columns, seen.glyphs)])
