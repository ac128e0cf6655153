"""Calls that make commits: who made one is known from its result, or from the line that ran."""

from datetime import UTC, datetime, timedelta

import pytest

from punchlist import Board
from punchlist.core.grounding.commits import CommitCall, find_commit_call
from punchlist.core.grounding.tool_call import Moment, Subject, ToolCall
from punchlist.reports.git import Commit, find_makers

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINE = Subject("s", "main", "p/1")


def _call(name: str = "Bash", preview: str = "", result: str = "", kind: str = "shell", program: str = "") -> ToolCall:
    return ToolCall(
        id="1",
        name=name,
        kind=kind,
        program=program,
        preview=preview,
        result=result,
        started=Moment(NOON),
        finished=Moment(NOON + SECOND),
    )


@pytest.mark.parametrize(
    "call",
    [
        _call(preview="git commit -m x", program="git"),
        _call(preview="cd a && git add . && git -C b commit -qam x && ls", program="ls"),
        _call(preview="git pull --rebase", program="git"),
        _call(preview="cat <<EOF > a long text that is …", program="git"),
        _call(program="git"),
        _call("mcp__git__git_commit", kind="unknown"),
        _call(preview="make release", program="make", result="[main (root-commit) 3fa2b1c] Release 1 file changed"),
    ],
)
def test_a_line_of_git_and_what_names_its_commit_make_commits(call: ToolCall) -> None:
    assert find_commit_call(call, (MINE,)) is not None


@pytest.mark.parametrize(
    "call",
    [
        _call(preview="git status", program="git"),
        _call(preview="make", program="make", result="[100%] Built"),
        _call("Commit to memory", kind="unknown"),
        ToolCall(id="1", name="Bash", kind="shell", preview="git commit", result="[main 3fa2b1c] Paint"),
    ],
)
def test_other_calls_make_none(call: ToolCall) -> None:
    assert find_commit_call(call, (MINE,)) is None


def _made(who: str, *names: str, after: timedelta = timedelta(0), is_git: bool = True) -> CommitCall:
    return CommitCall((Subject("s", who, ""),), NOON + after, NOON + after + SECOND, names, is_git)


def test_a_commit_belongs_to_the_call_that_names_it_else_to_the_line_of_git_that_ran() -> None:
    commit = Commit("3fa2b1c0" * 5, NOON + SECOND / 2, "Paint", {})
    one, other, later = _made("one", "3fa2b1c"), _made("other", "1234567"), _made("later", after=5 * SECOND)
    assert find_makers(commit, [other, one]) == [one]
    assert find_makers(commit, [other, later]) == [other]
    assert find_makers(commit, [later, _made("no line", "7654321", is_git=False)]) == []


def test_a_call_of_a_child_counts_for_those_who_started_it() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s")
        agent.call("todo", {"set": ["Paint"]})
        child = agent.spawn("helper")
        deeper = child.spawn("deeper")
        deeper.tool_started("1", "Bash", {"command": "git commit -m x"})
        (found,) = board.report().committing
        assert [(of.agent, of.item) for of in found.of] == [("deeper", ""), ("helper", ""), ("main", "p1/1")]
        assert found.end is None
