"""The extras of pyproject.toml: each is for code that exists, and what the errors advise can be installed."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = {
    "agent-client-protocol": "acp",
    "zstandard": "zstandard",
    "mcp": "mcp",
}


def test_every_extra_is_imported_and_every_advised_extra_exists():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    every = extras.pop("all")
    assert extras.pop("serve") == []  # the base has what it named once
    assert every == [f"punchlist[{','.join(extras)}]"]
    for needed in extras.values():
        for requirement in needed:
            module = MODULES[re.split(r"[><=\[]", requirement)[0]]
            assert re.search(rf"^ *(import|from) {module}\b", source, re.MULTILINE), requirement
    assert set(re.findall(r'ExtraMissing\(.*extra="(\w+)"', source)) == set(extras)
