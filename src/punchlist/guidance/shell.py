"""Whether a shell command only reads. What is not known to read, changes.

The tables name commands that write nothing whatever their arguments (`PLAIN`), those that read in some forms (a
function each, in `FORMS`), and programs with verbs that read (`VERBS`). A variable or pattern in the arguments of one
of the latter two could become an option that writes, so it counts as a change there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from punchlist.guidance.shell_forms import FORMS
from punchlist.guidance.shell_programs import PLAIN, VERBS, VERSIONED
from punchlist.guidance.shell_words import LONGEST, UNKNOWN, Unreadable, commands

_DEEPEST: Final = 4
"""How many shells within shells are looked into."""

_HOMES: Final = frozenset({"/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/sbin", "/usr/sbin"})
_SKIPPED: Final = frozenset({"!", "{", "}", "if", "then", "elif", "else", "fi", "while", "until", "do", "done"})
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_HARMLESS = re.compile(r"LC_\w+|LANG|LANGUAGE|TZ|COLUMNS|LINES|TERM|NO_COLOR|FORCE_COLOR|CLICOLOR\w*|PYTHONUNBUFFERED")
_PAGERS: Final = frozenset({"PAGER", "GIT_PAGER", "MANPAGER"})


def reads_only(command: str | Sequence[str], depth: int = 0) -> bool:
    """Whether this command, a line or its words, is known to change nothing. Never raises."""
    if not isinstance(command, str):
        words = list(command)
        return _shell(words[1:], depth) if words and words[0] in _SHELLS else _split(words) and _reads(words, depth)
    try:
        found = False
        for words in commands(command):
            found = True
            if not _reads(words, depth):
                return False
    except Unreadable:
        return False
    return found


def _split(words: list[str]) -> bool:
    """Whether these are the words of one command, and not lines of several."""
    return sum(map(len, words)) <= LONGEST and not any(char.isspace() for word in words for char in word)


def _reads(words: list[str], depth: int) -> bool:
    at = 0
    while at < len(words) and words[at] in _SKIPPED:
        at += 1
    while at < len(words) and (set_to := _ASSIGNMENT.fullmatch(words[at])) is not None:
        if not _harmless(set_to[1], set_to[2]):
            return False
        at += 1
    if at == len(words):
        return True
    home, _, name = words[at].rpartition("/")
    if home and home not in _HOMES:
        return False
    args = words[at + 1 :]
    if name in PLAIN:
        return True
    wrapper = _WRAPPERS.get(name)
    if wrapper is not None:
        return wrapper(args, depth)
    if any(UNKNOWN in arg for arg in args):
        return False
    if name in VERSIONED and args in (["--version"], ["-V"], ["--help"], ["version"]):
        return True
    verbs = VERBS.get(name)
    if verbs is not None:
        logs = any(arg.startswith("--log") for arg in args)
        return bool(args) and not logs and (args[0] in verbs or " ".join(args[:2]) in verbs)
    form = FORMS.get(name)
    return form is not None and form(args)


def _harmless(name: str, value: str) -> bool:
    return _HARMLESS.fullmatch(name) is not None or (name in _PAGERS and value == "cat")


# Commands that run another one.

_LINE = re.compile(r"-[lieux]*c")
_XARGS = re.compile(r"-[0rtx]+|-[nPLIds].+|--null|--no-run-if-empty")


def _shell(args: list[str], depth: int) -> bool:
    if depth >= _DEEPEST or len(args) < 2 or _LINE.fullmatch(args[0]) is None:
        return False
    return UNKNOWN not in args[1] and reads_only(args[1], depth + 1)


def _after(flags: str, *, valued: str = "", operands: int = 0) -> Callable[[list[str], int], bool]:
    """A wrapper such as `timeout`: its flags, as a pattern, those with a value, its operands, then the command."""
    pattern = re.compile(flags)

    def judge(args: list[str], depth: int) -> bool:
        at = 0
        while at < len(args) and args[at].startswith("-"):
            if args[at] in valued.split():
                at += 2
            elif pattern.fullmatch(args[at]) is not None:
                at += 1
            else:
                return False
        return _inner(args[at + operands :], depth)

    return judge


def _inner(words: list[str], depth: int) -> bool:
    return bool(words) and depth < _DEEPEST and _reads(words, depth + 1)


def _env(args: list[str], depth: int) -> bool:
    return not args or (not args[0].startswith("-") and _inner(args, depth))


def _command(args: list[str], depth: int) -> bool:
    return args[:1] in (["-v"], ["-V"]) or (bool(args) and not args[0].startswith("-") and _inner(args, depth))


def _for(args: list[str], _depth: int) -> bool:
    """The head of a loop; its variable must not be one that means something to the shell."""
    return bool(args) and args[0].isidentifier() and args[0].islower()


def _xargs(args: list[str], _depth: int) -> bool:
    """What comes from the pipe may look like an option, so only commands without any that write will do."""
    at = 0
    while at < len(args) and args[at].startswith("-"):
        if _XARGS.fullmatch(args[at]) is not None:
            at += 1
        elif args[at] in ("-n", "-P", "-L", "-I", "-d", "-s"):
            at += 2
        else:
            return False
    name = args[at] if at < len(args) else "echo"
    return name in PLAIN


_WRAPPERS: dict[str, Callable[[list[str], int], bool]] = {
    **dict.fromkeys(_SHELLS, _shell),
    "for": _for,
    "env": _env,
    "command": _command,
    "xargs": _xargs,
    "sudo": _after("-n|--non-interactive"),
    "time": _after("-p"),
    "nice": _after(r"-\d+|-n-?\d+", valued="-n"),
    "timeout": _after(r"-[sk].+|--(?:signal|kill-after)=.+|--foreground|--preserve-status", valued="-s -k", operands=1),
    "stdbuf": _after(r"-[oei].+"),
}
