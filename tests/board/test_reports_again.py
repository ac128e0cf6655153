"""Reports that come twice, late, or in another order than they happened."""

from pathlib import Path

from punchlist import Agent, Board


def _call(agent: Agent, number: int, command: str = "ls", result: str = "x", code: int = 0) -> None:
    agent.tool_started(f"c{number}", "Bash", {"command": command})
    agent.tool_finished(f"c{number}", result=result, exit_code=code)


def _work(agent: Agent) -> None:
    """A test that fails, long work, and a test that passes."""
    _call(agent, 0, "pytest", "1 failed in 1s", 1)
    for number in range(1, 40):
        _call(agent, number, f"ls {number}")
    _call(agent, 40, "pytest", "9 passed in 1s")


def test_everything_reported_again_is_counted_once(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.db") as board:
        agent = board.agent("main", session="s")
        agent.call("todo", {"set": ["A", "B"]})
        _work(agent)
        before = board.store.last_seq()
        _work(agent)
    with Board.open(tmp_path / "board.db") as board:
        agent = board.agent("main", session="s")
        _work(agent)
        assert [event.kind for event in board.events(before)] == []
        assert (agent.work_on("1").calls, agent.work_on("1").failures) == (41, 1)
        agent.call("todo", {"done": "1"})
        _call(agent, 0, "pytest", "1 failed in 1s", 1)
        assert agent.todos.items[0].grade == board.report(session="s").items[0].grade == "verified"


def test_an_end_that_comes_before_its_beginning_says_how_the_check_went() -> None:
    for result, code, grade in (("1 failed in 1s", 1, "failing"), ("2 passed in 1s", 0, "verified")):
        with Board.open("memory:") as board:
            agent = board.agent("main", session="s")
            agent.call("todo", {"set": ["A", "B"]})
            agent.tool_finished("late", result=result, exit_code=code)
            agent.tool_started("late", "Bash", {"command": "pytest"})
            agent.call("todo", {"done": "1"})
            assert agent.todos.items[0].grade == board.report(session="s").items[0].grade == grade


def test_an_id_of_the_host_is_never_taken_for_one_that_we_made_up() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s")
        agent.call("todo", {"set": ["A", "B"]})
        agent.tool_started("#1", "Read", {})
        agent.tool_started(None, "Bash", {"command": "pytest"})
        agent.tool_finished(None, name="Bash", result="1 failed in 1s", exit_code=1)
        agent.call("todo", {"done": "1"})
        assert agent.todos.items[0].grade == "failing"


def test_of_two_ends_that_contradict_each_other_the_worse_is_believed() -> None:
    for codes in ((0, 1), (1, 0)):
        with Board.open("memory:") as board:
            agent = board.agent("main", session="s")
            agent.call("todo", {"set": ["A"]})
            agent.tool_started("1", "Bash", {"command": "pytest"})
            for code in codes:
                agent.tool_finished("1", result="1 failed in 1s" if code else "2 passed in 1s", exit_code=code)
            agent.call("todo", {"done": "1"})
            assert agent.todos.items[0].grade == board.report(session="s").items[0].grade == "failing"


def test_an_end_without_an_id_that_is_told_twice_says_nothing_of_the_next_call() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s")
        agent.call("todo", {"set": ["A"]})
        agent.tool_started(None, "Bash", {"command": "pytest"})
        for _ in range(2):
            agent.tool_finished(None, name="Bash", result="2 passed in 1s", exit_code=0)
        agent.tool_started(None, "Bash", {"command": "pytest"})
        assert agent.work_on("1").running == 1
        agent.tool_finished(None, name="Bash", result="1 failed in 1s", exit_code=1)
        agent.call("todo", {"done": "1"})
        assert agent.todos.items[0].grade == board.report(session="s").items[0].grade == "failing"


def test_a_call_whose_end_without_an_id_came_before_its_beginning_proves_nothing() -> None:
    with Board.open("memory:") as board:
        agent = board.agent("main", session="s", profile="off")
        agent.call("todo", {"set": ["A"]})
        agent.tool_finished(None, name="Bash", result="2 passed in 1s", exit_code=0)
        agent.tool_started(None, "Bash", {"command": "pytest"})
        agent.about_to_stop()
        assert agent.work_on("1").abandoned == 1
        agent.call("todo", {"done": "1"})
        assert agent.todos.items[0].grade == board.report(session="s").items[0].grade == "unchecked"
