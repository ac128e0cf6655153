"""The pictures of the documentation: small, and nothing in them is loaded or runs."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tools import draw_rows, draw_top

DOCS = Path(__file__).parents[2] / "docs"
PICTURES = sorted(DOCS.rglob("*.svg"))


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_a_picture_is_small_and_loads_nothing(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    assert len(text) < 60_000
    assert set(re.findall(r"https?://[\w./]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<script|@import|url\((?!#)|\bon\w+=", text)


@pytest.mark.parametrize("tool", [draw_top, draw_rows], ids=lambda tool: tool.__name__)
def test_the_pictures_of_the_terminal_are_what_is_drawn_now(tool: Any) -> None:
    assert tool.PLACE.read_text(encoding="utf-8") == tool.draw(), "run `make docs`"


def test_the_picture_of_the_rows_shows_what_the_program_prints_below_the_prompt() -> None:
    shown = ["".join(span.text for span in row) for row in draw_rows.list_rows()]
    text = "".join(ElementTree.parse(draw_rows.PLACE).getroot().itertext()).replace("\xa0", " ")
    assert any("Test it with last year's receipts" in row for row in shown)
    for row in shown:
        assert "".join(row.split()) in "".join(text.split())
