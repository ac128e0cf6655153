"""The entry point and the health check of the Dockerfile run as its user: not as root, with a volume of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from tests.team.hosts import await_that
from tests.team.networks import Wire

pytestmark = [pytest.mark.needs("root"), pytest.mark.needs("ip"), pytest.mark.needs("setpriv")]

FILE = Path(__file__).parents[2] / "Dockerfile"
USER = 10_001


@pytest.fixture
def volume() -> Iterator[Path]:
    """A folder that the user of the container reaches: those of pytest are for root alone."""
    folder = Path(mkdtemp(prefix="punchlist-volume-"))
    os.chown(folder, USER, USER)
    yield folder
    shutil.rmtree(folder)


def read_command(name: str) -> list[str]:
    found = re.search(rf"^{name} (\[.*\])$", FILE.read_text(), re.MULTILINE)
    assert found is not None
    return json.loads(found[1])


def test_the_server_of_the_dockerfile_starts_and_is_healthy(wire: Wire, volume: Path) -> None:
    source = Path(__file__).parents[2] / "src"
    env = {"PATH": os.environ["PATH"], "HOME": str(volume), "PUNCHLIST_DB": str(volume / "board.db")}
    env["PYTHONPATH"] = str(source)
    python = [sys.executable, "-m"]

    # The interpreter of these tests may lie in a folder of root: the user may read that, and write only the volume.
    reads = ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]
    as_user = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", *reads, "--"]

    pipe = subprocess.PIPE

    def start(*words: str) -> subprocess.Popen[str]:
        return subprocess.Popen([*as_user, *words], env=env, cwd=volume, stdout=pipe, stderr=pipe, text=True)

    def run(*words: str) -> tuple[str, int]:
        with start(*words) as process:
            said, problem = process.communicate()
        return said + problem, process.returncode

    entry, command, check = read_command("ENTRYPOINT"), read_command("CMD"), read_command("HEALTHCHECK CMD")
    with wire.inside("server"):
        assert "token create" in run(*python, *entry, *command)[0]
        assert run(*python, *entry, "token", "create", "ada", "--scope", "edit")[0].startswith("pl_")
        with start(*python, *entry, *command) as server:
            try:
                await_that(lambda: run(sys.executable, *check[1:])[1] == 0, server.poll)
            finally:
                server.send_signal(signal.SIGTERM)
                said, _ = server.communicate()
    assert server.returncode == 0
    assert said.startswith("Punchlist is at http")
    assert (volume / "board.db").stat().st_uid == USER
