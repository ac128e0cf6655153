"""Tell a person at the command line from an agent in a shell. This prevents accidents, not forgery."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

AGENT_VARIABLES: Final[Mapping[str, str]] = {
    "CLAUDECODE": "Claude Code",
    "CODEX_THREAD_ID": "Codex",
    "CODEX_CI": "Codex",
    "CODEX_SANDBOX": "Codex",
    "CODEX_SANDBOX_NETWORK_DISABLED": "Codex",
    "GEMINI_CLI": "Gemini CLI",
    "QWEN_CODE": "Qwen Code",
    "OPENCODE": "OpenCode",
    "CURSOR_AGENT": "Cursor",
    "COPILOT_CLI": "Copilot CLI",
    "GOOSE_TERMINAL": "goose",
    "CRUSH": "Crush",
    "AMP_CURRENT_THREAD_ID": "Amp",
    "AUGMENT_AGENT": "Auggie",
    "CLINE_ACTIVE": "Cline",
    "ROO_ACTIVE": "Roo Code",
    "OPENCLAW_SHELL": "OpenClaw",
    "PI_CODING_AGENT": "pi",
    "AI_AGENT": "an agent",
}
"""Variables that agents set for the commands they run, each with its agent.

Exact names: a person sets others themselves, such as `CODEX_HOME` or `GOOSE_PROVIDER`.
"""


def doubt_person(environment: Mapping[str, str], *, is_terminal: bool, author: str | None = None) -> str | None:
    """Return why a command is not counted as a person's word; None if it is.

    `is_terminal`: stdin is one. `author` is the name that was given in place of the person's own.
    """
    agent = next((name for name in AGENT_VARIABLES if environment.get(name)), None)
    if agent is not None:
        return f"{agent} is set, so {AGENT_VARIABLES[agent]} runs this command"
    if not is_terminal:
        return "stdin is no terminal"
    if author is not None:
        return "--by gives another author"
    return None
