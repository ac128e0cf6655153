"""The wire of `punchlist mcp`: handshake, errors of the protocol, hostile lines, and how it ends."""

import json
import os
import shlex
import signal
import subprocess
import sys

import pytest

from punchlist.mcp.server import VERSIONS
from punchlist.mcp.stdio import LONGEST_LINE
from tests.mcp_server.client import COMMAND, call_params
from tests.mcp_server.conftest import Start
from tests.packages import WEB_PACKAGES


@pytest.mark.parametrize("version", VERSIONS)
def test_a_known_version_is_agreed_on(start: Start, version: str) -> None:
    said = start(initialized=False).initialize(version)
    assert said["protocolVersion"] == version
    assert said["serverInfo"]["name"] == "punchlist"


@pytest.mark.parametrize("version", ["2026-07-28", "1.0", "", 7, None])
def test_an_unknown_version_gets_the_newest_that_is_known(start: Start, version: str) -> None:
    assert start(initialized=False).initialize(version)["protocolVersion"] == VERSIONS[-1]


def test_a_client_that_tries_the_newest_wire_falls_back(start: Start) -> None:
    client = start(initialized=False)
    version = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    assert client.code("server/discover", version) == -32601
    assert client.initialize("2025-11-25")["protocolVersion"] == "2025-11-25"


def test_a_tool_call_loads_no_package_of_the_server() -> None:
    code = (
        "import sys; from punchlist.cli import main; main(['mcp'])\n"
        f"print(sorted({WEB_PACKAGES!r} & {{name.partition('.')[0] for name in sys.modules}}), file=sys.stderr)"
    )
    hello = {"protocolVersion": VERSIONS[-1], "capabilities": {}, "clientInfo": {"name": "tester", "version": "1"}}
    requests = (("initialize", hello), ("tools/call", call_params("todo", {"set": ["Paint"]})))
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(requests)
    ]
    done = subprocess.run(
        [sys.executable, "-c", code], input="\n".join(lines), capture_output=True, text=True, check=True, timeout=60
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["result"].get("isError") for answer in answers] == [None, False]
    assert done.stderr.splitlines() == ["[]"]


def test_a_handshake_leaves_no_trace_on_the_disk(start: Start) -> None:
    client = start()
    client.result("tools/list")
    assert client.close() == 0
    assert not os.path.exists(os.environ["PUNCHLIST_DB"])


def test_requests_before_the_handshake_are_answered(start: Start) -> None:
    client = start(initialized=False)
    assert client.result("ping") == {}
    assert client.result("tools/list")["tools"]


def test_unknown_methods_and_bad_parameters_have_their_codes(start: Start) -> None:
    client = start()
    assert client.code("tools/none") == -32601
    assert client.code("resources/subscribe", {"uri": "punchlist://list"}) == -32601
    assert client.code("tools/call", {}) == -32602
    assert client.code("tools/call", {"name": 7}) == -32602


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"junk", -32700),
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b"7", -32600),
        (b'"text"', -32600),
        (b"null", -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}', -32602),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b"[]", -32600),
    ],
)
def test_a_broken_line_gets_its_code_and_the_next_one_is_answered(start: Start, line: bytes, code: int) -> None:
    client = start()
    client.write(line)
    assert client.read()["error"]["code"] == code
    assert client.result("ping") == {}


def test_a_line_that_is_too_long_is_refused_and_skipped(start: Start) -> None:
    client = start()
    client.write(b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (3 * LONGEST_LINE) + b'"}')
    assert client.read()["error"]["code"] == -32600
    assert client.result("ping") == {}


def test_lines_that_need_no_answer_get_none(start: Start) -> None:
    client = start()
    for line in (
        b"",
        b"   ",
        b'{"jsonrpc":"2.0","method":"notifications/unheard-of","params":[1]}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
        b'{"jsonrpc":"2.0","id":"nobody-asked","result":{}}',
        b'{"jsonrpc":"2.0","id":{},"error":{}}',
    ):
        client.write(line)
    assert client.result("ping") == {}


def test_lone_surrogates_are_answered_under_the_same_id(start: Start) -> None:
    client = start()
    client.write(
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/call","params":{"name":"todo","arguments":{"set":["\\udfff"]}}}'
    )
    answer = client.read()
    assert answer["id"] == "\ud800"
    assert "result" in answer


def test_a_batch_is_refused_and_the_server_goes_on(start: Start) -> None:
    client = start(initialized=False)
    client.initialize("2025-03-26")
    client.send([{"jsonrpc": "2.0", "id": "a", "method": "ping"}])
    answer = client.read()
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert answer["error"]["message"] == "Batches are not supported."
    assert client.result("ping") == {}


def test_all_requests_are_answered_before_the_end_of_the_input_ends_the_server(start: Start) -> None:
    client = start()
    for number in range(20):
        client.start_request("tools/call", call_params("todo", {"add": [f"Item {number}"]}))
    client.process.stdin.close()  # pyright: ignore[reportOptionalMemberAccess]
    answers = [json.loads(line) for line in client.process.stdout or ()]
    assert len(answers) == 20
    assert all(not answer["result"]["isError"] for answer in answers)
    assert client.close() == 0


def test_sigterm_ends_it_well(start: Start) -> None:
    client = start()
    client.text("todo", {"set": ["Paint"]})
    client.process.send_signal(signal.SIGTERM)
    assert client.process.wait(120) == 0


def test_a_client_that_is_gone_does_not_keep_it_alive(start: Start) -> None:
    client = start()
    client.process.stdout.close()  # pyright: ignore[reportOptionalMemberAccess]
    client.start_request("tools/list")
    assert client.close() == 0


@pytest.mark.parametrize(("closed", "code"), [("<&-", 2), ("2>&- </dev/null", 0)])
def test_closed_streams_end_it_without_a_fault(closed: str, code: int) -> None:
    done = subprocess.run(["bash", "-c", f"{shlex.join(COMMAND)} {closed}"], capture_output=True, check=False)
    assert done.returncode == code
    assert b"fault" not in done.stderr
