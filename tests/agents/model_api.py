"""Scripted stand-ins for the model APIs: a server on loopback that plays assistant turns and records every request.

One class per wire format: `AnthropicApi` (Claude Code), `ResponsesApi` (Codex), `ChatApi` (opencode) and `GeminiApi`.
A script is a list of turns, played in order, or a function from a request to its turn. Side requests (titles,
compactions, quota probes, token counts) get a fixed answer and take no turn of the script.
"""

import json
import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Self, cast

Json = dict[str, Any]

PATIENCE = 120
"""Seconds after which something that a test waits for will not come, on however busy a machine."""


@dataclass(frozen=True)
class Say:
    """A piece of assistant text."""

    text: str


@dataclass(frozen=True)
class Call:
    """A tool call of the model."""

    name: str
    input: Json
    # Codex groups the tools of an MCP server under a namespace, sent beside the name.
    namespace: str | None = None
    # The id of the call, for models whose ids begin again in each conversation; else it is unique.
    id: str | None = None


Turn = Sequence[Say | Call]


@dataclass(frozen=True)
class Request:
    """What a program sent: the HTTP request, and what the wire format makes of it."""

    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    body: Json
    tools: tuple[str, ...] = ()
    is_side: bool = True  # takes no turn of the script
    turn: Turn = field(default=(), compare=False)  # the answer that it got

    @property
    def text(self) -> str:
        """The whole body as text, for asserts that a sentence reached the model."""
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def session(self) -> str | None:
        """The program's own id of the conversation; only Claude Code and Codex send it."""
        return self.headers.get("x-claude-code-session-id") or self.headers.get("session-id")


Script = Sequence[Turn] | Callable[[Request], Turn]

# The turn that ends a conversation whose script has run out.
DONE: Turn = (Say("Done."),)


class ModelApi:
    """A model API on loopback. Use it as a context manager; `url` is its address while it runs."""

    side_answer: ClassVar[str] = "ok"

    def __init__(self, script: Script = ()) -> None:
        self._script = script
        self._played = 0
        # Tool calls get ids that no other stand-in gave: a session may be resumed against a second one.
        self._series = secrets.token_hex(4)
        self._requests: list[Request] = []
        # Guards script, count and requests, and wakes `wait_for` when a request arrives.
        self._arrived = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._make_handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> list[Request]:
        """Every request so far, side requests too, in the order of arrival."""
        with self._arrived:
            return list(self._requests)

    @property
    def main_requests(self) -> list[Request]:
        """The requests that took a turn of the script."""
        return [request for request in self.requests if not request.is_side]

    def wait_for(self, is_met: Callable[[list[Request]], object], timeout: float = PATIENCE) -> list[Request]:
        """Wait until the requests that took a turn meet a condition, and return them; raise TimeoutError otherwise."""
        with self._arrived:
            met = self._arrived.wait_for(lambda: is_met([r for r in self._requests if not r.is_side]), timeout)
        requests = self.main_requests
        if not met:
            paths = "\n".join(f"  {r.method} {r.path}{' (side)' * r.is_side}" for r in self.requests)
            raise TimeoutError(f"The requests did not meet the condition within {timeout} s. They were:\n{paths}")
        return requests

    def change_script(self, script: Script) -> None:
        """Play another script from the next request on."""
        with self._arrived:
            self._script = script
            self._played = 0

    # What a wire format says.

    def find_tools(self, body: Json) -> Iterable[str]:
        raise NotImplementedError

    def is_model_call(self, path: str) -> bool:
        raise NotImplementedError

    def is_side(self, request: Request) -> bool:
        """True for titles, summaries and probes. An agent offers its tools in every turn of a conversation."""
        return not request.tools

    def answer_other(self, path: str) -> Json:
        """Return the answer to a request that is no call of the model."""
        return {"data": [], "models": []}

    def encode(self, request: Request, turn: Turn, series: str) -> tuple[str, bytes]:
        """Return content type and body of a turn; every id in it begins with `series`, after its kind."""
        raise NotImplementedError

    # The server.

    def receive(self, method: str, path: str, headers: dict[str, str], body: Json) -> tuple[str, bytes]:
        """Record a request and return content type and body of its answer."""
        if method != "POST" or not self.is_model_call(path):
            with self._arrived:
                self._requests.append(Request(method, path, headers, body))
                self._arrived.notify_all()
            return "application/json", json.dumps(self.answer_other(path)).encode()
        tools = tuple(self.find_tools(body))
        request = Request(method, path, headers, body, tools)
        request = replace(request, is_side=self.is_side(request))
        with self._arrived:
            turn = self._take_turn(request)
            self._requests.append(replace(request, turn=turn))
            number = len(self._requests)
            self._arrived.notify_all()
        return self.encode(request, turn, f"{self._series}_{number:03}")

    def _take_turn(self, request: Request) -> Turn:
        if request.is_side:
            return (Say(self.side_answer),)
        if callable(self._script):
            return self._script(request)
        if self._played >= len(self._script):
            return DONE
        turn = self._script[self._played]
        self._played += 1
        return turn

    def _make_handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                try:
                    body = json.loads(raw or b"{}")
                except ValueError:
                    body = {"raw": raw.decode(errors="replace")}
                if not isinstance(body, dict):
                    body = {"raw": body}
                headers = {name.lower(): value for name, value in self.headers.items()}
                kind, answer = api.receive(self.command, self.path, headers, cast("Json", body))
                try:
                    self.send_response(200)
                    self.send_header("content-type", kind)
                    self.send_header("content-length", str(len(answer)))
                    self.end_headers()
                    if self.command != "HEAD":
                        self.wfile.write(answer)
                except ConnectionError:
                    self.close_connection = True  # the program was killed, or changed its mind

            do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = answer  # noqa: N815 (names of http.server)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler


class AnthropicApi(ModelApi):
    """The Messages API, as Claude Code calls it."""

    side_answer = "<summary>A summary of the conversation.</summary>"

    def is_model_call(self, path: str) -> bool:
        return path.partition("?")[0] == "/v1/messages"

    def is_side(self, request: Request) -> bool:
        # A compaction offers the tools of the conversation and forbids to call them.
        last = request.body["messages"][-1]["content"]
        return super().is_side(request) or "Do NOT call any tools" in json.dumps(last)

    def answer_other(self, path: str) -> Json:
        return {"input_tokens": 10} if "count_tokens" in path else {"data": []}

    def find_tools(self, body: Json) -> Iterable[str]:
        return [tool["name"] for tool in body.get("tools") or ()]

    def encode(self, request: Request, turn: Turn, series: str) -> tuple[str, bytes]:
        blocks = [_write_block(part, f"toolu_{series}_{index}") for index, part in enumerate(turn)]
        has_calls = any(isinstance(part, Call) for part in turn)
        stop = {"stop_reason": "tool_use" if has_calls else "end_turn", "stop_sequence": None}
        message: Json = {
            "id": f"msg_{series}",
            "type": "message",
            "role": "assistant",
            "model": request.body.get("model"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }
        if not request.body.get("stream"):
            return "application/json", json.dumps(message | {"content": blocks} | stop).encode()
        events: list[Json] = [{"type": "message_start", "message": message}]
        for index, block in enumerate(blocks):
            if block["type"] == "text":
                start, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                start = {**block, "input": cast("Json", {})}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events += [
                {"type": "content_block_start", "index": index, "content_block": start},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        events += [{"type": "message_delta", "delta": stop, "usage": {"output_tokens": 5}}, {"type": "message_stop"}]
        return _stream(events)


def _write_block(part: Say | Call, id: str) -> Json:
    if isinstance(part, Say):
        return {"type": "text", "text": part.text}
    return {"type": "tool_use", "id": part.id or id, "name": part.name, "input": part.input}


class ResponsesApi(ModelApi):
    """The Responses API, as Codex and OpenAI's clients call it."""

    def is_model_call(self, path: str) -> bool:
        return path.partition("?")[0].endswith("/responses")

    def find_tools(self, body: Json) -> Iterable[str]:
        """Name the tools; those of a namespace as `namespace/name`."""
        for tool in body.get("tools") or ():
            name = tool.get("name") or tool["type"]
            yield name
            for inner in tool.get("tools") or ():
                yield f"{name}/{inner.get('name')}"

    def encode(self, request: Request, turn: Turn, series: str) -> tuple[str, bytes]:
        response: Json = {"id": f"resp_{series}"}
        items: list[Json] = []
        events: list[Json] = [{"type": "response.created", "response": response}]
        for index, part in enumerate(turn):
            item: Json = {"id": f"item_{series}_{index}"}
            if isinstance(part, Say):
                content: Json = {"type": "output_text", "text": part.text, "annotations": []}
                item |= {"type": "message", "role": "assistant", "content": [content]}
            else:
                item |= {"type": "function_call", "call_id": part.id or f"call_{series}_{index}", "name": part.name}
                item |= {"arguments": json.dumps(part.input)}
                if part.namespace is not None:
                    item |= {"namespace": part.namespace}
            items.append(item)
            events += [
                {"type": "response.output_item.added", "output_index": index, "item": item},
                {"type": "response.output_item.done", "output_index": index, "item": item},
            ]
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        if not request.body.get("stream"):
            whole: Json = {"object": "response", "created_at": 1, "model": "gpt", "status": "completed", "tools": []}
            whole |= {"output": items, "usage": usage, "parallel_tool_calls": True, "tool_choice": "auto"}
            return "application/json", json.dumps(response | whole).encode()
        events.append({"type": "response.completed", "response": response | {"output": [], "usage": usage}})
        return _stream(events)


class ChatApi(ModelApi):
    """Chat completions, as opencode calls them."""

    side_answer = "A title"

    def is_model_call(self, path: str) -> bool:
        return path.partition("?")[0].endswith("/chat/completions")

    def find_tools(self, body: Json) -> Iterable[str]:
        return [tool["function"]["name"] for tool in body.get("tools") or ()]

    def encode(self, request: Request, turn: Turn, series: str) -> tuple[str, bytes]:
        calls: list[Json] = []
        for part in turn:
            if isinstance(part, Call):
                function = {"name": part.name, "arguments": json.dumps(part.input)}
                call_id = f"call_{series}_{len(calls)}"
                calls.append({"index": len(calls), "id": call_id, "type": "function", "function": function})
        message: Json = {
            "role": "assistant",
            "content": "\n".join(part.text for part in turn if isinstance(part, Say)),
        }
        if calls:
            message["tool_calls"] = calls
        finish = "tool_calls" if calls else "stop"
        base: Json = {"id": f"chat_{series}", "created": 1, "model": request.body.get("model")}
        if not request.body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            return "application/json", json.dumps(base | {"object": "chat.completion", "choices": [choice]}).encode()
        base |= {"object": "chat.completion.chunk"}
        chunks: list[Json] = [
            base | {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            base | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        ]
        kind, stream = _stream(chunks)
        return kind, stream + b"data: [DONE]\n\n"


class GeminiApi(ModelApi):
    """`generateContent` and its streaming form, as Gemini CLI calls them."""

    # Gemini CLI asks a small model which model to use, and whose turn it is; this answers both.
    side_answer = json.dumps(
        {"reasoning": "x", "model_choice": "flash", "complexity_reasoning": "x", "complexity_score": 1}
        | {"next_speaker": "user"}
    )

    def is_model_call(self, path: str) -> bool:
        return "generateContent" in path or "streamGenerateContent" in path

    def answer_other(self, path: str) -> Json:
        return {"totalTokens": 10} if "countTokens" in path else {"models": []}

    def find_tools(self, body: Json) -> Iterable[str]:
        return [one["name"] for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()]

    def encode(self, request: Request, turn: Turn, series: str) -> tuple[str, bytes]:
        parts = [
            {"text": part.text}
            if isinstance(part, Say)
            else {"functionCall": {"name": part.name, "args": part.input, "id": f"call_{series}_{index}"}}
            for index, part in enumerate(turn)
        ]
        answer: Json = {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
            "modelVersion": "stand-in",
        }
        if "streamGenerateContent" in request.path:
            return _stream([answer])
        return "application/json", json.dumps(answer).encode()


def _stream(events: Iterable[Json]) -> tuple[str, bytes]:
    """Encode server-sent events; one that has a type is named by it."""
    frames: list[str] = []
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event else ""
        frames.append(f"{name}data: {json.dumps(event)}\n\n")
    return "text/event-stream", "".join(frames).encode()
