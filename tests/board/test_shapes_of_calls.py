"""Calls as hosts hand them on: JSON texts, actions, patches in a shell, tools that run tests, output bit by bit."""

import json
from typing import Any

import pytest

from punchlist import Agent, Board
from punchlist.core.grounding.observe import fingerprint, start_facts

PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** Add File: b.py\n+x\n*** End Patch"


def agent(**options: Any) -> Agent:
    made = Board.open("memory:").agent("main", session="s1", **options)
    made.call("todo", {"set": ["One"]})
    return made


def graded(made: Agent, name: str, args: Any, result: str, **how: Any) -> str | None:
    made.tool_started("c1", name, args)
    made.tool_finished("c1", result=result, **how)
    made.call("todo", {"done": "1"})
    return made.todos.items[0].grade


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("Bash", '{"command": "pytest -q"}'),
        ("shell", ' {"command": ["bash", "-lc", "pytest -q"]}'),
        ("local_shell", {"action": {"type": "exec", "command": ["pytest", "-q"]}}),
        ("local_shell", '{"action": {"type": "exec", "command": ["pytest", "-q"]}}'),
        ("run_tests", {"path": "tests"}),
        ("runTests", '{"files": ["a.py"]}'),
        ("mcp__ide__run_test", {}),
        ("functions.pytest", {}),
    ],
)
def test_a_check_is_one_whichever_way_the_host_hands_it_on(name: str, args: Any) -> None:
    assert graded(agent(), name, args, "1 failed, 2 passed in 1s", is_error=False) == "failing"
    made = agent()
    assert graded(made, name, args, "2 passed in 1s", is_error=False) == "verified"
    assert made.work_on("1").files == ()


def test_a_tool_that_a_check_of_ones_own_names_is_that_check() -> None:
    own = {"prove_all": "test"}
    assert graded(agent(checks=own), "prove_all", {}, "2 failed", is_error=False) == "failing"
    assert graded(agent(checks=own), "mcp__ci__prove_all", {}, "", exit_code=0) == "verified"
    assert graded(agent(), "prove_all", {}, "2 passed", exit_code=0) == "unchecked"


@pytest.mark.parametrize("name", ["robot", "trial", "tests", "Read", "run"])
def test_a_tool_is_no_check_for_a_name_that_may_mean_anything(name: str) -> None:
    assert "check" not in start_facts(name, {}, kind="unknown", changes=True)


@pytest.mark.parametrize(
    ("name", "args", "files"),
    [
        ("write_file", '{"path": "src/a.py", "content": "x"}', ("src/a.py",)),
        ("shell", {"command": ["apply_patch", PATCH]}, ("b.py", "src/a.py")),
        ("shell", json.dumps({"command": ["apply_patch", PATCH]}), ("b.py", "src/a.py")),
        ("Bash", {"command": f"cd app && apply_patch <<'E'\n{PATCH}\nE"}, ("b.py", "src/a.py")),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'E'\n{PATCH}\nE"]}, ("b.py", "src/a.py")),
        ("Bash", {"command": f"cat <<'E'\n{PATCH}\nE"}, ()),
    ],
)
def test_the_files_of_an_edit_are_known_whichever_way_it_is_made(name: str, args: Any, files: tuple[str, ...]) -> None:
    made = agent()
    made.tool_started("c1", name, args)
    made.tool_finished("c1", result="ok", is_error=False)
    assert made.work_on("1").files == files


@pytest.mark.parametrize("line", ["{ pytest -q; }", "{", "[1]", '{"a": ', '{"command": "ls"', "[" * 10_000])
def test_a_text_that_is_no_json_object_stays_a_command_line(line: str) -> None:
    assert start_facts("Bash", line, kind="shell")["hash"] == fingerprint(line)


def test_arguments_as_a_json_text_are_kept_like_the_object_that_they_are() -> None:
    args = {"command": "API_KEY=abcdef make test", "timeout": 5}
    for kind in ("shell", "edit", "unknown"):
        assert start_facts("x", json.dumps(args), kind=kind) == start_facts("x", args, kind=kind)


def test_output_that_came_while_a_check_ran_is_judged_when_its_end_brings_none() -> None:
    for told, grade in (("1 failed, 2 passed in 1s", "failing"), ("2 passed in 1s", "verified"), ("…", "unchecked")):
        made = agent()
        made.tool_started("c1", "Bash", {"command": "pytest"})
        made.tool_updated("c1", "collecting")
        made.tool_updated("c1", told)
        made.tool_started("c1", "Bash", {"command": "pytest"})  # told twice
        made.tool_finished("c1")
        made.call("todo", {"done": "1"})
        assert made.todos.items[0].grade == grade
        assert [event.kind for event in made.board.events()].count("tool.started") == 1


def test_a_check_that_said_that_it_went_well_and_never_ended_proves_nothing() -> None:
    made = agent()
    made.tool_started("c1", "Bash", {"command": "pytest"})
    made.tool_updated("c1", "2 passed in 1s")
    made.user_turn()
    made.call("todo", {"done": "1"})
    assert made.todos.items[0].grade == "unchecked"


def test_the_loop_detector_reads_a_json_text_but_counts_what_the_host_gave() -> None:
    from punchlist.detect.signatures import sight

    text = '{"action": "poll", "id": 1}'
    assert sight("process", text).is_poll
    assert sight("process", text).key != sight("process", json.loads(text)).key
    plan = {"plan": [{"step": "a", "status": "pending"}]}
    assert sight("update_plan", json.dumps(plan)) == sight("update_plan", plan)
