"""What is secret on one's own ground: patterns that a host or the environment names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from punchlist.config import redaction
from punchlist.errors import ConfigInvalid

if TYPE_CHECKING:
    from punchlist.agent.handle import AgentOptions


def own_secrets(options: AgentOptions) -> re.Pattern[str] | None:
    """One pattern for all of them, those of the environment included; None if there are none.

    Raises `ConfigInvalid` for what is no regular expression.
    """
    given = options.get("redact") or ()
    patterns = [("redact", one) for one in ([given] if isinstance(given, str) else given)]
    if (everywhere := redaction()) is not None:
        patterns.append(("PUNCHLIST_REDACT", everywhere))
    return re.compile("|".join(f"(?:{_checked(name, one)})" for name, one in patterns)) if patterns else None


def _checked(name: str, pattern: Any) -> str:
    try:
        if isinstance(pattern, str) and pattern:
            re.compile(f"(?:{pattern})")
            return pattern
        problem = "use a text"
    except re.error as error:
        problem = f"it is no regular expression: {error}"
    raise ConfigInvalid(name=name, value=str(pattern)[:80], problem=problem)
