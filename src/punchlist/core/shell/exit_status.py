"""Tell from a line's exit status, and from what the line prints, which of its commands succeeded.

The line is run on paper: every command that is not known may succeed or fail, each way is followed, and what remains
possible for the exit status that was seen is the answer.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from punchlist.core.shell.wrappers import program, walk_commands, word_set
from punchlist.text.patterns import compile_later
from punchlist.text.shell import CommandGroup, CommandList, ListEntry, Node, Pipeline, SimpleCommand

State = Literal["not run", "passed", "failed"]
_STATES: Final[dict[str, State]] = {"-": "not run", "p": "passed", "f": "failed"}

MOST_WATCHED: Final = 12
_MOST_ECHOES: Final = 8
_MOST_VARIABLES: Final = 4
_MOST_WAYS: Final = 512
_MOST_STEPS: Final = 4_000
"""Limits of what is followed. A line beyond them says nothing by its exit status."""

_MOST_ROUNDS: Final = 3
"""Rounds of a loop that are followed, so that a later pass can come after an earlier failure."""

_SUCCEEDS: Final = word_set(
    "echo printf true : cd pushd popd pwd set export unset alias shopt source . date tail head cat tee wc sort uniq tr "
    "cut sleep mkdir touch clear umask ulimit readonly local declare typeset trap hash column nl tac fold less more "
    "wait disown type break continue"
)
"""Commands that do not fail in practice, so that a failure of the line is not theirs."""

_STATUS: Final = compile_later(r"\$(?:\?|\{\?\}|status\b|LASTEXITCODE\b)")
_PIPE_STATUS: Final = compile_later(r"\$\{?(?:PIPESTATUS|pipestatus)(?:\[[01]\])?\}?")
_LAST_LINES: Final = 12
"""Lines at the end of an output in which the line's own `echo` is looked for."""


class Watched(NamedTuple):
    """A command to follow. `hides_failure`: it may end with 0 though it failed, or did not run."""

    command: SimpleCommand
    hides_failure: bool = False


class StatusTable(Struct, frozen=True, array_like=True):
    """All ways that a line can take: those that end with exit status 0, those that do not, and what it echoes.

    A way has a letter for each watched command (`p` passed, `f` failed, `-` did not run), then one for what each of the
    line's own echoes printed last (`z` a 0, `n` another code, `y` its text).
    """

    zero: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    echoes: tuple[str, ...] = ()


def trace_line(tree: CommandList, watched: Sequence[Watched]) -> StatusTable:
    """Run a line on paper in all ways and return their table; an empty one where it cannot be followed."""
    commands = list(walk_commands(tree))
    ends_otherwise = any(program(one.words) == "trap" and "exit" in " ".join(one.words) for one in commands)
    if tree.is_cut or len(watched) > MOST_WATCHED or ends_otherwise:
        return StatusTable()
    variables = _find_variables(commands)
    echoes = [(id(one), text) for one in commands if (text := _read_echo(one, variables))][:_MOST_ECHOES]
    ways: dict[bool, set[str]] = {True: set(), False: set()}
    choices: list[bool] = []
    steps = 0
    for _ in range(_MOST_WAYS):
        run = _Run(choices, watched, [key for key, _ in echoes], variables)
        ways[run.run_line(tree)].add("".join(run.letters))
        steps += run.steps
        while choices and not choices[-1]:
            choices.pop()
        if not choices:
            texts = tuple(text for _, text in echoes)
            return StatusTable(tuple(sorted(ways[True])), tuple(sorted(ways[False])), texts)
        if steps > _MOST_STEPS:
            break
        choices[-1] = False
    return StatusTable()


def find_ways(table: StatusTable, count: int, *, exit_code: int | None, output: str) -> set[str]:
    """Return the ways that the line may have taken, by its exit code and by what it printed itself."""
    possible = set((*table.zero, *table.other) if exit_code is None else table.zero if exit_code == 0 else table.other)
    printed = {text: letter for text in table.echoes if text and (letter := _find_printed(text, output))}
    for text, letter in printed.items():
        places = [count + place for place, echo in enumerate(table.echoes) if echo == text]
        possible = {way for way in possible if any(way[place] == letter for place in places)} or possible
    return possible


def read_states(ways: set[str], count: int) -> list[State | None]:
    """Return the state of each of `count` watched commands; None where more than one is possible."""
    states = [{way[place] for way in ways} for place in range(count)]
    return [_STATES[found.pop()] if len(found) == 1 else None for found in states]


def _find_printed(text: str, output: str) -> str:
    """Return the letter for the last time that an output shows an echo, or an empty string."""
    lines = [line.strip() for line in output.rstrip()[-4_000:].split("\n")[-_LAST_LINES:]]
    before, status, after = text.partition("$?")
    if not status:
        return "y" if text in lines else ""
    pattern = re.compile(rf"{re.escape(before.strip())}\s*(\d{{1,3}})\b\s*{re.escape(after.strip())}.*")
    codes = [int(code[1]) for line in lines if (code := pattern.fullmatch(line)) is not None]
    return "" if not codes else "z" if codes[-1] == 0 else "n"


def _find_variables(commands: Sequence[SimpleCommand]) -> list[str]:
    """Return the variables that hold an exit status."""
    parts = (word.partition("=") for one in commands for word in one.words)
    names = [name for name, _, value in parts if _STATUS.fullmatch(value) or _PIPE_STATUS.fullmatch(value)]
    return list(dict.fromkeys(("PIPESTATUS", *names)))[:_MOST_VARIABLES]


def _read_echo(command: SimpleCommand, variables: Sequence[str]) -> str:
    """Return the text of an echo with `$?` for a status; empty for a text that is not known."""
    if program(command.words) not in ("echo", "printf") or any(">" in one.operator for one in command.redirects):
        return ""
    text = " ".join(word for word in command.words[1:] if word not in ("-e", "-n", "-E", "%s", "%s\\n")).strip()
    text = _PIPE_STATUS.sub("$?", _STATUS.sub("$?", text))
    for name in variables:
        text = text.replace(f"${{{name}}}", "$?").replace(f"${name}", "$?")
    return text if len(text) > 1 and "$" not in text.replace("$?", "", 1) else ""


class _Status:
    """An exit status: True for 0, None while nothing has asked for it."""

    __slots__ = ("is_zero",)

    def __init__(self, is_zero: bool | None = None) -> None:
        self.is_zero = is_zero


class _Exit(Exception):
    """The shell ends: by `exit`, or by a failure after `set -e`."""


class _Run:
    """A shell that runs a line in one way: where more than one is possible, `choices` decide, and then the first."""

    def __init__(
        self, choices: list[bool], watched: Sequence[Watched], echoes: Sequence[int], variables: Sequence[str]
    ) -> None:
        self.letters = ["-"] * (len(watched) + len(echoes))
        self.steps = 0
        self._choices = choices
        self._chosen = 0
        self._watched = {id(one.command): (place, one) for place, one in enumerate(watched)}
        self._echoes = {key: place for place, key in enumerate(echoes, len(watched))}
        self._variables = dict.fromkeys(variables, _Status())
        self._status = _Status(True)
        self._settings = set[str]()

    def run_line(self, tree: CommandList) -> bool:
        """Run the whole line and return True if it ends with 0."""
        self._run_apart(partial(self._run_list, tree))
        return self._is_zero(self._status)

    def _choose(self) -> bool:
        if self._chosen == len(self._choices):
            self._choices.append(True)
        self._chosen += 1
        return self._choices[self._chosen - 1]

    def _is_zero(self, status: _Status) -> bool:
        if status.is_zero is None:
            status.is_zero = self._choose()
        return status.is_zero

    def _run_list(self, tree: CommandList, *, guarded: bool = False) -> None:
        """Run a list. `guarded`: in a condition, where `set -e` does not end the shell."""
        entries = tree.entries
        for place, entry in enumerate(entries):
            before = entries[place - 1].operator if place else ";"
            if before == "&" and _waits_for(entries, place):
                continue  # `a & wait $!`: the status of `a` is the status of `wait`
            if before in ("&&", "||") and self._is_zero(self._status) != (before == "&&"):
                continue
            self.steps += 1
            if entry.operator == "&" and not _waits_for(entries, place + 1):
                self._run_apart(partial(self._run_node, entry.node))
                self._status = _Status(True)
                continue
            is_guarded = guarded or entry.operator in ("&&", "||")
            self._run_node(entry.node, guarded=is_guarded)
            if "e" in self._settings and not is_guarded and _may_exit(entry.node) and not self._is_zero(self._status):
                raise _Exit

    def _run_apart(self, body: Callable[[], None], keeps: str = "eo") -> None:
        """Run something in a shell of its own, which changes neither variables nor settings of this one.

        `keeps`: the settings that it takes over, `e` for `set -e` and `o` for `pipefail`.
        """
        variables, settings = self._variables.copy(), self._settings
        self._settings = settings & set(keeps)
        with suppress(_Exit):
            body()
        self._variables, self._settings = variables, settings

    def _run_node(self, node: Node, *, guarded: bool = False) -> None:
        match node:
            case SimpleCommand():
                self._run_command(node, guarded=guarded)
                self._variables["PIPESTATUS"] = self._status
            case Pipeline():
                self._run_pipeline(node, guarded=guarded or node.is_negated)
            case CommandGroup():
                self._run_group(node, guarded=guarded)

    def _run_pipeline(self, pipeline: Pipeline, *, guarded: bool) -> None:
        if len(pipeline.parts) == 1:
            self._run_node(pipeline.parts[0], guarded=guarded)
        else:
            before, ends = self._status, list[_Status]()
            for part in pipeline.parts:
                self._status = before
                self._run_apart(partial(self._run_node, part, guarded=guarded))
                ends.append(self._status)
            self._variables["PIPESTATUS"] = ends[0]
            if "o" in self._settings:
                self._status = _Status(all(map(self._is_zero, ends)))
        if pipeline.is_negated:
            self._status = _Status(not self._is_zero(self._status))

    def _run_group(self, group: CommandGroup, *, guarded: bool) -> None:
        lists = group.lists
        match group.kind:
            case "brace":
                self._run_list(lists[0], guarded=guarded)
            case "subshell":
                self._run_apart(partial(self._run_list, lists[0], guarded=guarded))
            case "process":
                self._status = _Status(True)
                self._run_apart(partial(self._run_list, lists[0]), keeps="")
            case "detached" | "function":  # a function may be called, and may not be
                if self._choose():
                    self._run_apart(partial(self._run_list, lists[0]), keeps="")
                self._status = _Status()
            case "optional" | "case":
                self._status = _Status(True)
                body = next((one for one in lists if self._choose()), CommandList())
                self._run_list(body, guarded=guarded)
            case "if":
                self._run_if(lists, guarded=guarded)
            case "loop":
                self._run_loop(lists, guarded=guarded)

    def _run_if(self, lists: Sequence[CommandList], *, guarded: bool) -> None:
        for condition, body in zip(lists[::2], lists[1::2], strict=False):
            self._run_list(condition, guarded=True)
            if self._is_zero(self._status):
                self._run_list(body, guarded=guarded)
                return
        self._status = _Status(True)
        if len(lists) % 2:
            self._run_list(lists[-1], guarded=guarded)

    def _run_loop(self, lists: Sequence[CommandList], *, guarded: bool) -> None:
        self._status = _Status(True)
        for _ in range(_MOST_ROUNDS):
            for condition in lists[:-1]:
                self._run_list(condition, guarded=True)
                self._status = _Status()
            if not self._choose():
                return
            self._run_list(lists[-1], guarded=guarded)

    def _run_command(self, command: SimpleCommand, *, guarded: bool) -> None:
        words, name = command.words, program(command.words)
        if id(command) in self._echoes:  # `$?` in it is that of the command before, not of a substitution
            self._print(self._echoes[id(command)], " ".join(words[1:]))
        for inner in command.substitutions:
            self._run_apart(partial(self._run_list, inner, guarded=guarded), keeps="o")
        if id(command) in self._watched:
            self._run_watched(*self._watched[id(command)])
        elif all("=" in word for word in words):  # its status is that of its last substitution
            for variable, _, value in (word.partition("=") for word in words):
                if variable in self._variables:
                    self._variables[variable] = self._find_status(value)
            if not command.substitutions:
                self._status = _Status(True)
        elif name in ("exit", "return"):
            self._status = self._find_status(words[1] if len(words) > 1 else "$?")
            raise _Exit
        else:
            if name == "set":
                self._change_settings(words)
            self._status = _Status(False if name == "false" else True if name in _SUCCEEDS else None)

    def _run_watched(self, place: int, watched: Watched) -> None:
        has_passed = self._choose()
        self._status = _Status(has_passed)
        if not has_passed and watched.hides_failure and not self._choose():
            self._status = _Status(True)
            if not self._choose():
                return
        if self.letters[place] != "f":  # a failure stays, whatever a later run of the command gives
            self.letters[place] = "p" if has_passed else "f"

    def _print(self, place: int, text: str) -> None:
        if "$" not in text:
            self.letters[place] = "y"
        else:
            self.letters[place] = "z" if self._is_zero(self._find_status(text)) else "n"

    def _find_status(self, text: str) -> _Status:
        """Return the exit status that a word stands for."""
        if text.isdigit():
            return _Status(int(text) % 256 == 0)
        if _STATUS.search(text):
            return self._status
        for name, status in self._variables.items():
            if name in text.upper() if name == "PIPESTATUS" else re.search(rf"\$\{{?{name}\b", text):
                return status
        return _Status()

    def _change_settings(self, words: Sequence[str]) -> None:
        for before, word in pairwise(words):
            if word == "pipefail" and before.endswith("o"):
                setting, is_on = "o", before.startswith("-")
            elif re.fullmatch(r"[-+]\w*e\w*", word):
                setting, is_on = "e", word.startswith("-")
            else:
                continue
            self._settings = self._settings | {setting} if is_on else self._settings - {setting}


def _may_exit(node: Node) -> bool:
    """True if `set -e` looks at the status of this. Within a compound command it has looked already."""
    if isinstance(node, CommandGroup):
        return node.kind in ("subshell", "process", "detached")
    return not (isinstance(node, Pipeline) and node.is_negated)


def _waits_for(entries: Sequence[ListEntry], place: int) -> bool:
    """True if the entry at this place waits for one background command by name, as in `a & wait $!`."""
    if place >= len(entries):
        return False
    node = entries[place].node
    return isinstance(node, SimpleCommand) and node.words[:1] == ("wait",) and len(node.words) > 1
