"""Decide what the exit status of a whole command line says about one command in it, as a shell would.

A command stands in groups: `( … )`, `{ … }`, the text of a `bash -c`. From the innermost outwards: would a failure
reach the end of the group, and would that of the group reach the end of the line? A line may also print the status of
its check itself: `pytest -q | tail -3; echo EXIT=${PIPESTATUS[0]}`.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from punchlist.core.checks.shell import BRACE, PROCESS, Joint, SimpleCommand, compiled


class _Settings(NamedTuple):
    """`strict`: the shell stops at the first failure. `pipes`: the failure of a part of a pipe is that of the pipe."""

    strict: bool = False
    pipes: bool = False


_Way = Literal["open", "skipped"]
_OPEN: Final[_Way] = "open"
_SKIPPED: Final[_Way] = "skipped"
"""A failure that stands at the end of its group, or that passed over what is behind `&&`, where no shell stops."""


def zero_counts(run: Sequence[SimpleCommand], places: Sequence[int]) -> bool:
    """True if an exit status of 0 of the whole line means that the commands at these places ran and ended with 0."""
    if any(_may_leave_early(run, place) for place in places):
        return False
    waiting, seen = list(places), set[int]()
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        before = _conditions(run, at)
        if not _gets_through(run, at) or (at in places and "||" in before.values()):
            return False
        waiting += [earlier for earlier, joint in before.items() if joint == "&&"]
    return True


def _gets_through(run: Sequence[SimpleCommand], place: int) -> bool:
    """True if a failure of this command is one of the whole."""
    scope = run[place].scope
    if run[place].loose or run[place].unsure:
        return False
    last, way = place, _OPEN
    for level in range(len(scope), -1, -1):
        end = _end(run, place, level)
        start = way if level < len(scope) and scope[level][0] == BRACE else _OPEN
        way = _way(run, last, end, level, _settings(run, place, level), start)
        if way is None:
            return False
        last = end
    return run[-1].joint != "&"


def _conditions(run: Sequence[SimpleCommand], place: int) -> dict[int, Joint]:
    """Return the commands before this one, or before a group that it is in, that decide whether it runs."""
    found: dict[int, Joint] = {}
    scope = run[place].scope
    for level in range(len(scope), -1, -1):
        at = _first(run, place, level + 1) if level < len(scope) else place
        while at > 0 and run[at - 1].joint == "|" and run[at - 1].scope[:level] == scope[:level]:  # a pipe as a whole
            at = _first(run, at - 1, level + 1) if len(run[at - 1].scope) > level else at - 1
        if at == 0 or run[at - 1].scope[:level] != scope[:level]:
            continue
        joint = run[at - 1].joint
        if joint == "&&" or (joint == "||" and run[at - 1].words[:1] != ("false",)):
            found[at - 1] = joint
    return found


def _may_leave_early(run: Sequence[SimpleCommand], place: int) -> bool:
    """True if the shell may end with 0 before it comes to this command, or at its end whatever happened."""
    scope = run[place].scope
    for at, command in enumerate(run[:place]):
        name, given = command.words[:1], command.words[1:]
        if name == ("trap",) and any("exit" in word for word in given):
            return True
        if name == ("exit",):
            of = command.scope
            while of and of[-1][0] == BRACE:
                of = of[:-1]
            behind_failure = at > 0 and run[at - 1].joint == "||" and given in ((), ("$?",))
            is_bad = behind_failure or (given and given[0].isdigit() and int(given[0]) % 256)
            if scope[: len(of)] == of and not is_bad:
                return True
    return False


def is_failure_swallowed(run: Sequence[SimpleCommand], place: int) -> bool:
    """True if the exit code of the whole is not that of this command, because a pipe or the background takes it."""
    pipes = has_pipefail(run, place)
    piped = any(command.joint == "|" for command in run[place:-1])
    return (piped and not pipes) or run[-1].joint == "&"


def has_pipefail(run: Sequence[SimpleCommand], place: int) -> bool:
    """True if the failure of a part of a pipe is that of the pipe, where this command stands."""
    return _settings(run, place, len(run[place].scope)).pipes


def _end(run: Sequence[SimpleCommand], place: int, level: int) -> int:
    """The last command of the group of this depth that a command stands in."""
    group = run[place].scope[:level]
    at = place
    while at + 1 < len(run) and run[at + 1].scope[:level] == group:
        at += 1
    return at


def _way(
    run: Sequence[SimpleCommand], last: int, end: int, level: int, settings: _Settings, start: _Way
) -> _Way | None:
    """How the failure of what ends at `last` becomes that of its group, which goes until `end`; None if it is lost."""
    at, over, skipped = last, False, start == _SKIPPED  # over: it has passed over what is behind an `&&` here
    while at < end:
        joint, first = run[at].joint, at + 1
        at = _end(run, first, level + 1) if len(run[first].scope) > level else first
        if joint == "&&":
            over = skipped = True
        elif joint == "|":
            if not (settings.pipes or over):
                return None
            skipped = over
        elif joint == "||":
            certain = run[at].joint != "|" and (at == first or run[at - 1].joint == ";")
            certain = certain and all(command.words[:1] != ("exit",) for command in run[first:at])
            if not certain or not _ends_badly(run[at].words):
                return None
            if run[at].words[0] != "false" and not _is_subshell(run[at], level):
                return _OPEN
            over = skipped = False
        else:
            return _OPEN if joint != "&" and settings.strict and not skipped else None
    return _SKIPPED if skipped else _OPEN


def _ends_badly(words: Sequence[str]) -> bool:
    """True if a command, behind `||`, passes the failure on."""
    return words[:1] == ("false",) or (words[:1] in (("exit",), ("return",)) and words[1:] != ("0",))


def _is_subshell(command: SimpleCommand, level: int) -> bool:
    """True if the command, seen from this depth, can only end a shell within."""
    return any(group[0] != BRACE for group in command.scope[level:])


def _settings(run: Sequence[SimpleCommand], place: int, level: int) -> _Settings:
    """The settings that hold in the group of this depth when the command is reached."""
    scope = run[place].scope[:level]
    strict = pipes = False
    for at, command in enumerate(run[:place]):
        if command.words[:1] == ("set",) and _bears_on(run, at, scope):
            certain = not command.loose and not _is_conditional(run, at)
            for name, on in _options(command.words[1:]):
                holds = on and certain
                strict, pipes = (holds, pipes) if name == "errexit" else (strict, holds)
    return _Settings(strict and not _ignored(run, place, level), pipes)


def _bears_on(run: Sequence[SimpleCommand], at: int, scope: tuple[str, ...]) -> bool:
    """True if what is set here holds in a group behind: in those within its own, but not in a process of its own."""
    of = run[at].scope
    if _is_piped(run, at, at):
        return False
    while of and of[-1][0] == BRACE and not _is_piped(run, _first(run, at, len(of)), _end(run, at, len(of))):
        of = of[:-1]
    return scope[: len(of)] == of and not any(group[0] == PROCESS for group in scope[len(of) :])


def _is_piped(run: Sequence[SimpleCommand], first: int, last: int) -> bool:
    """True if this is a part of a pipe, and so a shell of its own."""
    return run[last].joint == "|" or (first > 0 and run[first - 1].joint == "|")


def _is_conditional(run: Sequence[SimpleCommand], at: int) -> bool:
    """True if this, or a group that it stands in, is behind `&&` or `||`."""
    starts = {at, *(_first(run, at, depth) for depth in range(1, len(run[at].scope) + 1))}
    return any(start > 0 and run[start - 1].joint in ("&&", "||") for start in starts)


def _first(run: Sequence[SimpleCommand], place: int, level: int) -> int:
    """The first command of the group of this depth that a command stands in."""
    group = run[place].scope[:level]
    at = place
    while at > 0 and run[at - 1].scope[:level] == group:
        at -= 1
    return at


def _ignored(run: Sequence[SimpleCommand], place: int, level: int) -> bool:
    """A group before `&&` or `||` does not stop at a failure within it, whatever was set."""
    scope = run[place].scope
    for depth in range(level, 0, -1):
        if scope[depth - 1][0] == PROCESS:
            return False
        if run[_end(run, place, depth)].joint in ("&&", "||"):
            return True
    return False


def _options(words: Sequence[str]) -> list[tuple[str, bool]]:
    """`errexit` and `pipefail` as `set` is told them, and whether they are switched on."""
    found: list[tuple[str, bool]] = []
    at = 0
    while at < len(words) and words[at][:1] in ("-", "+") and words[at] != "--":
        on, letters = words[at][0] == "-", words[at][1:]
        if "e" in letters:
            found.append(("errexit", on))
        if "o" in letters:
            at += 1
            name = words[at] if at < len(words) else ""
            found += [(name, on)] * (name in ("errexit", "pipefail"))
        at += 1
    return found


_LABEL: Final = (
    r"(?i)(?:exit|code|rc|ret|return|returned|status|result|tests?|pytest|build|lint|check|done|with|was|is|[\W_])*"
)
"""What may stand before the code, beside words of the check's name. It is kept with the call: no more than that."""

_CODE: Final = r"\$\?|\$\{PIPESTATUS(?:\[0\])?\}|\$PIPESTATUS"
_LONGEST: Final = 40


def echo_of(run: Sequence[SimpleCommand], place: int, name: str) -> str | None:
    """Return the label before the exit status that the line prints right after this command, a check of this name.

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
    is_its_own = starts_pipe if "PIPESTATUS" in code else end == place or has_pipefail(run, place)
    label = before.rpartition("\\n")[2].lstrip()
    return label if code and is_its_own and _is_plain(label, name) and not behind.strip(" \"'.)]-=") else None


def echoed_code(label: str, output: str) -> int | None:
    """Return the exit status after the label, in the last line that has one."""
    found = compiled(rf"(?m)^[ \t]*{re.escape(label.rstrip())}[ \t]*(\d{{1,3}})[ \t.)\]=-]*$").findall(output[-2_000:])
    return int(found[-1]) if found else None


def _is_plain(label: str, name: str) -> bool:
    if len(label) > _LONGEST or "$" in label:
        return False
    own = "|".join(re.escape(word) for word in sorted(name.split(), key=len, reverse=True))
    others = re.sub(rf"(?i)(?<![^\W_])(?:{own})(?![^\W_])", "", label)
    return compiled(_LABEL).fullmatch(others) is not None


def _parts(said: str) -> tuple[str, str, str]:
    code = compiled(_CODE).search(said)
    return ("", "", "") if code is None else (said[: code.start()], code[0], said[code.end() :])
