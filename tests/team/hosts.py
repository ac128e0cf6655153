"""The server of a team on one host, and machines of agents on others."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import httpx

from tests.agents.programs import Sandbox, make_sandbox
from tests.repositories import clone
from tests.team.networks import Wire

PROJECT = "git.example.org/shop"
_PORT = 8443


def run(sandbox: Sandbox, *words: str, text: str = "") -> str:
    """Run a command of ours, and return what it printed."""
    done = sandbox.run(["punchlist", *words], text=text)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def type_command(sandbox: Sandbox, *words: str) -> str:
    """Run a command of ours at a terminal, as a person does, and return what it printed."""
    ours, theirs = os.openpty()
    command = ["punchlist", *words]
    done = subprocess.run(
        command, cwd=sandbox.project, env=sandbox.env, stdin=theirs, capture_output=True, text=True, check=False
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def await_that(is_true: Callable[[], Any], what: Callable[[], object], seconds: float = 60) -> Any:
    """Look until something is true, and return it; `what` is told where it never is."""
    ends = time.monotonic() + seconds
    while not (found := is_true()):
        assert time.monotonic() < ends, what()
        time.sleep(0.05)
    return found


class Server:
    """`punchlist serve` on the host `server`, with a certificate of its own."""

    def __init__(self, wire: Wire, folder: Path, board: str = "") -> None:
        self.wire = wire
        self.sandbox = make_sandbox(folder / "server", {"PUNCHLIST_DB": board} if board else None)
        self.url = f"https://{wire.address}:{_PORT}"
        self.certificate = folder / "certificate.pem"
        self._key = folder / "key.pem"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        made += ["-days", "2", "-subj", "/CN=board", "-addext", f"subjectAltName=IP:{self.wire.address}"]
        made += ["-keyout", str(self._key), "-out", str(self.certificate)]
        subprocess.run(made, check=True, capture_output=True)
        type_command(self.sandbox, "token", "create", "ada", "--scope", "edit", "--person")
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.sandbox.end_processes()

    def start(self) -> None:
        with self.wire.inside("server"):
            words = ["punchlist", "serve", "--no-watch", "--no-link", "--host", self.wire.address, "--port", str(_PORT)]
            words += ["--tls-cert", str(self.certificate), "--tls-key", str(self._key)]
            env, quiet = self.sandbox.env, subprocess.DEVNULL
            self._process = subprocess.Popen(words, env=env, cwd=self.sandbox.project, stdout=quiet, stderr=quiet)
            await_that(self._is_open, lambda: "the server has not started")

    def _is_open(self) -> bool:
        with suppress(OSError), socket.create_connection((self.wire.address, _PORT), 1):
            return True
        return False

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def make_token(self, name: str, owner: str) -> str:
        words = ("token", "create", name, "--scope", "report", "--project", f"https://{PROJECT}", "--owner", owner)
        return json.loads(run(self.sandbox, *words, "--json"))["token"]

    def events(self, *words: str) -> list[dict[str, Any]]:
        return [
            json.loads(line) for line in run(self.sandbox, "events", "--json", "--limit", "100000", *words).splitlines()
        ]


class Machine:
    """A machine whose agents report to the server."""

    def __init__(self, server: Server, number: int, folder: Path, *, owner: str = "ada") -> None:
        self.server = server
        self.number = number
        self.name = f"laptop-{number}"
        variables = {"SSL_CERT_FILE": str(server.certificate)}
        self.sandbox = make_sandbox(folder / self.name, variables)
        clone(self.sandbox.project, f"https://{PROJECT}.git")
        self.token = server.make_token(self.name, owner)

    @property
    def board(self) -> Path:
        return self.sandbox.home / ".local" / "share" / "punchlist" / "board.db"

    def attach(self, host: str) -> None:
        """Do what a person types once on this machine."""
        words = ("attach", host, "--server", self.server.url, "--yes")
        run(self.sandbox, *words, text=f"{self.token}\n")

    def start_relay(self) -> subprocess.Popen[bytes]:
        """Start `punchlist watch`, which sends what waits."""
        words, quiet = ["punchlist", "watch"], subprocess.DEVNULL
        return subprocess.Popen(words, env=self.sandbox.env, cwd=self.sandbox.project, stdout=quiet, stderr=quiet)

    def hook(self, session: str, name: str, **fields: Any) -> tuple[dict[str, Any], float]:
        """Run the hook as Claude Code does; return its answer, and the seconds that it took."""
        began = time.monotonic()
        hook = self._start_hook(session, name, fields)
        told, complaint = hook.communicate()
        took = time.monotonic() - began
        assert hook.returncode == 0, complaint
        return json.loads(told or "{}"), took

    def kill_hook(self, session: str, name: str, seconds: float, **fields: Any) -> None:
        """Run the hook, and kill it after so many seconds, unless it has ended by then."""
        hook = self._start_hook(session, name, fields)
        with suppress(subprocess.TimeoutExpired):
            hook.wait(seconds)
        hook.kill()
        hook.communicate()

    def _start_hook(self, session: str, name: str, fields: dict[str, Any]) -> subprocess.Popen[str]:
        event = {"session_id": session, "cwd": str(self.sandbox.project), "hook_event_name": name, **fields}
        folder = Path(__file__).parents[2] / "src"
        words = [
            sys.executable,
            "-I",
            "-S",
            str(folder / "punchlist_hook.py"),
            "claude-code",
            "--board",
            str(self.board),
        ]
        pipe = subprocess.PIPE
        hook = subprocess.Popen(words, env=self.sandbox.env, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert hook.stdin is not None
        hook.stdin.write(json.dumps(event))
        hook.stdin.close()
        hook.stdin = None  # `communicate` would write to it
        return hook

    def faults(self) -> str:
        log = Path(f"{self.board}.hooks.log")
        return log.read_text() if log.exists() else ""


class Browser:
    """The browser of a person who has opened their sign-in link: it has the cookie, and the key that the page keeps."""

    def __init__(self, server: Server, name: str) -> None:
        link = type_command(server.sandbox, "token", "link", name).split()[-1]
        context = ssl.create_default_context(cafile=server.certificate)
        # A browser names its page as the origin of what it sends.
        self._client = httpx.Client(base_url=server.url, verify=context, timeout=60, headers={"Origin": server.url})
        page = self._client.get(link, headers={"Accept": "text/html"})
        key = re.search(r'data-key="(\w+)"', page.text)
        assert key is not None, page.text
        self._client.headers["X-Punchlist-Key"] = key[1]

    def close(self) -> None:
        self._client.close()

    def read(self, path: str) -> str:
        page = self._client.get(path, headers={"Accept": "text/html"})
        assert page.status_code == 200, page.text
        return page.text

    def answer(self, text: str) -> None:
        """Answer the only question on the first page, by its form."""
        (form,) = re.findall(r'<form class="acts" method="post" action="/answer">.*?</form>', self.read("/"), re.DOTALL)
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form))
        sent = self._client.post("/answer", data={**fields, "text": text}, follow_redirects=True)
        assert sent.status_code == 200, sent.text


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
