"""A worker in a network of its own, which it is told to leave: run by `unshare --net`, with commands on its input."""

from __future__ import annotations

import subprocess
import sys

from punchlist import Board
from punchlist.errors import PunchlistError
from punchlist.store import Transaction
from punchlist.store.sidecars import limit_wait
from punchlist.tasks import Tasks
from tests.postgres.proxy import Proxy


def _set_link(state: str) -> None:
    subprocess.run(["ip", "link", "set", "lo", state], check=True)


def _say(text: str) -> None:
    print(text, flush=True)


def _obey(command: str, board: Board, tasks: Tasks) -> None:
    match command.split():
        case ["up" | "down" as state]:
            _set_link(state)
            _say(state)
        case ["claim"]:
            task = tasks.claim("one")
            _say("nothing" if task is None else f"{task.id} {task.fence}")
        case ["claim", "and", "leave"]:

            def work(tx: Transaction) -> None:
                (task,) = tasks.within(tx, now=board.now()).claim("one")
                _set_link("down")
                _say(f"{task.id} {task.fence}")

            board.store.transact(work)
        case ["complete", id, fence]:
            tasks.complete(id, fence=int(fence))
            _say("completed")
        case _:
            raise AssertionError(command)


def main(postgres: str, board_url: str) -> None:
    _set_link("up")
    proxy = Proxy(postgres)
    with Board.open(proxy.find_url(board_url)) as board:
        tasks = board.tasks("default", project="/p", lease=2)
        for command in sys.stdin:
            try:
                with limit_wait(3):
                    _obey(command, board, tasks)
            except PunchlistError as error:
                _say(error.code)


if __name__ == "__main__":
    main(*sys.argv[1:])
