"""Commands that read in some forms and write in others: a function each, of the arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from punchlist.guidance.shell_git import git
from punchlist.guidance.shell_options import without, words

_FINDS: Final = words("-delete -exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls")


def _find(args: list[str]) -> bool:
    return _FINDS.isdisjoint(args)


_SED_OPTIONS = re.compile(r"-[nErsuz]+|--quiet|--silent|--regexp-extended|--posix|--null-data|--separate")
_SED_SCRIPT = re.compile(r"-[nErsuz]*e")
_SED_WHERE = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)"
_SED_STEP = re.compile(
    rf"\s*(?:{_SED_WHERE}(?:,\s*(?:\+?\d+|{_SED_WHERE}))?)?\s*!?\s*"
    r"(?:[pdq=lnNgGhHxD]|s([/|#,@!])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpI\d]*)\s*(?:;|\n|$)"
)


def _sed(args: list[str]) -> bool:
    scripts: list[str] = []
    at = 0
    while at < len(args):
        arg = args[at]
        if _SED_SCRIPT.fullmatch(arg) is not None or arg == "--expression":
            at += 1
            if at == len(args):
                return False
            scripts.append(args[at])
        elif arg.startswith("-") and arg != "-":
            if _SED_OPTIONS.fullmatch(arg) is None:
                return False
        elif not scripts:
            scripts.append(arg)
        at += 1
    return bool(scripts) and all(_sed_reads(script) for script in scripts)


def _sed_reads(script: str) -> bool:
    """A script of printing, deleting and replacing; `w`, `e` and the rest are not read."""
    at = 0
    while at < len(script):
        step = _SED_STEP.match(script, at)
        if step is None or step.end() == at:
            return False
        at = step.end()
    return True


_AWKWARD = re.compile(r"[>|@]|system|getline|close")
_AWK_OPTIONS = re.compile(r"-F.*|-v.+")


def _awk(args: list[str]) -> bool:
    """Programs without output to files or commands, and without a program file."""
    for arg in args:
        if arg.startswith("-") and arg not in ("-", "-v") and _AWK_OPTIONS.fullmatch(arg) is None:
            return False
    return not any(_AWKWARD.search(arg) for arg in args)


def _operands(args: list[str]) -> int:
    return sum(not arg.startswith("-") for arg in args)


def _date(args: list[str]) -> bool:
    return without("--set", short="s")(args) and not any(arg.isdecimal() for arg in args)


def _tar(args: list[str]) -> bool:
    return (
        bool(args)
        and re.fullmatch(r"-?t[vzjJf]*|-[vzjJ]*t[vzjJf]*", args[0]) is not None
        and not any(arg.startswith("-") for arg in args[1:])
    )


FORMS: dict[str, Callable[[list[str]], bool]] = {
    "find": _find,
    "fd": without("--exec", "--exec-batch", short="xX"),
    "fdfind": without("--exec", "--exec-batch", short="xX"),
    "rg": without("--pre", "--hostname-bin"),
    "sed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "sort": without("--output", "--compress-program", "--temporary-directory", short="oT"),
    "printf": lambda args: without(short="v")(args[:1]),
    "base64": without("--output", short="o"),
    "ss": without("--kill", short="K"),
    "lsof": without(short="D"),
    "bat": lambda args: args[:1] != ["cache"] and without("--pager")(args),
    "ag": without("--pager"),
    "ack": without("--pager", "--output"),
    "uniq": lambda args: _operands(args) <= 1,
    "xxd": lambda args: _operands(args) <= 1 and without(short="r")(args),
    "tree": without("--output", short="oR"),
    "file": without("--compile", short="C"),
    "date": _date,
    "hostname": lambda args: not _operands(args) and without("--file", short="Fb")(args),
    "yq": without("--inplace", "--in-place", "--split-exp", short="is"),
    "tar": _tar,
    "unzip": lambda args: args[:1] in (["-l"], ["-Z"], ["-v"]),
    "journalctl": without(
        "--vacuum", "--rotate", "--flush", "--sync", "--update-catalog", "--setup-keys", "--cursor-file"
    ),
    "git": git,
}
