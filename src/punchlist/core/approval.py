"""Put plans and questions before a person, and record the decision or answer. A plan is never the todo list itself.

An agent has one plan at a time. Each draft or proposal is a revision of its own. The one before is kept, and a
decision names the revision that the person saw.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.events import Draft
from punchlist.core.todo import ANYBODY, Phase, Status, TodoItem, TodoList
from punchlist.errors import PlanDecided, PlanExpired, PlanMissing, PlanRefused, PlanRevisionConflict, PlanUnfinished
from punchlist.text import clean, cut, repair
from punchlist.text.patterns import compile_later

LARGEST = 65_536
"""Bytes of UTF-8 that a plan may take. A dialect may allow less."""


class PlanState(StrEnum):
    """The state of one revision of a plan."""

    DRAFTING = "drafting"
    PROPOSED = "proposed"
    APPROVED = "approved"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"


class Plan(Struct, frozen=True, kw_only=True):
    """One revision of an agent's plan. `id` is unique on a board; `item` is its name in a stream, `{turn}-plan`.

    The text of a draft is empty: it comes in pieces, as events, and the whole of it with the proposal. `sent_bytes`
    and `sent_chars` measure the text as it was sent, before it was cleaned. `decided_at` and `decided_by` also say
    when and by whom it was superseded. After `expires_at` no decision is possible; without one there is no time limit.
    `entered_at` is when its agent entered plan mode.
    """

    id: str
    revision: int
    text: str = ""
    state: PlanState = PlanState.DRAFTING
    item: str | None = None
    created_at: datetime | None = None
    created_by: str = ""
    entered_at: datetime | None = None
    proposed_at: datetime | None = None
    expires_at: datetime | None = None
    decided_at: datetime | None = None
    decided_by: str | None = None
    reason: str | None = None
    sent_bytes: int = 0
    sent_chars: int = 0

    @property
    def is_open(self) -> bool:
        """True while the plan is being written or waits for a decision."""
        return self.state in (PlanState.DRAFTING, PlanState.PROPOSED)

    @property
    def title(self) -> str:
        """The first line with text, without the marks of a heading."""
        lines = (line.strip().lstrip("#").strip() for line in self.text.splitlines())
        return next((line for line in lines if line), "")

    @property
    def todos(self) -> TodoList:
        """The steps that the plan lists, as a todo list that no agent has yet."""
        return parse_steps(self.text)

    def expired(self, now: datetime) -> bool:
        """True if the plan waited for a decision beyond its limit."""
        return self.state is PlanState.PROPOSED and self.expires_at is not None and now >= self.expires_at

    def waits(self, now: datetime) -> bool:
        """True if a person can decide on the plan."""
        return self.state is PlanState.PROPOSED and not self.expired(now)


class PlanChange(NamedTuple):
    """The plan after a step, the revisions to write, and the events."""

    plan: Plan
    changed: tuple[Plan, ...] = ()
    events: tuple[Draft, ...] = ()


def begin(current: Plan | None, *, id: str, item: str, by: str, now: datetime) -> PlanChange:
    """Begin a plan that streams in; supersede the one that was open."""
    plan = Plan(id=id, revision=_next_revision(current), item=item, created_at=now, created_by=by)
    return _supersede(current, PlanChange(plan, (plan,), (_draft("started", plan, item=item),)), by, now)


def drop(history: Sequence[Plan], item: str) -> PlanChange | None:
    """End the draft of an `item` that turned out to have no text; `changed` is the plan that waits again instead.

    `history` holds all revisions, oldest first. Return None if the latest is no draft of this item.
    """
    draft = history[-1] if history else None
    if draft is None or draft.state is not PlanState.DRAFTING or draft.item != item:
        return None
    before = history[-2] if len(history) > 1 else None
    replaced = before is not None and before.state is PlanState.SUPERSEDED and before.decided_at == draft.created_at
    event = _draft("dropped", draft, item=item)
    if before is None or not replaced or before.proposed_at is None:
        return PlanChange(draft, (), (event,))
    back = replace(before, state=PlanState.PROPOSED, decided_at=None, decided_by=None)
    return PlanChange(draft, (back,), (event, _draft("proposed", back, item=back.item, text=back.text)))


def propose(
    current: Plan | None,
    text: str,
    *,
    id: str,
    by: str,
    now: datetime,
    lasts: timedelta | None = None,
    item: str | None = None,
    blank: bool = False,
    entered_at: datetime | None = None,
) -> PlanChange:
    """Propose a plan to a person. It takes over the draft of the same `item`; any other open plan is superseded.

    A text that already waits keeps its revision. `lasts` is how long to wait for a decision; `blank` allows a plan
    without a word.
    """
    sent = repair(text)
    size = len(sent.encode())
    if size > LARGEST:
        raise PlanRefused(problem=f"The plan takes {size} bytes, and at most {LARGEST} are allowed; make it shorter.")
    cleaned = clean(sent).text
    if not blank and not cleaned.strip():
        raise PlanRefused(problem="The plan is empty; say what is to be done.")
    if current is not None and current.waits(now) and current.text == cleaned and item in (None, current.item):
        return PlanChange(current)
    drafted = current is not None and current.state is PlanState.DRAFTING and item is not None and current.item == item
    if current is None or not drafted:
        plan = Plan(id=id, revision=_next_revision(current), item=item, created_at=now, created_by=by)
    else:
        plan = current
    plan = replace(
        plan,
        text=cleaned,
        state=PlanState.PROPOSED,
        entered_at=entered_at,
        proposed_at=now,
        expires_at=None if lasts is None else now + lasts,
        sent_bytes=size,
        sent_chars=len(sent),
    )
    decision = PlanChange(plan, (plan,), (_draft("proposed", plan, item=item, text=cleaned),))
    return decision if drafted else _supersede(current, decision, by, now)


def approve(current: Plan | None, *, by: str, now: datetime, revision: int | None = None) -> PlanChange:
    """Approve the revision that the person saw; None means the latest."""
    plan = _find_decidable(current, revision, now)
    approved = replace(plan, state=PlanState.APPROVED, decided_at=now, decided_by=by)
    return PlanChange(approved, (approved,), (_draft("approved", approved),))


def reject(current: Plan | None, reason: str, *, by: str, now: datetime, revision: int | None = None) -> PlanChange:
    """Reject the revision that the person saw, with a reason."""
    plan = _find_decidable(current, revision, now)
    said = clean(reason).text.strip()
    if not said:
        raise PlanRefused(problem="A rejection needs a reason, so that the next plan can be better; say one.")
    rejected = replace(plan, state=PlanState.REJECTED, decided_at=now, decided_by=by, reason=said)
    return PlanChange(rejected, (rejected,), (_draft("rejected", rejected, reason=said),))


def describe_decision(plan: Plan) -> str:
    """Return the row that tells a model of the decision on its plan; the person's own words stand last."""
    named = f"your plan '{cut(plan.title, 80)}' (revision {plan.revision})"
    if plan.state is PlanState.APPROVED:
        return f"{plan.decided_by} approved {named}. Begin with it."
    return f"Revise {named} and propose it again: {plan.decided_by} rejected it because: {plan.reason}"


def _find_decidable(current: Plan | None, revision: int | None, now: datetime) -> Plan:
    if current is None:
        raise PlanMissing
    if revision is not None and revision != current.revision:
        raise PlanRevisionConflict(expected=revision, actual=current.revision)
    if current.state is PlanState.DRAFTING:
        raise PlanUnfinished(revision=current.revision)
    if not current.is_open:
        raise PlanDecided(revision=current.revision, state=current.state.value, by=current.decided_by)
    if current.expired(now):
        raise PlanExpired(revision=current.revision, until=f"{current.expires_at:%Y-%m-%d %H:%M:%S} UTC")
    return current


def _supersede(current: Plan | None, decision: PlanChange, by: str, now: datetime) -> PlanChange:
    """Add to a decision that the plan which was open before is superseded."""
    if current is None or not current.is_open:
        return decision
    old = replace(current, state=PlanState.SUPERSEDED, decided_at=now, decided_by=by)
    return PlanChange(decision.plan, (old, *decision.changed), (_draft("superseded", old), *decision.events))


def _next_revision(current: Plan | None) -> int:
    return 1 if current is None else current.revision + 1


def _draft(kind: str, plan: Plan, **more: Any) -> Draft:
    """Draft an event of a plan. `revision` in an event is that of a todo list, so a plan's has another name."""
    return Draft(f"approval.{kind}", {"plan": plan.id, "plan_revision": plan.revision, **more})


def draft_delta(plan: Plan, text: str) -> Draft:
    """Draft the event for a piece of a plan that streams in."""
    return _draft("delta", plan, item=plan.item, delta=text)


# The steps that the Markdown of a plan lists. Of its lists only one kind counts: its checkboxes; without any, its
# numbered lines; without those, its bullets. So the remarks of a plan do not become work. What is indented under a step
# is a note on it, a heading above steps is their phase where there are several such, and code is not read.

_FENCE = compile_later(r" {0,3}(`{3,}|~{3,})")
_HEADING = compile_later(r" {0,3}#{1,6}[ \t]+(.*?)[ \t#]*$")
_LINE = compile_later(r"([ \t]*)(?:([-*+])|(\d{1,9})[.)])[ \t]+(?:\[([^\]\n])\][ \t]+)?(.*\S)")
_DONE = frozenset("xX✓✔")
MOST_STEPS = 200
"""At most so many steps are taken from one plan; the rest stays in its text."""


class _Step(NamedTuple):
    kind: str
    indent: int
    text: str
    done: bool
    heading: str


def parse_steps(text: str) -> TodoList:
    """Return the steps as a todo list, pending or completed as checked; empty if the text lists nothing."""
    found = _find_lines(text)
    kind = next((kind for kind in ("box", "number", "bullet") if any(step.kind == kind for step in found)), "")
    level = min((step.indent for step in found if step.kind == kind), default=0)
    chosen: list[tuple[_Step, list[str]]] = []
    for step in found:
        if step.kind == kind and step.indent <= level + 1:
            chosen.append((step, []))
        elif chosen and step.indent > chosen[-1][0].indent and step.heading == chosen[-1][0].heading:
            chosen[-1][1].append(step.text)
    return _make_list(chosen[:MOST_STEPS])


def _make_list(chosen: list[tuple[_Step, list[str]]]) -> TodoList:
    names = list(dict.fromkeys(step.heading for step, _ in chosen))
    phased = len(names) > 1
    phases = {name: Phase(str(number), name) for number, name in enumerate(filter(None, names), start=1) if phased}
    items: list[TodoItem] = []
    for number, (step, notes) in enumerate(chosen, start=len(phases) + 1):
        phase = phases.get(step.heading)
        items.append(
            TodoItem(
                id=str(number),
                content=step.text,
                status=Status.COMPLETED if step.done else Status.PENDING,
                phase_id=None if phase is None else phase.id,
                phase=None if phase is None else phase.name,
                notes=tuple(notes),
            )
        )
    return TodoList(items=tuple(items), phases=tuple(phases.values()), next_id=len(phases) + len(items) + 1)


def _find_lines(text: str) -> list[_Step]:
    steps: list[_Step] = []
    heading, fence = "", ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            if mark is not None and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark is not None:
            fence = mark[1]
        elif (named := _HEADING.match(line)) is not None:
            heading = named[1]
        elif (found := _LINE.match(line)) is not None:
            blanks, bullet, _, box, said = found.groups()
            kind = "box" if box is not None else "bullet" if bullet else "number"
            steps.append(_Step(kind, len(blanks.expandtabs(4)), said, box in _DONE if box else False, heading))
    return steps


# Questions that an item asks of a person, and their answers.

LONGEST_ANSWER = 10_000
"""Characters of a question, and of an answer."""


ANSWER_EXPECTED = timedelta(days=7)
"""How long an agent may wait for an answer: after that nobody is expected to give one."""


class Question(Struct, frozen=True, kw_only=True):
    """A question about an item, whose text was `content`, to the person `of`. `begun`: the item was in progress."""

    item: str
    plan_id: str
    content: str
    question: str
    of: str = ANYBODY
    asked_at: datetime | None = None
    asked_by: str = ""
    answer: str | None = None
    answered_at: datetime | None = None
    answered_by: str | None = None
    begun: bool = False

    def waits(self, todos: TodoList, now: datetime) -> bool:
        """True if an answer is still expected: the item is open on this list, and the question is not too old."""
        item = todos.find(self.item) if self.plan_id == todos.plan_id else None
        is_fresh = self.asked_at is None or now - self.asked_at < ANSWER_EXPECTED
        return self.answer is None and item is not None and item.is_open and is_fresh


def clean_answer(text: str) -> str:
    """Return a question or an answer, cleaned and cut; empty if nothing of it can be read."""
    cleaned = clean(text).text.strip()
    return cleaned if len(cleaned) <= LONGEST_ANSWER else f"{cleaned[: LONGEST_ANSWER - 1]}…"


def describe_answers(answered: Iterable[Question]) -> list[str]:
    """Return two rows per answer for a model; what follows `answered:` are the words of the person."""
    rows: list[str] = []
    for one in answered:
        rows.append(f"You asked about '{one.content}': {one.question}")
        rows.append(f"{one.answered_by} answered: {one.answer}")
    return rows
