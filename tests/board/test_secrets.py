"""No secret reaches the log, by whichever field it comes, and whatever the length of previews."""

from collections.abc import Callable

import pytest

from punchlist import Board
from punchlist.errors import ConfigInvalid

TOKEN = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.mark.parametrize("previews", [0, 160])
def test_names_ids_files_programs_labels_and_evidence_are_kept_without_secrets(previews: int) -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", previews=previews)
        agent.call("todo", {"set": ["Paint", "Sand"]})
        agent.tool_started("1", "Edit", {"file_path": f"https://ada:hunter2@host/{TOKEN}"})
        agent.tool_finished("1", result=TOKEN)
        agent.tool_started(f"call {TOKEN}", f"tool {TOKEN}", {"command": f"{TOKEN} x"})
        agent.tool_updated(f"call {TOKEN}", TOKEN)
        agent.tool_finished(f"call {TOKEN}", result=TOKEN)
        agent.tool_started("3", "Bash", {"command": f"{TOKEN} x"})
        agent.output(f"It is {TOKEN}.\n\nRemember it.")
        agent.spawn("kid", label=f"use {TOKEN}").finished(TOKEN)
        agent.call("todo", {"done": "1", "evidence": f"curl -H 'Authorization: Bearer {TOKEN}' https://host"})
        said = repr([event.data for event in board.events()])
        assert TOKEN not in said
        assert "hunter2" not in said
        evidence = agent.todos.items[0].evidence[0].text
        assert TOKEN not in evidence
        assert evidence.endswith("https://host")
        assert agent.work_on("1").calls == 3


def test_two_calls_whose_ids_differ_in_their_secrets_only_are_two_calls() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        for number in range(2):
            agent.tool_started(f"{TOKEN}{number}", "Read", {"path": "a"})
            agent.tool_finished(f"{TOKEN}{number}", result="ok")
        assert agent.work_on("").calls == 2


def test_patterns_of_ones_own_are_an_option_and_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUNCHLIST_REDACT", r"(?i:corp_\w+)")
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1", redact=[r"acme-\d{4}", "blue"])
        agent.call("todo", {"set": ["Paint", "Sand"]})
        agent.tool_started("1", "Edit", {"file_path": "/acme-1234/CORP_x.py"})
        agent.tool_finished("1", result="acme-1234")
        agent.tool_started("2", "Bash", {"command": "acme-1234 --blue"})
        agent.output("corp_one and acme-1234")
        agent.spawn("kid", label="paint it blue")
        agent.call("todo", {"done": "1", "evidence": "Corp_two says so"})
        said = repr([event.data for event in board.events()]).lower()
        assert not [secret for secret in ("acme-1234", "corp_", "blue") if secret in said]


@pytest.mark.parametrize("patterns", [["("], [""], [7], "("])
def test_a_pattern_that_is_none_is_named_at_once(patterns: list[str]) -> None:
    with Board.open("memory:") as board, pytest.raises(ConfigInvalid, match="redact"):
        board.agent("main", session="s1", redact=patterns)


GUESSES: list[Callable[[str], object]] = [
    lambda secret: {"command": f"mysql -u root -p{secret} db"},
    lambda secret: {"command": ["docker", "login", "-p", secret]},
    lambda secret: {"password": secret, "user": "ada"},
    lambda secret: f"curl -u ada:{secret} https://host",
]


@pytest.mark.parametrize("guess", GUESSES)
def test_the_hash_of_arguments_does_not_tell_whether_a_guess_is_right(guess: Callable[[str], object]) -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s1")
        for number, secret in enumerate(("swordfish", "letmein9", "Tr0ub4dor&3")):
            agent.tool_started(str(number), "Bash", guess(secret))
        agent.tool_started("other", "Bash", {"command": "make test"})
        *same, other = [event.data["hash"] for event in board.events() if event.kind == "tool.started"]
        assert len(set(same)) == 1
        assert other not in same
