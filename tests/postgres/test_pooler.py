"""A pooler in transaction mode before the database: each transaction may run in another session."""

from __future__ import annotations

import threading

import psycopg

from punchlist import Board
from tests.postgres.boards import PooledBoards


def test_more_boards_than_the_pooler_has_sessions_are_open_at_once(postgres: str, pgbouncer: str) -> None:
    url = PooledBoards(postgres, pgbouncer).make()
    boards = [Board.open(url) for _ in range(6)]  # the pooler has two sessions
    try:
        for number, board in enumerate(boards):
            agent = board.agent(f"a{number}", session="s1")
            for item in range(4):
                agent.edit({"op": "append", "items": f"{item}"}, by="ada")
                assert len(agent.todos.items) == item + 1
        assert all(len(board.lists()) == len(boards) for board in boards)
    finally:
        for board in boards:
            board.close()


def test_to_compact_a_board_leaves_no_setting_in_the_sessions_of_the_pooler(postgres: str, pgbouncer: str) -> None:
    url = PooledBoards(postgres, pgbouncer).make()
    with Board.open(url) as board:
        assert board.compact()
        with psycopg.connect(url.partition("?")[0], autocommit=True, prepare_threshold=None) as connection:
            assert connection.execute("SHOW lock_timeout").fetchone() == ("0",)


def test_a_follower_is_told_past_the_pooler(postgres: str, pgbouncer: str) -> None:
    url = PooledBoards(postgres, pgbouncer).make()
    with Board.open(url) as writer, Board.open(url) as reader:
        seen: list[str] = []

        def follow() -> None:
            for event in reader.follow(timeout=60):
                seen.append(event.kind)
                if event.kind == "list.edited":
                    return

        follower = threading.Thread(target=follow)
        follower.start()
        writer.agent("main", session="s1").edit({"op": "append", "items": "Read"}, by="ada")
        follower.join(60)
        assert seen[-1] == "list.edited"
