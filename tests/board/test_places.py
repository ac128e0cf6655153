"""The place of the user's own board: where platformdirs says that such data belongs."""

import os
from pathlib import Path

import pytest
from platformdirs import user_data_dir

from punchlist.settings import default_path


@pytest.mark.parametrize("folder", [None, "", "relative", "/somewhere/else", "/with/../dots"])
def test_the_users_board_is_where_the_system_keeps_such_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str | None
):
    monkeypatch.setenv("HOME", str(tmp_path))
    if folder is None:
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_DATA_HOME", folder)
    assert default_path() == os.path.join(user_data_dir("punchlist", appauthor=False), "board.db")
