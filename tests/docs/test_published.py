"""What is published beside the package is what the program and pyproject.toml say: plugin, server.json, index page."""

import json
import re
from pathlib import Path

import pytest
from tools.index_readme import make_absolute
from tools.release import read_notes, read_version
from tools.write_plugin import list_files

ROOT = Path(__file__).parents[2]


def test_the_plugin_and_server_json_are_those_that_make_docs_writes():
    for name, content in list_files().items():
        assert (ROOT / name).read_bytes() == content, f"{name}: run `make docs`"


def test_the_plugin_names_no_path_of_this_machine():
    files = b"".join(list_files().values())
    assert str(ROOT).encode() not in files
    assert str(Path.home()).encode() + b"/" not in files


def test_every_hook_of_the_plugin_ends_well_where_there_is_no_uvx():
    hooks = json.loads(list_files()["plugins/claude-code/hooks/hooks.json"])["hooks"]
    assert all(group["hooks"][0]["command"].endswith("|| true") for groups in hooks.values() for group in groups)


def test_every_link_of_the_index_page_is_absolute():
    text = make_absolute((ROOT / "README.md").read_text(encoding="utf-8"), "https://github.com/a/b", "v1")
    links = re.findall(r"(!?)\[[^]]*\]\(([^)]+)\)", text)
    assert len(links) > 20
    for is_image, link in links:
        host = "https://raw.githubusercontent.com/a/b/v1/" if is_image else "https://github.com/a/b/blob/v1/"
        assert link.startswith(host) or (link.startswith("https://") and "github" not in link), link
        assert not link.startswith(host) or (ROOT / link.removeprefix(host).partition("#")[0]).exists(), link


def test_the_version_stands_in_one_place():
    found = [path for path in ("pyproject.toml", "Makefile") if f'"{read_version()}"' in (ROOT / path).read_text()]
    assert found == []


@pytest.mark.parametrize(
    "text", ["", "## [Unreleased]\n\n- New\n", "## [1.2.3] - 2026-11-18\n\n## [1.2.2] - 2026-01-01\n- Old\n"]
)
def test_a_release_needs_its_section_in_the_changelog(text: str):
    with pytest.raises(SystemExit):
        read_notes(text, "1.2.3")


def test_the_notes_of_a_release_are_its_section_alone():
    text = "# Changelog\n\n## [1.2.3] - 2026-11-18\n\n- New\n\n## [1.2.2] - 2026-01-01\n\n- Old\n"
    assert read_notes(text, "1.2.3") == "- New"
