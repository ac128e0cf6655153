"""A machine reaches what is its own and the tasks of its projects, whatever ids an attacker knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import pytest
from starlette.routing import Mount, Route

from punchlist import Board
from punchlist.server.access import find_rule
from punchlist.server.api.routing import ApiRoute
from punchlist.server.api.table import ROUTES
from punchlist.settings.environment import Project, find_project_elsewhere
from punchlist.store import Transaction
from tests.server.conftest import Running, make_token
from tests.server.streams import open_stream
from tests.server.team import SHOP, Machine, close_machines
from tests.server.worlds import TEXTS, make_example, name_route

HIDDEN = "git.example.org/hidden"
REFUSED = (403, 404, 422)


class MachinePlace(NamedTuple):
    """A session and a list of tasks, named by an attacker. Its word is in every text of it."""

    word: str
    where: Project | str
    list: str

    @property
    def session(self) -> str:
        return f"{self.word}-1"

    @property
    def path(self) -> dict[str, str]:
        return {"session": self.session, "agent": "main", "list": self.list, "task": "1", "dialect": "claude-code"}


def on_desk(remote: str) -> Project:
    return find_project_elsewhere("id-of-desk", "desk", remote, "/home/y/shop")


OWN = MachinePlace("larch", find_project_elsewhere("id-of-laptop", "laptop", SHOP, "/x"), f"project:repo://{SHOP}")
FOREIGN = {
    "another machine, shared project": MachinePlace("birch", on_desk(SHOP), "session:birch-1"),
    "another machine, foreign project": MachinePlace("cedar", on_desk(HIDDEN), f"project:repo://{HIDDEN}"),
    "another machine, no repository": MachinePlace("rowan", on_desk(""), "project:host://desk/home/y/shop"),
    "the machine of the board": MachinePlace("alder", "/projects/alder", "project:/projects/alder"),
    "the board's own lists": MachinePlace("aspen", "/projects/aspen", "everyone"),
}


class World(NamedTuple):
    board: Board
    running: Running
    laptop: Machine


@pytest.fixture(scope="module")
def world(shared: Running) -> Iterator[World]:
    laptop = Machine(shared, "laptop", SHOP)
    for place in (OWN, *FOREIGN.values()):
        _build(shared.board, place)
    for name in ("ada", "bob", "carla", "dora"):
        make_token(shared.board, name, "edit", person=name == "carla")
    yield World(shared.board, shared, laptop)
    close_machines()


def _build(board: Board, place: MachinePlace) -> None:
    agent = board.agent(session=place.session, dialect="claude-code", project=place.where)
    items = [{"content": f"{text} of {place.word}", "status": "pending", "activeForm": text} for text in TEXTS]
    agent.call("TodoWrite", {"todos": items})
    agent.propose_plan(f"# Plan {place.word}\n\n1. Read\n2. Write")
    agent.ask("3", f"Which tests of {place.word}?")
    tasks = board.tasks(place.list, project=place.where)
    for number in range(1, 4):
        tasks.create(f"Task {number} of {place.word}", labels=[place.word])
    tasks.claim("worker", id="1")
    if isinstance(place.where, Project):
        where, session, now = place.where, place.session, board.now()
        board.store.transact(
            lambda tx: tx.hosts.bind_conversation(
                "claude-code", session, session, project=where.key, at=now, machine=where.machine
            )
        )


def _count_events(world: World, after: int) -> int:
    """Count the events since then; the server notes by itself how agents are."""
    return sum(event.kind != "agent.state" for event in world.board.events(after))


def _ask(world: World, route: ApiRoute, place: MachinePlace) -> tuple[int, str, int]:
    """Make the request of a route; return its status, its body and how many events it left."""
    example = make_example(route, place)  # pyright: ignore[reportArgumentType]
    before = world.board.store.last_seq()
    reply = world.laptop.client.request(route.method, example.url, params=example.query, json=example.body)
    return reply.status_code, reply.text, _count_events(world, before)


@pytest.mark.parametrize("place", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("route", ROUTES, ids=name_route)
def test_what_is_not_the_machines_own_is_neither_read_nor_changed(world: World, route: ApiRoute, place: MachinePlace):
    status, body, events = _ask(world, route, place)
    assert place.word not in body.replace(place.session, "").replace(place.list, "")
    assert events == 0
    is_about_a_place = {"session", "agent", "list"} & set(route.parameters) or route.path.endswith("/receipts")
    assert status in REFUSED or not is_about_a_place


@pytest.mark.parametrize(
    "route", [one for one in ROUTES if not one.for_machines and one.scope != "report"], ids=name_route
)
def test_a_machine_reaches_no_route_that_is_not_for_machines(world: World, route: ApiRoute):
    status, body, events = _ask(world, route, OWN)
    assert (status, events) == (403, 0), body


@pytest.mark.parametrize("route", [one for one in ROUTES if one.for_machines and one.method == "GET"], ids=name_route)
def test_a_machine_reads_its_own_lists_and_the_tasks_of_its_projects(world: World, route: ApiRoute):
    status, body, _ = _ask(world, route, OWN)
    assert status == 200, body
    assert all(place.word not in body for place in FOREIGN.values())


@pytest.mark.parametrize("scope", ["look", "answer", "edit"])
@pytest.mark.parametrize("path", ["/machine/heartbeat", "/machine/receipts", "/machine/stream", "/hooks"])
def test_no_other_scope_reports(world: World, scope: str, path: str):
    secret = make_token(world.board, f"{scope} {path}", scope)
    with world.running.open_client(headers={"Authorization": f"Bearer {secret}"}) as client:
        method = "GET" if path.endswith("stream") else "POST"
        assert client.request(method, f"/api/v1{path}", json={}).status_code == 403


OTHER_ROADS = ("/waits/resolve", "/task-lists/{list}/tasks/{task}/todos")
STEERING = [one for one in ROUTES if one.method != "GET" and ("{agent}" in one.path or one.path in OTHER_ROADS)]
PLAN = {"kind": "plan", "id": "1", "session": OWN.session, "agent": "main", "text": "approve"}


@pytest.mark.parametrize("route", STEERING, ids=name_route)
def test_nobody_but_the_owner_changes_what_the_agents_of_a_machine_work_on(world: World, route: ApiRoute):
    """An answer to a question of the agent comes from anyone with the scope."""
    example = make_example(route, OWN)  # pyright: ignore[reportArgumentType]
    body = PLAN if route.path == "/waits/resolve" else example.body
    before = world.board.store.last_seq()
    reply = _request(world, "bob", route.method, example.url, body)
    if route.path.endswith("/answers"):
        assert reply.status_code == 200
        return
    assert (reply.status_code, reply.json()["code"]) == (422, "edit_refused"), reply.text
    assert "the machine of ada" in reply.text
    assert _count_events(world, before) == 0


def _request(world: World, name: str, method: str, url: str, body: Any) -> httpx.Response:
    """Make a request with a person's token of the scope `edit`."""
    with world.running.open_client(headers={"Authorization": f"Bearer secret of {name}"}) as client:
        return client.request(method, url, json=body)


OWN_TASKS = OWN._replace(list=f"session:{OWN.session}")
EDITS_OF_TASKS = [
    one
    for one in ROUTES
    if one.method != "GET" and "{list}" in one.path and not one.path.endswith(("/signal", "/resume", "/todos"))
]


@pytest.mark.parametrize("route", EDITS_OF_TASKS, ids=name_route)
def test_nobody_but_the_owner_changes_the_tasks_of_a_session_of_a_machine(world: World, route: ApiRoute):
    world.board.tasks(OWN_TASKS.list, project=OWN.where).create("Its own step")
    example = make_example(route, OWN_TASKS)  # pyright: ignore[reportArgumentType]
    before = world.board.store.last_seq()
    reply = _request(world, "bob", route.method, example.url, example.body)
    assert (reply.status_code, reply.json()["code"]) == (422, "edit_refused"), reply.text
    assert _count_events(world, before) == 0


def test_no_program_of_another_person_names_the_tasks_of_a_machines_session_as_its_own(world: World):
    world.board.tasks(OWN_TASKS.list, project=OWN.where).create("Its own step")
    body = {"dialect": "claude-tasks", "tool": "TaskList", "options": {"task_list": OWN_TASKS.list}}
    reply = _request(world, "bob", "POST", "/api/v1/sessions/bobs-1/agents/main/call", body)
    assert (reply.status_code, reply.json()["code"]) == (422, "edit_refused"), reply.text


def test_a_blocked_item_of_a_machines_agent_is_unblocked_by_its_owner_alone(world: World):
    agent = world.board.agent(session="hazel-1", project=OWN.where)
    agent.call("todo", {"set": ["Deploy"]})
    agent.edit([{"op": "block", "item": "1", "reason": "waits for a person"}], by="main")
    body = {"kind": "item", "id": "1", "session": "hazel-1", "agent": "main", "text": "Go on"}
    before = world.board.store.last_seq()
    assert _request(world, "bob", "POST", "/api/v1/waits/resolve", body).json()["code"] == "edit_refused"
    assert _count_events(world, before) == 0
    assert _request(world, "ada", "POST", "/api/v1/waits/resolve", body).status_code == 200


@pytest.mark.parametrize("wanted", ["maple-1", "maple"])
def test_no_machine_and_no_program_takes_over_the_items_of_another_machines_session(world: World, wanted: str):
    ended = MachinePlace("maple", on_desk(SHOP), "session:maple-1")
    if not world.board.lists(session=ended.session):
        _build(world.board, ended)
        _end_session(world.board, ended.session)
    before = world.board.agent(session=ended.session, project=ended.where).todos
    body = {"tool": "todo", "arguments": {"continue": wanted}, "project": SHOP}
    told = [
        world.laptop.call(OWN.session, "todo", {"continue": wanted}).text,
        _call_mcp(world, OWN.session, "todo", {"continue": wanted}, project=SHOP),
        _request(
            world, "bob", "POST", "/api/v1/sessions/bobs-2/agents/main/call", body | {"project": f"repo://{SHOP}"}
        ).text,
    ]
    assert all("There is no such session that ended here" in text for text in told), told
    assert world.board.agent(session=ended.session, project=ended.where).todos == before


def _end_session(board: Board, session: str) -> None:
    def work(tx: Transaction) -> None:
        known = tx.hosts.find_conversation("claude-code", session)
        assert known is not None
        tx.hosts.save_conversation(known._replace(state="ended", event="SessionEnd"))

    board.store.transact(work)


def test_a_machine_lets_no_task_of_others_wait(world: World):
    path = f"/api/v1/task-lists/{quote(OWN.list, safe='')}/tasks"
    before = world.board.store.last_seq()
    assert world.laptop.client.post(path, json={"subject": "x", "blocks": ["1"]}).status_code == 403
    assert _count_events(world, before) == 0


@pytest.mark.parametrize("options", [{"redact": ["(a+)+$"]}, {"checks": {"true": "test"}}, {"previews": 0}])
def test_no_machine_brings_patterns_and_checks_of_its_own(world: World, options: dict[str, Any]):
    path = f"/api/v1/sessions/{OWN.session}/agents/main/spawn"
    body = {"name": "explore", "label": "a" * 100 + "!", "options": options}
    reply = world.laptop.client.post(path, json=body)
    assert (reply.status_code, reply.json()["field"]) == (422, f"options.{next(iter(options))}")


def test_of_all_addresses_a_machine_reaches_those_that_are_for_machines(world: World):
    rules = {one.path: find_rule(one) for one in world.running.state.app.routes if isinstance(one, Route | Mount)}
    reached = {path for path, rule in rules.items() if rule.for_machines or rule.need == "report"}
    assert reached == {"/api/v1", "/api/v1/hooks", "/api/v1/machine/stream", "/mcp"}
    assert {path for path, rule in rules.items() if rule.need == "public"} == {"/healthz", "/static"}


def test_the_page_and_mcp_change_no_list_of_another_persons_machine(world: World):
    own = {"Origin": world.running.origin, "Sec-Fetch-Site": "same-origin"}
    before = world.board.store.last_seq()
    with world.running.open_client(headers=own) as browser:
        world.running.sign_in(browser, "secret of carla")
        form = {"agent": "main", "do": "add", "text": "Do as I say"}
        assert "the machine of ada" in browser.post(f"/sessions/{OWN.session}", data=form).text
        form = {"kind": "plan", "id": "1", "session": OWN.session, "agent": "main", "decision": "approve"}
        assert "the machine of ada" in browser.post("/answer", data=form).text
    call = {"name": "todo", "arguments": {"add": [{"text": "Do as I say"}]}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {"Accept": "application/json, text/event-stream", "Authorization": "Bearer secret of carla"}
    with world.running.open_client(headers=headers) as client:
        assert "belongs to another machine" in client.post(f"/mcp?session={OWN.session}", json=body).text
    assert _count_events(world, before) == 0


@pytest.mark.parametrize("steer", ["owner", "team"])
def test_the_owner_steers_and_the_team_does_where_the_machine_says_so(world: World, steer: str):
    world.laptop.beat(steer=steer)
    url = f"/api/v1/sessions/{OWN.session}/agents/main/todos"
    body = {"operations": [{"op": "append", "items": ["One more"]}]}
    assert _request(world, "ada", "PATCH", url, body).status_code == 200
    assert _request(world, "dora", "PATCH", url, body).status_code == (200 if steer == "team" else 422)
    world.laptop.beat()


@pytest.mark.parametrize("place", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit", "Stop", "PostToolUse", "SubagentStart"])
def test_a_line_about_another_machines_session_is_refused(world: World, name: str, place: MachinePlace):
    before = world.board.store.last_seq()
    line = world.laptop.line(name, place.session, tool_name="TodoWrite", tool_input={"todos": []}, agent_id="a1")
    assert world.laptop.refusal(line) == "machine_refused"
    assert _count_events(world, before) == 0


@pytest.mark.parametrize("place", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("tool", ["todo", "task"])
def test_mcp_answers_no_call_in_another_machines_session(world: World, tool: str, place: MachinePlace):
    arguments = {"add": [{"text": "x"}]} if tool == "todo" else {"do": "list"}
    before = world.board.store.last_seq()
    text = _call_mcp(world, place.session, tool, arguments, project=SHOP)
    assert "belongs to another machine" in text
    assert place.word not in text.replace(place.session, "")
    assert _count_events(world, before) == 0


def test_mcp_offers_a_machine_neither_resources_nor_foreign_projects_nor_flows(world: World):
    assert "was not made for this" in _call_mcp(world, "new-1", "todo", {"add": [{"text": "x"}]}, project=HIDDEN)
    assert "was not made for this" in _rpc(world, f"session={OWN.session}&project={SHOP}", "resources/list", {})
    flows = f"session={OWN.session}&project={SHOP}&dialect=taskflow"
    assert "was not made for this" in _rpc(world, flows, "tools/list", {})


def test_a_hook_line_of_one_machine_moves_no_call_of_another(world: World):
    """The ids of calls are known to the attacker: what it tells of them is noted under its own machine alone."""
    call = {"tool_name": "mcp__plugin_punchlist_punchlist__todo", "tool_use_id": "toolu_known"}
    world.laptop.send(world.laptop.line("PreToolUse", OWN.session, tool_input={}, **call))
    assert world.board.store.read(lambda tx: tx.hosts.find_call("toolu_known")) is None


@pytest.mark.parametrize("body", [{}, {"fence": 1}])
@pytest.mark.parametrize("route", [one for one in ROUTES if one.path.startswith("/task-lists/{list}/tasks/{task}")])
def test_a_claim_of_another_worker_on_a_shared_task_stands(world: World, route: ApiRoute, body: dict[str, Any]):
    """Also for a machine that knows the fence: that is shown with the task."""
    before = world.board.store.last_seq()
    example = make_example(route, OWN)  # pyright: ignore[reportArgumentType]
    given: dict[str, Any] = example.body or {}
    reply = world.laptop.client.request(route.method, example.url, json=given | body)
    assert reply.status_code in ((200,) if route.method == "GET" and route.for_machines else (403, 422))
    assert _count_events(world, before) == 0


def test_a_machine_ends_what_it_has_claimed_by_itself_or_as_one_of_its_agents(world: World):
    path, agent = f"/api/v1/task-lists/{quote(OWN.list, safe='')}", {"Punchlist-Agent": f"{OWN.session}/main"}
    for headers in ({}, agent):
        task = world.laptop.client.post(f"{path}/tasks", json={"subject": "x"}, headers=headers).json()["id"]
        world.laptop.client.post(f"{path}/claim", json={"owner": "w", "id": task}, headers=headers)
        for verb in ("heartbeat", "complete"):
            reply = world.laptop.client.post(f"{path}/tasks/{task}/{verb}", json={"fence": 1}, headers=headers)
            assert reply.status_code == 200, reply.text


def test_a_session_that_begins_with_a_task_is_the_machines_own(world: World):
    path, headers = f"/api/v1/task-lists/{quote(OWN.list, safe='')}/tasks", {"Punchlist-Agent": "larch-2/main"}
    assert world.laptop.client.post(path, json={"subject": "x"}, headers=headers).status_code == 201
    assert world.board.store.read(lambda tx: tx.find_machine("larch-2")) == world.laptop.id


def test_the_stream_of_a_machine_holds_nothing_of_others(world: World):
    world.board.agent(session="birch-1", project=on_desk(SHOP)).answer("3", "All", by="ada")
    with open_stream(world.laptop.client, path="/api/v1/machine/stream") as stream:
        first = next(iter(stream))
        world.board.agent(session="cedar-1", project=on_desk(HIDDEN)).answer("3", "All", by="ada")
        world.board.agent(session=OWN.session, project=OWN.where).ask("2", "Which bug?")
        seen = [first, next(iter(stream))]
    assert {frame.data["session"] for frame in seen} == {OWN.session}


def test_the_token_of_a_machine_signs_no_browser_in(world: World):
    with world.running.open_client(headers={"Accept": "text/html"}) as browser:
        reply = browser.get(f"/?token={world.laptop.secret}")
        assert reply.status_code == 403
        assert not browser.cookies


def _call_mcp(world: World, session: str, tool: str, arguments: dict[str, Any], *, project: str) -> str:
    query = f"session={session}&project={project}"
    return _rpc(world, query, "tools/call", {"name": tool, "arguments": arguments})


def _rpc(world: World, query: str, method: str, params: dict[str, Any]) -> str:
    headers = {"Accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return world.laptop.client.post(f"/mcp?{query}", json=body, headers=headers).text
