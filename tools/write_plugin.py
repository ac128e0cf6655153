"""Write what is published beside the package: the plugin of the marketplace for Claude Code, and server.json.

The plugin is the one that `punchlist attach claude-code` writes, launched by `uvx`.
"""

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

from punchlist import __version__
from punchlist.attach.plugin import NAME, PublishedLaunch, claude_files

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = "plugins/claude-code"
_SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


def list_files() -> dict[str, bytes]:
    """Return every file, by its path in the repository."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository: str = project["urls"]["Repository"]
    owner = repository.removeprefix("https://github.com/").partition("/")[0]
    about = "Todo lists, plans and progress of your agents, grounded in what they really did"
    marketplace = {
        "name": NAME,
        "owner": {"name": project["authors"][0]["name"]},
        "description": about,
        "plugins": [{"name": NAME, "source": f"./{PLUGIN}", "description": about, "homepage": repository}],
    }
    server = {
        "$schema": _SERVER_SCHEMA,
        "name": f"io.github.{owner}/{NAME}",
        "title": "Punchlist",
        "description": about,
        "websiteUrl": project["urls"]["Documentation"],
        "repository": {"url": repository, "source": "github"},
        "version": __version__,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": NAME,
                "version": __version__,
                "runtimeHint": "uvx",
                "packageArguments": [{"type": "positional", "value": "mcp"}],
                "transport": {"type": "stdio"},
            }
        ],
    }
    files = {f"{PLUGIN}/{path}": content for path, content in claude_files(PublishedLaunch()).items()}
    install = f"\nInstall it in Claude Code:\n\n    /plugin install {NAME} --marketplace {owner}/{NAME}\n"
    files[f"{PLUGIN}/README.md"] += install.encode()
    return {**files, ".claude-plugin/marketplace.json": _json(marketplace), "server.json": _json(server)}


def _json(value: dict[str, Any]) -> bytes:
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n".encode()


def main() -> None:
    shutil.rmtree(ROOT / PLUGIN, ignore_errors=True)
    for name, content in list_files().items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    main()
