"""What a board in PostgreSQL survives: lost connections, stopped clients, several programs at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from multiprocessing.synchronize import Event as Flag
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from punchlist import Board
from punchlist.cli import main
from punchlist.errors import InvalidInput, StoreBusy, StoreFailed, StoreUnavailable, StoreUncertain
from punchlist.server.problems import find_problem
from punchlist.store import Transaction
from punchlist.store.postgres import Link
from punchlist.store.sidecars import limit_wait
from tests.postgres.boards import PostgresBoards
from tests.postgres.proxy import Proxy
from tests.sizes import size

_spawn = multiprocessing.get_context("spawn")
_COUNT = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"


def _end_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")


def test_a_call_connects_again_after_the_server_ended_its_connections(board: Board, url: str) -> None:
    agent = board.agent("main", session="s1")
    agent.call("todo", {"set": ["Read"]})
    _end_connections(url)
    agent.call("todo", {"set": ["Read", "Write"]})
    _end_connections(url)
    assert [item.content for item in agent.todos.items] == ["Read", "Write"]


def test_work_runs_again_when_its_connection_broke_before_the_commit(board: Board, url: str) -> None:
    tries: list[int] = []

    def work(tx: Transaction) -> None:
        tries.append(tx.log.mark("a"))
        tx.log.save_mark("a", 1)
        if len(tries) == 1:
            _end_connections(url)

    board.store.transact(work)
    assert tries == [0, 0]
    assert board.store.read(lambda tx: tx.log.mark("a")) == 1


def test_a_connection_that_breaks_during_the_commit_leaves_the_outcome_open(proxy: Proxy, url: str) -> None:
    with Board.open(proxy.find_url(url)) as board:
        board.store.transact(lambda tx: tx.log.save_mark("a", 1))
        proxy.breaks_at = b"COMMIT\0"
        with pytest.raises(StoreUncertain, match="may have been made"):
            board.store.transact(lambda tx: tx.log.save_mark("a", 2))
        board.store.transact(lambda tx: tx.log.save_mark("b", 1))  # the board can be used at once


def test_a_call_that_would_be_known_again_is_repeated_when_its_outcome_is_open(proxy: Proxy, url: str) -> None:
    with Board.open(proxy.find_url(url)) as board:
        agent, tasks = board.agent("main", session="s1"), board.tasks("shop")
        proxy.breaks_at = b"COMMIT\0"
        agent.call("todo", {"set": ["Read"]}, call_id="c1")
        proxy.breaks_at = b"COMMIT\0"
        tasks.create("Paint", call_id="c2")
        proxy.breaks_at = b"COMMIT\0"
        task = tasks.claim("worker", call_id="c3")
        assert task is not None
        proxy.breaks_at = b"COMMIT\0"
        tasks.complete(task.id, fence=task.fence, result="blue")
        assert proxy.breaks_at is None
        assert [event.kind for event in board.events()].count("list.replaced") == 1
        assert [(task.subject, task.status, task.attempts) for task in tasks.list()] == [("Paint", "completed", 1)]


def test_a_repeat_that_finds_no_database_leaves_the_outcome_open(proxy: Proxy, url: str) -> None:
    with Board.open(proxy.find_url(url)) as board:
        tasks = board.tasks("shop")
        tasks.create("Paint")
        proxy.refuse()
        proxy.breaks_at = b"COMMIT\0"
        with limit_wait(0.2), pytest.raises(StoreUncertain):
            tasks.create("Sand", call_id="c1")


def test_a_repeat_is_not_acknowledged_before_the_disk_has_what_the_first_try_wrote(proxy: Proxy, url: str) -> None:
    with Board.open(proxy.find_url(url)) as board:
        tasks = board.tasks("shop")
        proxy.breaks_at, proxy.breaks_always = b"pg_logical_emit_message", True  # by this a commit waits for the disk
        with pytest.raises(StoreUncertain):
            tasks.create("Paint", call_id="c1")
        with Board.open(proxy.find_url(url)) as other, pytest.raises(StoreUncertain):
            other.tasks("shop").create("Paint", call_id="c1")
        proxy.breaks_at = None
        assert tasks.create("Paint", call_id="c1").id == "1"
        assert len(tasks.list()) == 1


def test_a_view_that_could_not_be_counted_for_sure_is_answered(proxy: Proxy, url: str) -> None:
    with Board.open(proxy.find_url(url)) as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Read"]})
        proxy.breaks_at = b"COMMIT\0"
        assert "Read" in agent.call("todo", {}).text
        assert proxy.breaks_at is None


def test_lists_plans_and_tasks_wait_for_the_disk_and_single_reports_do_not(proxy: Proxy, url: str) -> None:
    with Board.open(proxy.find_url(url)) as board:
        agent, tasks = board.agent("main", session="s1"), board.tasks("shop")
        proxy.breaks_at = b"pg_logical_emit_message"  # by this a commit waits for the disk
        agent.tool_started("t1", "Bash", {"command": "ls"})
        agent.tool_finished("t1", "a")
        assert proxy.breaks_at is not None
        steps = [
            lambda: agent.call("todo", {"set": ["Read"]}, call_id="c1"),
            lambda: agent.propose_plan("Read it all"),
            lambda: tasks.create("Paint", call_id="c2"),
        ]
        for step in steps:
            proxy.breaks_at = b"pg_logical_emit_message"
            with suppress(StoreUncertain):
                step()
            assert proxy.breaks_at is None


def test_an_error_after_the_commit_leaves_the_outcome_open(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE ROLE eve LOGIN")
        connection.execute("CREATE DATABASE shop OWNER eve")
    with psycopg.connect(postgres.replace("/postgres?", "/shop?")) as connection:
        connection.execute("REVOKE EXECUTE ON FUNCTION pg_notify FROM PUBLIC")
    with Board.open(postgres.replace("//postgres:@/postgres?", "//eve@/shop?")) as board:
        with pytest.raises(StoreUncertain) as raised:
            board.store.transact(lambda tx: tx.log.save_mark("a", 1))
        assert board.store.read(lambda tx: tx.log.mark("a")) == 1
    problem = find_problem(raised.value)
    assert (problem.status, "retry-after" in (problem.headers or {})) == (500, False)


def test_an_error_of_a_write_that_went_with_the_commit_says_that_nothing_was_changed(board: Board) -> None:
    def work(tx: Transaction) -> None:
        tx.log.save_mark("a", 1)
        tx.connection.execute("INSERT INTO board (number) VALUES (1)")

    with pytest.raises(StoreFailed, match="nothing was changed"):
        board.store.transact(work)
    assert board.store.read(lambda tx: tx.log.mark("a")) == 0


def test_a_transaction_that_passes_over_an_error_of_the_database_is_not_acknowledged(board: Board) -> None:
    def work(tx: Transaction) -> None:
        assert tx.last_seq() == 0  # the header is known, and not asked for before the COMMIT
        tx.log.save_mark("a", 1)
        with suppress(psycopg.Error):
            tx.connection.execute("SELECT 1 / 0").fetchone()

    with pytest.raises(StoreFailed, match="nothing was changed"):
        board.store.transact(work)
    assert board.store.read(lambda tx: tx.log.mark("a")) == 0


def test_calls_end_with_an_error_when_the_database_is_cut_off(proxy: Proxy, url: str) -> None:
    with Board.open(proxy.find_url(url)) as board:
        agent = board.agent("main", session="s1")
        agent.call("todo", {"set": ["Read"]})
        proxy.is_cut = True
        with pytest.raises(StoreUnavailable):
            board.store.transact(lambda tx: tx.log.save_mark("a", 2), wait=0.2)
        with pytest.raises(StoreUnavailable):
            board.store.transact(lambda tx: tx.log.save_mark("a", 2), wait=0.2)
        with limit_wait(0.2), pytest.raises(StoreUnavailable):
            board.lists()
    with Board.open(url) as board:
        assert board.store.read(lambda tx: tx.log.mark("a")) == 0


def _list_keepalives(port: int | None) -> Iterator[int]:
    """Yield after how many silent seconds each connection of this process to a port probes the other end."""
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError), socket.socket(fileno=os.dup(int(name))) as one:
            if one.family == socket.AF_INET and one.getpeername()[1] == port:
                yield one.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)


def test_every_connection_notices_a_network_that_is_gone(proxy: Proxy, url: str) -> None:
    with Board.open(proxy.find_url(url)) as board:
        board.store.transact(lambda tx: tx.log.save_mark("a", 1))
        port = urlsplit(proxy.find_url(url)).port
        while len(found := list(_list_keepalives(port))) < 3:  # one reads, one writes, one listens soon
            board.store.wait(board.store.last_seq(), 0.1)
        assert set(found) == {5}


def _hold_lock(url: str, ready: Flag, last_words: str) -> None:
    def work(tx: Transaction) -> None:
        if ready.is_set():  # it goes on, and its call runs again
            tx.log.save_mark("again", 1)
            return
        if last_words != "the lock":
            tx.log.save_mark("held", 1)
        if last_words == "a question":
            assert tx.log.mark("held")
        ready.set()
        os.kill(os.getpid(), signal.SIGSTOP)

    Board.open(url).store.transact(work)


def _write_until_refused(board: Board) -> None:
    while True:  # the server may not have read the holder's words yet
        board.store.transact(lambda tx: tx.log.save_mark("a", 0), wait=0.2)


@pytest.mark.parametrize(
    ("last_words", "joins"), [("the lock", False), ("the lock", True), ("a write", False), ("a question", False)]
)
def test_a_client_that_was_stopped_with_the_lock_is_ended_after_ten_seconds(
    board: Board, url: str, last_words: str, joins: bool
) -> None:
    def save(_: object = None) -> None:
        board.store.transact(lambda tx: tx.log.save_mark("a", 1), wait=11)

    ready = _spawn.Event()
    holder = _spawn.Process(target=_hold_lock, args=(url, ready, last_words), daemon=True)
    holder.start()
    try:
        assert ready.wait(60)
        with pytest.raises(StoreBusy, match=r"longer than 0\.2 s"):
            _write_until_refused(board)
        if joins:
            board.store.joined(save, wait=11)
        else:
            save()
        assert board.store.read(lambda tx: (tx.log.mark("a"), tx.log.mark("held"))) == (1, 0)
        assert holder.pid is not None
        os.kill(holder.pid, signal.SIGCONT)
        holder.join(60)
        assert board.store.read(lambda tx: (tx.log.mark("again"), tx.log.mark("held"))) == (1, 0)
    finally:
        holder.kill()
        holder.join()


def _open_and_write(url: str, number: int) -> None:
    with Board.open(url) as board:
        for item in range(10):
            board.agent(f"a{number}", session="s1").edit({"op": "append", "items": f"{item}"}, by="ada")


def test_several_programs_may_make_the_schema_at_once_and_a_follower_misses_nothing(postgres: str) -> None:
    url = PostgresBoards(postgres).make()
    crew = [_spawn.Process(target=_open_and_write, args=(url, number)) for number in range(size(3, 8))]
    for one in crew:
        one.start()
    with Board.open(url) as board:
        seen: list[int] = []
        edits = 0
        for event in board.follow(timeout=60):
            seen.append(event.seq)
            edits += event.kind == "list.edited"
            if edits == 10 * len(crew):
                break
        assert seen == list(range(1, len(seen) + 1))
    for one in crew:
        one.join()
        assert one.exitcode == 0


def _write_until_killed(url: str, number: int) -> None:
    with Board.open(url) as board:
        agent = board.agent(f"a{number}", session="s1")
        item = 0
        while True:
            item += 1
            agent.edit({"op": "append", "items": f"{item}"}, by="ada")
            agent.edit({"op": "remove", "id": str(item)}, by="ada")


def test_a_follower_misses_nothing_of_writers_that_are_killed(board: Board, url: str) -> None:
    seen: list[int] = []

    def follow() -> None:
        for event in board.follow(timeout=60):
            seen.append(event.seq)
            if event.by == "the end":
                return

    follower = threading.Thread(target=follow)
    follower.start()
    for number in range(size(20, 200)):
        before = board.store.last_seq()
        writer = _spawn.Process(target=_write_until_killed, args=(url, number), daemon=True)
        writer.start()
        assert board.store.wait(before + 5, 60)
        writer.kill()
        writer.join()
    board.agent("main", session="s1").edit({"op": "append", "items": "end"}, by="the end")
    follower.join(60)
    assert not follower.is_alive()
    assert seen == list(range(1, len(seen) + 1))


def test_a_follower_goes_on_when_a_crash_of_the_server_took_back_what_it_saw(board: Board, url: str) -> None:
    agent = board.agent("main", session="s1")
    agent.call("todo", {"set": ["Read"]})
    last = board.store.last_seq()
    with ThreadPoolExecutor(2) as pool, psycopg.connect(url, autocommit=True) as connection:
        next_event = pool.submit(next, board.follow(last + 1000, timeout=60))
        wait = pool.submit(board.store.wait, last + 1000, 60)
        while not (next_event.done() and wait.done()):
            agent.tool_started("t1", "Bash", {"command": "ls"})
            agent.tool_finished("t1", "ok")
            connection.execute("DELETE FROM events WHERE seq > %s", (last,))
        assert last < next_event.result().seq < last + 1000
        assert wait.result() is True


def test_a_board_may_be_closed_while_others_write(board: Board, url: str) -> None:
    is_over = threading.Event()

    def write() -> None:
        while not is_over.is_set():
            board.store.transact(lambda tx: tx.log.save_mark("a", 1), durable=False)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        for _ in range(size(20, 500)):
            with Board.open(url) as other:
                other.store.wait(0, 0)  # it listens from now on
        is_over.set()
        writing.result()


def test_a_program_takes_ten_connections_at_most(board: Board, url: str) -> None:
    all_read = threading.Barrier(8)

    def count(tx: Transaction) -> int:
        with suppress(threading.BrokenBarrierError):
            all_read.wait(20)
        return tx.connection.execute(_COUNT).fetchone()[0]

    with psycopg.connect(url) as connection, ThreadPoolExecutor(40) as pool:
        before = connection.execute(_COUNT).fetchone()
        assert before is not None
        board.store.transact(lambda tx: tx.log.save_mark("a", 1))
        found: list[int] = list(pool.map(board.store.read, [count] * 40))
        assert max(found) - before[0] <= 10


def test_every_command_takes_the_address(url: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def run(*words: Any) -> str:
        assert main(["--db", url, *words]) == 0
        return capsys.readouterr().out

    run("todo", "append", "Read the notes")
    assert "Read the notes" in run("todos", "--all")
    assert "PostgreSQL" in run("doctor")
    assert "All is well" in run("doctor", "--rebuild")
    assert "Would delete 0 agents" in run("prune", "--older-than", "1h", "--dry-run")
    assert "Deleted 0 agents" in run("prune", "--older-than", "1h")
    run("tasks", "add", "Paint")
    assert "Paint" in run("tasks", "ready")
    assert "edited the list" in run("events")
    run("brief")
    run("config")
    run("token", "create", "dashboard")


def test_an_ordinary_user_of_the_database_suffices(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE ROLE ada LOGIN")
        connection.execute("CREATE DATABASE team OWNER ada")
    with Board.open(postgres.replace("//postgres:@/postgres?", "//ada@/team?")) as board:
        board.agent("main", session="s1").call("todo", {"set": ["Read"]})
        assert [row.session for row in board.lists()] == ["s1"]


def test_a_password_is_not_shown(postgres: str) -> None:
    with pytest.raises(StoreUnavailable) as raised:
        Board.open(
            "postgresql://ada:hunter2@127.0.0.1:1/team?password=hunter3&listen_url=postgresql%3A//a%3Ahunter4%40b"
        )
    assert "hunter" not in str(raised.value)


def test_a_nul_in_an_id_of_a_host_is_replaced_on_both_engines(board: Board) -> None:
    with Board.open("memory:") as other:
        found: list[list[object]] = []
        for one in (board, other):
            agent = one.agent("main", session="s1")
            agent.call("todo", {"set": ["Re\0ad"]}, call_id="c\0d")
            assert agent.call("todo", {"set": ["Re\0ad"]}, call_id="c\0d").text  # it is known again
            agent.tool_started("t\0u", "Ba\0sh", {"command": "ls\0"})
            agent.tool_finished("t\0u", "a\0b")
            agent.spawn("child", label="l\0m")
            found.append([event.kind for event in one.events()])
    assert found[0] == found[1]


def test_a_nul_in_what_a_caller_names_is_no_fault_of_the_database(board: Board) -> None:
    with Board.open("memory:") as other:
        found: list[list[object]] = []
        for one in (board, other):
            tasks = one.tasks("default", project="/p\0q")
            tasks.create("Paint", labels=["la\0bel"])
            assert tasks.list(label="no\0ne", owner="no\0body") == ()
            tasks.wait("1", topic="to\0pic", correlation_id="a\0b")
            assert [task.id for task in tasks.signal("to\0pic", "a\0b", {"said": "y\0s"})] == ["1"]
            tasks.signal("to\0pic", "later", keep=True)
            assert tasks.get("1").state["resume_event"] == {"said": "y\0s"}
            found.append([event.kind for event in one.events()])
    assert found[0] == found[1]
    with pytest.raises(InvalidInput, match="NUL"):
        board.report(session="s\0one")


def test_what_follows_a_refused_statement_tells_its_error(board: Board, url: str) -> None:
    with closing(Link(url, seconds=5.0, prepares=False)) as link:
        link.begin("1s")
        link.execute("UPDATE board SET number = NULL")
        for follows in (link.settle, link.execute("SELECT 1").fetchone, partial(link.commit, "a", durable=True)):
            with pytest.raises(psycopg.errors.NotNullViolation):
                follows()
