"""The bench itself: each real agent plays a scripted turn with a tool of its own, and the terminals work."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from tests.agents.model_api import Call, Request, Say, Script, Turn
from tests.agents.programs import PROGRAMS, ClaudeCode, Codex, Sandbox
from tests.agents.terminal import Terminal

# What each agent's shell tool is called, and the option that lets it run without a question.
SHELL_CALLS: dict[str, tuple[Call, tuple[str, ...]]] = {
    "claude": (Call("Bash", {"command": "cat word", "description": "Read"}), ("--allowedTools", "Bash")),
    "codex": (Call("exec_command", {"cmd": "cat word"}), ()),
    "opencode": (Call("bash", {"command": "cat word", "description": "Read"}), ()),
    "gemini": (Call("run_shell_command", {"command": "cat word"}), ("--yolo",)),
}
VERSIONS = {"claude": "2.1.325", "codex": "0.166.0", "opencode": "1.18.33", "gemini": "0.61."}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_agent_runs_a_scripted_turn_with_a_tool_of_its_own(name: str, sandbox: Sandbox) -> None:
    call, options = SHELL_CALLS[name]
    (sandbox.project / "word").write_text("heliotrope\n", encoding="utf-8")
    with PROGRAMS[name](sandbox, [[Say("Reading."), call], [Say("Read it.")]]) as program:
        version = program.version()
        print(f"{name}: {version}")
        assert VERSIONS[name] in version
        done = program.run("Read the word", *options)
        first, second = program.api.main_requests
    assert "Read it." in done.stdout
    assert call.name in first.tools
    assert "Read the word" in first.text
    assert "heliotrope" not in first.text
    assert "heliotrope" in second.text


def test_a_script_may_be_a_function_of_the_request(claude: Callable[[Script], ClaudeCode]) -> None:
    def answer(request: Request) -> Turn:
        return [Say(f"{len(request.body['messages'])} messages")]

    assert "messages" in claude(answer).run("Count").stdout


def test_a_script_that_ran_out_ends_the_conversation(claude: Callable[[Script], ClaudeCode]) -> None:
    assert claude([]).run("Hello").stdout.strip() == "Done."


def test_waiting_for_a_request_that_never_comes_says_what_came(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude([])
    program.run("Hello")
    with pytest.raises(TimeoutError, match="POST /v1/messages"):
        program.api.wait_for(lambda requests: len(requests) > 1, timeout=0.1)


def test_claude_code_shows_its_prompt_and_takes_turns_in_a_terminal(
    claude: Callable[[Script], ClaudeCode], open_terminal: Callable[..., Terminal]
) -> None:
    program = claude([[Say("Good morning to you.")], [Say("And a good night.")]])
    terminal = open_terminal(program)
    terminal.wait_for_text("❯")
    terminal.submit("Say good morning")
    terminal.wait_for_text("Good morning to you.")
    terminal.submit("Say good night")
    terminal.wait_for_text("And a good night.")
    assert len(program.api.main_requests) == 2
    assert terminal.is_running


def test_codex_shows_its_prompt_and_takes_a_turn_in_a_terminal(
    codex: Callable[[Script], Codex], open_terminal: Callable[..., Terminal]
) -> None:
    program = codex([[Say("Good morning to you.")]])
    # Without its daemon, of which it would first make a copy.
    terminal = open_terminal(program, "--disable", "daemon_auto_start")
    terminal.wait_for_text("Ask Codex")
    terminal.submit("Say good morning")
    terminal.wait_for_text("Good morning to you.")
    assert len(program.api.main_requests) == 1


def test_the_daemon_of_codex_hands_a_message_to_an_idle_session(
    codex: Callable[[Script], Codex], open_terminal: Callable[..., Terminal]
) -> None:
    program = codex([[Say("Good morning to you.")], [Say("And a good night.")]])
    program.start_daemon()
    terminal = open_terminal(program)
    terminal.wait_for_text("Ask Codex")
    terminal.submit("Say good morning")
    terminal.wait_for_text("Good morning to you.")
    session = program.api.main_requests[0].session
    assert session is not None
    argv = ["codex", "queue", "--thread", session, "--message", "Say good night", "--resume"]
    while (done := program.sandbox.run(argv, env=program.variables)).returncode != 0:
        # A daemon that does not answer at once is passed over, and then nothing is queued.
        assert "daemon is running" in done.stderr, done.stderr
    terminal.wait_for_text("And a good night.")
    assert "Say good night" in program.api.main_requests[1].text


def test_two_sessions_of_one_stand_in_are_told_apart(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude(lambda request: [Say(f"This is {request.session}.")])
    for session in (str(uuid4()), str(uuid4())):
        assert program.run("Who is this?", "--session-id", session).stdout.strip() == f"This is {session}."


def test_a_request_of_codex_names_its_session(codex: Callable[[Script], Codex]) -> None:
    program = codex([])
    done = program.run("Hello")
    assert f"session id: {program.api.main_requests[0].session}\n" in done.stderr


def test_a_compaction_takes_no_turn_of_the_script(claude: Callable[[Script], ClaudeCode]) -> None:
    program = claude([[Say("One.")], [Say("Two.")]])
    session = str(uuid4())
    program.run("Say one", "--session-id", session)
    program.run("/compact", "--resume", session)
    assert program.run("Say two", "--resume", session).stdout.strip() == "Two."
    assert "A summary of the conversation." in program.api.main_requests[-1].text
    assert "Say one" not in program.api.main_requests[-1].text


def test_a_key_for_a_program_that_ended_fails_at_once(
    claude: Callable[[Script], ClaudeCode], open_terminal: Callable[..., Terminal]
) -> None:
    terminal = open_terminal(claude([]), "--version")
    terminal.wait_for(lambda _: not terminal.is_running)
    with pytest.raises(RuntimeError, match="ended before it showed 'never'"):
        terminal.press("Enter", "never")
