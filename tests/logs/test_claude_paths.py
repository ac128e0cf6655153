"""QUALITY.md, row "ids to paths": whatever the ids, no file outside the folder is touched."""

import os
import random
from contextlib import suppress
from pathlib import Path

import pytest

from punchlist import Board
from punchlist.errors import InvalidInput, ListFileRefused
from punchlist.logs.claude_tasks import ClaudeTasks
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
        folders[:] = [name for name in folders if Path(at, name) != root / "in" / "tasks"]
        for name in names:
            state = os.lstat(os.path.join(at, name))
            found[os.path.join(at, name)] = (state.st_size, state.st_mtime_ns)
    return found


def _list(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return rng.choice(HARMLESS)
    parts = [rng.choice((*HOSTILE, *HARMLESS)) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    return rng.choice(("", "", "/", "-", ".", "\\", "../")).join(parts)


def test_no_name_of_a_list_leads_out_of_the_folder(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    folder = tmp_path / "in" / "tasks"
    folder.mkdir(parents=True)
    (tmp_path / "x").write_text("outside", encoding="utf-8")
    (tmp_path / "in" / "1.json").write_text("outside", encoding="utf-8")
    before = _outside(tmp_path)
    files = ClaudeTasks(folder)
    written = refused = 0
    for _ in range(size(500, 5000)):
        name = rng.choice(("", "session:")) + _list(rng)
        hint = f"seed {seed}: {name!a}"
        with Board.open("memory:") as board:
            try:
                own = files.folder_of(name)
            except InvalidInput:
                refused += 1
                with pytest.raises(InvalidInput):
                    files.export(board, name)
                with pytest.raises(InvalidInput):
                    files.import_list(board, name.removeprefix("session:"))
                continue
            with suppress(InvalidInput):  # a name that no list of the board may have
                board.tasks(name).create("One")
                path = files.export(board, name)
                written += 1
                assert path == str(folder / own), hint
                assert os.path.dirname(path) == str(folder), hint
                assert os.listdir(path) == ["1.json"], hint
    assert written, f"seed {seed}"
    assert refused, f"seed {seed}"
    assert _outside(tmp_path) == before, f"seed {seed}"
    assert all((folder / name).is_dir() for name in os.listdir(folder)), f"seed {seed}"


@pytest.mark.parametrize("part", HOSTILE[:-1], ids=lambda part: ascii(part)[:20])
def test_a_hostile_name_is_refused_or_stays_inside(part: str, tmp_path: Path) -> None:
    with suppress(InvalidInput):
        own = ClaudeTasks(tmp_path).folder_of(part)
        assert os.path.dirname(os.path.join(tmp_path, own)) == str(tmp_path)


@pytest.mark.parametrize(
    "part",
    ["..", ".", "../x", "/etc/passwd", "a\\b", "C:", "a\0b", "NUL", "nul.txt", "x" * 10_000, "", "x.", "\ud800"],
    ids=lambda part: ascii(part)[:20],
)
def test_these_are_always_refused(part: str, tmp_path: Path) -> None:
    for name in (part, f"session:{part}"):
        with pytest.raises(InvalidInput):
            ClaudeTasks(tmp_path).folder_of(name)


def test_a_link_put_in_place_after_the_first_write_is_not_written_through(tmp_path: Path) -> None:
    files = ClaudeTasks(tmp_path / "tasks")
    with Board.open("memory:") as board:
        board.tasks("team").create("One")
        file = Path(files.export(board, "team"), "1.json")
        file.unlink()
        file.symlink_to(tmp_path / "not-yet-there")
        with pytest.raises(ListFileRefused):
            files.export(board, "team")
    assert not (tmp_path / "not-yet-there").exists()


def test_a_link_within_the_folder_is_replaced_itself(tmp_path: Path) -> None:
    files = ClaudeTasks(tmp_path / "tasks")
    with Board.open("memory:") as board:
        for subject in ("One", "Two"):
            board.tasks("team").create(subject)
        folder = Path(files.export(board, "team"))
        first = (folder / "1.json").read_bytes()
        (folder / "2.json").unlink()
        (folder / "2.json").symlink_to("1.json")
        files.export(board, "team")
    assert not (folder / "2.json").is_symlink()
    assert (folder / "1.json").read_bytes() == first
