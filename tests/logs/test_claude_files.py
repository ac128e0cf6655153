"""Claude Code's list files: whose they are, and what they hold."""

import json
import os
from pathlib import Path

import pytest

from punchlist import Status
from punchlist.core.commands import Replace
from punchlist.logs.claude_files import LARGEST, Folder, parse_file_name, read_list

SESSION = "0e5a2c1f-1111-4222-8333-444455556666"
NAME = f"{SESSION}-agent-helper.json"
ROWS = [
    {"content": "Run tests", "status": "in_progress", "activeForm": "Running tests"},
    {"content": "Größe prüfen 🎉", "status": "pending", "activeForm": "Prüfe Größe"},
]


def test_a_file_is_read_with_both_forms_of_each_text(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(json.dumps(ROWS), encoding="utf-8")
    todos = read_list(Folder(str(tmp_path)), NAME)
    assert isinstance(todos, Replace)
    assert [(entry.content, entry.active_form, entry.status) for entry in todos.entries] == [
        ("Run tests", "Running tests", Status.IN_PROGRESS),
        ("Größe prüfen 🎉", "Prüfe Größe", Status.PENDING),
    ]


INVALID = {
    "bad JSON": b"[{",
    "no list": b'{"todos": []}',
    "a missing field": b'[{"content": "A", "status": "pending"}]',
    "an unknown status": b'[{"content": "A", "status": "blocked", "activeForm": "A"}]',
    "an empty text": b'[{"content": "", "status": "pending", "activeForm": "A"}]',
    "no UTF-8": b'[{"content": "\xff", "status": "pending", "activeForm": "A"}]',
    "nothing": b"",
    "depth": b"[" * 200_000,
    "a huge number": b"[" + b"9" * 10_000 + b"]",
    "too much": b'"' + b"a" * LARGEST + b'"',
}


@pytest.mark.parametrize("body", INVALID.values(), ids=INVALID)
def test_of_an_invalid_file_it_is_said_what_is_wrong(body: bytes, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(body)
    problem = read_list(Folder(str(tmp_path)), NAME)
    assert isinstance(problem, str)
    assert problem


def test_what_is_no_plain_file_of_the_folder_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "todos"
    folder.mkdir()
    (tmp_path / "secret.json").write_text(json.dumps(ROWS), encoding="utf-8")
    (folder / "a").mkdir()
    os.mkfifo(folder / "b")
    (folder / "c").symlink_to(tmp_path / "secret.json")
    found = [read_list(Folder(str(folder)), name) for name in ("a", "b", "c", "missing")]
    assert all(isinstance(problem, str) for problem in found)


def test_a_link_within_a_folder_that_is_itself_a_link_is_read(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to("real")
    (tmp_path / "real" / "a").write_text(json.dumps(ROWS), encoding="utf-8")
    (tmp_path / "real" / "b").symlink_to("a")
    folder = Folder(str(tmp_path / "linked"))
    assert read_list(folder, "b") == read_list(folder, "a")


def test_half_of_a_surrogate_pair_does_not_make_a_file_unreadable(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text('[{"content": "cut \\ud83d", "status": "pending", "activeForm": "cutting"}]')
    todos = read_list(Folder(str(tmp_path)), NAME)
    assert isinstance(todos, Replace)
    assert todos.entries[0].content == "cut �"


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        (f"{SESSION}-agent-{SESSION}.json", (SESSION, SESSION)),
        (f"{SESSION}-agent-agent-1.json", (SESSION, "agent-1")),
        ("my-agent-run-agent-main.json", ("my-agent-run", "main")),
        ("s-agent-a.json.invalid-1", None),
        ("-agent-a.json", None),
        ("s-agent-.json", None),
        ("notes.json", None),
    ],
)
def test_a_files_name_says_whose_list_it_is(name: str, ids: tuple[str, str] | None) -> None:
    assert parse_file_name(name) == ids
