"""A conversation of a model with its tools, for whoever writes the loop: five calls per step give all of Punchlist.

    conversation = Conversation(board, session="fix")
    conversation.person_spoke(prompt)
    while True:
        notes = conversation.for_request(messages)              # at the tail of this request, and of no other
        answer = …                                              # with conversation.tools("anthropic")
        conversation.model_answered(names, ids)
        if not calls and conversation.keep_going(text) is None:
            break
        …                                                       # `call` for our tools, `with tool(…)` for the others

Nothing here raises because of the board: on a fault a text is left out, a call gets an error reply, and it is logged.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from threading import Condition, Lock
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast
from uuid import uuid4

from punchlist.core.todo import TodoList
from punchlist.dialects.base import Reply
from punchlist.dialects.tool_descriptions import WireForm
from punchlist.errors import CallReused
from punchlist.guidance.tools import is_own
from punchlist.guidance.words import Injection

if TYPE_CHECKING:
    from punchlist.agent import Agent
    from punchlist.board import Board

T = TypeVar("T")

PATIENCE: Final = 2.0
"""Seconds that a call waits for those before it in its message: a host may have dropped one of them."""

_MOST_IDS: Final = 10_000
_DEEPEST: Final = 4
_PARTS: Final = ("content", "parts", "tool_calls", "function")
"""Fields of messages that hold calls: of Anthropic, OpenAI, LangChain and pydantic-ai."""


class Outcome:
    """How a call of a tool went. The block of `Conversation.tool` sets what it knows."""

    result: Any = None
    is_error: bool | None = None
    exit_code: int | None = None
    error: BaseException | None = None
    is_waiting: bool = False
    """The call waits for a person and will be made again: it has not ended."""

    def take(self, said: str | tuple[int, str]) -> None:
        """Set the result of a tool that returned its text, or exit code and text."""
        self.exit_code, self.result = (None, said) if isinstance(said, str) else said


class Conversation:
    """One conversation of a model, as one agent of a session on a board."""

    def __init__(self, board: Board, session: str | None = None, *, agent: Agent | None = None, **options: Any) -> None:
        """`options` are those of `board.agent`; with an `agent` it is this one's conversation."""
        self.agent: Agent = board.agent(session=session, **options) if agent is None else agent
        self.own = frozenset(tool.name for tool in self.agent.tools)
        """Names of our tools."""
        self._notes: list[Injection] = []
        self._is_unanswered = False
        self._is_list_known = False
        self._length = self._answered_length = 0
        self._lost: Literal["resumed", "compacted"] | None = "resumed"  # why the model may not know of open work
        self._queue: list[str] = []
        self._is_next = Condition()
        self._answered = 0
        self._kept_ids: dict[str, tuple[int, str]] = {}
        """By the id of a call, which message of the model had it, and the id that the board has it by."""
        self._ids_lock = Lock()  # calls of one message run at once, and the oldest ids make way

    def spawn(self, name: str, *, label: str | None = None, id: str | None = None) -> Conversation:
        """Return the conversation of a child agent; the same `id` finds it again."""
        return Conversation(self.agent.board, agent=self.agent.spawn(name, label=label, id=id))

    @property
    def todos(self) -> TodoList:
        """The list as it is now; if it cannot be read, the empty one of revision 0."""
        return _attempt(lambda: self.agent.todos, TodoList())

    # Our tools.

    def tools(self, form: WireForm) -> list[dict[str, Any]]:
        """Return our tools as an API takes them; see `Tool.to`."""
        return [tool.to(form) for tool in self.agent.tools]

    def is_own(self, name: str) -> bool:
        """True for a tool of ours, also after the name of a server: `mcp__punchlist__todo`."""
        return is_own(name, self.own)

    def call(self, name: str, args: Any = None, call_id: str | None = None) -> Reply:
        """Answer a call of our tool. Calls of one message that come at once are applied in the order of the message."""
        with self._is_next:
            self._is_next.wait_for(lambda: call_id not in self._queue or self._queue[0] == call_id, PATIENCE)
            if call_id in self._queue:
                del self._queue[: self._queue.index(call_id)]  # those before it did not come
            try:
                reply = self.agent.call(name, args, call_id=self._find_kept_id(call_id))
                if any(problem.code == CallReused.code for problem in reply.problems):  # by an earlier process
                    reply = self.agent.call(name, args, call_id=self._find_kept_id(call_id, is_known=True))
                return reply
            except Exception as error:
                _log_fault(error)
                return Reply(f"The todo list cannot be reached now ({error}). Continue without it.", is_error=True)
            finally:
                if call_id in self._queue:
                    self._queue.remove(call_id)
                self._is_next.notify_all()

    def _find_kept_id(self, call_id: str | None, *, is_known: bool = False) -> str | None:
        """Return the id by which the board has a call: a server may number the calls of each message from 0 again.

        One that `is_known` to be another call's gets an id of its own too.
        """
        if not call_id:
            return None
        with self._ids_lock:
            message, kept = self._kept_ids.setdefault(call_id, (self._answered, call_id))
            if is_known or message != self._answered:
                kept = f"{call_id}/{uuid4().hex}"
                self._kept_ids[call_id] = self._answered, kept
            if len(self._kept_ids) > _MOST_IDS:
                del self._kept_ids[next(iter(self._kept_ids))]
            return kept

    # Turns.

    def person_spoke(self, text: str = "") -> None:
        """Note that the person spoke: a run begins."""
        _attempt(lambda: self.agent.user_turn(text), None)

    def for_request(self, messages: Iterable[Any] | None = None) -> list[Injection]:
        """Return the texts for the tail of the request that is built now, and of no other.

        `messages` are those of the request, in the form of any provider or framework. As long as no call of our tool is
        among them the open work of the list is one of the texts: the conversation was summarised, or goes on without
        its history. If they are fewer than those of the last answer, a summary kept some calls: that is said once. If
        they are not given, it is said once, at first and after `compacted`. A request that is built again, because no
        model answered, gets the same texts again.
        """
        if not self._is_unanswered:
            self._notes = []
        self._is_unanswered = True
        self._notes += _attempt(self.agent.before_request, [])
        if messages is not None:
            knew = self._is_list_known
            self._length, knows = _attempt(lambda: self._read_messages(list(messages)), (self._length, knew))
            is_shorter = self._length < self._answered_length
            if knew and (is_shorter or not knows) and self._lost is None:
                self.compacted()
            self._lost, self._is_list_known = None if knows and not is_shorter else self._lost, knows
        if (because := self._lost) is None:
            return list(self._notes)
        self._lost = because if messages is not None else None
        work = _attempt(lambda: self.agent.open_work(because), None)
        return list(self._notes) if work is None else [Injection("changed", work), *self._notes]

    def _read_messages(self, messages: list[Any]) -> tuple[int, bool]:
        """Return how many messages there are, and whether they have a call of a tool of ours."""
        return len(messages), _has_call(messages, self.own, _DEEPEST)

    def model_answered(self, tools_used: Sequence[str] = (), ids: Sequence[str | None] = ()) -> None:
        """Count a message of the model: the names of the tools that it calls, in order, and the ids of these calls."""
        self._is_unanswered = False
        self._answered_length = self._length
        with self._is_next:
            self._answered += 1
            self._queue = [one for one, name in zip(ids, tools_used, strict=False) if one and self.is_own(name)]
        _attempt(lambda: self.agent.assistant_turn(tools_used, texts=False), [])

    def keep_going(self, last_text: str = "") -> str | None:
        """Return a text that asks a model that wants to stop to continue, or None to let it stop. It is bounded."""
        found = _attempt(lambda: self.agent.about_to_stop(last_text), None)
        return None if found is None else found.text

    def compacted(self) -> None:
        """Note that the conversation was summarised: the next request has the open work."""
        _attempt(self.agent.compacted, None)
        self._lost = "compacted"

    # Calls of other tools.

    def answer(self, call_id: str | None, name: str, args: Any, run: Callable[[], str | tuple[int, str]]) -> str:
        """Answer a call of any tool; `run` runs one that is not ours and returns its text, or exit code and text."""
        if self.is_own(name):
            return self.call(name, args, call_id).text
        with self.tool(call_id, name, args) as outcome:
            outcome.take(run())
        return outcome.result

    @contextmanager
    def tool(self, call_id: str | None, name: str, args: Any = None) -> Generator[Outcome]:
        """Report a call of another tool, and how it went. One of ours is not reported."""
        outcome = Outcome()
        self.tool_started(call_id, name, args)
        try:
            yield outcome
        except BaseException as error:
            outcome.error = error
            raise
        finally:
            self.tool_ended(call_id, name, outcome)

    def tool_started(self, call_id: str | None, name: str, args: Any = None) -> None:
        """Report that a call begins, where `tool` cannot stand around it."""
        if not self.is_own(name):
            kept_id = self._find_kept_id(call_id)
            _attempt(lambda: self.agent.tool_started(kept_id, name, args), None)

    def tool_ended(self, call_id: str | None, name: str, outcome: Outcome) -> None:
        """Report how a call ended, unless it waits."""
        if self.is_own(name) or outcome.is_waiting:
            return
        _, kept_id = self._kept_ids.get(call_id or "", (0, call_id))  # the model may have answered again meanwhile
        if (error := outcome.error) is not None:
            _attempt(lambda: self.agent.tool_failed(kept_id, repr(error), name=name), None)
            return

        def finish() -> None:
            is_error, exit_code = outcome.is_error, outcome.exit_code
            self.agent.tool_finished(kept_id, outcome.result, is_error=is_error, exit_code=exit_code, name=name)

        _attempt(finish, None)


def _attempt(work: Callable[[], T], otherwise: T) -> T:
    """Run a step on the board, which may be on another machine; on a fault return the fallback."""
    try:
        return work()
    except Exception as error:
        _log_fault(error)
        return otherwise


def _log_fault(error: Exception) -> None:
    import logging  # faults are rare, and it is loaded slowly

    problem = "a step of a conversation met a fault and was left out"
    logging.getLogger("punchlist.loop").error(problem, exc_info=error)


def _has_call(value: Any, own: frozenset[str], depth: int) -> bool:
    """True if one of these messages, mappings or objects of any framework, has a call of a tool of ours."""
    if value is None or isinstance(value, str | bytes) or depth < 0:
        return False
    if isinstance(value, list | tuple):
        return any(_has_call(each, own, depth - 1) for each in reversed(cast("list[Any]", value)))
    fields = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else _Attributes(value)
    name = fields.get("tool_name") or fields.get("name")
    if isinstance(name, str) and is_own(name, own):
        return True
    return any(_has_call(fields.get(part), own, depth) for part in _PARTS)


class _Attributes:
    """Reads an object as a mapping is read."""

    def __init__(self, value: object) -> None:
        self._value = value

    def get(self, name: str) -> Any:
        return getattr(self._value, name, None)
