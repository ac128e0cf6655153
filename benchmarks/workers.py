"""What other processes do during a measurement: `python -m benchmarks.workers notes|bare_notify|idle …`."""

from __future__ import annotations

import json
import sys
import threading
import time

from punchlist import Board


def notes(path: str, count: str, pause: str) -> None:
    """Writes with pauses, and prints when each began: `{revision: nanoseconds}`."""
    began: dict[int, int] = {}
    with Board.open(path) as board:
        agent = board.agent(session="writer", dialect="punchlist")
        for index in range(int(count)):
            time.sleep(float(pause))
            start = time.monotonic_ns()
            agent.call("todo", {"add": [f"step {index}"]})
            began[agent.todos.revision] = start
    print(json.dumps(began))


def bare_notify(url: str, count: str, pause: str) -> None:
    """Inserts a row, commits and notifies, with pauses; prints when each began."""
    import psycopg

    began: dict[int, int] = {}
    with psycopg.connect(url, autocommit=True) as connection:
        for seq in range(1, int(count) + 1):
            time.sleep(float(pause))
            began[seq] = time.monotonic_ns()
            connection.execute("INSERT INTO told (seq, body) VALUES (%s, %s)", (seq, "x" * 200))
            connection.execute("NOTIFY told")
    print(json.dumps(began))


def idle(path: str, settle: str, seconds: str) -> None:
    """Follows a board on which nothing happens, and prints the CPU seconds that it took, once settled."""
    with Board.open(path) as board:
        thread = threading.Thread(target=_follow_to_the_end, args=(board, board.store.last_seq()))
        thread.start()
        time.sleep(float(settle))
        before = time.process_time()
        time.sleep(float(seconds))
        print(time.process_time() - before)
    thread.join()


def _follow_to_the_end(board: Board, after: int) -> None:
    for _ in board.follow(after):
        pass


if __name__ == "__main__":
    {"notes": notes, "bare_notify": bare_notify, "idle": idle}[sys.argv[1]](*sys.argv[2:])
