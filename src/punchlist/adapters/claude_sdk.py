"""The Claude Agent SDK: `ClaudeAgentOptions(**options())` gives its agents the plugin that `punchlist attach` writes.

The plugin has the `todo` tool, the hooks and the guard. They run beside the SDK's CLI, so the SDK is not imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Final

from punchlist.attach.file_changes import FileChange, apply_changes, read_file
from punchlist.attach.plugin import NAME, claude_files, find_launch
from punchlist.errors import InvalidInput
from punchlist.settings import default_path
from punchlist.store import store_path
from punchlist.text.hashing import blake2b

TOOLS: Final = tuple(f"mcp__plugin_{NAME}_{NAME}__{tool}" for tool in ("todo", "task"))
"""Our tools, as the CLI names them."""


def options(
    board: str | os.PathLike[str] | None = None,
    *,
    plugins: Iterable[Mapping[str, Any]] = (),
    allowed_tools: Iterable[str] = (),
) -> dict[str, Any]:
    """Return options for `ClaudeAgentOptions`, with your own `plugins` and `allowed_tools`; the board is the user's.

    It writes the plugin into the user's data folder, if it is not there yet.
    """
    path = store_path(board)
    if not path:
        raise InvalidInput(problem="The CLI is another process and cannot see a board in memory: name a file.")
    launch = find_launch(path)
    key = blake2b(f"{launch.python}\0{launch.folder}\0{path}".encode(), digest_size=6).hexdigest()
    folder = os.path.join(os.path.dirname(default_path()), "claude-sdk", key, NAME)
    files = {os.path.join(folder, name): content for name, content in claude_files(launch).items()}
    changes = [FileChange(file, read_file(file), content) for file, content in files.items()]
    apply_changes(change for change in changes if change.before != change.after)
    ours = {"type": "local", "path": folder}
    return {"plugins": [*plugins, ours], "allowed_tools": [*allowed_tools, *TOOLS]}
