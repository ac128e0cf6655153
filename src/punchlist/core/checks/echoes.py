"""The exit code of a check that the line itself prints behind it: `pytest -q | tail -3; echo EXIT=${PIPESTATUS[0]}`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from punchlist.core.checks.exits import pipes_fail
from punchlist.core.checks.shell import Command

_LABEL: Final = (
    r"(?i)(?:exit|code|rc|ret|return|returned|status|result|tests?|pytest|build|lint|check|done|with|was|is|[\W_])*"
)
"""What may stand before the code, beside words of the check's name. It is kept with the call: no more than that."""

_CODE: Final = r"\$\?|\$\{PIPESTATUS(?:\[0\])?\}|\$PIPESTATUS"
_LONGEST: Final = 40


def echo_of(run: Sequence[Command], place: int, name: str) -> str | None:
    """What the line prints before the exit code of this command, a check of this name, at once behind it.

    None if it does not.
    """
    end = place
    while end + 1 < len(run) and run[end].joint == "|" and run[end + 1].scope == run[place].scope:
        end += 1
    if end + 1 >= len(run) or run[end].joint != ";" or any(command.loose for command in run[place : end + 2]):
        return None
    echo = run[end + 1]
    if echo.words[:1] != ("echo",) or echo.scope != run[place].scope or run[place].unsure:
        return None
    said = " ".join(word for word in echo.words[1:] if word not in ("-e", "-n", "-E"))
    before, code, behind = _parts(said)
    starts_pipe = place == 0 or run[place - 1].joint != "|"
    is_its_own = starts_pipe if "PIPESTATUS" in code else end == place or pipes_fail(run, place)
    label = before.rpartition("\\n")[2].lstrip()
    return label if code and is_its_own and _is_plain(label, name) and not behind.strip(" \"'.)]-=") else None


def echoed_code(label: str, output: str) -> int | None:
    """The exit code that stands behind the label, in the last line that has one."""
    found = _compiled(rf"(?m)^[ \t]*{re.escape(label.rstrip())}[ \t]*(\d{{1,3}})[ \t.)\]=-]*$").findall(output[-2_000:])
    return int(found[-1]) if found else None


def _is_plain(label: str, name: str) -> bool:
    if len(label) > _LONGEST or "$" in label:
        return False
    own = "|".join(re.escape(word) for word in sorted(name.split(), key=len, reverse=True))
    others = re.sub(rf"(?i)(?<![^\W_])(?:{own})(?![^\W_])", "", label)
    return _compiled(_LABEL).fullmatch(others) is not None


def _parts(said: str) -> tuple[str, str, str]:
    code = _compiled(_CODE).search(said)
    return ("", "", "") if code is None else (said[: code.start()], code[0], said[code.end() :])


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
