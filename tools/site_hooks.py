"""Make the pages of docs/ fit the site: MkDocs calls these. On GitHub the same files are read as they are."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_FENCE = re.compile(r"^```(\w+) (?:no-)?run$", re.MULTILINE)
_OUTSIDE = re.compile(r"(\]\()((?:\.\./)+)([^)\s]+)\)")
_REPOSITORY: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]


def on_config(config: Any) -> Any:
    # Not as `repo_url`: the theme would then ask GitHub for the number of stars, from each reader's browser.
    config["copyright"] = f'MIT licence · <a href="{_REPOSITORY}">source</a>'
    return config


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Take our own words out of fences, and let links to files beside docs/ point into the repository."""
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def expand(link: re.Match[str]) -> str:
        path, _, anchor = link[3].partition("#")
        target = (folder / link[2] / path).resolve()
        if target.is_relative_to(ROOT / "docs"):
            return link[0]
        end = f"#{anchor}" if anchor else ""
        return f"{link[1]}{_REPOSITORY}/blob/main/{target.relative_to(ROOT).as_posix()}{end})"

    return _OUTSIDE.sub(expand, _FENCE.sub(r"```\1", markdown))
