"""The evaluation in small: worlds count what was done, models learn from texts alone, same seeds give same numbers."""

import json
import random
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from evaluation.cells import CELLS
from evaluation.models import Message, Model, Rates, read
from evaluation.real_model import run_once
from evaluation.results import Key, run_key
from evaluation.worlds import Scenario, World

SERIES = next(cell for cell in CELLS if cell.name == "series, forgetful")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "repository", Scenario(steps=3), random.Random(1))


def test_a_world_tells_lost_repeated_and_broken_steps(world: World) -> None:
    first, second, third = world.asked
    world.write(first)
    world.write(first)
    world.write(second, is_broken=True)
    assert (world.lost, world.repeated) == (2, 1)
    assert world.test() == (f"FAILED {second}: broken\n1 passed, 1 failed\n", 2)
    world.write(second)  # mended, which is not the same again
    world.write(third)
    assert (world.lost, world.repeated, world.test().exit_code) == (0, 1, 0)


def test_what_an_action_showed_outweighs_what_a_list_says() -> None:
    messages = [
        Message("user", "- alpha-01: wanted\n- beta-02: wanted"),
        Message("tool", "alpha-01: written"),
        Message("list", "1 [>] alpha-01\n2 [x] beta-02"),
    ]
    assert read(messages).status == {"alpha-01": "done", "beta-02": "done"}
    assert read(messages).ids == {"alpha-01": "1", "beta-02": "2"}


def test_a_model_knows_nothing_that_no_text_told_it() -> None:
    assert Model(Rates(), random.Random(1)).decide([Message("user", "Hello")], has_list=True).kind == "plan"
    assert Model(Rates(), random.Random(1)).decide([Message("user", "Hello")], has_list=False).kind == "stop"


@pytest.mark.parametrize("arm", ["no list", "quiet", "classic", "off", "shared tasks"])
def test_the_same_seeds_give_the_same_numbers(arm: str) -> None:
    number = next(place for place, cell in enumerate(CELLS) if arm in cell.arms and 0.5 in cell.values)
    key = Key(number, 0.5, arm, seeds=2)
    assert run_key(key) == run_key(key)


@pytest.mark.parametrize("number", range(len(CELLS)))
def test_each_cell_runs_to_its_end(number: int) -> None:
    cell = CELLS[number]
    arm = "quiet" if "shared tasks" not in cell.arms else "shared tasks"
    (outcome,) = run_key(Key(number, cell.values[-1], arm, seeds=1))[1]
    assert 0 <= outcome.lost <= cell.scenario.steps + cell.scenario.requests + cell.scenario.follow_ups
    assert outcome.turns > 0


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """A stand-in for the API of a model that writes every step that it was asked for; what it was sent."""
    sent: list[Any] = []

    class Api(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            sent.append(body)
            step = f"alpha-{len(sent):02d}" if len(sent) == 1 else ""
            call = {"type": "tool_use", "id": "call-1", "name": "write_file", "input": {"step": step}}
            content = [call] if step else [{"type": "text", "text": "All done."}]
            answer = json.dumps({"content": content}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.server_address[1]}")
    yield sent
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_real_model_works_in_the_same_worlds(api: list[Any]) -> None:
    outcome = run_once("some-model", SERIES, "quiet", seed=0)
    assert (outcome.lost, outcome.repeated) == (11, 0)
    assert [tool["name"] for tool in api[0]["tools"]] == ["write_file", "run_tests", "todo"]
    assert api[1]["messages"][-1]["content"][0] == {
        "type": "tool_result",
        "tool_use_id": "call-1",
        "content": "alpha-01: written",
    }
