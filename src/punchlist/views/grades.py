"""Say what the grade of an item and the state of a session rest on: the words that every surface shows."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from punchlist.core.checks.summaries import RunCounts
from punchlist.core.grounding.grades import judge
from punchlist.core.grounding.session import CheckRun, SessionState, name_check, session_state
from punchlist.core.grounding.tool_call import item_key
from punchlist.core.todo import Status
from punchlist.store import ListRow, Transaction
from punchlist.views.findings import count_words, format_moment

_UNSEEN: Final = "no work on it was seen"
_UNCHECKED: Final = "no check passed"

Reasons = Mapping[int, Mapping[str, str]]
"""By the number of an agent and the id of an item, why the item has its grade."""


def _name_grade(grade: str, run: CheckRun | None) -> str:
    """Return a grade with the kind of check behind it, where that is no test: `verified (build)`."""
    is_other = grade == "verified" and run is not None and run.verified_by != "test"
    return f"{grade} ({run.verified_by})" if is_other and run is not None else grade


def _count_tests(outcome: str, counts: RunCounts) -> str:
    ran, failed, skipped = counts.ran, counts.failed, counts.skipped
    if outcome == "failed":
        of = f" of {ran:,}" if ran > failed else ""
        return f"{failed:,}{of} failed" if failed else "failed"
    if not ran:
        return outcome
    return f"{ran:,} ran, {skipped:,} skipped" if skipped else f"{ran:,} passed"


class Explained(NamedTuple):
    """A grade as it is shown: its name, what it rests on, and other remarks."""

    name: str
    reason: str
    remarks: Sequence[str] = ()

    @property
    def words(self) -> str:
        """The grade with its reason: `failing: pytest tests/test_a.py, 1 failed, 09:52`."""
        return ": ".join(filter(None, (self.name, self.reason)))


def explain_grade(grade: str | None, run: CheckRun | None, remarks: Sequence[str]) -> Explained:
    """Return a grade with its reason: the run of a check that decided it, else the first remark that says why."""
    name, others = _name_grade(grade or "", run), list(remarks)
    if run is not None:
        # Such as `pytest tests/test_a.py, 1 failed, 09:52`.
        facts = (
            name_check(run.name, run.paths),
            _count_tests(run.outcome, run.counts),
            format_moment(run.at, datetime.now(UTC)),
        )
        return Explained(name, ", ".join(facts), others)
    if grade == "unseen":
        return Explained(name, _UNSEEN, others)
    if grade != "unchecked":
        return Explained(name, "", others)
    is_why = bool(others) and not others[0].startswith("with ")
    return Explained(name, others[0], others[1:]) if is_why else Explained(name, _UNCHECKED, others)


def load_reasons(tx: Transaction, rows: Sequence[ListRow]) -> Reasons:
    """Return why the completed items of these lists have their grades."""
    found: dict[int, dict[str, str]] = {}
    for session in dict.fromkeys(row.session for row in rows):
        record, known = tx.completions.load_record(session), tx.completions.of_session(session)
        for row in rows:
            done = [one for one in row.todos.items if one.status is Status.COMPLETED] if row.session == session else ()
            for item in done:
                completed = known.get((row.number, item_key(row.todos.plan_id, item.id)))
                if completed is not None and item.grade is not None and item.grade != "confirmed":
                    why = judge(completed, record)
                    words = explain_grade(item.grade, why.run, why.remarks).words
                    found.setdefault(row.number, {})[item.id] = words
    return found


# The state of a session.


def load_state(tx: Transaction, session: str) -> tuple[str, int]:
    """Return the state of a session, and the code changes since its last check."""
    found = session_state(session, tx.completions.load_record(session))
    return found.state, found.changes_since


def state_name(state: str, changes: int = 0) -> str:
    """Return the state of a session in words: `not checked since 14 changes` for `unchecked`."""
    if state != "unchecked":
        return state
    return f"not checked since {count_words(changes, 'change')}" if changes else "not checked"


def check_words(state: str, check: str, changes: int) -> str:
    """Return how the last check of a session went, in few words, as the rows under a prompt do: `pytest green`."""
    if state in ("red", "green"):
        return f"{check or 'check'} {state}"
    if state != "unchecked":
        return ""
    return f"{count_words(changes, 'change')}, not checked" if changes and check else "no test ran yet"


def state_reason(session: SessionState) -> str:
    """Return by which check a session has its state, and when."""
    check = session.decided_by
    if session.state == "idle":
        return "nothing was changed, and nothing was checked"
    if check is None:
        return "no check ran"
    at, name = format_moment(check.at, datetime.now(UTC)), name_check(check.program, check.scope)
    if session.state == "green":
        return f"{name} passed {at}, nothing changed since"
    if session.state == "unchecked":
        return f"the last one was {name}, {at}"
    before = f", as before: the same {check.as_before}" if check.as_before else ""
    marked = "item was" if session.done_since == 1 else "items were"
    after = f"; {session.done_since} {marked} marked done after it" if session.done_since else ""
    return f"{name} failed {at} and was not green since{before}{after}"


def red_words(session: SessionState) -> str:
    """Return why a session is red, in a clause: `red: pytest, 2 of 120 failed; 2 items marked done after it`."""
    check = session.decided_by
    if check is None:
        return "red"
    count = f", {_count_tests('failed', check.counts)}" if check.counts.failed else ""
    after = f"; {count_words(session.done_since, 'item')} marked done after it" if session.done_since else ""
    return f"red: {name_check(check.program, check.scope)}{count}{after}"
