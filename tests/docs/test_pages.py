"""The pages say what the program does: what they show runs, and what it knows they list."""

import re
import sqlite3
from pathlib import Path

import pytest
from tools import check_docs, write_docs

from punchlist import Board
from punchlist.agent import AgentOptions

READMES = [check_docs.ROOT / "README.md", check_docs.ROOT / "examples" / "README.md"]
PAGES = [*READMES, *sorted((check_docs.ROOT / "docs").rglob("*.md"))]
BLOCKS = [block for page in PAGES for block in check_docs.blocks(page)]


@pytest.mark.parametrize("block", BLOCKS, ids=[block.place for block in BLOCKS])
def test_what_a_page_shows_runs(block: check_docs.Block) -> None:
    assert check_docs.fault(block) is None


def test_the_readme_shows_commands_that_run() -> None:
    assert {block.language for block in BLOCKS if block.place.startswith("README.md")} == {"sh"}


def test_commands_and_settings_are_listed_as_the_program_has_them() -> None:
    assert write_docs.stale() == []


def test_optional_arguments_of_commands_are_shown_as_optional() -> None:
    page = write_docs.commands_page()
    for place in ("`[PATH\\|SESSION]`", "`signal TOPIC ID [VALUE]`", "`fail TASK [REASON …]`", "`show TASK …`"):
        assert place in page


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(check_docs.ROOT)) for page in PAGES])
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = check_docs.links(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_option_of_an_agent_is_on_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [option for option in AgentOptions.__annotations__ if f"`{option}`" not in pages] == []


def test_the_page_on_architecture_says_each_thing_once_and_names_every_table(tmp_path: Path) -> None:
    page = (check_docs.ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    heads = [line for line in page.splitlines() if line.startswith("#")]
    points = re.findall(r"(?m)^- \*\*[^*]+\*\*", page)
    assert len(set(heads)) == len(heads)
    assert len(set(points)) == len(points)
    Board.open(tmp_path / "board.db").close()
    connection = sqlite3.connect(tmp_path / "board.db")
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    connection.close()
    (said,) = re.findall(r"(?ms)^- \*\*Tables\*\*: (.*?)\n- ", page)
    assert {name for name in tables if not name.startswith("sqlite_")} == set(re.findall(r"`(\w+)`", said))


def test_the_index_leads_to_every_page_of_the_docs() -> None:
    docs = check_docs.ROOT / "docs"
    linked = set(check_docs.links((docs / "README.md").read_text(encoding="utf-8")))
    assert {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")} - linked == {"README.md"}
    assert "docs/README.md" in check_docs.links((check_docs.ROOT / "README.md").read_text(encoding="utf-8"))
