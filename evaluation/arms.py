"""The layers that are compared: none, the lists of two frameworks as installed, ours whole or with one part removed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from evaluation.models import STEP, Belief, Message, Status, read
from evaluation.worlds import Effect, World
from punchlist import Board
from punchlist.agent import Agent
from punchlist.testing import FakeClock

_WORDS: Mapping[Status, str] = {"open": "pending", "done": "completed", "dropped": "cancelled"}
_CONTINUE = re.compile(r'"continue": "([^"]+)"')
_IDS = re.compile(r"\bids (\d+)-\d+")
_LEFT_OUT = re.compile(r"set aside|left out", re.IGNORECASE)
_WARNED = ("failing", "unseen")
"""Grades by which a reader of our list is warned: such a completion is not believed."""


class NoList:
    """No layer: the model has its conversation, and the reader its last words.

    What another layer puts before the model is counted: `standing` characters in every request, and `said` ones once.
    """

    has_list = False
    has_queue = False

    def __init__(self, world: World) -> None:
        self.world, self.standing, self.said = world, 0, 0

    def person_spoke(self, text: str) -> None:
        pass

    def for_request(self) -> list[Message]:
        return []

    def write_list(self, items: Mapping[str, Status]) -> list[Message]:
        return []

    def tick(self, steps: Sequence[str], belief: Belief, items: Mapping[str, Status]) -> list[Message]:
        return self.write_list(items)

    def claim(self) -> list[Message]:
        return []

    def report(self, name: str, arguments: Mapping[str, Any], effect: Effect) -> None:
        pass

    def keep_going(self, text: str) -> Message | None:
        return None

    def compacted(self) -> list[Message]:
        return []

    def crashed(self) -> list[Message]:
        return []

    def take_off(self, step: str) -> bool:
        """Take a step off the list in the person's name; False where a person cannot, and says it in a prompt."""
        return False

    def believed_done(self) -> set[str]:
        return set()

    @property
    def tools(self) -> list[dict[str, Any]]:
        """Return the tools of the layer as the Messages API takes them, for a real model."""
        return []

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Answer a real model's call of one of these tools."""
        raise KeyError(name)

    def _count(self, text: str) -> str:
        self.said += len(text)
        return text


class LangChain(NoList):
    """LangChain's TodoListMiddleware as installed: its prompt, its tool, no word of the list besides replies."""

    has_list = True

    def __init__(self, world: World) -> None:
        super().__init__(world)
        from langchain.agents.middleware import TodoListMiddleware

        middleware = TodoListMiddleware()
        (self._tool,) = middleware.tools
        schema = json.dumps(self._tool.tool_call_schema.model_json_schema())
        self._standing = middleware.system_prompt + self._tool.description + schema
        self._todos: list[dict[str, str]] = []

    def for_request(self) -> list[Message]:
        self.standing += len(self._standing)
        return []

    def write_list(self, items: Mapping[str, Status]) -> list[Message]:
        todos = [{"content": step, "status": _WORDS[status]} for step, status in items.items() if status != "dropped"]
        return [Message("list", self.call_tool(self._tool.name, {"todos": todos}))]

    @property
    def tools(self) -> list[dict[str, Any]]:
        schema = self._tool.tool_call_schema.model_json_schema()
        return [{"name": self._tool.name, "description": self._tool.description, "input_schema": schema}]

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> str:
        self._count(json.dumps(arguments))
        command = self._tool.func(SimpleNamespace(tool_call_id="call"), list(arguments["todos"]))
        self._todos = command.update["todos"]
        return self._count(command.update["messages"][0].content)

    def crashed(self) -> list[Message]:
        self._todos = []  # without a checkpointer of the host's, the state of the graph ends with its process
        return []

    def believed_done(self) -> set[str]:
        return {todo["content"] for todo in self._todos if todo["status"] == "completed"}


class Planning(NoList):
    """pydantic-ai-harness' Planning as installed, in a real pydantic-ai agent: it repeats the plan in each request."""

    has_list = True

    def __init__(self, world: World) -> None:
        super().__init__(world)
        from pydantic_ai import Agent as PydanticAgent
        from pydantic_ai.models.function import AgentInfo, FunctionModel
        from pydantic_ai_harness.planning import InMemoryPlanStore
        from pydantic_ai_harness.planning import Planning as Capability

        self._store = InMemoryPlanStore()
        self._items: list[dict[str, str]] | None = None
        self._heard: list[str] = []
        self._known: list[Any] = []
        self._reminder: list[str] = []
        self._tools = ""
        capability = Capability(store=self._store)
        instructions = capability.get_instructions()
        self._standing = instructions if isinstance(instructions, str) else ""

        async def answer(messages: list[Any], info: AgentInfo) -> Any:
            return self._answer(messages, info)

        self._agent = PydanticAgent(FunctionModel(answer), capabilities=[capability])

    def _answer(self, messages: list[Any], info: Any) -> Any:
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

        self._tools = "".join(
            (tool.description or "") + json.dumps(tool.parameters_json_schema) for tool in info.function_tools
        )
        self._known = info.function_tools
        self._heard = []
        for part in messages[-1].parts:
            if isinstance(part, ToolReturnPart):
                self._heard.append(part.model_response_str())
            elif isinstance(part, UserPromptPart) and not isinstance(part.content, str):
                self._heard.append("".join(piece for piece in part.content if isinstance(piece, str)))
        if self._items is None:
            return ModelResponse([TextPart("ok")])
        items, self._items = self._items, None
        return ModelResponse([ToolCallPart("write_plan", {"items": items})])

    def for_request(self) -> list[Message]:
        if not self._tools:
            self._agent.run_sync("go on")
        self.standing += len(self._standing + self._tools)
        return [Message("list", self._count(text)) for text in self._reminder]

    def write_list(self, items: Mapping[str, Status]) -> list[Message]:
        plan = [{"content": step, "status": _WORDS[status]} for step, status in items.items()]
        return [Message("list", self.call_tool("write_plan", {"items": plan}))]

    @property
    def tools(self) -> list[dict[str, Any]]:
        if not self._tools:
            self._agent.run_sync("go on")
        found = (tool for tool in self._known if tool.name == "write_plan")
        return [
            {"name": one.name, "description": one.description or "", "input_schema": one.parameters_json_schema}
            for one in found
        ]

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> str:
        self._items = list(arguments["items"])
        self._count(json.dumps(arguments))
        self._agent.run_sync("go on")
        reply, *self._reminder = self._heard  # the reminder of this plan stands behind the reply, and in each request
        return self._count(reply)

    def crashed(self) -> list[Message]:
        standing, said = self.standing, self.said
        self.__init__(self.world)  # as installed, a plan lives as long as its process
        self.standing, self.said = standing, said
        return []

    def believed_done(self) -> set[str]:
        import asyncio

        return {item.content for item in asyncio.run(self._store.get_items()) if item.status.value == "completed"}


class Removed(NamedTuple):
    """The part of ours that an arm does without, and how its agent is opened."""

    profile: str = "quiet"
    dialect: str = "punchlist"
    block: bool = True
    guard: bool = True
    set_aside: bool = True
    tell_grades: bool = False
    leftovers: bool = True


class Ours(NoList):
    """Punchlist by its public API: with our own tool, or with a whole-list tool in another dialect."""

    has_list = True

    def __init__(self, world: World, board: Board, clock: FakeClock, session: str, removed: Removed) -> None:
        super().__init__(world)
        self._board, self._clock, self._session, self._removed = board, clock, session, removed
        self._calls = 0
        self._used: list[str] = []
        self._agent = self._open(session)
        (tool,) = self._agent.tools
        self._tool = tool.name
        self._standing = tool.description + json.dumps(tool.input_schema)

    def _open(self, session: str) -> Agent:
        return self._board.agent(
            "main",
            session=session,
            dialect=self._removed.dialect,
            project=str(self.world.folder),
            profile=self._removed.profile,
            grades="tell" if self._removed.tell_grades else "show",
            guidance={} if self._removed.guard else {"stop_tries": 0},
        )

    def _call(self, arguments: Mapping[str, Any]) -> list[Message]:
        self._calls += 1
        self._used.append(self._tool)
        self._count(json.dumps(arguments))
        text = self._agent.call(self._tool, arguments, call_id=f"list-{self._calls}").text
        self._clock.advance(1)
        return [Message("list", self._count(self._remove_set_aside(text)))]

    def _remove_set_aside(self, text: str) -> str:
        """Return a text without the lines about what a rewrite left out, in the arm without that part."""
        if self._removed.set_aside:
            return text
        return "\n".join(line for line in text.splitlines() if not _LEFT_OUT.search(line))

    @property
    def tools(self) -> list[dict[str, Any]]:
        return [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.input_schema)}
            for tool in self._agent.tools
        ]

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> str:
        return self._call(arguments)[0].text

    def person_spoke(self, text: str) -> None:
        self._agent.user_turn(text)

    def for_request(self) -> list[Message]:
        self.standing += len(self._standing)
        said = self._agent.assistant_turn(tools_used=self._used)
        self._used = []
        return [Message("list", self._count(one.text)) for one in said]

    def write_list(self, items: Mapping[str, Status]) -> list[Message]:
        if self._removed.dialect != "punchlist":
            todos = [
                {"content": step, "status": _WORDS[status], "activeForm": step}
                for step, status in items.items()
                if status != "dropped"
            ]
            return self._call({"todos": todos})
        heard = self._call({"set": [{"text": step, "status": _WORDS[status]} for step, status in items.items()]})
        if found := _IDS.search(heard[0].text):  # the reply gives the ids of what was sent, in its order
            rows = (f"{number} {step}" for number, step in enumerate(items, int(found[1])))
            heard.append(Message("assistant", "\n".join(rows)))
        return heard

    def tick(self, steps: Sequence[str], belief: Belief, items: Mapping[str, Status]) -> list[Message]:
        """Tick steps off by their ids; look at the list first where the conversation no longer has an id."""
        if self._removed.dialect != "punchlist":
            return self.write_list(items)
        heard: list[Message] = []
        ids = dict(belief.ids)
        wanted = {*steps, *(step for step, status in items.items() if status == "open")}
        if not wanted <= ids.keys():
            heard += self._call({})
            ids |= read(heard).ids
        changes: dict[str, Any] = {}
        if known := [ids[step] for step in steps if step in ids]:
            changes["done"] = known
        if new := sorted(wanted - ids.keys()):
            changes["add"] = [{"text": step, "status": _WORDS[items[step]]} for step in new]
        return heard + (self._call(changes) if changes else [])

    def report(self, name: str, arguments: Mapping[str, Any], effect: Effect) -> None:
        self._calls += 1
        self._used.append(name)
        call_id = f"call-{self._calls}"
        self._agent.tool_started(call_id, name, arguments)
        self._clock.advance(5)
        code = effect.exit_code if name == "Bash" else None
        self._agent.tool_finished(call_id, effect.text, exit_code=code)

    def keep_going(self, text: str) -> Message | None:
        said = self._agent.about_to_stop(last_text=text)
        heard = "" if said is None else self._remove_set_aside(said.text)
        return Message("list", self._count(heard)) if STEP.search(heard) else None

    def compacted(self) -> list[Message]:
        text = self._agent.compaction_block() if self._removed.block else None
        return [] if text is None else [Message("list", self._count(self._remove_set_aside(text)))]

    def crashed(self) -> list[Message]:
        """Begin a new conversation a day later; take over what the old one left, where it is offered."""
        self._agent.finished()
        self._clock.advance(24 * 3600)
        self._session += "-again"
        self._agent = self._open(self._session)
        offers = self._removed.leftovers and self._removed.dialect == "punchlist"  # others have no call that takes over
        offer = self._agent.offer_leftovers() if offers else None
        if offer is None:
            return []
        found = _CONTINUE.search(offer)
        taken = self._call({"continue": found[1]}) if found else []
        return [Message("list", self._count(offer)), *taken, *self._call({})]

    def take_off(self, step: str) -> bool:
        item = next((item for item in self._agent.todos.items if item.content == step), None)
        if item is None:
            return False
        self._agent.edit([{"op": "drop", "item": item.id}], by="ada")
        return True

    def believed_done(self) -> set[str]:
        items = self._agent.todos.items
        return {item.content for item in items if item.status == "completed" and item.grade not in _WARNED}


class SharedTasks(Ours):
    """Ours for two workers: one list of durable tasks, of which each worker claims the next."""

    has_list = False
    has_queue = True

    def __init__(self, world: World, board: Board, clock: FakeClock, session: str, removed: Removed) -> None:
        super().__init__(world, board, clock, session, removed)
        self._tasks = board.tasks(project=str(world.folder))
        self._task = ""
        if not self._tasks.list():
            for step in world.asked:
                self._call({"do": "add", "text": step})

    def claim(self) -> list[Message]:
        """Finish the task that is held, and claim the next one."""
        if self._task:
            self._call({"do": "done", "id": self._task})
        (reply,) = self._call({"do": "claim"})
        found = re.search(r"#(\d+)", reply.text)
        self._task = found[1] if found else ""
        return [reply]

    def believed_done(self) -> set[str]:
        return {task.subject for task in self._tasks.list(status="completed") if task.grade not in _WARNED}


OURS: Mapping[str, Removed] = {
    "quiet": Removed(),
    "classic": Removed(profile="classic", dialect="claude-code"),
    "off": Removed(profile="off"),
    "quiet, no block": Removed(block=False),
    "quiet, no guard": Removed(guard=False),
    "quiet, no set-aside": Removed(set_aside=False),
    "quiet, grades told": Removed(tell_grades=True),
    "quiet, no leftovers": Removed(leftovers=False),
}
PEERS: Mapping[str, Callable[[World], NoList]] = {"no list": NoList, "LangChain": LangChain, "pydantic-ai": Planning}
MAIN = ("no list", "LangChain", "pydantic-ai", "quiet", "classic", "off")
"""Arms of every cell; the others run where their part can matter."""
