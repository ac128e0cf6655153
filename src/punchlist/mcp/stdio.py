"""Exchange JSON-RPC messages over two pipes, one message per line, and run the requests of the other side.

One thread reads. Requests run one after the other on a worker thread, so they apply in the order of arrival. A request
that needs an answer of the client waits for it on a thread of its own, so that it holds up no other request.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import Any, BinaryIO, cast

from punchlist.dialects.repair import read_fields

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603

LONGEST_LINE = 8 * 1024 * 1024
"""Bytes of a message. The longest list that a tool accepts takes less than an eighth of this."""

_MOST_QUEUED = 256
"""Requests that may wait. The reader then stops, and the client's pipe fills up."""

_END_SECONDS = 5.0
"""How long the server waits for running requests when its input has ended."""

_LOOK_SECONDS = 0.25
"""How often a request to the client looks if its answer is still needed."""

Id = str | int
Message = dict[str, Any]


class RpcError(Exception):
    """A protocol error: its code and message are the answer to the request."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def to_json(self) -> Message:
        error: Message = {"code": self.code, "message": self.message}
        return error if self.data is None else {**error, "data": self.data}


class Unanswered(Exception):
    """The client gave no result: it refused the request, the caller was cancelled, or the connection ended."""


class RpcCall:
    """One request of the client while it runs."""

    def __init__(self, id: Id, method: str, params: Message) -> None:
        self.id = id
        self.method = method
        self.params = params
        self.cancelled = threading.Event()


Later = Callable[[], Message]
"""The rest of a request that has to wait for the client; it runs on a thread of its own."""


class Connection:
    """Both directions of the pipe. `source` is read by one thread; any thread may send."""

    def __init__(self, source: BinaryIO, target: int) -> None:
        self._source = source
        self._target = target
        self._writing = threading.Lock()  # two threads must not mix their lines
        self._asked: dict[Id, Queue[Message]] = {}
        self._count = 0
        self.is_closed = threading.Event()

    def read(self) -> Iterator[Any]:
        """Yield each message as it comes. A line that is none is answered with a parse error."""
        while line := self._read_line():
            if not line.strip():
                continue
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                self.send(_describe_error(None, RpcError(PARSE_ERROR, "This line is no JSON.")))

    def _read_line(self) -> bytes:
        """Return the next line; skip those that are too long. Empty at the end of the input."""
        while True:
            line = self._source.readline(LONGEST_LINE)
            if len(line) < LONGEST_LINE or line.endswith(b"\n"):
                return line
            while line and not line.endswith(b"\n"):
                line = self._source.readline(LONGEST_LINE)
            problem = f"A message may have {LONGEST_LINE} bytes at most."
            self.send(_describe_error(None, RpcError(INVALID_REQUEST, problem)))

    def send(self, message: Any) -> None:
        """Write one line. A client that is gone reads nothing: then the input ends too, and with it the server."""
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        with self._writing, suppress(OSError):
            view = memoryview(line)
            while view:
                view = view[os.write(self._target, view) :]

    def request(self, method: str, params: Message, is_over: Callable[[], bool]) -> Message:
        """Send a request and return the client's result. Raises `Unanswered`, also once the request `is_over`."""
        answers: Queue[Message] = Queue(1)
        with self._writing:
            self._count += 1
            number = f"punchlist-{self._count}"
            self._asked[number] = answers
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while True:
            with suppress(Empty):
                result = answers.get(timeout=_LOOK_SECONDS).get("result")
                break
            if self.is_closed.is_set() or is_over():
                self._asked.pop(number, None)
                told = {"requestId": number, "reason": "The answer is no longer needed."}
                self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": told})
                raise Unanswered
        if not isinstance(result, dict):
            raise Unanswered
        return cast("Message", result)

    def take_response(self, message: Message) -> None:
        """Hand an answer of the client to the thread that waits for it; one that nobody asked for is dropped."""
        number = message.get("id")
        answers = self._asked.pop(number, None) if isinstance(number, str) else None
        if answers is not None:
            answers.put(message)


class Dispatcher:
    """Reads messages, answers `ping` at once, and runs every other request on the worker thread.

    `run` answers a request, and raises `RpcError` for one that it refuses. A batch, which one version of the protocol
    had, is refused.
    """

    def __init__(self, connection: Connection, run: Callable[[RpcCall], Message | Later]) -> None:
        self._connection = connection
        self._run_request = run
        self._queue: Queue[RpcCall | None] = Queue(_MOST_QUEUED)
        self._running: dict[Id, RpcCall] = {}
        self._waiting: list[threading.Thread] = []

    def serve(self) -> None:
        """Serve until the input ends; then finish the requests that have come in."""
        worker = threading.Thread(target=self._work, name="mcp-worker", daemon=True)
        worker.start()
        try:
            for message in self._connection.read():
                self._dispatch(message)
        finally:
            self._connection.is_closed.set()
            with suppress(Full):
                self._queue.put(None, timeout=_END_SECONDS)
            worker.join(_END_SECONDS)
            for thread in self._waiting:
                thread.join(_END_SECONDS)

    def _dispatch(self, message: Any) -> None:
        problem = "Batches are not supported." if isinstance(message, list) else _find_problem(message)
        given = cast("Message", message)
        if problem is not None:
            number = given.get("id") if isinstance(message, dict) else None
            error = RpcError(INVALID_REQUEST, problem)
            self._connection.send(_describe_error(number if _is_id(number) else None, error))
            return
        if "method" not in given:
            self._connection.take_response(given)
            return
        method, params = given["method"], given.get("params")
        if "id" not in given:
            self._take_notification(method, params)
            return
        call = RpcCall(given["id"], method, read_fields(params))
        if not isinstance(params, dict | None):
            self._answer(call, _describe_error(call.id, RpcError(INVALID_PARAMS, "`params` is no object.")))
        elif method == "ping":
            self._answer(call, _describe_result(call.id, {}))
        else:
            self._running[call.id] = call
            self._queue.put(call)

    def _take_notification(self, method: str, params: Any) -> None:
        if method == "notifications/cancelled" and isinstance(params, dict):
            number: Any = cast("Message", params).get("requestId")
            call = self._running.get(number) if _is_id(number) else None
            if call is not None and call.method != "initialize":
                call.cancelled.set()

    def _work(self) -> None:
        while (call := self._queue.get()) is not None:
            later = self._run(call, lambda call=call: self._run_request(call))
            if later is None:
                self._forget(call)
                continue
            thread = threading.Thread(target=self._run_later, args=(call, later), name="mcp-dialog", daemon=True)
            self._waiting = [each for each in self._waiting if each.is_alive()] + [thread]
            thread.start()

    def _run_later(self, call: RpcCall, later: Later) -> None:
        self._run(call, later)
        self._forget(call)

    def _forget(self, call: RpcCall) -> None:
        # Once a request is answered, the client may have sent another under the same id.
        if self._running.get(call.id) is call:
            del self._running[call.id]

    def _run(self, call: RpcCall, step: Callable[[], Message | Later]) -> Later | None:
        try:
            result = {} if call.cancelled.is_set() else step()
        except RpcError as error:
            self._answer(call, _describe_error(call.id, error))
        except Exception as error:  # a fault of ours must not end the server
            fault = RpcError(INTERNAL_ERROR, f"This is a fault of Punchlist ({type(error).__name__}: {error}).")
            self._answer(call, _describe_error(call.id, fault))
        else:
            if callable(result):
                return result
            self._answer(call, _describe_result(call.id, result))
        return None

    def _answer(self, call: RpcCall, message: Message) -> None:
        """Send the answer to a request; a cancelled one is not answered."""
        if not call.cancelled.is_set():
            self._connection.send(message)


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _find_problem(message: Any) -> str | None:
    if not isinstance(message, dict):
        return "A message is an object."
    given = cast("Mapping[str, Any]", message)
    if given.get("jsonrpc") != "2.0":
        return '`jsonrpc` is not "2.0".'
    if "method" not in given:
        return None if "result" in given or "error" in given else "`method` is missing."
    if not isinstance(given["method"], str):
        return "`method` is no string."
    if "id" in given and not _is_id(given["id"]):
        return "`id` is neither a string nor a whole number."
    return None


def _describe_result(id: Id, result: Message) -> Message:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def _describe_error(id: Any, error: RpcError) -> Message:
    return {"jsonrpc": "2.0", "id": id, "error": error.to_json()}
