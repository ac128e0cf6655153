"""Changes over HTTP: at a revision that was seen, once per key, by a person or a program."""

from typing import Any

import httpx
import pytest

from punchlist import Board
from punchlist.core.events import Draft
from punchlist.store import Transaction
from tests.server.conftest import Running, make_token
from tests.server.worlds import OURS, build

AGENT = f"/api/v1/sessions/{OURS.session}/agents/main"
LIST = f"/api/v1/task-lists/{OURS.list.replace('/', '%2F')}"
MAIN = {"session": OURS.session, "agent": "main"}


@pytest.fixture(autouse=True)
def world(board: Board) -> None:
    build(board, OURS)


# Versions.


@pytest.mark.parametrize(
    "path", [f"{AGENT}/todos", f"{AGENT}/plan", f"{LIST}/tasks/1", f"{LIST}/tasks", "/api/v1/todos"]
)
def test_what_has_not_changed_is_not_sent_again(client: httpx.Client, path: str):
    first = client.get(path)
    again = client.get(path, headers={"if-none-match": f'"other", W/{first.headers["etag"]}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert client.get(path, headers={"if-none-match": '"other"'}).content == first.content


def test_a_lease_that_was_renewed_is_seen_though_the_revision_stays(client: httpx.Client):
    first = client.get(f"{LIST}/tasks/1")
    client.post(f"{LIST}/tasks/1/heartbeat", json={"fence": 1, "lease": 5_000})
    again = client.get(f"{LIST}/tasks/1", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 200
    assert again.json()["revision"] == first.json()["revision"]


def test_a_list_is_changed_only_at_the_revision_that_was_seen(client: httpx.Client):
    seen = client.get(f"{AGENT}/todos").headers["etag"]
    edit = {"operations": [{"op": "note", "item": "2", "text": "One"}]}
    first = client.patch(f"{AGENT}/todos", json=edit, headers={"if-match": seen})
    assert first.status_code == 200
    late = client.patch(f"{AGENT}/todos", json=edit, headers={"if-match": seen})
    assert (late.status_code, late.json()["code"], late.json()["field"]) == (412, "revision_conflict", "If-Match")
    assert client.get(f"{AGENT}/todos").headers["etag"] == first.headers["etag"]
    assert client.patch(f"{AGENT}/todos", json=edit, headers={"if-match": "*"}).status_code == 200


def test_an_undo_is_made_only_at_the_revision_that_was_seen(client: httpx.Client):
    edit = {"operations": [{"op": "note", "item": "2", "text": "One"}]}
    seen = client.patch(f"{AGENT}/todos", json=edit).headers["etag"]
    now = client.patch(f"{AGENT}/todos", json=edit).headers["etag"]
    late = client.post(f"{AGENT}/todos/undo", headers={"if-match": seen})
    assert (late.status_code, late.json()["code"], late.json()["field"]) == (412, "revision_conflict", "If-Match")
    assert client.get(f"{AGENT}/todos").headers["etag"] == now
    assert client.post(f"{AGENT}/todos/undo", headers={"if-match": now}).status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{AGENT}/plan/approve", {"revision": 1}),
        (f"{AGENT}/plan/reject", {"revision": 1, "reason": "No"}),
        (f"{AGENT}/answers", {"item": "2", "text": "Yes"}),
        (f"{LIST}/promote", MAIN),
        (f"{LIST}/tasks/1/todos", MAIN),
    ],
)
def test_a_condition_that_a_route_cannot_check_is_refused(client: httpx.Client, board: Board, path: str, body: object):
    before = board.store.last_seq()
    answer = client.post(path, json=body, headers={"if-match": '"1"'})
    assert (answer.status_code, answer.json()["field"]) == (422, "If-Match")
    assert board.store.last_seq() == before
    assert client.post(path, json=body, headers={"if-match": "*"}).status_code != 422


@pytest.mark.parametrize("tag", ['"x"', "7", 'W/"7"', '"1", "2"', '"' + "9" * 40 + '"'])
def test_an_etag_that_is_not_ours_matches_nothing(client: httpx.Client, tag: str):
    edit = {"operations": [{"op": "note", "item": "2", "text": "One"}]}
    assert client.patch(f"{AGENT}/todos", json=edit, headers={"if-match": tag}).status_code == 412


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("release", {"fence": 1}),
        ("fail", {"fence": 1}),
        ("cancel", {"fence": 1}),
        ("complete", {"fence": 1}),
        ("wait", {"fence": 1}),
    ],
)
def test_every_verb_of_a_task_takes_the_revision_that_was_seen(client: httpx.Client, verb: str, body: object):
    seen = client.get(f"{LIST}/tasks/1").headers["etag"]
    client.patch(f"{LIST}/tasks/1", json={"description": "More"})
    answer = client.post(f"{LIST}/tasks/1/{verb}", json=body, headers={"if-match": seen})
    assert answer.status_code == 412, answer.text
    now = client.get(f"{LIST}/tasks/1")
    assert now.json()["status"] == "in_progress"
    done = client.post(f"{LIST}/tasks/1/{verb}", json=body, headers={"if-match": now.headers["etag"]})
    assert done.status_code == 200, done.text


# Once per key.

REPEATED: list[tuple[str, str, Any]] = [
    ("PATCH", f"{AGENT}/todos", {"operations": [{"op": "append", "items": ["More"]}]}),
    ("POST", f"{AGENT}/todos/undo", {}),
    ("POST", f"{AGENT}/answers", {"item": "3", "text": "All"}),
    ("POST", f"{AGENT}/plan/approve", {"revision": 1}),
    ("POST", f"{AGENT}/plan/reject", {"revision": 1, "reason": "No"}),
    ("POST", "/api/v1/waits/resolve", {"kind": "plan", "id": "1", **MAIN, "text": "approve"}),
    ("POST", f"{AGENT}/call", {"tool": "todo", "arguments": {"add": [{"text": "More"}]}}),
    ("POST", f"{LIST}/tasks", {"subject": "New"}),
    ("POST", f"{LIST}/claim", {"owner": "other"}),
    ("PATCH", f"{LIST}/tasks/2", {"subject": "Renamed"}),
    ("DELETE", f"{LIST}/tasks/3", None),
    ("POST", f"{LIST}/tasks/1/complete", {"fence": 1, "result": 7}),
    ("POST", f"{LIST}/tasks/1/release", {"fence": 1}),
    ("POST", f"{LIST}/tasks/1/fail", {"fence": 1}),
    ("POST", f"{LIST}/tasks/1/wait", {"fence": 1, "seconds": 60}),
    ("POST", f"{LIST}/promote", {"session": OURS.session}),
    ("POST", f"{LIST}/tasks/2/todos", {"session": OURS.session}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "url", "body"), REPEATED)
def test_a_change_is_applied_once_and_the_same_reply_comes_again(
    client: httpx.Client, board: Board, method: str, url: str, body: object
):
    if url.endswith("undo"):
        client.patch(f"{AGENT}/todos", json={"operations": [{"op": "append", "items": ["One", "Two"]}]})
        client.patch(f"{AGENT}/todos", json={"operations": [{"op": "append", "items": ["Three"]}]})
    headers = {"idempotency-key": "k1"}
    first = client.request(method, url, json=body, headers=headers)
    assert first.status_code in (200, 201), first.text
    last = board.store.last_seq()
    again = client.request(method, url, json=body, headers=headers)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["etag"] == first.headers["etag"]
    assert board.store.last_seq() == last


@pytest.mark.parametrize(("method", "url", "body"), REPEATED)
def test_a_key_that_was_used_for_another_request_is_refused(
    client: httpx.Client, board: Board, method: str, url: str, body: object
):
    headers = {"idempotency-key": "k1"}
    assert client.post(f"{LIST}/tasks/2/start", json={}, headers=headers).status_code == 200
    last = board.store.last_seq()
    answer = client.request(method, url, json=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")
    assert board.store.last_seq() == last


def test_a_request_that_was_refused_may_be_sent_again_under_its_key(client: httpx.Client, board: Board):
    headers, edit = {"idempotency-key": "k1"}, {"operations": [{"op": "start", "item": "Later"}]}
    assert client.patch(f"{AGENT}/todos", json=edit, headers=headers).status_code == 422
    board.agent(session=OURS.session).edit([{"op": "append", "items": ["Later"]}], by="ada")
    assert client.patch(f"{AGENT}/todos", json=edit, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("on", "url", "body"),
    [("create", f"{LIST}/tasks", {"subject": "New"}), ("complete", f"{LIST}/tasks/1/complete", {"fence": 1})],
)
def test_a_gate_is_asked_outside_of_any_transaction_and_once_per_key(
    client: httpx.Client, board: Board, on: str, url: str, body: object
):
    asked: list[str] = []

    def write_elsewhere(task: Any) -> None:
        asked.append(task.subject)
        with Board.open(board.store.path) as other:  # it would wait for the lock of a transaction that is open
            other.tasks("notes").create(f"Asked about {task.subject}")

    board.gate(on, write_elsewhere, list=OURS.list)
    first = client.post(url, json=body, headers={"idempotency-key": "k1"})
    assert first.status_code in (200, 201), first.text
    assert client.post(url, json=body, headers={"idempotency-key": "k1"}).content == first.content
    assert len(asked) == 1


@pytest.mark.parametrize("key", ["", "x" * 201, "a\tb"])
def test_a_key_has_a_bounded_length(client: httpx.Client, key: str):
    answer = client.post(f"{LIST}/tasks", json={"subject": "New"}, headers={"idempotency-key": key})
    assert (answer.status_code, answer.json()["field"]) == (422, "Idempotency-Key")


# Who does it.


@pytest.mark.parametrize(
    ("person", "on_page", "grade"), [(True, True, "confirmed"), (True, False, None), (False, True, None)]
)
def test_only_what_a_person_completes_on_the_page_is_confirmed(
    running: Running, board: Board, *, person: bool, on_page: bool, grade: str | None
):
    """Changed: a person's token that a program sends as `Bearer` confirmed, though no person need be there."""
    secret = make_token(board, "ada", "edit", person=person)
    headers = {"Origin": running.origin} if on_page else {"Authorization": f"Bearer {secret}"}
    with running.open_client(headers=headers) as client:
        if on_page:
            running.sign_in(client, secret)
        done = client.patch(f"{AGENT}/todos", json={"operations": [{"op": "done", "item": "2"}]})
        assert done.json()["items"][1]["grade"] == grade
        task = client.post(f"{LIST}/tasks/2/complete", json={})
        assert task.json()["grade"] == grade
    ends = [event.by for event in board.events() if event.kind in ("item.completed", "task.completed")]
    assert ends[-2:] == ["ada", "ada"]


def test_the_owners_link_token_sent_by_a_program_is_no_person(client: httpx.Client, board: Board):
    done = client.patch(f"{AGENT}/todos", json={"operations": [{"op": "done", "item": "2"}]})
    assert done.json()["items"][1]["grade"] is None
    agent = board.agent("main", session=OURS.session, project=OURS.project)
    revision = agent.propose_plan("- Move it").revision
    assert client.post(f"{AGENT}/plan/approve", json={"revision": revision}).status_code == 200
    told = [event.data.get("person") for event in board.events() if event.kind == "approval.approved"]
    assert told == [None]


def test_a_program_with_the_token_of_the_link_is_not_the_owner_and_a_worker_with_a_fence_confirms_nothing(
    client: httpx.Client, board: Board
):
    client.patch(f"{AGENT}/todos", json={"operations": [{"op": "done", "item": "2"}]})
    worked = client.post(f"{LIST}/tasks/1/complete", json={"fence": 1})
    assert worked.json()["grade"] is None
    edits = [event for event in board.events() if event.kind == "list.edited" and event.session == OURS.session]
    assert edits[-1].by == "link"  # it was the login name before: a model took it for the person's word


def test_nothing_is_confirmed_where_an_agent_started_the_server(client: httpx.Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    done = client.patch(f"{AGENT}/todos", json={"operations": [{"op": "done", "item": "2"}]})
    assert done.json()["items"][1]["grade"] is None


def test_a_list_that_is_a_copy_cannot_be_changed(client: httpx.Client, board: Board):
    agent = board.agent(session="watched", project=OURS.project)
    agent.edit([{"op": "append", "items": ["Seen"]}], by="main")

    def copy(tx: Transaction) -> None:
        row = tx.agent("watched", "main")
        assert row is not None
        tx.add_events(row, [Draft("agent.copied", {"source": "log", "format": "codex"})], by="codex", at=board.now())

    board.store.transact(copy)
    url = "/api/v1/sessions/watched/agents/main"
    assert client.get(url).json()["read_only"] is True
    answer = client.patch(f"{url}/todos", json={"operations": [{"op": "done"}]})
    assert (answer.status_code, answer.json()["code"]) == (422, "edit_refused")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{AGENT}/answers", {"item": "3", "text": "All"}),
        ("/api/v1/waits/resolve", {"kind": "question", "id": "3", **MAIN, "text": "All"}),
    ],
)
def test_an_answer_goes_to_no_other_question_than_was_read(
    client: httpx.Client, board: Board, path: str, body: dict[str, str]
):
    (read,) = [wait.text for wait in board.waits(session=OURS.session) if wait.kind == "question"]
    board.agent(session=OURS.session).ask("3", "Something else?")
    refused = client.post(path, json={**body, "question": read})
    assert (refused.status_code, refused.json()["code"]) == (422, "edit_refused")
    assert client.post(path, json={**body, "question": "Something else?"}).status_code == 200


def test_answers_and_decisions_reach_the_agent(client: httpx.Client, board: Board):
    answered = client.post(f"{AGENT}/answers", json={"item": "3", "text": "All of them"})
    assert answered.json()["outcome"] == "answered"
    receipt = client.get(f"/api/v1/sessions/{OURS.session}/receipt", params={"event": answered.json()["event"]}).json()
    assert receipt["state"] == "waits for its next turn"
    assert client.post(f"{AGENT}/answers", json={"item": "3", "text": "Again"}).json()["code"] == "already_answered"
    old = client.post(f"{AGENT}/plan/approve", json={"revision": 2})
    assert (old.status_code, old.json()["code"]) == (409, "plan_revision_conflict")
    assert client.post(f"{AGENT}/plan/approve", json={"revision": 1, "todos": True}).json()["state"] == "approved"
    assert [item.content for item in board.agent(session=OURS.session).todos.items][-2:] == ["Read", "Write"]
    said = board.agent(session=OURS.session).take_answers()
    assert said is not None
    assert "All of them" in said


def test_every_kind_of_wait_is_resolved_in_one_place(client: httpx.Client, board: Board):
    agent = board.agent(session=OURS.session)
    agent.edit([{"op": "block", "item": "2", "reason": "Needs a key", "on": "ada"}], by="main")
    board.tasks(OURS.list).wait("2")
    waits = client.get("/api/v1/waits").json()["waits"]
    assert {wait["kind"] for wait in waits} == {"question", "plan", "item", "task"}
    outcomes: dict[str, str] = {}
    for wait in waits:
        text = "approve" if wait["kind"] == "plan" else "Go on"
        body = {name: wait[name] for name in ("kind", "id", "session", "agent", "list")}
        answer = client.post("/api/v1/waits/resolve", json={**body, "text": text})
        assert answer.status_code == 200, answer.text
        outcomes[wait["kind"]] = answer.json()["outcome"]
    assert outcomes == {"question": "answered", "plan": "approved", "item": "unblocked", "task": "resumed"}
    assert client.get("/api/v1/waits").json()["waits"] == []
    assert board.tasks(OURS.list).get("2").state == {"answer": "Go on"}
