"""Render pages and their parts from templates. Every text that a template prints is cleaned, then escaped."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from punchlist.core.grounding.offers import describe_offer
from punchlist.core.overview import PersonWait
from punchlist.core.task import Task, TaskStatus
from punchlist.core.todo import Status
from punchlist.terminal.lists import GRADES
from punchlist.terminal.now import key_of
from punchlist.terminal.sentences import sentence
from punchlist.terminal.spans import UNICODE, Style
from punchlist.terminal.tasks import standing_words
from punchlist.text import fit, for_terminal
from punchlist.text.hashing import blake2b
from punchlist.text.shell import drop_cd
from punchlist.views.findings import format_moment, span, until_words
from punchlist.views.grades import check_words
from punchlist.views.now import AgentNow

_PLACES: Final = re.compile(r"(?<=\w)(?!(?<=\d):\d)([/_:?=]+)(?=\w)")
"""Where a path or an address may go on in the next line; a time stays whole."""


GRADE_ICONS: Final = {
    "verified": "green",
    "confirmed": "confirmed",
    "unchecked": "unchecked",
    "unseen": "unseen",
    "failing": "red",
    None: "done",
}
"""The mark of each grade of a completion; None for one that nothing was reported of."""

STATUS_ICONS: Final = {
    Status.PENDING: "pending",
    Status.IN_PROGRESS: "work",
    Status.BLOCKED: "blocked",
    Status.COMPLETED: GRADE_ICONS[None],
    Status.FAILED: "red",
    Status.CANCELLED: "idle",
}
"""The mark of an item without a grade."""


def find_task_mark(task: Task) -> str:
    """Return the mark of a task: its grade once it is completed; amber is for what waits on a person."""
    match task.status:
        case TaskStatus.COMPLETED:
            return GRADE_ICONS.get(task.grade, "done")
        case TaskStatus.WAITING:
            return "wait" if task.wait is None or task.wait.kind == "manual" else "pending"
        case _:
            return "blocked" if task.is_blocked else STATUS_ICONS[Status(task.status.value)]


Values = Mapping[str, Any]
"""What a template shows, by name."""


def render(template: str, values: Values) -> str:
    """Return a template filled with values. A part that stands `alone`, in a report, has no forms and no links.

    `prefix` stands before the ids of a part, so that a report can have the parts of several sessions.
    """
    return _environment().get_template(template).render({"alone": False, "prefix": "", **values})


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("punchlist.server"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_clean,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "lines": _lines,
        "sentence": _begin_sentence,
        "breakable": _breakable,
        "age": _age,
        "moment": _moment,
        "time": format_time,
        "clock": _clock,
        "until": _until,
        "path_of": session_path,
        "subject_path": subject_path,
        "list_path": list_path,
        "list_title": title_of,
        "task_path": task_path,
        "tested": _tested,
        "grade_icon": GRADE_ICONS.get,
        "status_icon": STATUS_ICONS.get,
        "grade_style": _style_grade,
        "grade_mark": UNICODE.grades.get,
        "fit": fit,
        "drop_cd": drop_cd,
        "offered": describe_offer,
        "task_icon": find_task_mark,
        "standing": standing_words,
        "told": partial(sentence, glyphs=UNICODE),
        "element_id": element_id,
        "digest": content_digest,
    }
    made.filters.update(filters)
    return made


def _clean(value: Any) -> Any:
    """Return a value as a template may print it: a text as one line without control characters."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return value if value.isascii() and value.isprintable() else for_terminal(value)
    return "" if value is None else value


def _lines(text: str) -> Markup:
    """Return a text of several lines, for an element that keeps line breaks."""
    return escape(for_terminal(text, lines=True))


def _breakable(text: str) -> Markup:
    return Markup(_PLACES.sub(r"\1<wbr>", str(escape(_clean(text)))))


def _tested(agent: AgentNow) -> Markup:
    """Return how the last check of an agent's session went, or that none ran after its changes."""
    said = check_words(agent.session_state, agent.check, agent.changes_since)
    if agent.session_state not in ("red", "green"):
        return escape(said)
    words = Markup('<span class="{}">{}</span>').format(agent.session_state, said)
    return words if agent.check_at is None else Markup("{} {:%H:%M}").format(words, agent.check_at.astimezone())


def _style_grade(grade: str | None) -> Style:
    return GRADES.get(grade or "", "dim")


def _begin_sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _age(since: datetime | None, now: datetime) -> Markup:
    """Return a time as its age without seconds; `page.js` says it alike, and keeps it running."""
    if since is None:
        return Markup()
    words = span(now - since) if now - since >= timedelta(minutes=1) else "< 1 min"
    return Markup('<time datetime="{}" data-age>{}</time>').format(format_time(since), words)


def _moment(at: datetime | None, now: datetime) -> Markup:
    """Return the time of day of an event, with its weekday or day if that was not today."""
    if at is None:
        return Markup()
    return Markup('<time datetime="{}">{}</time>').format(format_time(at), format_moment(at, now))


def _clock(at: datetime) -> Markup:
    """Return the day and the time of a moment, for a page that nothing keeps running."""
    local = at.astimezone()
    return Markup('<time datetime="{}">{} {:%b %H:%M}</time>').format(format_time(at), local.day, local)


def format_time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _until(at: datetime, now: datetime) -> Markup:
    """Return how far away a time is; a script keeps it running."""
    return Markup('<time datetime="{}" data-until>{}</time>').format(format_time(at), until_words(at, now))


# Names in a page.


def element_id(subject: AgentNow | PersonWait | tuple[str, ...]) -> str:
    """Return the id of the element about an agent or a wait: the same in every rendering.

    That of a wait changes with its text, so that an answer stays with the question it was typed for.
    """
    key = subject if isinstance(subject, tuple) else key_of(subject)
    if isinstance(subject, PersonWait):
        key = (*key, subject.text)
    return f"e{blake2b(repr(key).encode('utf-8', 'replace'), digest_size=6).hexdigest()}"


def subject_path(subject: AgentNow | PersonWait) -> str:
    """Return the path of the page that tells more of an agent or a wait."""
    if isinstance(subject, AgentNow):
        return session_path(subject.list_session or subject.session)
    if subject.kind == "task":
        return task_path(subject.list, subject.id)
    return session_path(subject.session) if subject.session else "/tasks"


def content_digest(text: str) -> str:
    """Return a few digits that change with a text, for a form to say what its reader saw."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def list_path(name: str) -> str:
    return f"/tasks/{quote(name, safe='')}"


def task_path(name: str, task: str) -> str:
    return f"{list_path(name)}/{quote(task, safe='')}"


def title_of(name: str) -> str:
    """Return a short name of a list: that of its project's folder, of its session, or its own."""
    kind, _, rest = name.partition(":")
    if kind == "project":
        return rest.rstrip("/").rpartition("/")[2] or rest
    return f"session {rest}" if kind == "session" else name


def session_path(session: str) -> str:
    return f"/sessions/{quote(session, safe='')}"
