"""Which projects report to a team's server."""

from __future__ import annotations

from pathlib import Path

import pytest

from punchlist.errors import SettingsFileInvalid
from punchlist.settings.environment import normalise_remote
from punchlist.settings.table import load_settings, set_setting
from punchlist.settings.team import find_team
from tests.repositories import clone


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config" / "config.toml"
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(path))
    set_setting(str(path), "team.server", "https://board.example.org")
    set_setting(str(path), "team.projects", ("git.example.org/shop",))
    return path


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example.org/shop.git",
        "https://ada:secret@git.example.org/shop",
        "git@git.example.org:shop.git",
        "ssh://git@git.example.org/shop/",
    ],
)
def test_all_clones_of_a_shared_repository_report_to_the_team(config: Path, tmp_path: Path, url: str) -> None:
    assert normalise_remote(url) == "git.example.org/shop"
    team = find_team(clone(tmp_path / "clone", url))
    assert team is not None
    assert team.server == "https://board.example.org"


def test_another_project_stays_on_this_machine(config: Path, tmp_path: Path) -> None:
    assert find_team(clone(tmp_path / "other", "https://git.example.org/shop-2")) is None
    (tmp_path / "plain").mkdir()
    assert find_team(tmp_path / "plain") is None
    set_setting(str(config), "team.projects", ())
    assert find_team(clone(tmp_path / "shop", "https://git.example.org/shop")) is None


def test_an_address_with_a_path_or_a_password_is_no_server(config: Path) -> None:
    for address in ("board.example.org", "https://a:b@board.example.org", "https://board.example.org/x", "ftp://x"):
        with pytest.raises(SettingsFileInvalid):
            set_setting(str(config), "team.server", address)
    assert load_settings().team.share == "lines"
