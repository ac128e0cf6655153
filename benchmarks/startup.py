"""`punchlist todos`, `events` and `statusline`, start to end, beside a bare start of the same Python."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import boards
from benchmarks.measure import ROOT, child_cpu, interleaved
from benchmarks.report import Must, Row, not_measured
from benchmarks.scale import Scale
from punchlist import Board

NOTE = (
    "CPU time, user and system, of the whole process, best of 20, byte code compiled. The bare start is "
    "`.venv/bin/python -I -c pass`. 10,000 sessions must not cost more than 10; 20 % is left for noise. The rows are "
    "asked for as a host asks that was attached."
)
_PYTHON, _PUNCHLIST = ROOT / ".venv/bin/python", ROOT / ".venv/bin/punchlist"
_BARE_MUST, _SIZE_MUST = Must("≤", 8), Must("≤", 1.2)
_ROWS_MUST = Must("≤", 3)
"""The rows of a status line: a host asks for them every second."""

_HOST_SAYS = '{"session_id": "session-000000"}'
"""What a host gives a status line. For a person who types the command, the full program may look the agent up."""

_FILE = str(ROOT / "src/punchlist_statusline.py")
_COMMANDS: dict[str, tuple[list[str], Must]] = {
    "punchlist todos": ([str(_PUNCHLIST), "todos", "--db"], _BARE_MUST),
    "punchlist events": ([str(_PUNCHLIST), "events", "--db"], _BARE_MUST),
    "punchlist statusline": ([str(_PUNCHLIST), "statusline", "--board"], _ROWS_MUST),
    "punchlist_statusline.py": ([str(_PYTHON), "-I", "-S", _FILE, "--board"], _ROWS_MUST),
}
"""Each command without the path of its board, and what it must not exceed."""


def run(scale: Scale) -> Iterator[Row]:
    if not _PUNCHLIST.exists():
        yield not_measured("punchlist todos, events, statusline", "no .venv: `make setup`", _BARE_MUST)
        return
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name:
        folder = Path(name).resolve()
        project = folder / "project"
        project.mkdir()
        (folder / "host.json").write_text(_HOST_SAYS)
        many = scale.count(10_000, least=20)
        found = {
            "10 sessions": _board(folder / "few.db", 10, lambda _: str(project)),
            "10 sessions with subagents": _board(folder / "nested.db", 10, lambda _: str(project), subagents=True),
            f"{many:,} sessions": _board(folder / "many.db", many, lambda _: str(project)),
            f"{many:,} sessions of 100 projects": _board(
                folder / "spread.db",
                many,
                lambda index: str(project) if index % 100 == 0 else f"/project/{index % 100}",
            ),
        }
        yield from _compared(scale, project, folder / "host.json", found)


def _board(path: Path, count: int, project_of: Callable[[int], str], *, subagents: bool = False) -> Path:
    boards.sessions(path, count, project_of)
    if subagents:
        with Board.open(path) as board:
            for row in board.lists(limit=count):
                child = board.agent(row.agent, session=row.session, project=row.project).spawn("helper")
                child.tool_started("call", "Bash", {"command": "make test"})
    return path


def _compared(scale: Scale, project: Path, given: Path, found: dict[str, Path]) -> Iterator[Row]:
    bare = [str(_PYTHON), "-I", "-c", "pass"]
    contenders: dict[str, Callable[[], float]] = {"bare": lambda: child_cpu(bare, project)}
    for command, (start, _) in _COMMANDS.items():
        for size, path in found.items():
            words = [*start, str(path)]
            contenders[f"{command}, {size}"] = lambda words=words: child_cpu(words, project, given)
    try:
        for contender in contenders.values():
            contender()
    except ChildProcessError as error:
        yield not_measured("punchlist todos, events, statusline", str(error), _BARE_MUST)
        return
    taken = interleaved(scale.count(20, least=2), contenders)
    best = {name: min(seconds) for name, seconds in taken.items()}
    peer = f"bare start: {best['bare'] * 1e3:.1f} ms"
    few, _, *larger = found  # the board with subagents is no larger
    for command, (_, must) in _COMMANDS.items():
        smallest = best[f"{command}, {few}"]
        for size in found:
            ours = best[f"{command}, {size}"]
            yield Row(f"{command}, {size}", f"{ours * 1e3:.1f} ms", peer, ours / best["bare"], must)
        for size in larger:
            ours = best[f"{command}, {size}"]
            beside = f"{few}: {smallest * 1e3:.1f} ms"
            yield Row(f"{command}, {size}", f"{ours * 1e3:.1f} ms", beside, ours / smallest, _SIZE_MUST)
