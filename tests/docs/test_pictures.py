"""The pictures of the documentation: small, and nothing in them is loaded or runs."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tools import draw_top

DOCS = Path(__file__).parents[2] / "docs"
PICTURES = sorted(DOCS.rglob("*.svg"))


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_a_picture_is_small_and_loads_nothing(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    assert len(text) < 60_000
    assert set(re.findall(r"https?://[\w./]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<script|@import|url\((?!#)|\bon\w+=", text)


def test_the_live_view_has_its_picture() -> None:
    text = "".join(ElementTree.parse(DOCS / "images" / "live.svg").getroot().itertext()).replace("\xa0", " ")
    for part in (
        "Building the admin page",
        "4/7 57 %",
        "explore",
        "failing",
        "waits on a person: 1.4.0 or 2.0.0?",
        "red · coupons",
    ):
        assert part in text


def test_the_picture_of_the_first_screen_is_what_is_drawn_now() -> None:
    assert draw_top.PLACE.read_text(encoding="utf-8") == draw_top.draw()
