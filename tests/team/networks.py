"""Two hosts on this machine: network namespaces with a wire between them, which can be cut."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Self

_CLONE_NEWNET = 0x40000000
_numbers = count()


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def _enter(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(handle, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter {path}")
    finally:
        os.close(handle)


class Wire:
    """The hosts `server` and those of the agents, each of which reaches the server alone."""

    def __init__(self, hosts: int = 1) -> None:
        self._name = f"pl{os.getpid()}x{next(_numbers)}"
        self._hosts = hosts
        self.address = "10.77.0.1"

    def __enter__(self) -> Self:
        for name in ("server", *map(str, range(self._hosts))):
            ip("netns", "add", f"{self._name}-{name}")
            ip("-n", f"{self._name}-{name}", "link", "set", "lo", "up")
        server = f"{self._name}-server"
        ip("-n", server, "link", "add", "wires", "type", "bridge")
        ip("-n", server, "addr", "add", f"{self.address}/24", "dev", "wires")
        ip("-n", server, "link", "set", "wires", "up")
        for number in range(self._hosts):
            host = f"{self._name}-{number}"
            ip("-n", server, "link", "add", f"to{number}", "type", "veth", "peer", "name", "wire", "netns", host)
            ip("-n", server, "link", "set", f"to{number}", "master", "wires", "up")
            ip("-n", host, "addr", "add", f"10.77.0.{number + 2}/24", "dev", "wire")
            ip("-n", host, "link", "set", "wire", "up")
        return self

    def __exit__(self, *_: object) -> None:
        for name in (*map(str, range(self._hosts)), "server"):
            with suppress(subprocess.CalledProcessError):
                ip("netns", "del", f"{self._name}-{name}")

    def cut(self, number: int = 0) -> None:
        ip("-n", f"{self._name}-server", "link", "set", f"to{number}", "down")

    def mend(self, number: int = 0) -> None:
        ip("-n", f"{self._name}-server", "link", "set", f"to{number}", "up")

    @contextmanager
    def inside(self, name: str | int) -> Generator[None]:
        """Have this thread, and the processes and sockets that it makes, live on a host."""
        _enter(f"/run/netns/{self._name}-{name}")
        try:
            yield
        finally:
            _enter(f"/proc/{os.getpid()}/ns/net")
