"""Relay MCP over HTTP to `punchlist mcp`, one process per session: the public conformance suite speaks HTTP only."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any
from uuid import uuid4

_ANSWER_SECONDS = 120


class Session:
    """One server process, and a queue of its messages for each request that waits."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        command = [sys.executable, "-m", "punchlist", "mcp"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=dict(env)
        )
        self._waiting: dict[Any, Queue[dict[str, Any]]] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as messages:
            for line in messages:
                message = json.loads(line)
                # A request or notification of the server goes out with the answer that is due next.
                keys = [message["id"]] if "method" not in message else list(self._waiting)[:1]
                for key in keys:
                    self._waiting[key].put(message)

    def send(self, message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def request(self, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the server's messages up to the answer."""
        queue = self._waiting[message["id"]] = Queue()
        self.send(message)
        while True:
            answer = queue.get(timeout=_ANSWER_SECONDS)
            if "method" not in answer:
                del self._waiting[message["id"]]
            yield answer
            if "method" not in answer:
                return

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(_ANSWER_SECONDS)


class Relay(ThreadingHTTPServer):
    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.sessions: dict[str, Session] = {}
        self._folder = folder
        self._env = env

    def open_session(self) -> str:
        name = uuid4().hex
        self.sessions[name] = Session(self._folder, self._env)
        return name


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    @property
    def _relay(self) -> Relay:
        assert isinstance(self.server, Relay)
        return self.server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if (self.headers.get("Host") or "").partition(":")[0] not in ("127.0.0.1", "localhost"):
            self._say(403)
            return
        message = json.loads(body)
        name = self.headers.get("Mcp-Session-Id")
        if name is None and message.get("method") == "initialize":
            name = self._relay.open_session()
        session = self._relay.sessions.get(name or "")
        if session is None or name is None:
            self._say(404)
            return
        if "id" not in message or "method" not in message:
            session.send(message)
            self._say(202)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Mcp-Session-Id", name)
        self.send_header("Connection", "close")
        self.end_headers()
        for answer in session.request(message):
            self.wfile.write(f"event: message\ndata: {json.dumps(answer)}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True

    def do_GET(self) -> None:
        self._say(405)

    def do_DELETE(self) -> None:
        session = self._relay.sessions.pop(self.headers.get("Mcp-Session-Id") or "", None)
        if session is not None:
            session.close()
        self._say(200)

    def _say(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextmanager
def serve_over_http(folder: Path, env: Mapping[str, str]) -> Generator[str]:
    """Serve `punchlist mcp` over HTTP; yield the address."""
    relay = Relay(folder, env)
    threading.Thread(target=relay.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{relay.server_address[1]}/mcp"
    finally:
        relay.shutdown()
        relay.server_close()
        for session in relay.sessions.values():
            session.close()


if __name__ == "__main__":
    with serve_over_http(Path.cwd(), os.environ) as url:
        print(url, flush=True)
        sys.stdin.read()
