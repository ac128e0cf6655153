"""The extras of pyproject.toml: each is for code that exists, and what the errors advise can be installed."""

import re
import tomllib
from pathlib import Path

import pytest

import punchlist
import punchlist.adapters
from punchlist.adapters import EXTRAS
from punchlist.errors import ExtraMissing

ROOT = Path(__file__).parents[2]
MODULES = {
    "agent-client-protocol": "acp",
    "zstandard": "zstandard",
    "mcp": "mcp",
    "psycopg": "psycopg",
    "agent-framework-core": "agent_framework",
    "langchain": "langchain",
    "openai-agents": "agents",
    "pydantic-ai-slim": "pydantic_ai",
}
BESIDE = {"claude-agent-sdk"}
"""Packages that the user's program imports, and ours does not."""
ADAPTERS = ROOT / "src" / "punchlist" / "adapters"


def test_every_extra_is_imported_and_every_advised_extra_exists():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    every = extras.pop("all")
    extras.pop("docs")  # for `make site` alone
    assert extras.pop("serve") == []  # the base has what it named once
    assert every == [f"punchlist[{','.join(name for name in extras if name not in EXTRAS.values())}]"]
    for needed in extras.values():
        for requirement in needed:
            package = re.split(r"[><=\[]", requirement)[0]
            module = MODULES.get(package)
            assert package in BESIDE or re.search(rf"^ *(import|from) {module}\b", source, re.MULTILINE), requirement
    advised = {*re.findall(r'ExtraMissing\(.*extra="(\w+)"', source), *EXTRAS.values()}
    assert advised == set(extras)


def test_a_framework_is_imported_in_the_module_of_its_adapter_and_nowhere_else():
    frameworks = r"(?m)^ *(?:import|from) (?:agent_framework|agents|claude_agent_sdk|lang\w+|pydantic_ai\w*)\b"
    found = {path for path in (ROOT / "src").rglob("*.py") if re.search(frameworks, path.read_text(encoding="utf-8"))}
    assert found == {ADAPTERS / f"{name}.py" for name in EXTRAS if name != "claude_sdk"}


def test_an_adapter_without_its_framework_says_what_to_install():
    with pytest.raises(ExtraMissing) as caught:
        _ = punchlist.adapters.langchain  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]
    assert "langchain" in str(caught.value)
    assert punchlist.adapters.claude_sdk.options  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    with pytest.raises(AttributeError):
        _ = punchlist.adapters.unknown  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]
