"""Commands that leave the work as it is: they look, or they keep what is there. Whatever is not known, changes.

This is about grades, not about permission: `git commit` writes, and what was checked before it is still checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from punchlist.core.checks.wrappers import program

_PLAIN: Final = frozenset({
    "cd", "pushd", "popd", "pwd", "ls", "ll", "tree", "cat", "bat", "head", "tail", "less", "more", "wc", "nl",
    "tac", "echo", "printf", "true", "false", ":", "test", "[", "[[", "exit", "return", "set", "export", "unset",
    "source", ".", "grep", "egrep", "fgrep", "rg", "ag", "ack", "fd", "locate", "which", "whereis", "type", "file",
    "stat", "du", "df", "diff", "cmp", "comm", "sort", "uniq", "cut", "tr", "column", "jq", "yq", "xxd", "od",
    "hexdump", "strings", "rev", "md5sum", "sha1sum", "sha256sum", "cksum", "basename", "dirname", "realpath",
    "readlink", "env", "printenv", "date", "cal", "whoami", "id", "groups", "hostname", "uname", "uptime", "ps",
    "top", "free", "lsof", "ss", "netstat", "ping", "dig", "nslookup", "host", "sleep", "wait", "seq", "expr", "bc",
    "man", "help", "history", "jobs", "gh", "glab", "tty", "lscpu", "nproc", "nvidia-smi", "cloc", "tokei", "scc",
    "local", "read", "shift", "trap", "ulimit", "umask", "alias",
})  # fmt: skip
_VERBS: Final[Mapping[str, frozenset[str]]] = {
    "git": frozenset({
        "status", "log", "diff", "show", "branch", "add", "commit", "push", "fetch", "tag", "remote", "blame", "grep",
        "ls-files", "ls-tree", "ls-remote", "rev-parse", "rev-list", "describe", "shortlog", "reflog", "config",
        "cat-file", "check-ignore", "merge-base", "name-rev", "worktree", "notes", "format-patch", "archive", "bundle",
        "var", "help", "symbolic-ref", "for-each-ref", "count-objects", "fsck", "gc", "diff-tree", "diff-index",
        "cherry", "whatchanged",
    }),
    "jj": frozenset({"status", "st", "log", "diff", "show", "commit", "describe", "git"}),
    "docker": frozenset({"ps", "images", "logs", "inspect", "stats", "top", "port", "version", "info", "push", "tag"}),
    "kubectl": frozenset({"get", "describe", "logs", "top", "explain", "version", "config", "api-resources"}),
    "pip": frozenset({"list", "show", "freeze", "check", "index", "config", "debug"}),
    "uv": frozenset({"tree", "version", "export"}),
    "npm": frozenset({"ls", "list", "view", "outdated", "audit", "why", "explain", "config", "whoami", "pack"}),
    "pnpm": frozenset({"ls", "list", "why", "outdated"}),
    "yarn": frozenset({"list", "why", "info"}),
    "cargo": frozenset({"tree", "metadata", "search", "version", "locate-project"}),
    "go": frozenset({"list", "env", "version", "doc"}),
    "systemctl": frozenset({"status", "is-active", "list-units", "show"}),
    "terraform": frozenset({"show", "output", "providers", "version", "graph"}),
    "helm": frozenset({"list", "status", "history", "get", "version"}),
}  # fmt: skip
_IN_PLACE: Final[Mapping[str, tuple[str, ...]]] = {
    "sed": ("-i", "--in-place"),
    "awk": ("-i",),
    "perl": ("-i", "-p", "-e"),
    "find": ("-delete", "-exec", "-execdir", "-ok", "-fprint"),
    "curl": ("-o", "-O", "--output", "--remote-name", "-X", "-d", "--data", "--request", "-F", "-T"),
    "wget": ("",),
    "sort": ("-o",),
    "yq": ("-i",),
}
"""Programs that look, unless one of these begins an argument."""


def leaves_work_alone(words: Sequence[str]) -> bool:
    """Whether a simple command is known to change nothing that a check would look at."""
    name = program(words)
    changing = _IN_PLACE.get(name)
    if changing is not None:
        return not any(word.startswith(changing) for word in words[1:])
    if not name or name in _PLAIN:
        return True
    known = _VERBS.get(name)
    if known is not None:
        verb = next((word for word in words[1:] if not word.startswith("-")), "")
        return verb in known
    return words[1:] in (("--version",), ("--help",), ("-V",), ("-h",), ("version",))
