"""Write what is published beside the package: the plugin of the marketplace for Claude Code, and server.json.

The plugin is the one that `punchlist attach claude-code` writes, launched by `uvx`.
"""

import json
import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any

from punchlist import __version__
from punchlist.attach.plugin import NAME, Launch, claude_files

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = "plugins/claude-code"
_SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


_README = """\
# Punchlist

This plugin connects Claude Code with your Punchlist board: a `todo` and a `task` tool for the model, hooks that record
what really happened, and the commands `/punchlist:todos` and `/punchlist:todo`. It starts Punchlist by `uvx`
(https://docs.astral.sh/uv/), which has to be on your PATH; nothing else is installed.

See your agents with `uvx punchlist serve`. For rows under the prompt, and hooks that start quicker, install the program
(`pipx install punchlist`), run `punchlist attach claude-code`, and uninstall this plugin.
"""


class PublishedLaunch(Launch, frozen=True):
    """How an agent starts the published package, by `uvx`, which a plugin of a marketplace needs: no path is known."""

    python: str = ""
    folder: str = ""
    board: str = ""

    def program(self, *arguments: str) -> list[str]:
        if arguments[:1] == ("--db",):  # the board that the package means
            arguments = arguments[2:]
        return ["uvx", "--quiet", f"{NAME}@{__version__}", *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return {}

    def hook(self, *arguments: str) -> str:
        """Return the shell command of a hook. Without `uvx`, or if that fails, it is silent: its 2 would block."""
        words = ["uvx", "--quiet", "--from", f"{NAME}=={__version__}", "punchlist-hook", *arguments]
        return f"{shlex.join(words)} 2>/dev/null || true"


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
    files[f"{PLUGIN}/README.md"] = f"{_README}{install}".encode()
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
