"""git: subcommands that read, and the forms of those that both read and change."""

from __future__ import annotations

import re
from typing import Final

from punchlist.guidance.shell_options import without, words

_GIT_READS: Final = words(
    "status log diff show rev-parse ls-files ls-tree blame annotate describe shortlog cat-file rev-list name-rev "
    "merge-base show-ref for-each-ref count-objects diff-tree diff-index diff-files whatchanged cherry version "
    "check-ignore check-attr range-diff show-branch"
)
_GIT_LISTS: dict[str, frozenset[str]] = {
    "stash": frozenset({"list", "show"}),
    "remote": frozenset({"get-url"}),
    "worktree": frozenset({"list"}),
    "submodule": frozenset({"status"}),
    "notes": frozenset({"list", "show"}),
    "reflog": frozenset({"show"}),
    "bisect": frozenset({"log"}),
    "config": frozenset({"--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list"}),
}
_GIT_ALONE: Final = ("remote", "remote -v", "remote --verbose", "reflog")
_BRANCH_LISTS = re.compile(r"--list|-l|--contains(?:=.*)?|--no-contains(?:=.*)?|--(?:no-)?merged(?:=.*)?|--points-at.*")
_BRANCH_SHOWS = re.compile(
    r"-[arvn\d]+|--all|--remotes|--verbose|--show-current|--(?:sort|format|column|color)(?:=.*)?|--no-\w+"
)
_writes_nothing = without("--output", "--open-files-in-pager", "--exec")


def git(args: list[str]) -> bool:
    """Whether `git` with these arguments only reads. `-c` could name a program to run, so it does not."""
    at = 0
    while at < len(args) and args[at].startswith("-"):
        if args[at] in ("-C", "--git-dir", "--work-tree"):
            at += 2
        elif args[at] in ("--no-pager", "-P", "--literal-pathspecs", "--no-optional-locks"):
            at += 1
        else:
            return args[at:] in (["--version"], ["--help"])
    if at >= len(args):
        return False
    verb, rest = args[at], args[at + 1 :]
    if not _writes_nothing(rest):
        return False
    if verb in _GIT_READS:
        return True
    if verb == "grep":
        return not any(arg.startswith("-O") for arg in rest)
    if verb in ("branch", "tag"):
        return _branch(rest)
    known = _GIT_LISTS.get(verb)
    return " ".join(args[at:]) in _GIT_ALONE or (known is not None and bool(rest) and rest[0] in known)


def _branch(args: list[str]) -> bool:
    lists = any(_BRANCH_LISTS.fullmatch(arg) for arg in args)
    for arg in args:
        if arg.startswith("-"):
            if _BRANCH_LISTS.fullmatch(arg) is None and _BRANCH_SHOWS.fullmatch(arg) is None:
                return False
        elif not lists:
            return False
    return True
