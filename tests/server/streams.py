"""Read server-sent events as a client does."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx
import msgspec


class Frame(NamedTuple):
    id: str
    kind: str
    data: Any


class Stream:
    """An open stream. Iterate over it; it ends when the server does."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.iter_lines()
        self.heartbeats = 0

    def __iter__(self) -> Iterator[Frame]:
        fields: dict[str, str] = {}
        for line in self._lines:
            name, _, value = line.partition(":")
            if line == ":":
                self.heartbeats += 1
            elif line:
                fields[name] = value.removeprefix(" ")
            elif "data" in fields:
                yield Frame(fields.get("id", ""), fields.get("event", "message"), msgspec.json.decode(fields["data"]))
                fields = {}

    def take(self, count: int) -> list[Frame]:
        """Return the next messages."""
        frames = iter(self)
        return [next(frames) for _ in range(count)]


@contextmanager
def open_stream(
    client: httpx.Client, after: int | None = None, path: str = "/api/v1/events/stream", **query: Any
) -> Generator[Stream]:
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    with client.stream("GET", path, params=query, headers=headers) as response:
        assert response.status_code == 200, response.read()
        yield Stream(response)
