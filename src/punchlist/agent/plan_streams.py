"""A plan that streams in with the model's text, in the tags of Codex: one plan item a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from punchlist.agent.handle import Handle, check_name
from punchlist.store import Transaction

if TYPE_CHECKING:
    from punchlist.core.approval import Plan
    from punchlist.core.plan import PlanStream, Step


class PlanStreams(Handle):
    """Reads plans out of the assistant's text. The state of a turn is in the handle that was fed its first piece."""

    _stream: PlanStream | None = None
    _streams: bool = False

    def plan_delta(self, text: str, *, turn: str) -> str:
        """A piece of an assistant's message; what a person is to see of it. Outside plan mode that is all of it."""
        stream = self._turn(turn)
        self._alive()
        if not self._streams:
            stream.fed = True
            return text
        return self._take(stream, stream.push(text))

    def plan_message(self, text: str, *, turn: str) -> tuple[str, Plan | None]:
        """The end of a message, which was `text` as a whole: what is left to be seen of it, and its plan, proposed.

        The text of the message is what counts, whatever the pieces were; without pieces, all of it is left to be seen.
        A turn has one plan: later ones are passed over. A draft of which the message has nothing is dropped, and what
        waited before it waits again. Raises `PlanRefused` for an empty or too long plan.
        """
        stream = self._turn(turn)
        self._alive()
        if not self._streams:
            left, stream.fed = "" if stream.fed else text, False
            return left, None
        steps = stream.message(text)
        whole = next((step.text for step in steps if step.kind == "completed"), None)
        if whole is not None:
            return _visible(steps), self._propose(stream, whole)
        if any(step.kind == "dropped" for step in steps):
            self._drop(stream)
            return _visible(steps), None
        return self._take(stream, steps), None

    def _turn(self, turn: str) -> PlanStream:
        """The stream of a turn. Outside plan mode, as it was when the turn began, nothing is read from it."""
        from punchlist.core.plan import PlanStream

        if self._stream is None or self._stream.turn != turn:
            check_name("turn", turn)
            self._stream = PlanStream(turn)
            self._streams = self.mode == "plan"
        return self._stream

    def _take(self, stream: PlanStream, steps: list[Step]) -> str:
        """Writes what the steps bring; the text that is to be seen."""
        if any(step.kind in ("started", "delta") for step in steps):
            self._draft(stream, steps)
        return _visible(steps)

    def _draft(self, stream: PlanStream, steps: list[Step]) -> None:
        from punchlist.agent.plan_changes import new_plan_id, save
        from punchlist.core.approval import PlanState, begin, delta

        plan_id = new_plan_id()
        pieces = [step.text for step in steps if step.kind == "delta"]
        starts = any(step.kind == "started" for step in steps)

        def work(tx: Transaction) -> None:
            now = self.board.now()
            row = self._joined(tx, now)
            plan = tx.plans.current(row.number)
            if starts:
                decision = begin(plan, id=plan_id, item=stream.item, by=self.name, now=now)
                save(tx, row, decision, by=self.name, now=now)
                plan = decision.plan
            if plan is not None and plan.state is PlanState.DRAFTING and plan.item == stream.item:
                tx.add_events(row, [delta(plan, piece) for piece in pieces], by=self.name, at=now)

        self.board.store.transact(work, lasting=starts)

    def _drop(self, stream: PlanStream) -> None:
        from punchlist.core.approval import drop

        def work(tx: Transaction) -> None:
            now = self.board.now()
            row = self._joined(tx, now)
            dropped = drop(tx.plans.history(row.number), stream.item)
            if dropped is not None:
                tx.plans.delete(row.number, dropped.draft.revision)
                if dropped.back is not None:
                    tx.plans.save(row.number, dropped.back, at=now)
                tx.add_events(row, dropped.events, by=self.name, at=now)

        self.board.store.transact(work)

    def _propose(self, stream: PlanStream, text: str) -> Plan:
        from punchlist.agent.plan_changes import entered_at, new_plan_id, save
        from punchlist.core.approval import propose

        plan_id = new_plan_id()

        def work(tx: Transaction) -> Plan:
            now = self.board.now()
            row = self._joined(tx, now)
            since = entered_at(tx, row, now) if row.mode == "plan" else None
            current = tx.plans.current(row.number)
            decision = propose(current, text, id=plan_id, by=self.name, now=now, item=stream.item, entered_at=since)
            save(tx, row, decision, by=self.name, now=now)
            return decision.plan

        return self.board.store.transact(work)


def _visible(steps: list[Step]) -> str:
    return "".join(step.text for step in steps if step.kind == "visible")
