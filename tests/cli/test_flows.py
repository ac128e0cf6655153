"""`punchlist flows`: what a person sees of flows, and does to them."""

import json

import pytest

from punchlist import Board
from punchlist.flows import Flow
from tests.cli.conftest import Run


@pytest.fixture
def flow(board: Board) -> Flow:
    """A flow that waits for a person."""
    flows = board.agent("kate", session="s1").flows()
    flow = flows.create_mirrored("kate/inbox", "Sort the \x1b[2Jinbox", current_step="classify", state={"n": 1})
    flows.record_step_observation(flow.id, "run-1", "Look", "running")
    waiting = flows.set_waiting(flow.id, {"kind": "manual"})
    board.close()
    return waiting


def test_a_board_without_flows_says_so(run: Run) -> None:
    assert run("flows", "list").out == "(no flows)\n"
    assert json.loads(run("flows", "list", "--json").out) == []


def test_flows_are_listed_with_status_step_and_goal(run: Run, flow: Flow) -> None:
    said = run("flows", "list")
    assert said.code == 0
    assert said.out.startswith(f"{flow.id[:8]}  waiting    classify")
    assert "Sort the inbox  for a person" in said.out
    assert run("flows", "list", "--status", "running").out == "(no flows)\n"
    assert flow.id[:8] in run("flows", "list", "--owner", "agent:kate:session:s1", "--status", "waiting").out
    assert run("flows", "list", "--owner", "agent:ana:session:s1").out == "(no flows)\n"
    assert run("flows", "list", "--limit", "0").out.startswith("… and more")
    (data,) = json.loads(run("flows", "list", "--json").out)
    assert (data["id"], data["status"], data["wait"], data["revision"]) == (flow.id, "waiting", {"kind": "manual"}, 2)


def test_a_program_gets_every_flow_and_a_person_is_told_that_there_are_more(run: Run, board: Board) -> None:
    with board:
        for place in range(60):
            board.flows(by="anna").create_mirrored("controller", f"goal {place}")
    assert len(json.loads(run("flows", "list", "--json").out)) == 60
    assert run("flows", "list").out.endswith("… and more; `--limit N` shows N of them.\n")


def test_a_flow_is_shown_with_its_steps_and_events(run: Run, flow: Flow) -> None:
    said = run("flows", "show", flow.id[:6]).out
    for line in (
        "Sort the inbox",
        f"id          {flow.id}",
        "status      waiting  for a person",
        'state       {"n":1}',
    ):
        assert line in said
    assert "run-1 running Look" in said
    assert "kate started the flow" in said
    data = json.loads(run("flows", "show", flow.id, "--json").out)
    assert [step["run_id"] for step in data["steps"]] == ["run-1"]
    assert [event["kind"] for event in data["events"]] == [
        "flow.waiting",
        "flow.step_observed",
        "flow.started",
        "flow.created",
    ]


def test_a_person_lets_a_flow_go_on(run: Run, flow: Flow) -> None:
    assert run("flows", "resume", flow.id[:6], "--state", '{"ok": true}').out == (
        f"Flow {flow.id[:8]} resumed: Sort the inbox\n"
    )
    data = json.loads(run("flows", "show", flow.id, "--json").out)
    assert (data["status"], data["state"], data["events"][0]["by"]) == ("running", {"n": 1, "ok": True}, "anna")
    again = run("flows", "resume", flow.id)
    assert again.code == 1
    assert "is running and cannot become running from there" in again.err
    assert run("flows", "resume", flow.id, "--state", "{").code == 2


def test_a_flow_whose_time_has_come_goes_on_for_every_command_that_shows_work(run: Run, board: Board) -> None:
    with board:
        flows = board.agent("kate", session="s1").flows()
        for command in ("now", "todos"):
            flow = flows.create_mirrored("kate/inbox", "Sort")
            flows.set_waiting(flow.id, {"kind": "timer", "at": "2020-01-01T00:00:00Z"})
            assert run(command).code == 0
            assert flows.list_events(flow.id)[0].kind == "flow.resumed"


def test_the_list_of_flows_is_named_among_no_lists_of_tasks(run: Run, board: Board, flow: Flow) -> None:
    said = run("tasks", "list", "--list", "nothing")
    assert "nothing" in said.err
    assert "board:flows" not in said.err


def test_a_flow_is_cancelled_or_asked_to_be(run: Run, flow: Flow) -> None:
    assert "is to be cancelled" in run("flows", "cancel", flow.id, "--request", "--by", "ada").out
    assert "to be cancelled" in run("flows", "list").out
    assert json.loads(run("flows", "tick", "--json").out)["cancelled"] == 1
    assert run("flows", "tick").out.startswith("0 waited: ")
    assert run("flows", "cancel", flow.id).code == 1
    assert run("flows", "list", "--status", "cancelled").out.startswith(flow.id[:8])


def test_what_ended_long_ago_is_pruned(run: Run, flow: Flow) -> None:
    assert json.loads(run("flows", "cancel", flow.id, "--json").out)["status"] == "cancelled"
    assert run("flows", "prune", "--older-than", "30d").out.startswith("Deleted 0 flows")
    assert json.loads(run("flows", "prune", "--older-than", "0h", "--json").out) == {"deleted": 1}
    assert run("flows", "list").out == "(no flows)\n"


@pytest.mark.parametrize("name", ["ffff", "", "zz", "../x", "%"])
def test_an_unknown_flow_is_one_sentence(run: Run, flow: Flow, name: str) -> None:
    for verb in ("show", "cancel", "resume"):
        said = run("flows", verb, name)
        assert said.code == 1
        assert said.err.startswith("punchlist: There is no flow ")


def test_a_beginning_that_several_share_is_refused(run: Run, board: Board) -> None:
    flows = board.flows()
    for number in (1, 2):
        flows.create_managed("c", "g", id=f"aaaaaaaa-0000-4000-8000-00000000000{number}")
    board.close()
    said = run("flows", "show", "AAAA")
    assert said.code == 1
    assert "begins several flows" in said.err
    assert run("flows", "show", "aaaaaaaa-0000-4000-8000-000000000001").code == 0
