"""One small story, told on a local board and on one over HTTP: what it returns is the same."""

from typing import Any, cast

import msgspec

from punchlist import Board

FIX = {"todos": [{"content": "Fix the login", "status": "in_progress", "activeForm": "Fixing the login"}]}

COVER = {"content": "Cover it", "status": "pending", "activeForm": "Covering it"}


def tell(board: Board, word: str) -> dict[str, Any]:
    """Let an agent work in the session `word`, and return everything that it was told."""
    agent = board.agent(session=word, dialect="claude-code")
    said: dict[str, Any] = {"tools": agent.tools, "before": (agent.todos.items, agent.mode, agent.plan)}
    agent.user_turn("Fix the login\nand more")
    said["write"] = agent.call("TodoWrite", FIX, call_id="toolu_1")
    said["again"] = agent.call("TodoWrite", FIX, call_id="toolu_1")
    said["reused"] = agent.call("TodoWrite", {"todos": []}, call_id="toolu_1")
    said["unknown"] = agent.call("NoSuchTool", {})
    said["todos"] = agent.todos
    said["turn"] = agent.assistant_turn(["TodoWrite"])
    said["stop"] = agent.about_to_stop("I am done.")
    said["block"] = agent.compaction_block()
    said["edited"] = agent.edit([{"op": "append", "items": ["Cover it"]}], by="laptop", revision=agent.todos.revision)
    said["at"] = (agent.at(1), agent.at(99))
    said["news"] = agent.before_request()
    said["verdict"] = agent.tool_started("c1", "Bash", {"command": "pytest -q"})
    agent.tool_updated("c1", "1 passed")
    agent.tool_finished("c1", "1 passed in 0.1s", exit_code=0)
    agent.tool_started("c2", "Edit", {"file_path": "login.py", "old_string": "a", "new_string": "b"})
    agent.tool_finished("c2", "ok", is_error=False)
    agent.tool_started("c3", "Bash", {"command": "pytest -q"})
    agent.tool_failed("c3", "timed out")
    agent.tool_started("c4", "Bash", {"command": "pytest -q"})
    agent.tool_finished("c4", "2 passed in 0.1s", exit_code=0)
    done = {**FIX["todos"][0], "status": "completed"}
    said["completed"] = agent.call("TodoWrite", {"todos": [done, COVER]}, call_id="toolu_2")
    said["asked"] = agent.ask("2", "Which tests?")
    said["mode"] = agent.enter_plan_mode("It is large").because
    said["refused"] = agent.permits("Write", {"file_path": "a.py"})
    proposed = agent.propose_plan("1. Read\n2. Write")
    said["plan"] = agent.approve_plan(proposed.revision, by="laptop")
    said["mode after"] = agent.mode
    child = agent.spawn("explore", label="Explore the code")
    child.call("TodoWrite", {"todos": [{"content": "Read", "status": "pending", "activeForm": "Reading"}]})
    said["child"] = (child.name, agent.spawn("explore").name, child.todos.items)
    child.finished("Read it all")
    agent.compacted()
    agent.output("Hello")
    said["work"] = agent.work
    said["overview"] = [(one.agent, one.state, one.counts) for one in board.overview() if one.session == word]
    said["waits"] = [(one.kind, one.text) for one in board.waits(session=word)]
    report = board.report(session=word)
    said["report"] = (report.state, [(one.item.content, one.grade) for one in report.items], report.totals.items)
    said.update(_work_on_tasks(board, word))
    said["kinds"] = [event.kind for event in board.events() if event.session == word]
    return said


def _work_on_tasks(board: Board, word: str) -> dict[str, Any]:
    said: dict[str, Any] = {}
    tasks = board.tasks(f"release {word}", by="laptop")
    said["empty"] = (tasks.list(), tasks.ready(), tasks.claim("worker"), tasks.graph())
    first = tasks.create("Write it", call_id="a", priority=1, checklist=["One", "Two"], state={"n": 1})
    said["same"] = tasks.create("Write it", call_id="a", priority=1, checklist=["One", "Two"], state={"n": 1}).id
    second = tasks.create("Ship it", blocked_by=[first.id], labels=["ship"])
    said["ready"] = [one.id for one in tasks.ready()]
    mine = tasks.claim("worker-1", lease=60)
    assert mine is not None
    said["none"] = tasks.claim("worker-2")
    said["stale"] = _name_error(lambda: tasks.complete(first.id, fence=mine.fence + 1))
    said["blocked"] = _name_error(lambda: tasks.claim("worker-2", id=second.id))
    said["missing"] = _name_error(lambda: tasks.get("99"))
    said["cycle"] = _name_error(lambda: tasks.update(first.id, add_blocked_by=[second.id]))
    said["conflict"] = _name_error(lambda: tasks.update(first.id, subject="No", revision=99))
    tasks.heartbeat(first.id, fence=mine.fence)
    said["open"] = _name_error(lambda: tasks.complete(first.id, fence=mine.fence))
    tasks.update(first.id, fence=mine.fence, checked=["One", "Two"])
    said["done"] = tasks.complete(first.id, fence=mine.fence, result={"lines": 3})
    claimed = tasks.claim("worker-2", limit=5)
    said["two"] = [one.id for one in claimed]
    said["failed"] = tasks.fail(second.id, "No network", fence=claimed[0].fence)
    said["retried"] = tasks.retry(second.id)
    said["waiting"] = tasks.wait(second.id, topic="ci", correlation_id="7")
    said["woken"] = tasks.signal("ci", "7", {"ok": True})
    said["cancelled"] = tasks.cancel(second.id, "Not now")
    said["graph"] = tasks.graph().edges
    said["list"] = tasks.list(status="completed")
    said["deleted"] = tasks.delete(second.id).id
    said["history"] = [event.kind for event in tasks.history(second.id)]
    own = board.agent(session=word).tasks("own " + word)
    made = own.create("Mine")
    said["own"] = (own.update(made.id, status="in_progress").status, own.get(made.id).owner)
    return said


def _name_error(work: Any) -> Any:
    try:
        work()
    except Exception as error:
        return type(error).__name__, str(error)
    return None


_VOLATILE = ("at", "since", "until", "id", "plan_id", "next_id")


def settle(value: Any) -> Any:
    """Return a value without its times, and without ids that are random."""
    return _without_times(msgspec.to_builtins(value, str_keys=True))


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value)
        return {
            key: _without_times(one)
            for key, one in value.items()
            if not key.endswith(("_at", "_until")) and key not in _VOLATILE
        }
    if isinstance(value, list | tuple):
        value = cast("list[Any]", value)
        return [_without_times(one) for one in value]
    return value
