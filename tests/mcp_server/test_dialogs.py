"""Questions and plans in the client's own dialog: real pipes, the test answers as the client would."""

from typing import Any

import pytest

from punchlist.board import Board
from tests.mcp_server.client import Client, call_params
from tests.mcp_server.conftest import Start

FORMS: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
PLAN = "# Paint the door\n- Sand it\n- Paint it"


@pytest.fixture
def client(start: Start) -> Client:
    client = start(initialized=False)
    client.initialize(capabilities=FORMS)
    return client


def open_dialog(client: Client, arguments: Any) -> tuple[int, dict[str, Any]]:
    """Call the tool; return the number of the call, and the dialog that opens."""
    number = client.start_request("tools/call", call_params("todo", arguments))
    dialog = client.read()
    assert dialog["method"] == "elicitation/create"
    assert dialog["params"]["requestedSchema"]["type"] == "object"
    return number, dialog


def answer(client: Client, dialog: dict[str, Any], action: str, **content: Any) -> None:
    result = {"action": action, **({"content": content} if content else {})}
    client.send({"jsonrpc": "2.0", "id": dialog["id"], "result": result})


def finish(client: Client, number: int) -> dict[str, Any]:
    reply = client.read()
    assert reply["id"] == number, reply
    return reply["result"]


def read_text(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"])


def decided(board: Board) -> list[dict[str, Any]]:
    return [
        {
            "kind": event.kind,
            "by": event.by,
            "person": event.data.get("person"),
            "revision": event.data.get("plan_revision"),
        }
        for event in board.events()
        if event.kind in ("approval.approved", "approval.rejected")
    ]


def test_an_accepted_plan_is_approved_by_the_person(client: Client, board: Board) -> None:
    number, dialog = open_dialog(client, {"plan": PLAN})
    assert "- Sand it" in dialog["params"]["message"]
    answer(client, dialog, "accept", decision="approve")
    result = finish(client, number)
    assert not result["isError"]
    assert "approved" in read_text(result)
    assert decided(board) == [{"kind": "approval.approved", "by": "anna", "person": True, "revision": 1}]


@pytest.mark.parametrize(
    ("action", "content", "reason"),
    [
        ("accept", {"decision": "reject", "reason": "Tests first"}, "Tests first"),
        ("accept", {"decision": "reject"}, "without a reason"),
        ("decline", {}, "declined"),
    ],
)
def test_a_declined_plan_comes_back_with_the_reason(
    client: Client, board: Board, action: str, content: dict[str, Any], reason: str
) -> None:
    number, dialog = open_dialog(client, {"plan": PLAN})
    answer(client, dialog, action, **content)
    result = finish(client, number)
    assert result["isError"]
    assert reason in read_text(result)
    assert [one["kind"] for one in decided(board)] == ["approval.rejected"]
    assert reason not in client.text("todo", {})


@pytest.mark.parametrize(
    "result",
    [
        {"action": "cancel"},
        {"action": "accept"},
        {"action": "accept", "content": {"decision": "perhaps"}},
        {"action": "accept", "content": [1]},
        {"action": 7},
        {},
        None,
    ],
)
def test_a_plan_without_a_decision_keeps_waiting(client: Client, board: Board, result: Any) -> None:
    number, dialog = open_dialog(client, {"plan": PLAN})
    client.send({"jsonrpc": "2.0", "id": dialog["id"], "result": result})
    assert "waits for a person" in read_text(finish(client, number))
    assert [wait.kind for wait in board.waits()] == ["plan"]


def test_codex_declines_without_a_person_and_the_plan_keeps_waiting(start: Start, board: Board) -> None:
    client = start(initialized=False)
    client.initialize("2025-06-18", capabilities={"elicitation": {}}, name="codex-mcp-client")
    number, dialog = open_dialog(client, {"plan": PLAN})
    answer(client, dialog, "decline")
    assert "waits for a person" in read_text(finish(client, number))
    assert [wait.kind for wait in board.waits()] == ["plan"]


def test_codex_is_asked_for_the_reason_in_a_second_dialog(start: Start, board: Board) -> None:
    client = start("--host", "codex", initialized=False)
    client.initialize("2025-06-18", capabilities={"elicitation": {}})
    number, dialog = open_dialog(client, {"plan": PLAN})
    assert list(dialog["params"]["requestedSchema"]["properties"]) == ["decision"]
    answer(client, dialog, "accept", decision="reject")
    why = client.read()
    assert list(why["params"]["requestedSchema"]["properties"]) == ["reason"]
    answer(client, why, "accept", reason="Tests first")
    assert "Tests first" in read_text(finish(client, number))
    assert [one["kind"] for one in decided(board)] == ["approval.rejected"]


def test_a_client_that_refuses_the_dialog_leaves_the_plan_waiting(client: Client, board: Board) -> None:
    number, dialog = open_dialog(client, {"plan": PLAN})
    client.send({"jsonrpc": "2.0", "id": dialog["id"], "error": {"code": -32601, "message": "no dialogs"}})
    assert "waits for a person" in read_text(finish(client, number))
    assert [wait.kind for wait in board.waits()] == ["plan"]


def test_a_decision_made_elsewhere_closes_the_dialog(client: Client, board: Board) -> None:
    number, dialog = open_dialog(client, {"plan": PLAN})
    (wait,) = board.waits()
    board.agent(wait.agent, session=wait.session).approve_plan(by="ada", person=True)
    closed = client.read()
    assert (closed["method"], closed["params"]["requestId"]) == ("notifications/cancelled", dialog["id"])
    assert "approved" in read_text(finish(client, number))
    answer(client, dialog, "decline")
    assert client.result("ping") == {}
    assert [one["by"] for one in decided(board)] == ["ada"]


def test_an_answered_question_comes_back_with_the_call(client: Client, board: Board) -> None:
    client.text("todo", {"set": ["Paint", "Sweep"]})
    number, dialog = open_dialog(client, {"ask": {"1": "Which colour?"}})
    assert "Paint" in dialog["params"]["message"]
    assert "Which colour?" in dialog["params"]["message"]
    answer(client, dialog, "accept", answer="Red")
    assert "anna answered: Red" in read_text(finish(client, number))
    assert board.waits() == []
    (event,) = [event for event in board.events() if event.kind == "question.answered"]
    assert (event.by, event.data["person"]) == ("anna", True)
    assert "Red" not in client.text("todo", {})


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_question_that_is_not_answered_keeps_waiting(client: Client, board: Board, action: str) -> None:
    client.text("todo", {"set": ["Paint", "Sweep"]})
    number, dialog = open_dialog(client, {"ask": {"1": "Which colour?"}})
    answer(client, dialog, action)
    result = finish(client, number)
    assert not result["isError"]
    assert [wait.kind for wait in board.waits()] == ["question"]


def test_other_calls_are_answered_while_a_dialog_is_open(client: Client) -> None:
    number, dialog = open_dialog(client, {"plan": PLAN})
    assert client.result("ping") == {}
    assert "1 items" in client.text("todo", {"set": ["Paint"]})
    answer(client, dialog, "accept", decision="approve")
    assert "approved" in read_text(finish(client, number))


def test_a_cancelled_call_is_not_answered_and_its_dialog_closes(client: Client, board: Board) -> None:
    number, dialog = open_dialog(client, {"plan": PLAN})
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    closed = client.read()
    assert closed["params"]["requestId"] == dialog["id"]
    assert client.result("ping") == {}
    assert [wait.kind for wait in board.waits()] == ["plan"]


def test_the_end_of_the_input_leaves_the_plan_waiting(client: Client, board: Board) -> None:
    open_dialog(client, {"plan": PLAN})
    assert client.close() == 0
    assert [wait.kind for wait in board.waits()] == ["plan"]


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}, {"elicitation": None}, {"roots": {}}])
def test_a_client_without_forms_gets_no_dialog(start: Start, capabilities: dict[str, Any]) -> None:
    client = start(initialized=False)
    client.initialize(capabilities=capabilities)
    assert "waits for a person" in client.text("todo", {"plan": PLAN})


def test_an_older_client_names_no_kind_of_dialog(start: Start) -> None:
    client = start(initialized=False)
    client.initialize("2025-06-18", capabilities={"elicitation": {}})
    number, dialog = open_dialog(client, {"plan": PLAN})
    answer(client, dialog, "accept", decision="approve")
    assert "approved" in read_text(finish(client, number))


def test_the_same_call_again_does_not_ask_again(client: Client) -> None:
    meta = {"claudecode/toolUseId": "toolu_1"}
    number = client.start_request("tools/call", call_params("todo", {"plan": PLAN}, meta))
    dialog = client.read()
    answer(client, dialog, "accept", decision="approve")
    assert "approved" in read_text(finish(client, number))
    assert "approved" in client.text("todo", {"plan": PLAN}, meta)
