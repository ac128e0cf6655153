"""Workers on one queue in PostgreSQL: `python -m benchmarks.postgres_peers ours|procrastinate|pgqueuer URL`.

Importing the peers needs what `make bench` installs.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from benchmarks.task_workers import LIST, fill, ours, wait_for_the_start

_BATCH = 100


def fill_queue(kind: str, url: str, count: int) -> None:
    """Fill the queue of a peer, or our list, with so many tasks that are ready."""
    match kind:
        case "ours":
            fill(url, count)
        case "procrastinate":
            asyncio.run(_fill_procrastinate(url, count))
        case _:
            asyncio.run(_fill_pgqueuer(url, count))


def _make_app(url: str, done: list[int]) -> Any:
    from procrastinate import App, PsycopgConnector

    app = App(connector=PsycopgConnector(conninfo=url))

    @app.task(name="work", queue=LIST)
    async def work(number: int) -> None:
        done.append(number)

    return app


async def _fill_procrastinate(url: str, count: int) -> None:
    app = _make_app(url, [])
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for first in range(0, count, _BATCH):
            numbers = range(first, min(count, first + _BATCH))
            await app.tasks["work"].batch_defer_async(*({"number": number} for number in numbers))


async def _run_procrastinate(url: str) -> int:
    done: list[int] = []
    app = _make_app(url, done)
    async with app.open_async():
        wait_for_the_start()
        await app.run_worker_async(wait=False, install_signal_handlers=False)
    return len(done)


async def _open_queries(url: str) -> tuple[Any, Any]:
    from pgqueuer.db import PsycopgDriver
    from pgqueuer.queries import Queries
    from psycopg import AsyncConnection

    connection = await AsyncConnection.connect(url, autocommit=True)
    return connection, Queries(PsycopgDriver(connection))


async def _fill_pgqueuer(url: str, count: int) -> None:
    connection, queries = await _open_queries(url)
    await queries.install()
    for first in range(0, count, _BATCH):
        size = min(count, first + _BATCH) - first
        await queries.enqueue([LIST] * size, [b"task"] * size, [0] * size)
    await connection.close()


async def _run_pgqueuer(url: str, batch_size: int) -> int:
    from pgqueuer.qm import QueueManager
    from pgqueuer.types import QueueExecutionMode

    _, queries = await _open_queries(url)
    manager = QueueManager(queries)
    done: list[Any] = []

    @manager.entrypoint(LIST)
    async def work(job: Any) -> None:
        done.append(job.id)

    wait_for_the_start()
    await manager.run(mode=QueueExecutionMode.drain, batch_size=batch_size)
    return len(done)


def run_worker(kind: str, url: str) -> int:
    """Work until the queue is empty; return how many tasks this worker did."""
    match kind:
        case "ours":
            return ours(url)
        case "procrastinate":
            return asyncio.run(_run_procrastinate(url))
        case "pgqueuer":
            return asyncio.run(_run_pgqueuer(url, 1))
        case _:
            return asyncio.run(_run_pgqueuer(url, 10))


if __name__ == "__main__":
    print(json.dumps(run_worker(*sys.argv[1:])), flush=True)
