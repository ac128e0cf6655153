"""The address of a database: no password is shown, and no pointer to it is ever taken for a board."""

from pathlib import Path

import pytest

from punchlist import Board
from punchlist.cli import main
from punchlist.errors import StoreUnavailable, StoreUrlInvalid
from punchlist.settings import settings_path
from punchlist.settings.servers import hide_password
from punchlist.store import store_path
from punchlist.store.files import side_path

SECRET = "hunter2"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:hunter2@host/team",
        "postgresql://ada:x@hunter2@host/team",
        "postgresql://ada:x?hunter2@host/team",
        "postgresql://ada:x/hunter2@host/team",
        "postgresql://ada:hunter2@[::1/team",
        "postgresql://host/team?password=hunter2",
        "postgresql://host/team?sslpassword=hunter2",
        "postgresql://host/team?pass%77ord=hunter2",
        "postgresql+psycopg://ada:hunter2@host/team",
        "POSTGRESQL://ada:hunter2@host/team",
        "mysql://ada:hunter2@host/team",
        "postgresql:/ada:hunter2@host/team",
    ],
)
def test_no_password_of_an_address_is_shown(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert SECRET not in hide_password(url)
    assert main(["--db", url, "todos"]) != 0
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err


@pytest.mark.parametrize("password", ["hun%ter2", "hunter2 x"])
def test_an_address_that_cannot_be_read_is_refused_in_our_words(password: str) -> None:
    with pytest.raises(StoreUrlInvalid) as caught:
        Board.open(f"postgresql://ada:{password}@host/team")
    assert "ter2" not in str(caught.value)


def test_the_settings_show_no_password(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "set", "db", "postgresql://ada:hunter2@host/team"]) == 0
    for words in (["config"], ["config", "get", "db"], ["config", "get", "db", "--json"]):
        assert main(words) == 0
    said = capsys.readouterr().out
    assert "postgresql://ada:…@host/team" in said
    assert SECRET not in said


@pytest.mark.parametrize("key", ["db", "server"])
def test_a_setting_that_cannot_be_used_shows_no_password(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["config", "set", key, "mysql://ada:hunter2@host/team"])
    path = Path(settings_path())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{key} = "mysql://ada:hunter2@host/team"\n')
    for words in (["todos"], ["config"], ["doctor"]):
        main(words)
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err


def test_an_address_may_begin_in_the_short_form_of_libpq() -> None:
    assert main(["config", "set", "db", "postgres://ada@host/team"]) == 0
    assert store_path() == "postgres://ada@host/team"


def test_doctor_shows_no_password_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PUNCHLIST_DB", "postgresql://ada:hunter2@127.0.0.1:1/team")
    for words in (["doctor"], ["doctor", "--json"]):
        main(words)
    said = capsys.readouterr().out
    assert "postgresql://ada:…@127.0.0.1:1/team" in said
    assert SECRET not in said


def test_parameters_of_an_address_reach_the_database_as_they_stand(postgres: str) -> None:
    mark = "&" if "?" in postgres else "?"
    with Board.open(f"{postgres}{mark}application_name=a%20b&options=-c%20statement_timeout%3D0") as board:
        assert board.lists() == []


# Pointers: hooks and settings of agents know a database by the path of a file that holds its address.


def test_a_pointer_leads_to_its_database_and_follows_another_password() -> None:
    first, second = (f"postgresql://ada:{word}@host/team" for word in ("hunter2", "other"))
    pointer = side_path(first)
    assert store_path(pointer) == first
    assert side_path(second) == pointer
    assert store_path(pointer) == second
    assert side_path("postgresql://ada:other@host/second") != pointer


def test_the_command_of_a_worker_is_given_no_password(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    address = url.replace("//postgres:", "//postgres:hunter2")
    for words in (["add", "Paint"], ["work", "--once", "--", "printenv", "PUNCHLIST_DB"]):
        assert main(["--db", address, "tasks", *words]) == 0
    said = capfd.readouterr().out
    assert store_path(next(line for line in said.splitlines() if line.startswith("/"))) == address
    assert SECRET not in said


@pytest.mark.parametrize("content", [None, "", "nothing"])
def test_a_pointer_without_an_address_is_no_board(content: str | None) -> None:
    pointer = Path(side_path("postgresql://ada@host/team"))
    pointer.unlink()
    if content is not None:
        pointer.write_text(content)
    with pytest.raises(StoreUnavailable, match="punchlist attach"):
        Board.open(pointer)
