"""What is kept of a call: facts of its beginning and its end, and what its result says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.checks.commands import add_own_patterns
from punchlist.core.grounding.observe import Watch, call_from, end_facts, fingerprint, named_files, start_facts
from punchlist.core.grounding.results import read_result
from tests.core.build import NOW

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
keyed = st.dictionaries(
    st.sampled_from(
        ["exit_code", "output", "error", "success", "ok", "metadata", "content", "command", "file_path", "edits"]
    ),
    json_values,
    max_size=6,
)


def test_the_facts_of_a_beginning_hold_no_arguments_but_a_preview() -> None:
    facts = start_facts(
        "Bash", {"command": "API_KEY=abcdef pytest -q"}, kind="shell", changes=True, item="p1/1", via="hook"
    )
    assert facts == {
        "name": "Bash",
        "kind": "shell",
        "hash": facts["hash"],
        "item": "p1/1",
        "via": "hook",
        "program": "pytest",
        "check": {
            "name": "pytest",
            "family": "test",
            "line": {
                "checks": [{"name": "pytest", "family": "test", "program": "pytest"}],
                "table": [["p"], ["f"], []],
            },
        },
        "preview": "API_KEY=*** pytest -q",
    }


def test_previews_can_be_left_out_altogether() -> None:
    watch = Watch(previews=0)
    assert "preview" not in start_facts("Bash", {"command": "ls"}, kind="shell", watch=watch)
    assert end_facts("text", is_error=False, watch=watch) == {"is_error": False}


def test_own_checks_are_looked_for() -> None:
    watch = Watch(patterns=add_own_patterns({"prove": "build"}))
    assert start_facts("Bash", {"command": "prove"}, kind="shell", watch=watch)["check"]["family"] == "build"


def test_facts_of_a_beginning_and_its_call_say_the_same() -> None:
    args = {"command": "pytest | tail -3", "run_in_background": True}
    facts = start_facts("Bash", args, kind="shell", changes=True, item="p1/2")
    call = call_from("tool.started", {"call_id": "a", **facts}, NOW, 7)
    assert call.check is not None
    assert call.check.is_detached
    assert (call.item, call.started, call.changes, call.outcome) == ("p1/2", (NOW, 7), False, "running")


def test_a_check_in_the_background_is_not_believed_for_having_been_started() -> None:
    facts = start_facts("Bash", {"command": "pytest", "run_in_background": True}, kind="shell")
    assert (
        end_facts("Command running in background with ID: b1", is_error=False, started=facts)["check_outcome"]
        == "unknown"
    )


def test_of_an_edit_the_files_are_kept() -> None:
    assert start_facts("Edit", {"file_path": "src/a.py", "old_string": "x"}, kind="edit", changes=True)["files"] == [
        "src/a.py"
    ]
    assert "files" not in start_facts("Read", {"file_path": "src/a.py"}, kind="read")


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ({"path": "b", "paths": ["a", "b"]}, ("a", "b")),
        ({"edits": [{"file_path": "x"}, {"path": "y"}, "text"]}, ("x", "y")),
        (
            {"input": "*** Begin Patch\n*** Update File: a.py\n@@\n*** Add File: b/c.py\n*** End Patch"},
            ("a.py", "b/c.py"),
        ),
        ("*** Begin Patch\n*** Delete File: gone.py\n", ("gone.py",)),
        ({"patch": "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@"}, ("x.py",)),
        ({"file_path": "a\x1b[31m.py\n"}, ("a.py",)),
        ({"file_path": 3, "paths": "x"}, ()),
        (None, ()),
    ],
)
def test_files_are_found_where_tools_name_them(arguments: object, files: tuple[str, ...]) -> None:
    assert named_files(arguments) == files


@pytest.mark.parametrize(
    ("result", "is_error", "code", "failed"),
    [
        ("fine", False, None, False),
        ("fine", None, None, None),
        ("boom", True, None, True),
        ("Exit code 1\nboom", True, 1, True),
        ("Exit code: 2\nWall time: 1 s\nOutput:\nboom", False, 2, True),
        ("Chunk ID: 1\nProcess exited with code 3\nOutput:\n", None, 3, True),
        ("text\n[The command completed with exit code 0.]", False, 0, False),
        ("<returncode>1</returncode>", None, 1, True),
        ("long " * 500 + "\n[The command completed with exit code 4.]", False, 4, True),
        ("about exit codes: exit code 3 means x", False, None, False),
        ({"exit_code": 0, "output": "x"}, None, 0, False),
        ({"exit_code": 1, "output": "x"}, False, 1, True),
        ({"output": "x", "metadata": {"exit_code": 2}}, None, 2, True),
        ('{"output": "x", "metadata": {"exit_code": 2}}', None, 2, True),
        ({"returncode": 1}, None, 1, True),
        ({"exit_code": "0", "output": "x"}, None, 0, False),
        ({"exit_code": "1", "output": "x"}, False, 1, True),
        ({"returncode": 1.0}, False, 1, True),
        ({"exit_code": "none", "output": "x"}, False, None, False),
        ({"code": "1"}, False, None, False),
        ({"success": False}, None, None, True),
        ({"ok": False}, False, None, True),
        ({"error": "no"}, False, None, True),
        ({"error": "warn", "content": "x"}, False, None, False),
        ("Error executing tool 'x': no", False, None, True),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], False, None, False),
        (None, False, None, False),
        ({"exit_code": True}, None, None, None),
        (None, None, None, None),
        ({"stdout": "x", "stderr": ""}, None, None, None),
        ({"stdout": "", "interrupted": True}, False, None, True),
        ({"output": "x", "timed_out": True}, None, None, True),
        ({"success": True, "output": "x"}, None, None, False),
        ({"isError": False, "content": []}, None, None, False),
        ({"status": "success"}, None, None, False),
        ({"status": "failed", "output": "x"}, False, None, True),
        ({"metadata": {"exit": 0}, "output": "x"}, None, 0, False),
        ("The tool use was rejected", None, None, True),
    ],
)
def test_a_result_says_how_the_call_went_wherever_a_host_puts_it(
    result: object, is_error: bool | None, code: int | None, failed: bool | None
) -> None:
    found = read_result(result, is_error)
    assert (found.exit_code, found.failed) == (code, failed)


@pytest.mark.parametrize(
    ("given", "code", "failed", "outcome"),
    [
        ("0", 0, False, "passed"),
        (" 1\n", 1, True, "failed"),
        (2.0, 2, True, "failed"),
        ("-9", -9, True, "failed"),
        ("gone", None, False, "unknown"),
        (True, None, False, "unknown"),
    ],
)
def test_an_exit_code_may_come_as_text(given: Any, code: int | None, failed: bool, outcome: str) -> None:
    started = start_facts("Bash", {"command": "tsc"}, kind="shell", changes=True)
    facts = end_facts("", exit_code=given, started=started)
    assert (facts.get("exit_code"), facts["is_error"], facts["check_outcome"]) == (code, failed, outcome)


def test_the_text_of_a_result_is_found_in_its_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"content": [{"text": "b"}]}]
    assert read_result(parts).text == "a\nb"
    assert read_result({"stdout": "out", "stderr": "err"}).text == "out\nerr"
    assert len(read_result("x" * 10**6).text) == 65_536


@pytest.mark.parametrize(
    ("command", "result", "is_error"),
    [
        ("grep x a", {"exit_code": 1, "output": ""}, False),
        ("grep x a", "Exit code 1", False),
        ("grep x a", {"exit_code": 2}, True),
        ("diff a b", {"exit_code": 1}, False),
        ("git diff --quiet", {"exit_code": 1}, False),
        ("git push", {"exit_code": 1}, True),
        ("make x", {"exit_code": 1}, True),
    ],
)
def test_an_exit_code_of_one_may_be_an_answer(command: str, result: object, is_error: bool) -> None:
    facts = start_facts("Bash", {"command": command}, kind="shell")
    assert end_facts(result, started=facts)["is_error"] is is_error


@pytest.mark.parametrize("result", [None, "", "collected 3 items", {"stdout": "", "stderr": ""}, {"status": "running"}])
def test_a_check_of_which_nothing_was_seen_has_no_outcome(result: object) -> None:
    facts = start_facts("Bash", {"command": "pytest"}, kind="shell")
    found = end_facts(result, started=facts)
    assert (found["is_error"], found["check_outcome"]) == (False, "unknown")


@pytest.mark.parametrize("result", [{"status": "running"}, {"stdout": "", "backgroundTaskId": "b1"}])
def test_a_check_that_runs_on_has_no_outcome_though_the_call_went_well(result: object) -> None:
    facts = start_facts("Bash", {"command": "pytest"}, kind="shell")
    assert end_facts(result, is_error=False, started=facts)["check_outcome"] == "unknown"


STILL = "Command still running (session warm-reef, pid 12). Use process (list/poll) for follow-up."


@pytest.mark.parametrize(
    "result",
    [
        {"content": STILL, "details": {"status": "running", "sessionId": "warm-reef"}},
        STILL,
        {"content": "Approval required (id ab12).", "details": {"status": "approval-pending", "approvalId": "ab12"}},
        {"content": "Backgrounded as job bg_1", "details": {"async": {"state": "running", "jobId": "bg_1"}}},
        {"content": "collecting", "details": {"status": "completed", "exitCode": None}},
        {"output": "collecting", "metadata": {"exit": None}},
        "collecting\n\n<bash_metadata>\nbash tool terminated command after exceeding timeout 1 ms\n</bash_metadata>",
        "(no output)\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>",
        "Output: collecting\nSignal: 9\nProcess Group PGID: 1",
        "Output: (empty)\nError: (none)\nExit Code: (none)\nSignal: SIGKILL",
        "<tool_output_masked>\nFull output saved to: /logs/1\n</tool_output_masked>",
    ],
)
def test_a_check_that_did_not_come_to_its_end_has_no_outcome_though_the_host_says_success(result: object) -> None:
    facts = start_facts("exec", {"command": "pytest"}, kind="shell")
    found = end_facts(result, is_error=False, started=facts)
    assert (found["is_error"], found["check_outcome"]) == (False, "unknown")


@pytest.mark.parametrize(
    "result",
    [
        "",
        "Output: (empty)\nProcess Group PGID: 1",
        "Output: ok\nError: (none)\nExit Code: 0\nSignal: (none)",
        {"content": "(no output)", "details": {"status": "completed", "exitCode": 0}},
        {"stdout": "", "stderr": "", "interrupted": False},
    ],
)
def test_a_silent_check_that_came_to_its_end_has_passed_where_the_host_says_so(result: object) -> None:
    facts = start_facts("exec", {"command": "tsc --noEmit"}, kind="shell")
    assert end_facts(result, is_error=False, started=facts)["check_outcome"] == "passed"


@pytest.mark.parametrize("result", [{"success": True}, {"exit_code": 0}, "3 passed in 0.1s", "Exit code: 0\nok"])
def test_a_result_that_says_itself_that_it_went_well_is_believed(result: object) -> None:
    facts = start_facts("Bash", {"command": "pytest"}, kind="shell")
    assert end_facts(result, started=facts)["check_outcome"] == "passed"


def test_an_exit_code_that_is_given_goes_before_what_the_text_says() -> None:
    facts = start_facts("Bash", {"command": "pytest"}, kind="shell")
    found = end_facts("3 passed in 0.1s", exit_code=1, started=facts)
    assert (found["is_error"], found["exit_code"], found["check_outcome"]) == (True, 1, "failed")


@pytest.mark.parametrize(
    ("command", "printed", "outcome"),
    [
        ("pytest -q -s", "exit code: 2\n4 passed in 0.1s", "passed"),
        ("make test", "Process exited with code 1 (as expected)\nPASS", "passed"),
        ("curl -fsS localhost/api", '{"code":200,"message":"ok"}', "passed"),
        ("curl -fsS localhost/api/jobs/1", '{"id":1,"status":"failed"}', "passed"),
        ("curl -fsS localhost/health", '{"status":"running"}', "passed"),
        ("cat locales/de.json", '{"error":"Fehler","ok":"OK"}', None),
        ("python migrate.py", '{"ok": true, "code": 201}', None),
        ("cat mcp.log", "MCP error -32000: closed", None),
    ],
)
def test_beside_an_exit_code_what_a_program_printed_says_nothing_of_the_call(
    command: str, printed: str, outcome: str | None
) -> None:
    facts = start_facts("Bash", {"command": command}, kind="shell")
    found = end_facts(printed, exit_code=0, started=facts)
    assert (found["is_error"], found["exit_code"], found.get("check_outcome")) == (False, 0, outcome)


@pytest.mark.parametrize(
    ("kind", "shown", "failed"),
    [
        ("read", '{"error":"Fehler","ok":"OK"}', False),
        ("read", '{"status":"failed","code":7}', False),
        ("read", "exit code: 2\nis what it ends with", False),
        ("shell", '{"status":"failed","run":7}', False),
        ("shell", '{"exit_code":1,"output":""}', True),
        ("shell", '{"output":"","metadata":{"exit_code":1}}', True),
        ("shell", '{"stdout":"","interrupted":true}', True),
        ("shell", "Exit code: 2\nOutput:\nboom", True),
        ("edit", '{"success":false,"error":"not found"}', True),
        ("unknown", '{"success":false,"error":"not found"}', True),
    ],
)
def test_a_text_that_is_shown_is_no_answer_of_a_host_that_said_all_went_well(
    kind: str, shown: str, failed: bool
) -> None:
    facts = start_facts("tool", {"command": "./show"}, kind=kind)
    assert end_facts(shown, is_error=False, started=facts)["is_error"] is failed


def test_a_probe_that_shows_how_another_runs_has_come_to_its_end() -> None:
    facts = start_facts("Bash", {"command": "curl -fsS localhost/health"}, kind="shell")
    assert end_facts('{"status":"running"}', is_error=False, started=facts)["check_outcome"] == "passed"


def test_a_number_that_no_program_ends_with_is_no_exit_code() -> None:
    assert read_result({"code": 200, "message": "ok"})[1:3] == (None, None)
    assert read_result('{"exit": 404}')[1:3] == (None, None)


def test_a_hash_does_not_depend_on_the_order_of_keys() -> None:
    assert fingerprint({"a": 1, "b": [2]}) == fingerprint({"b": [2], "a": 1}) != fingerprint({"a": 1, "b": [3]})
    ring: list[Any] = []
    ring.append(ring)
    assert len({fingerprint(ring), fingerprint({1: 2, "x": {(): 1}}), fingerprint(object())}) == 3


@given(
    keyed | json_values,
    keyed | json_values,
    st.sampled_from(["shell", "edit", "read", "unknown"]),
    st.none() | st.booleans(),
)
def test_any_arguments_and_any_result_leave_facts_that_can_be_read_again(
    arguments: Any, result: Any, kind: str, is_error: bool | None
) -> None:
    start = start_facts("tool", arguments, kind=kind, changes=True)
    end = end_facts(result, is_error=is_error, started=start)
    assert call_from("tool.started", start, NOW).kind == kind
    assert call_from("tool.finished", end, NOW).outcome == ("failed" if end["is_error"] else "ok")
