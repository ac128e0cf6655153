"""Labels and ids of any length: they are cleaned and cut, and two that differ stay two."""

from punchlist import Board
from tests.dialects.boards import memory_board, written

LONG = "x" * 100_000


def _labels(board: Board) -> list[str]:
    return [event.data["label"] for event in board.events() if event.kind == "agent.spawned"]


def test_a_label_is_cleaned_and_cut() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s")
        agent.spawn("child", label="Paint\x1b[31m the\r\ndoor\u202e")
        agent.spawn("child", label=LONG)
        first, second = _labels(board)
        assert first == "Paint the door"
        assert len(second) == 200
        labels = board.store.read(lambda tx: [tx.agent("s", name) for name in ("child", "child-2")])
        assert [row.label for row in labels if row is not None] == [first, second]


def test_a_secret_at_the_border_of_a_label_is_not_shown_in_half() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s")
        agent.spawn("child", label="a" * 180 + " token ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8")
        assert "ghp_" not in _labels(board)[0]


def test_the_same_long_spawn_id_finds_the_same_child() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s")
        first = agent.spawn("child", id=LONG)
        assert agent.spawn("child", id=LONG).name == first.name
        assert agent.spawn("child", id=LONG + "y").name != first.name


def test_a_call_id_that_is_too_long_is_answered_with_an_error() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s", dialect="claude-code")
        reply = agent.call("TodoWrite", written("> Paint"), call_id=LONG)
        assert (reply.is_error, [problem.code for problem in reply.problems]) == (True, ["call_id_too_long"])
        assert not agent.todos.items
        assert not agent.call("TodoWrite", written("> Paint"), call_id="x" * 500).is_error


def test_reports_under_long_ids_that_differ_at_their_end_are_two_calls() -> None:
    with memory_board() as board:
        agent = board.agent("main", session="s")
        for call_id in (LONG + "1", LONG + "2"):
            agent.tool_started(call_id, "Bash", {"command": "ls"})
        agent.tool_finished(LONG + "1", result="done")
        ids = [event.data["call_id"] for event in board.events() if event.kind == "tool.started"]
        assert len(set(ids)) == 2
        assert max(map(len, ids)) < 300
        assert agent.work_on("").running == 1
