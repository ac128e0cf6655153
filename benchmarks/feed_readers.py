"""Many readers of the live feed, in a process of their own: prints when each of them got each event.

    python -m benchmarks.feed_readers PORT TOKEN READERS EVENTS

Prints `ready` once all are connected; at the end one JSON line, `{event: [microseconds since the epoch, …]}`.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time

_ID = re.compile(rb"^id: (\d+)$", re.MULTILINE)


class _Reader(asyncio.Protocol):
    def __init__(self, crowd: _Crowd) -> None:
        self._crowd = crowd
        self._rest = b""
        self._is_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        head = f"GET /api/v1/events/stream HTTP/1.1\r\nHost: 127.0.0.1:{self._crowd.port}\r\n"
        transport.write(f"{head}Authorization: Bearer {self._crowd.token}\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        now = time.time_ns() // 1000
        if not self._is_open and b"retry:" in data:
            self._is_open = True
            self._crowd.open_one()
        whole, newline, self._rest = (self._rest + data).rpartition(b"\n")
        for seq in _ID.findall(whole + newline):
            self._crowd.take(int(seq), now)


class _Crowd:
    def __init__(self, port: int, token: str, readers: int, events: int) -> None:
        self.port = port
        self.token = token
        self._readers = readers
        self._left = readers * events
        self._opened = 0
        self.seen: dict[int, list[int]] = {}
        self.is_over = asyncio.Event()

    def open_one(self) -> None:
        self._opened += 1
        if self._opened == self._readers:
            print("ready", flush=True)

    def take(self, seq: int, now: int) -> None:
        self.seen.setdefault(seq, []).append(now)
        self._left -= 1
        if self._left == 0:
            self.is_over.set()


async def _read(port: int, token: str, readers: int, events: int) -> None:
    crowd = _Crowd(port, token, readers, events)
    loop = asyncio.get_running_loop()
    for _ in range(readers):
        await loop.create_connection(lambda: _Reader(crowd), "127.0.0.1", port)
    await crowd.is_over.wait()
    print(json.dumps(crowd.seen))


if __name__ == "__main__":
    _port, _token, _readers, _events = sys.argv[1:]
    asyncio.run(_read(int(_port), _token, int(_readers), int(_events)))
