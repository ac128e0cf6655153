"""Analyse a command line: which checks it runs, whether it may change the work, what to call it.

Commands that only read, or only record what is there (`git commit`), leave the work as it is; any other one changes
it. This decides grades, not permissions: `git commit` writes, and what was checked before it is still checked.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.checks.exit_status import echo_of, is_failure_swallowed, zero_counts
from punchlist.core.checks.patterns import (
    DRY,
    Family,
    FoundCheck,
    Patterns,
    defaults,
    find_script,
    is_always_zero,
    is_idle,
    is_without_tests,
    strongest_family,
)
from punchlist.core.checks.shell import LONGEST, SimpleCommand, compiled
from punchlist.core.checks.wrappers import program_name, unwrap_commands

_FIXES: Final = r"--fix(?:-only)?|--write|--apply|--autocorrect(?:-all)?|--in-place|(?:[\w:-]*[:_-])?fix"
"""A check with such a word among its own repairs what it finds."""

_DEEPEST: Final = 3
"""Substitutions within substitutions that are looked into."""

_SILENT: Final = frozenset({"gofmt", "goimports"})
"""These say by their output what they found, and end with 0 all the same."""

RATED: Final = "pylint --fail-under"
"""This succeeds for a good mark, whatever single findings it prints."""

_QUIET: Final = frozenset(
    {"echo", "printf", "true", ":", "date", "tail", "head", "cat", "tee", "wc", "sort", "set", "cd"}
)
"""Commands that do not fail, so that an exit code other than 0 is not theirs."""

_TALK: Final = frozenset({
    "echo", "printf", "true", "false", ":", "sleep", "wait", "date", "seq", "set", "cd", "pushd", "popd", "pwd", "exit",
    "return", "export", "unset", "local", "shift", "trap", "alias", "ulimit", "umask", "read",
})  # fmt: skip
"""Commands that neither do anything nor look at anything; a line of nothing else has no program."""


class CommandCheck(Struct, frozen=True):
    """The checks that a command line runs, as one: by name, and of the strongest family among them.

    `zero_counts`: an exit code of 0 says that they all succeeded. `failure_counts`: another one says that one failed.
    `several`: there is more than one of them, so that each summary counts. `echo`: the line prints its exit code behind
    this text.
    """

    name: str
    family: Family
    zero_counts: bool = True
    failure_counts: bool = True
    silent: bool = False
    several: bool = False
    echo: str | None = None

    @property
    def programs(self) -> frozenset[str]:
        """Programs that ran, by the name of the check; empty if it does not name them all."""
        names = frozenset(name.partition(" ")[0] for name in self.name.split(" + "))
        return frozenset() if "…" in names else names


class CommandAnalysis(NamedTuple):
    """Analysis of a command line. `changes`: it may change the work, and nothing in it checks the work after that.

    `program` is the first that does more than print, else the first that shows something; empty if there is none.
    `commands` are the words of its checks, or if it has none, of all that does more than print.
    """

    check: CommandCheck | None
    changes: bool
    program: str
    commands: tuple[tuple[str, ...], ...] = ()


def find_check(command: str | Sequence[str], patterns: Patterns | None = None) -> CommandCheck | None:
    """Return the check that a command line, or the words of one command, runs. Never raises."""
    return analyse_command(command, patterns).check


def main_commands(command: str | Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the words to call a command line by: its checks, else all commands that do more than print."""
    return analyse_command(command).commands


def analyse_command(command: str | Sequence[str], patterns: Patterns | None = None, depth: int = 0) -> CommandAnalysis:
    """Return what a command line does, as far as it can be seen without running it."""
    known = patterns or defaults()
    run = list(unwrap_commands(command))
    found = [_found(entry, known) for entry in run]
    changes = False
    for place, (entry, check) in enumerate(zip(run, found, strict=True)):
        if check is not None:
            changes = any(compiled(_FIXES).fullmatch(word) for word in entry.words)
        elif not (
            _keeps_output(run, found, place) or (is_idle(entry.words) and known.knows(program_name(entry.words)))
        ):
            changes = changes or entry.writes or not is_harmless(entry.words)
            changes = changes or any(_changes_within(text, known, depth) for text in entry.inner)
    cut = isinstance(command, str) and len(command) > LONGEST
    speaking = [entry.words for entry in run if entry.words and program_name(entry.words) not in _QUIET]
    checks = tuple(entry.words for entry, check in zip(run, found, strict=True) if check is not None)
    programs = [name for entry in run if entry.words and (name := program_name(entry.words)) not in _TALK]
    named = next((name for name in programs if name not in _QUIET), programs[0] if programs else "")
    if not checks and (within := _check_within(run, known, depth)) is not None:
        return CommandAnalysis(within.check, changes or cut, named or within.program, within.commands)
    return CommandAnalysis(_together(run, found, cut=cut), changes or cut, named, checks or tuple(speaking))


def _check_within(run: list[SimpleCommand], patterns: Patterns, depth: int) -> CommandAnalysis | None:
    """Return the check within `$(…)`, of a line that is none itself. Its exit status is not that of the line."""
    if depth < _DEEPEST:
        for text in (text for entry in run for text in entry.inner if text.strip()):
            seen = analyse_command(text, patterns, depth + 1)
            if seen.check is not None:
                return seen._replace(check=replace(seen.check, zero_counts=False, failure_counts=False, echo=None))
    return None


def _changes_within(text: str, patterns: Patterns, depth: int) -> bool:
    """True if what stands in `$(…)` changes something."""
    return bool(text.strip()) and (depth >= _DEEPEST or analyse_command(text, patterns, depth + 1).changes)


def _found(command: SimpleCommand, patterns: Patterns) -> FoundCheck | None:
    words = command.words
    if not words or is_idle(words):
        return None
    found = patterns.find(words) or find_script(words, patterns)
    if found is not None and found.name == "pylint" and any(word.startswith("--fail-under") for word in words):
        return FoundCheck(RATED, found.family)
    if found is None or found.family != "test":
        return found
    if not DRY.isdisjoint(words):
        return None
    return FoundCheck(found.name, "build") if is_without_tests(words) else found


def _keeps_output(run: list[SimpleCommand], found: list[FoundCheck | None], place: int) -> bool:
    """True if this is `tee`, fed by a check."""
    return program_name(run[place].words) == "tee" and place > 0 and found[place - 1] is not None


def _together(run: list[SimpleCommand], found: list[FoundCheck | None], *, cut: bool) -> CommandCheck | None:
    named = [check for check in found if check is not None]
    if not named:
        return None
    places = [place for place, check in enumerate(found) if check is not None]
    names = list(dict.fromkeys(name for name, _ in named))
    can_fail = not any(is_always_zero(run[place].words) for place in places)
    may_tell = not cut and len(places) == 1 and can_fail
    return CommandCheck(
        name=" + ".join(names[:4]) + (" + …" if len(names) > 4 else ""),
        family=strongest_family(family for _, family in named),
        zero_counts=not cut and can_fail and zero_counts(run, places),
        failure_counts=not cut and _failure_counts(run, found, places[0]),
        silent=all(program_name(run[place].words) in _SILENT for place in places),
        several=len(places) > 1,
        echo=echo_of(run, places[0], names[0]) if may_tell else None,
    )


def _failure_counts(run: list[SimpleCommand], found: list[FoundCheck | None], place: int) -> bool:
    """True if an exit code other than 0 of the whole is that of a check, from this place on."""
    if any(command.loose for command in run[place:]):
        return False
    last = max(at for at, check in enumerate(found) if check is not None)
    others = [command.words for command, check in zip(run[place:], found[place:], strict=True) if check is None]
    others = [
        words for words in others if program_name(words) not in _QUIET and words[:1] not in (("exit",), ("false",))
    ]
    return not others and not is_failure_swallowed(run, last)


_KNOWN: Final[dict[str, Family]] = {
    **dict.fromkeys(("runtests", "runtest", "rununittests", "executetests", "pytest", "jest", "vitest"), "test"),
    **dict.fromkeys(("runlint", "runlinter", "eslint", "mypy", "pyright"), "lint"),
}
"""Names of tools, without case, `_` and `-`; of commands that are checks only those that are nothing else."""


@lru_cache(maxsize=512)
def tool_check(name: str, patterns: Patterns | None = None) -> CommandCheck | None:
    """Return the check that any call of this tool is. A server's prefix before its name is ignored."""
    known = patterns or defaults()
    for part in dict.fromkeys((name, name.rpartition("__")[2], name.rpartition(".")[2])):
        if part in known.own and (found := known.find((part,))) is not None:
            return CommandCheck(found.name, found.family)
        family = _KNOWN.get(part.lower().replace("_", "").replace("-", ""))
        if family is not None:
            return CommandCheck(part, family)
    return None


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


def is_harmless(words: Sequence[str]) -> bool:
    """True if a simple command is known to change nothing that a check would look at."""
    name = program_name(words)
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
    return not any(compiled(_SED_WRITES).search(word) for word in words[:6] if not word.startswith("-"))


def _awk(words: Sequence[str]) -> bool:
    return not _has_file(words) and not any(compiled(_AWK_WRITES).search(word) for word in words)


def _has_file(words: Sequence[str]) -> bool:
    """True if the program itself is in a file, which is not looked into."""
    return "-f" in words or "--file" in words


def _perl(words: Sequence[str]) -> bool:
    """Only where it reads line by line, and its program neither writes nor runs anything."""
    reads = any(_has(word, "n", "eEiIMm") for word in words if word.startswith("-"))
    writes = any(compiled(r"\b(?:open|system|exec|unlink|rename|qx|mkdir)\b|`").search(word) for word in words)
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
