"""A process forks while it uses a board: both sides go on, and neither loses what the other writes."""

import os
from pathlib import Path

from punchlist import Board
from tests.store.writers import operations_of, run

_PRELUDE = """
import os, sys, threading
from punchlist import Board
from punchlist.errors import StoreClosed
from tests.store.writers import operation, operations_of

def child(action):
    pid = os.fork()
    if pid:
        return pid
    try:
        action()
    except BaseException as error:
        print("child:", repr(error), flush=True)
        os._exit(1)
    os._exit(0)

def ended(*pids):
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]

path = sys.argv[1]
"""


def _run(script: str, path: Path) -> list[str]:
    done = run(_PRELUDE + script, str(path))
    assert done.stdout.strip() == "fine", done.stdout + done.stderr
    if not path.exists():
        return []
    with Board.open(path) as board:
        events = list(board.events())
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return operations_of(events)


def test_parent_and_children_write_and_read_at_once(tmp_path: Path) -> None:
    script = """
board = Board.open(path)
operation(board, "first")
threads = [threading.Thread(target=lambda n=n: [operation(board, f"t{n}x{i}") for i in range(30)]) for n in range(3)]
def work(n):
    for i in range(10):
        operation(board, f"c{n}x{i}")
        assert f"c{n}x{i}" in operations_of(list(board.events()))
for thread in threads: thread.start()
children = [child(lambda n=n: work(n)) for n in range(4)]
for thread in threads: thread.join()
assert ended(*children) == [0] * 4
operation(board, "last")
board.close()
print("fine")
"""
    names = _run(script, tmp_path / "board.db")
    assert len(names) == len(set(names)) == 2 + 90 + 40


def test_what_a_child_writes_after_its_parent_closed_the_board_is_kept(tmp_path: Path) -> None:
    """A child that kept its parent's idea of the locks would write to a log that the parent deleted."""
    script = """
board = Board.open(path)
operation(board, "parent")
board.agent("main", session="storm").todos
closed, wrote = os.pipe(), os.pipe()
def work():
    operation(board, "child 1")
    os.write(wrote[1], b"!")
    os.read(closed[0], 1)
    operation(board, "child 2")
pid = child(work)
os.read(wrote[0], 1)
board.close()
os.write(closed[1], b"!")
assert ended(pid) == [0]
with Board.open(path) as again:
    names = operations_of(list(again.events()))
assert names == ["parent", "child 1", "child 2"], names
print("fine")
"""
    assert _run(script, tmp_path / "board.db") == ["parent", "child 1", "child 2"]


def test_a_child_forked_inside_a_transaction_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    script = """
board = Board.open(path)
operation(board, "first")
def refused():
    try:
        operation(board, "never")
    except StoreClosed:
        return
    raise AssertionError("a child took part in its parent's transaction")
def work(tx):
    row = tx.agent("storm", "main")
    tx.modes.save(row, "plan", None, at=board.now())
    return child(refused)
pid = board.store.transact(work)
assert ended(pid) == [0]
assert board.agent("main", session="storm").mode == "plan"
board.agent("main", session="storm").exit_plan_mode()
operation(board, "last")
board.close()
print("fine")
"""
    assert _run(script, tmp_path / "board.db") == ["first", "last"]


def test_a_board_in_memory_is_two_boards_after_a_fork(tmp_path: Path) -> None:
    script = """
board = Board.open("memory:")
operation(board, "first")  # a fork in the midst of another thread's import would leave a child without it
threads = [threading.Thread(target=lambda n=n: [operation(board, f"t{n}x{i}") for i in range(50)]) for n in range(2)]
for thread in threads: thread.start()
children = [child(lambda n=n: operation(board, f"c{n}")) for n in range(5)]
for thread in threads: thread.join()
assert ended(*children) == [0] * 5
assert len(operations_of(list(board.events()))) == 101
print("fine")
"""
    assert _run(script, tmp_path / "none.db") == []


def test_a_follower_goes_on_after_a_fork_on_both_sides(tmp_path: Path) -> None:
    script = """
board = Board.open(path)
def until(name, seen):
    for event in board.follow():
        if event.kind == "item.added":
            seen.append(event.data["item"]["content"])
            if seen[-1] == name:
                return
seen = []
follower = threading.Thread(target=until, args=("from child", seen))
follower.start()
operation(board, "from parent")
def work():
    operation(board, "from child")
    mine = []
    until("from child", mine)
    assert mine == ["from parent", "from child"]
assert ended(child(work)) == [0]
follower.join()
assert seen == ["from parent", "from child"]
board.close()
print("fine")
"""
    assert _run(script, tmp_path / "board.db") == ["from parent", "from child"]


def test_a_board_in_memory_that_was_closed_does_not_disturb_a_fork() -> None:
    board = Board.open("memory:")
    board.agent(session="s").call("todo", {"set": ["Paint"]})
    board.close()
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
