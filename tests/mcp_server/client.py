"""An MCP client that writes and reads raw lines: the real command at the other end of real pipes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

COMMAND = [sys.executable, "-m", "punchlist", "mcp"]
INFO = {"name": "tester", "version": "1"}


class Client:
    """Starts `punchlist mcp` in a folder, and takes its messages one by one."""

    def __init__(self, folder: Path, *options: str, **variables: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={**os.environ, **variables},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self._count = 0
        self.notifications: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> int:
        """End the server's input; return its exit code."""
        if not self._stdin.closed:
            self._stdin.close()
        code = self.process.wait(120)
        for stream in (self._stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code

    def write(self, line: bytes) -> None:
        self._stdin.write(line + b"\n")
        self._stdin.flush()

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode())

    def read(self) -> Any:
        """Return the next message of the server."""
        line = self._stdout.readline()
        assert line, (self.process.stderr.read() if self.process.stderr else b"").decode()
        return json.loads(line)

    def start_request(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        self._count += 1
        message = {"jsonrpc": "2.0", "id": self._count, "method": method}
        self.send(message if params is None else {**message, "params": params})
        return self._count

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return its whole answer."""
        number = self.start_request(method, params)
        answer = self.read()
        assert answer["id"] == number, answer
        return answer

    def result(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        answer = self.request(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def code(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a request that is refused; return the code of the error."""
        return self.request(method, params)["error"]["code"]

    def initialize(
        self, version: str = "2025-11-25", capabilities: Mapping[str, Any] | None = None, name: str = "tester"
    ) -> dict[str, Any]:
        given = {
            "protocolVersion": version,
            "capabilities": capabilities or {},
            "clientInfo": {"name": name, "version": "1"},
        }
        result = self.result("initialize", given)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def call(self, tool: str, arguments: Any = None, meta: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Call a tool and return the result, also one that is an error."""
        return self.result("tools/call", call_params(tool, arguments, meta))

    def text(self, tool: str, arguments: Any = None, meta: Mapping[str, Any] | None = None) -> str:
        """Call a tool that succeeds; return its text."""
        result = self.call(tool, arguments, meta)
        assert not result["isError"], result
        return "\n".join(block["text"] for block in result["content"])


def call_params(tool: str, arguments: Any = None, meta: Mapping[str, Any] | None = None) -> dict[str, Any]:
    given: dict[str, Any] = {"name": tool, "arguments": arguments}
    return given if meta is None else {**given, "_meta": meta}


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for what another process does; a test that hangs ends by its time limit."""
    while not is_so():
        time.sleep(0.02)
