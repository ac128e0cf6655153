"""The first screen is one value: the command and the API show its fields, and no others."""

import json
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec.structs import fields

from punchlist.core.overview import NO_ACTIVITY, PersonWait, SessionLine, SubagentLine, TokenTotal
from punchlist.core.presence import Presence
from punchlist.views.now import AgentNowView, BoardAgent, DoneView, Roster, list_agents, view_now

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
LINE = SessionLine(
    focus="Paint", since=int(NOON.timestamp()), done=1, total=3, next="Dry", check="pytest",
    subagents=(SubagentLine("explore", 1, 2),), more=2,
)  # fmt: skip


def make_roster() -> Roster:
    activity = msgspec.structs.replace(NO_ACTIVITY, at=NOON, tokens=TokenTotal(1, 2, 3))
    own = BoardAgent(project="/x/shop", session="s1", agent="main", activity=activity, line=LINE, session_state="red")
    seen = Presence(host="codex", session="s1", state="busy", since=NOON, pid=7, title="Paint it")
    wait = PersonWait(kind="question", project="/x/shop", session="s2", agent="main", id="2", title="Buy", text="Red?")
    done = DoneView(since=NOON, items={"verified": 2}, sessions={"green": 1})
    rows = tuple(list_agents([seen], [own], [wait], NOON + timedelta(minutes=1)))
    return Roster(at=NOON, agents=rows, waits=(wait,), done=done)


def test_a_program_gets_every_field_of_an_agent_and_none_that_only_a_screen_needs():
    shown = json.loads(msgspec.json.encode(view_now(make_roster())))
    (agent,) = shown["agents"]
    assert list(agent) == [field.name for field in fields(AgentNowView)]
    assert agent["subagents"] == [{"name": "explore", "done": 1, "total": 2}]
    assert (agent["focus"], agent["focus_since"], agent["on_board"]) == ("Paint", "2026-05-04T12:00:00Z", True)
    assert agent["tokens"] == {"input": 1, "output": 2, "cached": 3}
    assert shown["done"] == {"since": "2026-05-04T12:00:00Z", "items": {"verified": 2}, "sessions": {"green": 1}}


def test_a_wait_comes_with_the_command_that_answers_it():
    (wait,) = view_now(make_roster()).waits
    assert wait.answer == ("punchlist answer 2 TEXT --session s2",)
