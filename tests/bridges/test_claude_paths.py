"""QUALITY.md, row "ids to paths": whatever the ids, no file outside the folder is touched."""

import os
import random
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from punchlist import Board, Status, TodoItem, TodoList
from punchlist.bridges.claude_files import ClaudeFiles, parse_file_name
from punchlist.errors import InvalidInput, ListFileRefused
from tests.sizes import size

HOSTILE = (
    *("..", ".", "...", "../x", "../../etc/passwd", "a/../../x", "..\\x", "a\\..\\..\\x", "/etc/passwd", "/", "\\"),
    *("\\\\server\\share", "//server/share", "C:", "C:\\x", "c:x", "file.json:stream", "~", "~root/x", "$HOME/x"),
    *("a\0b", "\0", "a\nb", "a\rb", "\x1b[2J", "a\x7f", "\ud800", "a\u202eb", "a\u200bb", "", " ", "\t", "x ", " x"),
    *("CON", "con", "PRN", "aux.txt", "NUL", "nul.", "COM1", "com¹.x", "LPT9.json", "CONIN$", "con .x"),
    *("x.", ".x", "..json", "x" * 10_000, "é" * 200, "🎉" * 100, "a*b", "a?b", "<a>", "a|b", '"a"', "%2e%2e%2fx"),
    *("x-agent-y", "-agent-", "agent-", "-agent", "..-agent-..", "x-agent-../../y", "．．／x", "‥/x", "a∕b", "main"),
)
HARMLESS = ("s", "main", "0e5a2c1f-1111-4222-8333-444455556666", "Explore the code", "größe", "a.b", "explore-2")


def _outside(root: Path) -> dict[str, tuple[int, int]]:
    """Everything below the root but the folder itself, with size and time of change."""
    found: dict[str, tuple[int, int]] = {}
    for at, folders, names in os.walk(root):
        folders[:] = [name for name in folders if Path(at, name) != root / "in" / "todos"]
        for name in names:
            state = os.lstat(os.path.join(at, name))
            found[os.path.join(at, name)] = (state.st_size, state.st_mtime_ns)
    return found


def _ids(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return rng.choice(HARMLESS)
    parts = [rng.choice((*HOSTILE, *HARMLESS)) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    return rng.choice(("", "", "/", "-", ".", "\\", "../")).join(parts)


def test_no_id_leads_out_of_the_folder(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    folder = tmp_path / "in" / "todos"
    folder.mkdir(parents=True)
    (tmp_path / "x").write_text("outside", encoding="utf-8")
    (tmp_path / "in" / "x-agent-main.json").write_text("outside", encoding="utf-8")
    before = _outside(tmp_path)
    files = ClaudeFiles(folder)
    todos = TodoList(items=(TodoItem(id="1", content="A", status=Status.PENDING),), next_id=2)
    written = refused = 0
    for _ in range(size(500, 5000)):
        session, agent = _ids(rng), _ids(rng)
        hint = f"seed {seed}: {session!a}, {agent!a}"
        try:
            path = files.path(session, agent)
        except InvalidInput:
            refused += 1
            for step in (
                lambda s=session, a=agent: files.read(s, a),
                lambda s=session, a=agent: files.write(s, a, todos),
            ):
                with pytest.raises(InvalidInput):
                    step()
            continue
        assert os.path.dirname(path) == str(folder), hint
        files.write(session, agent, todos)
        written += 1
        assert parse_file_name(os.path.basename(path)) in ((session, agent), (session, session)), hint
        assert stat.S_ISREG(os.lstat(path).st_mode), hint
        assert files.read(session, agent) == files.read(session, agent) is not None, hint
    assert written, f"seed {seed}"
    assert refused, f"seed {seed}"
    assert _outside(tmp_path) == before, f"seed {seed}"
    assert all((folder / name).is_file() for name in os.listdir(folder)), f"seed {seed}"


@pytest.mark.parametrize("part", HOSTILE[:-1], ids=lambda part: ascii(part)[:20])
def test_a_hostile_session_with_a_harmless_agent_is_refused_or_stays_inside(part: str, tmp_path: Path) -> None:
    files = ClaudeFiles(tmp_path)
    with suppress(InvalidInput):
        assert os.path.dirname(files.path(part, "main")) == str(tmp_path)
    with suppress(InvalidInput):
        assert os.path.dirname(files.path("s", part)) == str(tmp_path)


@pytest.mark.parametrize(
    "part",
    ["..", ".", "../x", "/etc/passwd", "a\\b", "C:", "a\0b", "NUL", "nul.txt", "x" * 10_000, "", "x.", "\ud800"],
    ids=lambda part: ascii(part)[:20],
)
def test_these_are_always_refused(part: str, tmp_path: Path) -> None:
    files = ClaudeFiles(tmp_path)
    with pytest.raises(InvalidInput):
        files.path(part, "main")
    with pytest.raises(InvalidInput):
        files.path("s", part)


def test_two_agents_never_share_a_file(tmp_path: Path) -> None:
    files = ClaudeFiles(tmp_path)
    assert files.path("a-agent-b", "c")
    with pytest.raises(InvalidInput):
        files.path("a", "b-agent-c")


def test_the_names_of_a_folder_lead_nowhere_else_when_it_is_imported(tmp_path: Path) -> None:
    folder = tmp_path / "todos"
    folder.mkdir()
    rows = '[{"content": "A", "status": "pending", "activeForm": "A"}]'
    for name in ("..-agent-..", "~-agent-~", "con-agent-nul", "s-agent- x", "good-agent-main", "a:b-agent-c"):
        (folder / f"{name}.json").write_text(rows, encoding="utf-8")
    (folder / "link-agent-main.json").symlink_to("/etc/hostname")
    with Board.open("memory:") as board:
        assert ClaudeFiles(folder).import_folder(board) == 2
        assert {row.session for row in board.lists()} == {"good", "~"}


def test_a_link_put_in_place_after_the_first_write_is_not_written_through(tmp_path: Path) -> None:
    folder = tmp_path / "todos"
    files = ClaudeFiles(folder)
    files.write("s", "a", TodoList())
    (folder / "s-agent-a.json").unlink()
    (folder / "s-agent-a.json").symlink_to(tmp_path / "not-yet-there")
    with pytest.raises(ListFileRefused):
        files.write("s", "a", TodoList())
    assert not (tmp_path / "not-yet-there").exists()
