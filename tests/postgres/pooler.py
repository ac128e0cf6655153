"""Run pgbouncer in transaction mode before a server."""

from __future__ import annotations

import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

_SETTINGS = """[databases]
* = host={folder} user=postgres

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
user = pgserver
pool_mode = transaction
default_pool_size = 2
max_client_conn = 500
query_wait_timeout = 60
server_idle_timeout = 5
logfile = {log}
"""


@contextmanager
def run_pooler(postgres: str) -> Generator[str]:
    """Yield the address of a pooler, without the name of a database. As root it runs as the server's user."""
    folder = parse_qs(urlsplit(postgres).query)["host"][0]
    with tempfile.TemporaryDirectory(prefix="punchlist-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o777)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port: int = listening.getsockname()[1]
        settings = Path(name, "pgbouncer.ini")
        settings.write_text(_SETTINGS.format(folder=folder, port=port, log=Path(name, "log")))
        process = subprocess.Popen(["pgbouncer", "-q", str(settings)])
        try:
            _wait_for(port, process)
            yield f"postgresql://postgres@127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), 5):
            return
    raise AssertionError(f"pgbouncer ended with {process.returncode}")
