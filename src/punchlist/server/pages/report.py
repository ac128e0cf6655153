"""Render a work report as one file: the page of each session with its style, and nothing to load, run or follow."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Final

from markupsafe import Markup
from msgspec.structs import replace

from punchlist.board import Board
from punchlist.core.grounding.grades import DOUBTFUL
from punchlist.core.grounding.session import SessionState
from punchlist.core.grounding.tool_call import is_task, item_key
from punchlist.core.report import ItemReport
from punchlist.core.todo import TodoList
from punchlist.reports.work_reports import LoadedReport
from punchlist.server.pages.rendering import element_id, render
from punchlist.server.pages.session import AgentBlock, ItemRow, SessionPage, load_session, view_item
from punchlist.server.pages.sessions import Standing
from punchlist.server.pages.timeline import lay_out
from punchlist.terminal import reports
from punchlist.terminal.spans import UNICODE
from punchlist.views.grades import state_name, state_reason
from punchlist.views.now import answer_commands

_TASKS: Final = "Tasks"
_EARLIER: Final = "No longer on the list"


def render_report(board: Board, loaded: LoadedReport, title: str) -> str:
    """Return the whole file."""
    report, around = loaded.report, loaded.around
    style = files("punchlist.server").joinpath("static/style.css").read_text(encoding="utf-8")
    several = len(report.sessions) > 1
    values = {
        "alone": True,
        "title": title,
        "at": board.now(),
        "style": Markup(style),
        "style_hash": b64encode(sha256(style.encode()).digest()).decode(),
        "totals": dict(reports.total_words(report.totals)),
        "boxes": UNICODE.boxes,
        "marks": UNICODE.grades,
        "red": [
            (around.names.name(one.session) if several else "", state_reason(one))
            for one in report.sessions
            if one.state == "red"
        ],
        "waits": [
            (words, answer_commands(wait))
            for wait, words in zip(report.waits, reports.waiting_words(report.waits), strict=True)
        ],
        "stopped": reports.stopped_words(around),
        "doubts": [
            (
                entry.item.content,
                reports.owner_words(entry.subject, around),
                entry.grade,
                reports.explain(entry).reason,
            )
            for entry in report.items
            if entry.grade in DOUBTFUL and not entry.is_gone
        ],
        "git": [(reports.git_name(one, around), reports.git_words(one), one.commits) for one in around.git],
        "sessions": _load_sessions(board, loaded),
        "elsewhere": [
            f"{around.names.name(of.session, of.agent)}, {reports.item_label(of.item)}: "
            + ", ".join(reports.tally_words(tally))
            for of, tally in report.elsewhere
        ],
    }
    return render("report.html", values) + "\n"


# Sessions.


def _load_sessions(board: Board, loaded: LoadedReport) -> list[SessionPage]:
    """Return each session of the report, the worst first; tasks that no session has are a nameless one at the end."""
    report = loaded.report
    by_session: dict[str, list[ItemReport]] = {one.session: [] for one in report.sessions}
    for entry in report.items:
        by_session.setdefault(entry.subject.session, []).append(entry)
    loose = by_session.pop("", [])
    views = [
        _complete(load_session(board, session), entries, is_own=session in loaded.around.own)
        for session, entries in by_session.items()
    ]
    if loose:
        now = board.now()
        empty = SessionPage(id="", project="", at=now, agents=(), timeline=lay_out(loose, {}, now))
        views.append(_complete(empty, loose))
    return views


def _complete(view: SessionPage, entries: Iterable[ItemReport], *, is_own: bool = False) -> SessionPage:
    """Add what a report tells beyond the page of a session: earlier items, and all tasks."""
    agents = {agent.name: agent for agent in view.agents}
    groups: dict[str, list[ItemReport]] = {name: [] for name in agents}
    for entry in entries:
        groups.setdefault(entry.subject.agent, []).append(entry)
    for name, group in groups.items():
        agent = agents.get(name) or _make_agent(view.id, name)
        agents[name] = replace(_fill_agent(agent, group), label="yours" if is_own else agent.label)
    return replace(view, agents=list(agents.values()), standing=_describe_state(view.state))


def _describe_state(state: SessionState | None) -> Standing:
    """Say what the checks of a session said. A report asks no host, so it cannot say who is at work or has ended."""
    found = state or SessionState("", "idle")
    return Standing(found.state, state_name(found.state, found.changes_since).capitalize(), f": {state_reason(found)}")


def _make_agent(session: str, name: str) -> AgentBlock:
    """Return an agent that has no list; tasks of nobody have no agent either."""
    label = "tasks" if name and not session else ""
    return AgentBlock(element=element_id(("list", session, name)), name=name or "Tasks", label=label)


def _fill_agent(agent: AgentBlock, entries: Sequence[ItemReport]) -> AgentBlock:
    phases: dict[str, list[ItemRow]] = {name: [] for name in ("", *agent.phase_names, _TASKS, _EARLIER)}
    for entry in entries:
        phases[_name_phase(agent, entry)].append(view_item(entry.subject, entry.item, entry, entry.helpers))
    return replace(
        agent,
        progress=TodoList(items=tuple(entry.item for entry in entries if not entry.is_gone)).progress,
        phases=[(name, items) for name, items in phases.items() if items],
        tasks=(),
    )


def _name_phase(agent: AgentBlock, entry: ItemReport) -> str:
    if is_task(entry.subject.item):
        return _TASKS if agent.plan_id else ""
    if entry.is_gone or entry.subject.item != item_key(agent.plan_id, entry.item.id):
        return _EARLIER
    return entry.item.phase if entry.item.phase in agent.phase_names else ""
