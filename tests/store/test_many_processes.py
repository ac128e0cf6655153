"""Many processes write one list: counts are exact, and no caller ever hears that the database is locked."""

from pathlib import Path

from punchlist import Board
from tests.sizes import size
from tests.store.writers import operations_of, start, two_way, write_some


def test_processes_that_write_one_list_lose_no_count_and_meet_no_lock(tmp_path: Path) -> None:
    path, processes, each = tmp_path / "board.db", size(16, 64), size(25, 100)
    Board.open(path).close()
    pipes = [two_way() for _ in range(processes)]
    running = [start(write_some, str(path), f"p{number}", each, there) for number, (_, there) in enumerate(pipes)]
    for here, _ in pipes:
        assert here.recv() == "ready"
    for here, _ in pipes:
        here.send("go")
    results = [here.recv() for here, _ in pipes]
    for process in running:
        process.join()
    assert [result for result in results if isinstance(result, str)] == []
    waits = sorted(wait for result in results for wait in result)
    print(
        f"{processes} processes × {each}: waits p50 {waits[len(waits) // 2] * 1000:.1f} ms, "
        f"p99 {waits[len(waits) * 99 // 100] * 1000:.1f} ms, worst {waits[-1] * 1000:.1f} ms"
    )
    with Board.open(path) as board:
        events = list(board.events())
        todos = board.agent("main", session="storm").todos
    names = operations_of(events)
    assert len(names) == len(set(names)) == processes * each
    assert todos.revision == processes * each
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    revisions = [event.data["revision"] for event in events if event.kind == "list.replaced"]
    assert revisions == list(range(1, processes * each + 1))
