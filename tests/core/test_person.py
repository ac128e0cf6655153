"""A command counts as a person's word with a terminal on stdin, outside every known agent, in the person's own name."""

import pytest

from punchlist.core.programs import AGENT_VARIABLES, doubt_person


def test_a_terminal_outside_of_agents_is_a_persons() -> None:
    assert doubt_person({"TERM": "xterm", "HOME": "/home/ada"}, is_terminal=True) is None


def test_without_a_terminal_no_person_types() -> None:
    assert doubt_person({}, is_terminal=False) == "stdin is no terminal"


@pytest.mark.parametrize("name", AGENT_VARIABLES)
def test_each_variable_of_an_agent_is_named(name: str) -> None:
    assert (doubt_person({name: "1"}, is_terminal=True) or "").startswith(f"{name} is set")
    assert doubt_person({name: ""}, is_terminal=True) is None


@pytest.mark.parametrize(
    "name",
    [
        *("CODEX_HOME", "CODEX_API_KEY", "CLAUDE_CONFIG_DIR", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"),
        *("GEMINI_CLI_IDE_SERVER_PORT", "GOOSE_PROVIDER", "OPENCODE_CONFIG", "QWEN_CODE_HOME", "CURSOR_TRACE_ID"),
    ],
)
def test_what_people_and_editors_set_themselves_says_nothing(name: str) -> None:
    assert doubt_person({name: "x"}, is_terminal=True) is None


def test_a_given_author_is_somebody_else() -> None:
    assert doubt_person({}, is_terminal=True, author="claude") == "--by gives another author"
