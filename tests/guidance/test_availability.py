"""Who is offered the todo tool: by the project's setting, the host's word, and the dialect's policy."""

from typing import Any

import pytest

from punchlist import Board
from punchlist.dialects import REGISTRY, dialect
from punchlist.errors import ConfigInvalid, InvalidInput
from tests.dialects.boards import memory_board, todo, written

WITHHELD = {"oh-my-pi", "opencode"}


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_an_agent_of_its_own_is_offered_the_tool_in_every_dialect(name: str) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect=name)
        assert agent.offered
        assert agent.tools == dialect(name).tools


@pytest.mark.requirement("oh-my-pi.subagents", "opencode.subagents", "claude-code.subagents")
@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_subagent_is_offered_the_tool_as_the_original_has_it(name: str) -> None:
    with memory_board() as board:
        child = board.agent("main", session="s", dialect=name).spawn("explore")
        assert child.offered is (name not in WITHHELD)
        grandchild = child.spawn("deeper", dialect="claude-code")
        assert grandchild.offered


def test_a_subagent_keeps_its_own_list() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect="claude-code")
        agent.call("TodoWrite", written("> Paint"))
        child = agent.spawn("explore")
        child.call("TodoWrite", written("> Look", "Tell"))
        assert (len(agent.todos.items), len(child.todos.items)) == (1, 2)


@pytest.mark.requirement("claude-code.contexts", "oh-my-pi.yield")
@pytest.mark.parametrize(
    ("name", "context", "offered"),
    [
        ("claude-code", "commit", False),
        ("claude-code", "pull_request", False),
        ("claude-code", "yield", True),
        ("oh-my-pi", "yield", False),
        ("oh-my-pi", "commit", True),
        ("punchlist", "commit", True),
        ("claude-code", "something else", True),
    ],
)
def test_in_some_contexts_the_original_takes_the_tool_away(name: str, context: str, offered: bool) -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect=name, context=context)
        assert agent.offered is offered
        assert agent.spawn("explore", dialect="claude-code").offered is (context not in ("commit", "pull_request"))


@pytest.mark.parametrize("options", [{"context": "commit"}, {"subagent": True}, {}])
@pytest.mark.parametrize("offered", [True, False])
def test_the_host_has_the_last_word_over_the_dialect(options: Any, offered: bool) -> None:
    with memory_board() as board:
        for name in ("claude-code", "opencode"):
            assert board.agent("main", session="s", dialect=name, offered=offered, **options).offered is offered


def test_a_host_can_give_the_tool_to_a_subagent_and_take_it() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect="opencode")
        assert agent.spawn("a", offered=True).offered
        assert not board.agent("main", session="s").spawn("b", offered=False).offered


def test_what_the_host_denied_an_agent_its_children_do_not_get_and_what_it_forced_is_not_passed_on() -> None:
    with memory_board() as board:
        denied = board.agent("main", session="s", offered=False)
        assert not denied.spawn("a").offered
        assert not denied.spawn("b").spawn("c").offered
        assert denied.spawn("d", offered=True).offered
        forced = board.agent("main", session="s", dialect="opencode", offered=True)
        assert not forced.spawn("e").offered


def test_a_found_subagent_is_still_one() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect="opencode")
        assert not agent.spawn("a", id="x").offered
        assert not agent.spawn("a", id="x").offered


def test_a_tool_that_is_not_offered_is_unknown() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect="claude-code", context="commit")
        assert agent.tools == ()
        reply = agent.call("TodoWrite", written("> Paint"), call_id="c1")
        assert (reply.is_error, reply.problems[0].code) == (True, "unknown_tool")
        assert reply.text == "Unknown tool `TodoWrite`. Available: none."
        assert list(board.events()) == []


def test_the_list_of_an_agent_without_the_tool_can_still_be_seen_and_edited() -> None:
    with memory_board() as board:
        todo(board.agent("main", session="s"), set=["Paint"])
        agent = board.agent("main", session="s", dialect="claude-code", context="commit")
        assert agent.edit({"op": "done", "task": "Paint"}, by="ada").progress.percent == 100


@pytest.mark.parametrize("offered", [None, True])
def test_the_projects_off_goes_before_everything(monkeypatch: pytest.MonkeyPatch, offered: bool | None) -> None:
    monkeypatch.setenv("PUNCHLIST_TODOS", "off")
    with memory_board() as board:
        agent = board.agent("main", session="s", offered=offered)
        assert (agent.offered, agent.tools, agent.layers, agent.compaction_block()) == (False, (), (), None)
        assert agent.call("todo", {"add": ["Paint"]}).is_error


def test_the_projects_on_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUNCHLIST_TODOS", "on")
    with memory_board() as board:
        assert board.agent("main", session="s").offered
        assert not board.agent("main", session="s", dialect="opencode", subagent=True).offered


def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUNCHLIST_TODOS", "maybe")
    with memory_board() as board, pytest.raises(ConfigInvalid) as caught:
        board.agent("main", session="s")
    assert caught.value.data["name"] == "PUNCHLIST_TODOS"


@pytest.mark.parametrize("context", ["", "a\nb", "x" * 300])
def test_a_context_is_a_name(context: str) -> None:
    with Board.open("memory:") as board, pytest.raises(InvalidInput):
        board.agent("main", session="s", context=context)
