"""A board under random hands: two dialects, people's edits, undo, modes and replays; a model keeps count."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from punchlist import Agent, Board, Reply, TodoList
from punchlist.core.events import fold
from punchlist.core.todo import Status
from punchlist.errors import NothingToUndo, PunchlistError, RevisionConflict, UndoRefused
from punchlist.text import clean
from tests.board.strategies import TOOLS, edits, own_calls, todo_writes
from tests.sizes import size

names = st.sampled_from(["main", "explore"])
dialects = st.sampled_from(sorted(TOOLS))


class BoardMachine(RuleBasedStateMachine):
    """The model is what each agent's list was last seen to be, and the replies given under each call id."""

    def __init__(self) -> None:
        super().__init__()
        self.board = Board.open("memory:")
        self.known: dict[str, TodoList] = {}
        self.modes: dict[str, str] = {}
        self.replies: dict[tuple[str, str], tuple[str, Any, Reply]] = {}
        self.cursor = 0
        self.folded: dict[str, TodoList] = {}

    @initialize()
    def begin(self) -> None:
        for name in ("main", "explore"):
            self.known[name] = TodoList()
            self.modes[name] = "execute"
            self.folded[name] = TodoList()

    def agent(self, name: str, dialect: str = "punchlist") -> Agent:
        return self.board.agent(name, session="s", dialect=dialect)

    def moved(self, name: str, reply: Reply | None = None) -> None:
        """Checks one step of one list, and remembers where it stands now."""
        before, after = self.known[name], self.agent(name).todos
        if reply is not None and reply.is_error:
            assert after == before
        assert after.revision - before.revision in {0, 1}
        assert (after == before) == (after.revision == before.revision)
        self.known[name] = after

    def call(self, name: str, dialect: str, args: Any) -> None:
        reply = self.agent(name, dialect).call(TOOLS[dialect], args)
        if dialect == "claude-code" and self.modes[name] == "plan":
            assert reply.is_error
        if dialect == "punchlist" and not reply.is_error and self.agent(name).todos != self.known[name]:
            busy = [item for item in self.agent(name).todos.items if item.status is Status.IN_PROGRESS]
            assert len(busy) <= 1
        self.moved(name, reply)

    @rule(name=names, args=todo_writes)
    def todo_write(self, name: str, args: Any) -> None:
        self.call(name, "claude-code", args)

    @rule(name=names, args=own_calls)
    def todo(self, name: str, args: Any) -> None:
        self.call(name, "punchlist", args)

    @rule(name=names, call_id=st.sampled_from(["a", "b", "c"]), args=own_calls)
    def call_with_an_id(self, name: str, call_id: str, args: Any) -> None:
        if (name, call_id) in self.replies:
            return
        reply = self.agent(name).call("todo", args, call_id=call_id)
        self.replies[name, call_id] = ("todo", args, reply)
        self.moved(name, reply)

    @precondition(lambda self: self.replies)
    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        name, call_id = data.draw(st.sampled_from(sorted(self.replies)))
        tool, args, first = self.replies[name, call_id]
        assert self.agent(name).call(tool, args, call_id=call_id) == first
        assert self.agent(name).todos == self.known[name]

    @rule(name=names, ops=st.lists(edits, min_size=1, max_size=3), by=st.sampled_from(["ada", "bob"]))
    def edit(self, name: str, ops: list[Any], by: str) -> None:
        try:
            self.agent(name).edit(ops, by=by)
        except PunchlistError:
            assert self.agent(name).todos == self.known[name]
        self.moved(name)

    @rule(name=names, ops=edits)
    def edit_at_an_old_revision(self, name: str, ops: Any) -> None:
        try:
            self.agent(name).edit(ops, by="ada", revision=self.known[name].revision + 1)
        except RevisionConflict:
            pass
        except PunchlistError:
            pass
        else:
            raise AssertionError("an edit at another revision was accepted")
        self.moved(name)

    @rule(name=names, by=st.sampled_from(["ada", "bob", "main"]))
    def undo(self, name: str, by: str) -> None:
        try:
            self.agent(name).undo(by=by)
        except (NothingToUndo, UndoRefused):
            assert self.agent(name).todos == self.known[name]
            return
        after = self.agent(name).todos
        assert after.revision == self.known[name].revision + 1
        self.known[name] = after

    @rule(name=names, plan=st.booleans())
    def set_mode(self, name: str, plan: bool) -> None:
        agent = self.agent(name)
        (agent.enter_plan_mode if plan else agent.exit_plan_mode)()
        self.modes[name] = "plan" if plan else "execute"

    @rule(name=names)
    def view(self, name: str) -> None:
        reply = self.agent(name).call("todo", {})
        assert not reply.is_error
        for item in self.known[name].items:
            assert f"{item.id} [" in reply.text
        self.moved(name, reply)

    @invariant()
    def the_lists_are_as_known(self) -> None:
        for name, known in self.known.items():
            assert self.agent(name).todos == known
            assert self.agent(name).mode == self.modes[name]

    @invariant()
    def the_lists_are_valid(self) -> None:
        for todos in self.known.values():
            ids = [item.id for item in (*todos.items, *todos.omitted)]
            assert len(ids) == len(set(ids))
            phases = {phase.id: phase.name for phase in todos.phases}
            for item in todos.items:
                assert item.phase_id is None or phases[item.phase_id] == item.phase
                assert clean(item.content) == (item.content, ())

    @invariant()
    def the_log_folds_to_the_lists(self) -> None:
        for event in self.board.events(after=self.cursor):
            assert event.agent is not None
            self.folded[event.agent] = fold(self.folded[event.agent], event.kind, event.data)
            self.cursor = event.seq
        assert self.folded == self.known

    def teardown(self) -> None:
        for name, known in self.known.items():
            for revision in range(max(0, known.revision - 5), known.revision + 1):
                past = self.agent(name).at(revision)
                assert past is not None
                assert past.revision == revision
            assert self.agent(name).at(known.revision) == known
        self.board.close()


BoardMachine.TestCase.settings = settings(
    max_examples=size(60, 5_000), stateful_step_count=30, deadline=None, print_blob=True
)
TestBoard = BoardMachine.TestCase
