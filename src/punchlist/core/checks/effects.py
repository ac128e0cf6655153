"""Commands that leave the work as it is: they look, or they keep what is there. Whatever is not known, changes.

This is about grades, not about permission: `git commit` writes, and what was checked before it is still checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final

from punchlist.core.checks.wrappers import program

_PLAIN: Final = frozenset({
    "cd", "pushd", "popd", "pwd", "ls", "ll", "cat", "bat", "head", "tail", "less", "more", "wc", "nl",
    "tac", "echo", "printf", "true", "false", ":", "test", "[", "[[", "exit", "return", "set", "export", "unset",
    "grep", "egrep", "fgrep", "ag", "ack", "locate", "which", "whereis", "type", "file",
    "stat", "du", "df", "diff", "cmp", "comm", "cut", "tr", "column", "jq", "od",
    "hexdump", "strings", "rev", "md5sum", "sha1sum", "sha256sum", "cksum", "basename", "dirname", "realpath",
    "readlink", "env", "printenv", "cal", "whoami", "id", "groups", "hostname", "uname", "uptime", "ps",
    "top", "free", "lsof", "ss", "netstat", "ping", "dig", "nslookup", "host", "sleep", "wait", "seq", "expr", "bc",
    "man", "help", "history", "jobs", "tty", "lscpu", "nproc", "nvidia-smi", "cloc", "tokei", "scc",
    "local", "read", "shift", "trap", "ulimit", "umask", "alias",
})  # fmt: skip
_VERBS: Final[Mapping[str, frozenset[str]]] = {
    "git": frozenset({
        "status", "log", "diff", "show", "branch", "add", "commit", "push", "fetch", "tag", "remote", "blame", "grep",
        "ls-files", "ls-tree", "ls-remote", "rev-parse", "rev-list", "describe", "shortlog", "reflog",
        "cat-file", "check-ignore", "merge-base", "name-rev", "worktree", "notes", "format-patch", "archive", "bundle",
        "var", "help", "for-each-ref", "count-objects", "fsck", "gc", "diff-tree", "diff-index",
        "cherry", "whatchanged",
    }),
    "jj": frozenset({"status", "st", "log", "diff", "show", "commit", "describe", "git"}),
    "docker": frozenset({"ps", "images", "logs", "inspect", "stats", "top", "port", "version", "info", "push", "tag"}),
    "kubectl": frozenset({"get", "describe", "logs", "top", "explain", "version", "api-resources"}),
    "pip": frozenset({"list", "show", "freeze", "check", "index", "debug"}),
    "uv": frozenset({"tree", "version", "export"}),
    "npm": frozenset({"ls", "list", "view", "outdated", "why", "explain", "whoami", "pack"}),
    "pnpm": frozenset({"ls", "list", "why", "outdated"}),
    "yarn": frozenset({"list", "why", "info"}),
    "cargo": frozenset({"tree", "metadata", "search", "version", "locate-project"}),
    "go": frozenset({"list", "env", "version", "doc"}),
    "systemctl": frozenset({"status", "is-active", "list-units", "show"}),
    "terraform": frozenset({"show", "output", "providers", "version", "graph"}),
    "helm": frozenset({"list", "status", "history", "get", "version"}),
}  # fmt: skip
_ACTIVATES: Final = frozenset({
    "activate", "activate.fish", "activate.csh", ".bashrc", ".bash_profile", ".profile", ".zshrc", ".env", "env",
    ".envrc", "nvm.sh", "sdkman-init.sh", "asdf.sh", "conda.sh",
})  # fmt: skip
"""Scripts that a shell takes in to set its environment."""

_REMOTE: Final = frozenset({
    "view", "list", "status", "diff", "checks", "create", "edit", "comment", "review", "close", "reopen", "ready",
    "watch", "rerun", "cancel", "note", "approve",
})  # fmt: skip
"""What `gh pr …` and `glab mr …` do with the things of a server."""

_AWK_WRITES: Final = r"""print[^;{}]*>|>\s*"|>>|\|\s*"|system\s*\(|\binplace\b"""
_SED_WRITES: Final = r"""(?:^|[;{}]|\d|\$)\s*[we]\s|/[gpIm\d]*[we](?:\s|$)"""


def leaves_work_alone(words: Sequence[str]) -> bool:
    """Whether a simple command is known to change nothing that a check would look at."""
    name = program(words)
    if not name or name in _PLAIN:
        return True
    form = _FORMS.get(name)
    if form is not None:
        return form(words[1:])
    known = _VERBS.get(name)
    if known is not None:
        return _verb(words[1:]) in known
    return words[1:] in (("--version",), ("--help",), ("-V",), ("-h",), ("version",))


def _verb(words: Sequence[str]) -> str:
    return next((word for word in words if not word.startswith("-")), "")


def _operands(words: Sequence[str]) -> list[str]:
    return [word for word in words if not word.startswith("-")]


def _without(short: str = "", *long: str, values: str = "") -> Callable[[Sequence[str]], bool]:
    """All forms but those with one of these letters among its short options, or an option that begins so.

    `values` are letters whose value may follow at once, so that what comes behind them is no option.
    """

    def judge(words: Sequence[str]) -> bool:
        return not any(word.startswith("-") and (_has(word, short, values) or word.startswith(long)) for word in words)

    return judge


def _has(word: str, letters: str, values: str) -> bool:
    if word.startswith("--"):
        return False
    for letter in word[1:]:
        if letter in letters:
            return True
        if letter in values:
            return False
    return False


def _sed(words: Sequence[str]) -> bool:
    if not _without("i", "--in-place", values="ef")(words) or _has_file(words):
        return False
    return not any(_compiled(_SED_WRITES).search(word) for word in words[:6] if not word.startswith("-"))


def _awk(words: Sequence[str]) -> bool:
    return not _has_file(words) and not any(_compiled(_AWK_WRITES).search(word) for word in words)


def _has_file(words: Sequence[str]) -> bool:
    """Whether the program itself is in a file, which is not looked into."""
    return "-f" in words or "--file" in words


def _perl(words: Sequence[str]) -> bool:
    """Only where it reads line by line, and its program neither writes nor runs anything."""
    reads = any(_has(word, "n", "eEiIMm") for word in words if word.startswith("-"))
    writes = any(_compiled(r"\b(?:open|system|exec|unlink|rename|qx|mkdir)\b|`").search(word) for word in words)
    return (reads and not writes and _without("i", values="eEIMm")(words)) or words[:1] in (("-v",), ("-c",), ("-V",))


def _source(words: Sequence[str]) -> bool:
    return bool(words) and words[0].rpartition("/")[2] in _ACTIVATES


def _git(words: Sequence[str]) -> bool:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in ("-C", "-c", "--git-dir", "--work-tree") else 1
    verb, rest = (words[at], words[at + 1 :]) if at < len(words) else ("", ())
    if verb == "config":
        options = {word for word in rest if word.startswith("-")}
        return bool(options & {"--get", "--get-all", "--get-regexp", "--list", "-l"}) or rest[:1] in (
            ("get",),
            ("list",),
        )
    return verb in _VERBS["git"] or (verb == "symbolic-ref" and len(_operands(rest)) == 1)


def _hub(words: Sequence[str]) -> bool:
    found = _operands(words)
    return found[:1] in (["api"], ["search"], ["auth"], ["browse"], ["status"], ["version"]) or (
        len(found) > 1 and found[1] in _REMOTE
    )


def _npm(words: Sequence[str]) -> bool:
    found = _operands(words)
    if found[:1] == ["audit"]:
        return "fix" not in found
    if found[:1] == ["config"]:
        return found[1:2] in (["get"], ["list"], ["ls"])
    return found[:1] != [] and found[0] in _VERBS["npm"]


_FORMS: Final[Mapping[str, Callable[[Sequence[str]], bool]]] = {
    "sed": _sed,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    "perl": _perl,
    **dict.fromkeys(("source", "."), _source),
    "git": _git,
    **dict.fromkeys(("gh", "glab"), _hub),
    "npm": _npm,
    "find": _without("", "-delete", "-exec", "-ok", "-fprint", "-fls"),
    **dict.fromkeys(("fd", "fdfind"), _without("xX", "--exec")),
    "rg": _without("", "--pre"),
    "curl": _without(
        "oOXdFTJK", "--output", "--remote", "--data", "--request", "--form", "--upload", values="HubAewmr"
    ),
    "wget": lambda words: not words,
    "sort": _without("o", "--output", values="kStT"),
    "uniq": lambda words: len(_operands(words)) <= 1,
    "tree": _without("oR"),
    "xxd": lambda words: _without("r")(words) and len(_operands(words)) <= 1,
    "yq": _without("i", "--inplace", "--in-place", "--split"),
    "date": _without("s", "--set", values="d"),
    "go": lambda words: _verb(words) in _VERBS["go"] and "-w" not in words,
}
"""Programs that look in some forms and change something in others, each with a word on its arguments."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
