"""Find what a person is told of agents: one waits on them, finishes, stalls or turns red; each fact once.

`find_news` compares what is seen now with what was seen before, and returns the facts that began in between. Several
programs may share one memory, and may have looked a second apart: a fact has the time at which it began, and one that
is not later than the last of its kind is known. So an old look neither repeats a fact nor undoes a newer one.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, time, timedelta
from functools import partial
from typing import Final, NamedTuple

from msgspec.structs import replace

from punchlist.core.overview import PersonWait, name_wait
from punchlist.core.presence import GONE_SHOWN, NO_WORDS, FactKind, News, NoticeMemory, PersonNotice, SeenAgent
from punchlist.text import cut, for_terminal
from punchlist.text.hashing import blake2b
from punchlist.text.redaction import redact
from punchlist.text.tool_values import preview
from punchlist.views.grades import state_name
from punchlist.views.now import AgentNow, Roster

_MISSING: Final = timedelta(seconds=5)
"""An agent that is not seen for so long has ended; a host that is slow to answer once has not."""

_WORDS_LATE: Final = timedelta(seconds=2)
"""A host may write what it waits for so long after it says that it waits."""

_LONGEST_TEXT: Final = 300
_MOST_LINES: Final = 10
"""Facts that a summary names; the others are counted."""

_COUNTED: Final[dict[FactKind, tuple[str, str]]] = {
    "waits": ("1 waits on you", "{} wait on you"),
    "red": ("1 turned red", "{} turned red"),
    "stalled": ("1 is silent", "{} are silent"),
    "finished": ("1 finished", "{} finished"),
}
"""Words of a summary for one and for several, what needs the person first."""


def find_news(memory: NoticeMemory, roster: Roster, *, secrets: re.Pattern[str] | None = None) -> News:
    """Return what began since the memory was kept; `secrets` is the user's pattern of secrets, which no fact shows."""
    # A session that comes back after a day brings its old troubles with it, which are no news.
    floor = max(memory.began, roster.at - GONE_SHOWN)
    changed: dict[str, SeenAgent] = {}
    facts: list[PersonNotice] = []
    keys = {key_of_wait(wait): wait for wait in roster.waits}
    new_waits = [key for key in keys if key not in memory.waits]
    facts += [
        _tell_wait(key, keys[key], roster, secrets) for key in new_waits if (keys[key].since or roster.at) > floor
    ]
    asked = {(wait.session, wait.agent) for wait in roster.waits}
    red: set[str] = set()
    for row in roster.agents:
        subject = key_of_agent(row)
        known = memory.agents.get(subject)
        before = known or _make_unseen(row, clean_text(row.name), floor)
        seen, own = _compare(before, row, roster.at, is_asked=(row.list_session, row.agent) in asked)
        if seen != known:
            changed[subject] = seen
        # Red belongs to the session: of several agents in one, one tells it.
        facts += [fact for fact in own if fact.kind != "red" or row.list_session not in red]
        red |= {row.list_session for fact in own if fact.kind == "red"}
    present = {key_of_agent(row) for row in roster.agents}
    for subject, known in memory.agents.items():
        if subject not in present and known.state == "busy":
            changed[subject], own = _miss(known, subject, roster.at)
            facts += own
    return News([mask_notice(fact, secrets) for fact in facts], changed, new_waits)


def key_of_wait(wait: PersonWait) -> str:
    since = "" if wait.since is None else wait.since.isoformat()
    whole = "\0".join((wait.kind, wait.session, wait.agent, wait.list, wait.id, since))
    return f"wait {blake2b(whole.encode(errors='replace'), digest_size=12).hexdigest()}"


def key_of_agent(row: AgentNow) -> str:
    whole = "\0".join((row.host, row.session, row.agent if not row.host else ""))
    return f"agent {blake2b(whole.encode(errors='replace'), digest_size=12).hexdigest()}"


def _make_unseen(row: AgentNow, name: str, floor: datetime) -> SeenAgent:
    """Return an agent of which nothing is known: what it did before `floor` counts as known."""
    return SeenAgent(
        name=name,
        project=row.project,
        host=row.host,
        session=row.session,
        agent=row.agent,
        waited_since=floor,
        silent_since=floor,
        red_at=floor,
    )


def _compare(known: SeenAgent, row: AgentNow, now: datetime, *, is_asked: bool) -> tuple[SeenAgent, list[PersonNotice]]:
    """Return the agent as it is seen now, and the facts that began."""
    if row.state == "gone" and known.state == "busy":
        # Another program may have seen it begin a moment ago, of which this look does not know yet.
        if known.missing_since is None:
            return replace(known, missing_since=now), []
        if now - known.missing_since < _MISSING:
            return known, []
    if _may_name_its_question(known, row, now):
        return known, []
    seen, facts = replace(known, missing_since=None), list[PersonNotice]()
    make = _start_fact(known, key_of_agent(row))
    has_finished = False
    if _is_news(known, row):
        seen = replace(seen, state=row.state, since=row.since, waits_for="")
        if row.state == "busy":
            seen = replace(seen, busy_since=row.since or now)
        elif known.state == "busy" and row.state in ("idle", "gone") and known.busy_since != known.finished_since:
            has_finished = True
            seen = replace(seen, finished_since=known.busy_since)
            facts.append(_tell_end(make, known.name, row, now))
    if seen.state == row.state == "waiting":
        is_new = known.state != "waiting" or (bool(known.waits_for) and known.waits_for != row.waits_for)
        began = row.since or now
        if not is_asked and is_new and _is_later(began, known.waited_since):
            words = quote_text(row.waits_for) or NO_WORDS
            facts.append(make(kind="waits", title=f"{known.name} waits on you", text=words, at=began))
        waited = began if _is_later(began, known.waited_since) else known.waited_since
        seen = replace(seen, waits_for="" if is_asked else row.waits_for, waited_since=waited)
    if row.silent_since is not None and _is_later(row.silent_since, known.silent_since):
        seen = replace(seen, silent_since=row.silent_since)
        facts.append(_tell_silence(make, known.name, row, row.silent_since, now))
    is_red = row.session_state == "red"
    if is_red and (row.check_at is None or _is_later(row.check_at, known.red_at)):
        seen = replace(seen, red_at=row.check_at or known.red_at)
        if not known.is_red and not has_finished:  # the end of its work says so too
            words = _describe_check(row).removeprefix("red: ")
            facts.append(make(kind="red", title=f"{known.name} turned red", text=words, at=row.check_at or now))
    return replace(seen, is_red=is_red, is_hung=row.hung), facts


def _may_name_its_question(known: SeenAgent, row: AgentNow, now: datetime) -> bool:
    """True for the first moment of a wait without words: Claude Code writes its question after its state."""
    is_wordless = row.state == "waiting" and row.waits_for in ("", NO_WORDS)
    if not is_wordless or known.state == "waiting" or row.since is None:
        return False
    return timedelta(0) <= now - row.since < _WORDS_LATE


def _is_news(known: SeenAgent, row: AgentNow) -> bool:
    """True unless this state is known, or another program has seen a later one.

    A process that is gone, or is back, is believed. A state that began again is the same state, with a later begin.
    """
    if row.state == known.state:
        return row.since is not None and _is_later(row.since, known.since)
    if "gone" in (known.state, row.state) or row.since is None or known.since is None:
        return True
    return row.since >= known.since


def _is_later(at: datetime, known: datetime | None) -> bool:
    return known is None or at > known


def _miss(known: SeenAgent, subject: str, now: datetime) -> tuple[SeenAgent, list[PersonNotice]]:
    """Return an agent that was at work and is not seen any more, and that it ended once that is sure."""
    if known.missing_since is None:
        return replace(known, missing_since=now), []
    if now - known.missing_since < _MISSING:
        return known, []
    gone = replace(known, state="gone", missing_since=None, finished_since=known.busy_since)
    if known.is_hung or known.busy_since == known.finished_since:
        return gone, []
    make = _start_fact(known, subject)
    text = "it does not run any more"
    return gone, [make(kind="finished", title=f"{known.name} ended", text=text, at=known.missing_since)]


# Words.


def _start_fact(known: SeenAgent, subject: str) -> Callable[..., PersonNotice]:
    """Return a function that makes facts about an agent from their kind, title, text and time."""
    return partial(
        PersonNotice,
        project=clean_text(known.project),
        host=clean_text(known.host),
        session=clean_text(known.session),
        agent=clean_text(known.agent),
        subject=subject,
    )


def _tell_wait(key: str, wait: PersonWait, roster: Roster, secrets: re.Pattern[str] | None) -> PersonNotice:
    rows = [row for row in roster.agents if row.list_session == wait.session and row.agent == wait.agent]
    own = rows[0] if rows and wait.session else None
    name = clean_text(wait.owner) or wait.kind
    return PersonNotice(
        kind="waits",
        title=f"{name} waits on you",
        text=quote_text(name_wait(wait), secrets),
        at=wait.since or roster.at,
        project=clean_text(wait.project),
        host="" if own is None else clean_text(own.host),
        session=clean_text(wait.session),
        agent=clean_text(wait.agent),
        answer=clean_text(wait.name),
        subject=key,
    )


def _tell_end(make: Callable[..., PersonNotice], name: str, row: AgentNow, now: datetime) -> PersonNotice:
    is_gone = row.state == "gone"
    parts = ["its process ended while it worked"] if is_gone else []
    if row.session_state in ("red", "unchecked", "green"):
        parts.append(
            _describe_check(row) if row.session_state == "red" else state_name(row.session_state, row.changes_since)
        )
    if row.total:
        parts.append(f"{row.done}/{row.total} done")
    if row.title and not is_gone:
        parts.append(quote_text(row.title))
    title = f"{name} ended" if is_gone else f"{name} finished"
    return make(kind="finished", title=title, text=clean_text(", ".join(parts)), at=row.since or now)


def _tell_silence(
    make: Callable[..., PersonNotice], name: str, row: AgentNow, since: datetime, now: datetime
) -> PersonNotice:
    minutes = max(1, int((now - since) / timedelta(minutes=1)))
    last = f", last: {quote_text(row.doing)}" if row.doing else ""
    text = clean_text(f"no output for {minutes} min{last}")
    return make(kind="stalled", title=f"{name} is silent", text=text, at=since)


def _describe_check(row: AgentNow) -> str:
    check = clean_text(row.check)
    return f"red: {check} failed" if check else "red: a check failed"


def clean_text(text: str) -> str:
    """Return a text as one line of bounded length without control characters."""
    return cut(for_terminal(text[: 4 * _LONGEST_TEXT]), _LONGEST_TEXT)


def quote_text(text: str, secrets: re.Pattern[str] | None = None) -> str:
    """Return words of a model as one clean line, also without secrets: a message may leave the machine."""
    return preview(text, _LONGEST_TEXT, own=secrets)


def mask_notice(notice: PersonNotice, secrets: re.Pattern[str] | None) -> PersonNotice:
    """Return a message without secrets in its words; the ids by which an agent is found stay."""
    return replace(
        notice,
        title=redact(notice.title, secrets),
        text=redact(notice.text, secrets),
        project=redact(notice.project, secrets),
    )


def summarise_facts(facts: Sequence[PersonNotice], now: datetime) -> PersonNotice:
    """Return one message for several facts; a single fact stays as it is."""
    if len(facts) == 1:
        return facts[0]
    order = list(_COUNTED)
    ranked = sorted(facts, key=lambda fact: order.index(fact.kind) if fact.kind in _COUNTED else len(order))
    counts = Counter(fact.kind for fact in facts)
    words = [
        (one if counts[kind] == 1 else many).format(counts[kind])
        for kind, (one, many) in _COUNTED.items()
        if counts[kind]
    ]
    lines = [f"{fact.title}: {fact.text}" if fact.text else fact.title for fact in ranked[:_MOST_LINES]]
    if len(ranked) > _MOST_LINES:
        lines.append(f"and {len(ranked) - _MOST_LINES} more")
    return PersonNotice(kind="summary", title=", ".join(words), text="\n".join(lines), at=now)


def drop_settled(facts: Iterable[PersonNotice], roster: Roster) -> list[PersonNotice]:
    """Return the facts without those that were settled meanwhile: answers that were given, silences that ended."""
    waits = {key_of_wait(wait): wait.since for wait in roster.waits}
    waits |= {key_of_agent(row): row.since for row in roster.agents if row.state == "waiting"}
    silent = {key_of_agent(row): row.silent_since for row in roster.agents if row.silent_since is not None}
    lasting = {"waits": waits, "stalled": silent}
    return [fact for fact in facts if fact.kind not in lasting or _is_lasting(fact, lasting[fact.kind])]


def _is_lasting(fact: PersonNotice, begins: Mapping[str, datetime | None]) -> bool:
    """True if the subject of a fact is still so, and not again so after an end."""
    if fact.subject not in begins:
        return False
    since = begins[fact.subject]
    return since is None or fact.at is None or fact.at >= since


# Quiet hours.


class QuietHours(NamedTuple):
    """A part of each day, from `begin` until before `end`; it may go over midnight."""

    begin: time
    end: time

    def holds(self, at: datetime) -> bool:
        """True if it is quiet at this local time."""
        now = at.time()
        if self.begin < self.end:
            return self.begin <= now < self.end
        return now >= self.begin or now < self.end


_QUIET: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d) ?- ?([01]\d|2[0-3]):([0-5]\d)")


def parse_quiet_hours(text: str) -> QuietHours | None:
    """Read hours such as `22:00-07:00`; None for an empty text. Raise `ValueError` for anything else."""
    if not text:
        return None
    found = _QUIET.fullmatch(text)
    if found is None or (found[1], found[2]) == (found[3], found[4]):
        raise ValueError("use two different times of the day, such as `22:00-07:00`")
    first, second, third, fourth = map(int, found.groups())
    return QuietHours(time(first, second), time(third, fourth))
