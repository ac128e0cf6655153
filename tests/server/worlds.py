"""Two projects with sessions, lists, plans, questions and tasks, and a request to every route about one of them."""

from typing import Any, NamedTuple
from urllib.parse import quote

from punchlist import Board
from punchlist.server.api.routing import PREFIX, ApiRoute

TEXTS = ("Read the code", "Fix the bug", "Run the tests")


class Place(NamedTuple):
    """Where one project's work is. Its word is in every text of it, and in no text of another."""

    word: str

    @property
    def project(self) -> str:
        return f"/projects/{self.word}"

    @property
    def session(self) -> str:
        return f"{self.word}-1"

    @property
    def list(self) -> str:
        return f"project:{self.project}"

    @property
    def path(self) -> dict[str, str]:
        """The parameters of a path that lead here."""
        return {
            "session": self.session,
            "agent": "main",
            "list": self.list,
            "task": "1",
            "dialect": "claude-code",
        }


OURS, OTHERS = Place("alder"), Place("birch")


def build(board: Board, place: Place) -> None:
    """Put a session on the board with a list, a question and a plan, and a list of three tasks, one of them claimed."""
    agent = board.agent(session=place.session, dialect="claude-code", project=place.project)
    statuses = ("completed", "in_progress", "pending")
    items = [
        {"content": f"{text} of {place.word}", "status": status, "activeForm": f"{text} of {place.word}"}
        for text, status in zip(TEXTS, statuses, strict=True)
    ]
    agent.call("TodoWrite", {"todos": items})
    agent.propose_plan(f"# Plan {place.word}\n\n1. Read\n2. Write")
    agent.ask("3", f"Which tests of {place.word}?")
    tasks = board.tasks(place.list, project=place.project)
    for number in range(1, 4):
        tasks.create(f"Task {number} of {place.word}", labels=[place.word])
    tasks.claim("worker", id="1")


_STARTED: dict[str, Any] = {
    "name": "Bash",
    "facts": {"name": "Bash", "kind": "shell", "hash": "h"},
    "sight": ["Bash", "key", "plain", False],
}
_VERBS: dict[str, dict[str, Any]] = {
    "spawn": {"name": "explore", "label": "Explore the code"},
    "user_turn": {"text": "Go on"},
    "assistant_turn": {"tools_used": ["Bash"]},
    "preview_turn": {},
    "about_to_stop": {"last_text": "I am done."},
    "before_request": {},
    "open_work": {"because": "compacted"},
    "write": {"items": [{"id": "a", "content": "One"}], "ids": "other"},
    "offer_leftovers": {},
    "take_answers": {},
    "ask": {"item": "2", "question": "Which one?"},
    "enter_plan_mode": {"reason": "It is large"},
    "exit_plan_mode": {},
    "permits": {"tool": "Write", "args": {"file_path": "a.py"}},
    "propose_plan": {"text": "1. Read"},
    "plan_reply": {"plan": {"id": "p", "revision": 1}},
    "record_start": {"call_id": "c1", "described": _STARTED},
    "record_end": {"call_id": "c1", "described": {"name": "Bash", "kind": "tool.finished", "facts": {}}},
    "tool_updated": {"call_id": "c1", "text": "1 passed"},
    "output": {"text": "Hello"},
    "finished": {"text": "Done"},
    "compacted": {},
}

CHANGES: dict[tuple[str, str], list[Any]] = {
    **{("POST", f"/sessions/{{session}}/agents/{{agent}}/{verb}"): [body] for verb, body in _VERBS.items()},
    ("POST", "/waits/resolve"): [
        {"kind": "question", "id": "3", "session": "SESSION", "agent": "main", "text": "All of them"}
    ],
    ("PATCH", "/sessions/{session}/agents/{agent}/todos"): [
        {"operations": [{"op": "done", "item": "2"}, {"op": "append", "items": ["One more", {"content": "And one"}]}]}
    ],
    ("POST", "/sessions/{session}/agents/{agent}/todos/undo"): [{}],
    ("POST", "/sessions/{session}/agents/{agent}/answers"): [{"item": "3", "text": "All of them"}],
    ("POST", "/sessions/{session}/agents/{agent}/plan/approve"): [{"revision": 1, "todos": True}],
    ("POST", "/sessions/{session}/agents/{agent}/plan/reject"): [{"revision": 1, "reason": "Tests first"}],
    ("POST", "/sessions/{session}/agents/{agent}/call"): [
        {"tool": "todo", "arguments": {"add": [{"text": "One more"}]}}
    ],
    ("POST", "/task-lists/{list}/tasks"): [{"subject": "New", "blocked_by": ["1"], "checklist": [{"text": "One"}]}],
    ("POST", "/task-lists/{list}/claim"): [{"owner": "other", "lease": 60, "limit": 2}],
    ("POST", "/task-lists/{list}/signal"): [{"topic": "build", "correlation_id": "7", "payload": {"ok": True}}],
    ("POST", "/task-lists/{list}/promote"): [{"session": "SESSION", "agent": "main"}],
    ("PATCH", "/task-lists/{list}/tasks/{task}"): [{"subject": "Renamed", "add_blocked_by": ["2"]}],
    ("DELETE", "/task-lists/{list}/tasks/{task}"): [None],
    ("POST", "/task-lists/{list}/tasks/{task}/start"): [{"fence": 1}],
    ("POST", "/task-lists/{list}/tasks/{task}/heartbeat"): [{"fence": 1}],
    ("POST", "/task-lists/{list}/tasks/{task}/release"): [{"fence": 1}],
    ("POST", "/task-lists/{list}/tasks/{task}/complete"): [{"fence": 1, "result": {"lines": 3}}],
    ("POST", "/task-lists/{list}/tasks/{task}/fail"): [{"fence": 1, "reason": "no luck"}],
    ("POST", "/task-lists/{list}/tasks/{task}/retry"): [{}],
    ("POST", "/task-lists/{list}/tasks/{task}/cancel"): [{"reason": "not needed", "force": True}],
    ("POST", "/task-lists/{list}/tasks/{task}/wait"): [{"fence": 1}],
    ("POST", "/task-lists/{list}/tasks/{task}/resume"): [{"state": {"answer": "go"}}],
    ("POST", "/task-lists/{list}/tasks/{task}/todos"): [{"session": "SESSION", "agent": "main"}],
    ("POST", "/brief/mark"): [{"until": 5}],
    ("POST", "/machine/heartbeat"): [{"at": 1.0}],
    ("POST", "/machine/receipts"): [{"host": "claude-code", "conversation": "SESSION", "step": "sent", "upto": 1}],
}
"""The body of a change for each route that makes one."""

QUERIES = {"/sessions/{session}/receipt": {"event": "3"}, "/search": {"q": "bug"}}


class Example(NamedTuple):
    """A request to one route."""

    route: ApiRoute
    url: str
    query: dict[str, str]
    body: Any


def make_example(route: ApiRoute, place: Place) -> Example:
    """Return a request to a route about what is in a place."""
    url = PREFIX + route.path.format_map({name: quote(value, safe="") for name, value in place.path.items()})
    body: Any = None
    if route.method != "GET":
        (body,) = CHANGES[route.method, route.path]
    for name in ("session", "conversation"):
        if body is not None and name in body:
            body = {**body, name: place.session}
    return Example(route, url, QUERIES.get(route.path, {}), body)


def name_route(route: ApiRoute) -> str:
    return f"{route.method} {route.path}"
