"""Find what a command line really runs: `timeout 60 uv run pytest` runs `pytest`, `bash -c "…"` runs its script.

A wrapper that is not in the table stays as it is, so what it runs is not seen.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from punchlist.core.tables import programs as tables
from punchlist.text.patterns import compile_later
from punchlist.text.shell import CommandGroup, CommandList, ListEntry, Node, Pipeline, SimpleCommand, parse, walk

_DEEPEST: Final = 6
"""Wrappers around a command, and shells within shells, that are looked through."""


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def word_table(text: str) -> dict[str, frozenset[str]]:
    """Read a table of rows `name name: word word`; rows of one name are joined. See `split_name`."""
    table: dict[str, frozenset[str]] = {}
    for row in text.strip().splitlines():
        names, _, words = row.partition(":")
        for name in names.split():
            table[split_name(name)] = table.get(split_name(name), frozenset()) | set(map(split_name, words.split()))
    return table


def split_name(name: str) -> str:
    """Return a name of a table with a space for each `+` between two words: not in `g++`."""
    return re.sub(r"(?<=\w)\+(?=\w)", " ", name)


WRAPPERS: Final = word_table(tables.WRAPPERS)
_MOVES: Final = word_table(tables.MOVES)

_WITH_OPERAND: Final = word_table(f"timeout gtimeout flock taskset direnv+exec {tables.CONTAINERS}:").keys()
_NOT_WAITED_FOR: Final = {
    **dict.fromkeys(("docker", "docker-compose", "podman"), compile_later(r"-[it]*d[it]*|--detach(?:=true)?")),
    "ssh": compile_later(r"-[a-zA-Z]*f"),
    "sudo": compile_later(r"-[a-zA-Z]*b|--background"),
}
_MAY_NOT_RUN: Final = {"xargs": compile_later(r"-[0prtx]*r|--no-run-if-empty")}

_SSH_VALUED: Final = word_set("-i -p -o -l -F -J")
SHELLS: Final = word_set("bash sh zsh dash ksh fish busybox")
_SCRIPT_OPTIONS: Final = {
    "script": r"--command|-\w*c",
    **dict.fromkeys(("powershell", "pwsh"), "(?i)-command|-c"),
    "nix-shell": "--run",
    "nix": "-c|--command",
}
"""Options before the text that these programs hand to a shell."""

_SCRIPT_RUNNERS: Final = frozenset({"pdm run", "hatch run", "rye run", "pixi run"})
_SCRIPT_NAMES: Final = word_set("test tests lint check checks types typecheck build ci cov")
"""`hatch run test` runs a script of the project, no program."""

_ASSIGNMENT: Final = compile_later(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)
_PYTHON: Final = compile_later(r"(?:python|pypy|py)[\d.]*(?:\.exe)?")


def program(words: Sequence[str]) -> str:
    """Return the name of the program, without its folder."""
    return words[0].replace("\\", "/").rpartition("/")[2].removesuffix(".exe") if words else ""


def read_options(words: Sequence[str], names: Collection[str]) -> list[tuple[str, str]]:
    """Return the options of these names with their values: `-k x`, `--key=x`, `-kx` and, bundled, `-qk x`."""
    found: list[tuple[str, str]] = []
    for word, after in zip(words, (*words[1:], ""), strict=False):
        name, sign, value = word.partition("=")
        if name in names:
            found.append((name, value if sign else after))
        elif word[:2] in names and not word.startswith("--"):
            found.append((word[:2], word[2:].removeprefix("=")))
        elif (bundle := word.rstrip("-")).startswith("-") and bundle[1:].isalpha() and f"-{bundle[-1]}" in names:
            found.append((f"-{bundle[-1]}", after if bundle == word else "-"))
    return found


def expand(line: str | Sequence[str]) -> CommandList:
    """Return the tree of what a line, or the words of one command, really runs."""
    tree = parse(line) if isinstance(line, str) else CommandList((ListEntry(SimpleCommand(tuple(line))),))
    return _expand_list(tree, 0)


def walk_commands(tree: CommandList) -> Iterator[SimpleCommand]:
    """Yield the simple commands of a tree in their order, those of substitutions after their command."""
    return (node for node in walk(tree) if isinstance(node, SimpleCommand))


def _expand_list(tree: CommandList, depth: int) -> CommandList:
    entries = tuple(ListEntry(_expand_node(entry.node, depth), entry.operator) for entry in tree.entries)
    return CommandList(entries, tree.is_cut)


def _expand_node(node: Node, depth: int) -> Node:
    match node:
        case SimpleCommand():
            return _expand_command(node, depth)
        case Pipeline():
            return replace(node, parts=tuple(_expand_node(part, depth) for part in node.parts))
        case CommandGroup():
            return replace(node, lists=tuple(_expand_list(inner, depth) for inner in node.lists))


def _expand_command(command: SimpleCommand, depth: int) -> Node:
    words = command.words
    assignments: tuple[str, ...] = ()
    detached = optional = has_unknown = False
    folders: list[str] = []
    for _ in range(_DEEPEST):
        # A line of nothing but assignments keeps its last one as its word.
        while len(words) > 1 and "=" in words[0] and _ASSIGNMENT.fullmatch(words[0]) is not None:
            assignments += words[:1]
            words = words[1:]
        inner = _unwrap(words)
        if inner is None:
            break
        own = words[: len(words) - len(inner)]
        has_unknown = has_unknown or program(own) == "xargs"  # it adds words of its own
        detached = detached or _has_option(own, _NOT_WAITED_FOR)
        optional = optional or _has_option(own, _MAY_NOT_RUN)
        moves = _MOVES.get(program(own)) or _MOVES.get(" ".join((program(own), *own[1:2])), ())
        folders += [value for _, value in read_options(own[1:], moves)]
        words = inner
    script = _find_script(words) if depth < _DEEPEST else None
    substitutions = tuple(_expand_list(inner, depth) for inner in command.substitutions)
    node: Node = replace(
        command,
        words=words,
        spans=command.spans[len(command.spans) - len(words) :],
        substitutions=substitutions,
        has_unknown=command.has_unknown or has_unknown,
        assignments=assignments,
    )
    if script is not None:
        name = program(words)
        body = _expand_list(parse(script, depth + 1), depth + 1)
        node = CommandGroup("brace" if name == "eval" else "process", (body,), command.redirects)
        if name == "ssh":
            detached = detached or _has_option(words, _NOT_WAITED_FOR)
        elif name == "script" and not any(re.fullmatch(r"--return|-[a-zA-Z]*e[a-zA-Z]*", word) for word in words[1:]):
            detached = True  # `script -c …` ends with 0 unless it is told to pass the status on
    for folder in reversed(folders):
        entries = (ListEntry(SimpleCommand(("cd", folder)), "&&"), ListEntry(node))
        node = CommandGroup("subshell", (CommandList(entries),))
    if detached or optional:
        node = CommandGroup("detached" if detached else "optional", (CommandList((ListEntry(node),)),))
    return node


def _has_option(words: tuple[str, ...], table: dict[str, re.Pattern[str]]) -> bool:
    pattern = table.get(program(words))
    return pattern is not None and any(pattern.fullmatch(word) for word in words[1:])


def _unwrap(words: tuple[str, ...]) -> tuple[str, ...] | None:
    name = program(words)
    if name.startswith(("uvx@", "npx@", "bunx@", "pnpx@")):
        name = name.partition("@")[0]
    if _PYTHON.fullmatch(name) is not None:
        at = _count_options(words[1:], frozenset({"-W", "-X"})) + 1
        return words[at + 1 :] or None if words[at : at + 1] == ("-m",) else None
    if name == "command" and words[1:2] in (("-v",), ("-V",)):  # asks where a program is
        return None
    for length in (1, 2, 3):
        prefix = " ".join((name, *words[1:length]))
        if prefix not in WRAPPERS:
            continue
        inner = _read_inner(words[length:], prefix)
        if inner is not None and prefix in _SCRIPT_RUNNERS and inner[0].rpartition(":")[2] in _SCRIPT_NAMES:
            return None
        return inner
    return None


def _read_inner(words: tuple[str, ...], wrapper: str) -> tuple[str, ...] | None:
    at = _count_options(words, WRAPPERS[wrapper])
    if words[at : at + 1] == ("-m",):  # `uv run -m pytest`, `coverage run -m pytest`
        return words[at + 1 :] or None
    at = min(at + (wrapper in _WITH_OPERAND), len(words))
    at += words[at : at + 1] == ("--",)
    inner = words[at:]
    if not inner:
        return None
    # `ruff@latest` is ruff; a scope such as `@angular/cli` stays.
    first = inner[0] if inner[0].startswith("@") else inner[0].partition("@")[0] or inner[0]
    return (first, *inner[1:])


def _count_options(words: tuple[str, ...], valued: frozenset[str]) -> int:
    """Count the options in front, with their values. Python's `-m` is not among them."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-m":
        if words[at] == "--":
            return at + 1
        at += 2 if words[at] in valued else 1
    return at


def _find_script(words: tuple[str, ...]) -> str | None:
    name = program(words)
    if name in SHELLS:
        return _find_shell_script(words[1:])
    if name == "eval":
        return " ".join(words[1:])
    if name == "ssh":
        return " ".join(words[_count_options(words[1:], _SSH_VALUED) + 2 :]) or None
    option = _SCRIPT_OPTIONS.get(name)
    if option is None or (name == "nix" and words[1:2] not in (("develop",), ("shell",))):
        return None
    at = next((at for at, word in enumerate(words[:-1]) if at and re.fullmatch(option, word)), None)
    if at is None:
        return None
    return words[at + 1] if name in ("script", "nix-shell") else " ".join(words[at + 1 :])


def _find_shell_script(words: tuple[str, ...]) -> str | None:
    """Return what follows `-c`, with the settings given as options written before it as `set` commands."""
    settings: list[str] = []
    at = 0
    while at < len(words) and words[at].startswith("-"):
        option = words[at]
        if option.endswith("o") and not option.startswith("--"):  # `-eo pipefail`
            settings.append(" ".join(words[at : at + 2]))
            at += 2
            continue
        if option.endswith("c") and not option.startswith("--"):
            settings += ["-e"] * ("e" in option)
            return "".join(f"set {setting}\n" for setting in settings) + " ".join(words[at + 1 : at + 2])
        settings += [option] * (option == "-e")
        at += 1
    return None
