"""Tell from a line's exit status, and from what the line prints, which of its commands succeeded.

The line is run on paper: every command that is not known may succeed or fail, each way is followed, and what remains
possible for the exit status that was seen is the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
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
_MOST_WAYS: Final = 256
_MOST_STEPS: Final = 4_000
"""Limits of what is followed. A line beyond them says nothing by its exit status."""

_MOST_ROUNDS: Final = 3
"""Rounds of a loop that are followed, so that a later pass can come after an earlier failure."""

_MOST_CALLS: Final = 8
_SUCCEEDS: Final = word_set(
    "echo printf true : cd pushd popd pwd set export unset alias shopt source . date tail head cat tee wc sort uniq tr "
    "cut sleep mkdir touch clear umask ulimit readonly local declare typeset trap hash column nl tac fold less more "
    "wait disown type"
)
"""Commands that do not fail in practice, so that a failure of the line is not theirs."""

_STATUS: Final = compile_later(r"\$(?:\?|\{\?\}|status\b|LASTEXITCODE\b)")
_PIPE_STATUS: Final = compile_later(r"\$\{?(?:PIPESTATUS|pipestatus)(?:\[[01]\])?\}?")
_LAST_LINES: Final = 12
"""Lines at the end of an output in which the line's own `echo` is looked for."""


class Way(NamedTuple):
    """One possible way so far: if the last exit status is 0, and a letter for everything that is followed.

    First come the watched commands (`p` passed, `f` failed, `-` did not run), then what the line's own echoes printed
    last (`z` a 0, `n` another code, `y` their text), then variables that hold a status, `set -e` and `pipefail`.
    """

    is_zero: bool
    letters: str


Ways = set[Way]


class Watched(NamedTuple):
    """A command to follow. `hides_failure`: it may end with 0 though it failed, or did not run."""

    command: SimpleCommand
    hides_failure: bool = False


class StatusTable(Struct, frozen=True, array_like=True):
    """All ways that a line can take: those that end with exit status 0, those that do not, and what it echoes."""

    zero: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    echoes: tuple[str, ...] = ()


class _TooManyWays(Exception):
    pass


def trace_line(tree: CommandList, watched: Sequence[Watched]) -> StatusTable:
    """Run a line on paper and return the table of its ways; an empty one where it cannot be followed."""
    commands = list(walk_commands(tree))
    ends_otherwise = any(program(one.words) == "trap" and "exit" in " ".join(one.words) for one in commands)
    if tree.is_cut or len(watched) > MOST_WATCHED or ends_otherwise:
        return StatusTable()
    slots = _Slots(watched, commands)
    run = _Run(slots)
    try:
        ways = run.run_list(tree, {Way(True, slots.start)}) | run.ended
    except _TooManyWays:
        return StatusTable()
    zero, other = ({way.letters[: slots.shown] for way in ways if way.is_zero == is_zero} for is_zero in (True, False))
    return StatusTable(tuple(sorted(zero)), tuple(sorted(other)), tuple(slots.echoes.values()))


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


class _Slots:
    """Places of letters: watched commands and echoes by the identity of their command, variables by name."""

    def __init__(self, watched: Sequence[Watched], commands: Sequence[SimpleCommand]) -> None:
        self.watched = {id(one.command): (place, one) for place, one in enumerate(watched)}
        names: dict[str, None] = {}
        for word in (word for one in commands for word in one.words):
            name, sign, value = word.partition("=")
            if sign and (_STATUS.fullmatch(value) or _PIPE_STATUS.fullmatch(value)):
                names[name] = None
        self.variables = ["PIPESTATUS", *names][:_MOST_VARIABLES]
        self.echoes: dict[int, str] = {}
        for command in commands:
            text = self._read_echo(command)
            if text and len(self.echoes) < _MOST_ECHOES:
                self.echoes[id(command)] = text
        self.echo_places = {key: len(watched) + place for place, key in enumerate(self.echoes)}
        self.shown = len(watched) + len(self.echoes)
        self.errexit = self.shown + len(self.variables)
        self.start = "-" * (self.errexit + 2)

    def _read_echo(self, command: SimpleCommand) -> str:
        """Return the text of an echo with `$?` for a status; empty for a text that is not known."""
        if program(command.words) not in ("echo", "printf") or any(">" in one.operator for one in command.redirects):
            return ""
        text = " ".join(word for word in command.words[1:] if word not in ("-e", "-n", "-E", "%s", "%s\\n")).strip()
        text = _PIPE_STATUS.sub("$?", _STATUS.sub("$?", text))
        for name in self.variables:
            text = text.replace(f"${{{name}}}", "$?").replace(f"${name}", "$?")
        return text if len(text) > 1 and "$" not in text.replace("$?", "", 1) else ""

    def read_status(self, text: str, way: Way) -> tuple[bool, ...]:
        """Return what a word that stands for an exit status may be: True for 0."""
        if text.isdigit():
            return (int(text) % 256 == 0,)
        if _STATUS.search(text):
            return (way.is_zero,)
        for place, name in enumerate(self.variables, self.shown):
            if name in text.upper() if name == "PIPESTATUS" else re.search(rf"\$\{{?{name}\b", text):
                letter = way.letters[place]
                return (letter == "z",) if letter != "-" else (True, False)
        return (True, False)


def _put(way: Way, place: int, letter: str) -> Way:
    return Way(way.is_zero, way.letters[:place] + letter + way.letters[place + 1 :])


def _set_status(ways: Ways, *values: bool) -> Ways:
    return {Way(value, way.letters) for way in ways for value in values}


class _Run:
    """A shell with its functions, and the ways in which `exit`, `return` and `break` left it, a function or a loop."""

    def __init__(self, slots: _Slots) -> None:
        self.slots = slots
        self.functions: dict[str, CommandList] = {}
        self.ended: Ways = set()
        self.returned: Ways = set()
        self.broken: Ways = set()
        self._calls = 0
        self._steps = 0

    def run_list(self, tree: CommandList, ways: Ways, *, guarded: bool = False) -> Ways:
        """Return the ways after the list. `guarded`: in a condition, where `set -e` does not end the shell."""
        entries = tree.entries
        for place, entry in enumerate(entries):
            before = entries[place - 1].operator if place else ";"
            if before == "&" and _waits_for(entries, place):
                continue  # `a & wait $!`: the status of `a` is the status of `wait`
            skipped: Ways = set()  # ways in which `&&` or `||` passes this command over
            if before in ("&&", "||"):
                skipped = {way for way in ways if way.is_zero != (before == "&&")}
                ways = ways - skipped
            is_last = entry.operator not in ("&&", "||")
            if entry.operator == "&" and not _waits_for(entries, place + 1):
                ways = _set_status(self._run_apart(partial(self._run_node, entry.node), ways), True)
            else:
                ways = self._run_node(entry.node, ways, guarded=guarded or not is_last)
                if is_last and not guarded and _may_exit(entry.node):
                    failed = {way for way in ways if not way.is_zero and way.letters[self.slots.errexit] == "e"}
                    self.ended |= failed
                    ways = ways - failed
            ways = ways | skipped
            self._steps += len(ways)
            if len(ways) > _MOST_WAYS or self._steps > _MOST_STEPS:
                raise _TooManyWays
        return ways

    def _run_apart(self, body: Callable[[Ways], Ways], ways: Ways, *, keeps: str = "eo") -> Ways:
        """Run something in a shell of its own, which changes neither variables nor settings of this one.

        `keeps`: the settings that it takes over, `e` for `set -e` and `o` for `pipefail`.
        """
        done: Ways = set()
        ended, self.ended = self.ended, set()
        shown = self.slots.shown
        for own in {way.letters[shown:] for way in ways}:
            settings = "".join(letter if letter in keeps else "-" for letter in own[-2:])
            inner = {
                Way(way.is_zero, way.letters[:shown] + own[:-2] + settings)
                for way in ways
                if way.letters[shown:] == own
            }
            self.ended = set()
            after = body(inner) | self.ended
            done |= {Way(way.is_zero, way.letters[:shown] + own) for way in after}
        self.ended = ended
        return done

    def _run_node(self, node: Node, ways: Ways, *, guarded: bool = False) -> Ways:
        if not ways:
            return ways
        match node:
            case SimpleCommand():
                done = self._run_command(node, ways, guarded=guarded)
                return {_put(way, self.slots.shown, "z" if way.is_zero else "n") for way in done}
            case Pipeline():
                return self._run_pipeline(node, ways, guarded=guarded)
            case CommandGroup():
                return self._run_group(node, ways, guarded=guarded)

    def _run_pipeline(self, pipeline: Pipeline, ways: Ways, *, guarded: bool) -> Ways:
        guarded = guarded or pipeline.is_negated
        if len(pipeline.parts) == 1:
            done = self._run_node(pipeline.parts[0], ways, guarded=guarded)
        else:
            done = self._run_parts(pipeline.parts, ways, guarded=guarded)
        return {Way(way.is_zero != pipeline.is_negated, way.letters) for way in done}

    def _run_parts(self, parts: Sequence[Node], ways: Ways, *, guarded: bool) -> Ways:
        done: Ways = set()
        for before in ways:
            first = self._run_apart(partial(self._run_node, parts[0], guarded=guarded), {before})
            runs = {(way, way.is_zero, way.is_zero) for way in first}  # the first part's status, and that of all
            for part in parts[1:]:
                body = partial(self._run_node, part, guarded=guarded)
                runs = {
                    (after, first_zero, all_zero and after.is_zero)
                    for one, first_zero, all_zero in runs
                    for after in self._run_apart(body, {Way(before.is_zero, one.letters)})
                }
            has_pipefail = before.letters[-1] == "o"
            for way, first_zero, all_zero in runs:
                noted = _put(way, self.slots.shown, "z" if first_zero else "n")
                done.add(Way(all_zero if has_pipefail else way.is_zero, noted.letters))
        return done

    def _run_group(self, group: CommandGroup, ways: Ways, *, guarded: bool) -> Ways:
        lists = group.lists
        match group.kind:
            case "brace":
                return self.run_list(lists[0], ways, guarded=guarded)
            case "subshell":
                return self._run_apart(partial(self.run_list, lists[0], guarded=guarded), ways)
            case "process":
                return self._run_apart(partial(self.run_list, lists[0]), _set_status(ways, True), keeps="")
            case "detached":
                done = self._run_apart(partial(self.run_list, lists[0]), ways, keeps="")
                return _set_status(ways | done, True, False)
            case "optional":
                return _set_status(ways, True) | self.run_list(lists[0], ways, guarded=guarded)
            case "if":
                return self._run_if(lists, ways, guarded=guarded)
            case "loop":
                return self._run_loop(lists, ways, guarded=guarded)
            case "case":
                return _set_status(ways, True).union(*(self.run_list(body, ways, guarded=guarded) for body in lists))
            case "function":
                self.functions[group.name] = lists[0]
                return _set_status(ways, True)

    def _run_if(self, lists: Sequence[CommandList], ways: Ways, *, guarded: bool) -> Ways:
        done: Ways = set()
        for condition, body in zip(lists[::2], lists[1::2], strict=False):
            tested = self.run_list(condition, ways, guarded=True)
            done |= self.run_list(body, {way for way in tested if way.is_zero}, guarded=guarded)
            ways = {way for way in tested if not way.is_zero}
        if len(lists) % 2:
            return done | self.run_list(lists[-1], ways, guarded=guarded)
        return done | _set_status(ways, True)

    def _run_loop(self, lists: Sequence[CommandList], ways: Ways, *, guarded: bool) -> Ways:
        outer, self.broken = self.broken, set()
        done = _set_status(ways, True)
        for _ in range(_MOST_ROUNDS):
            for condition in lists[:-1]:
                ways = self.run_list(condition, ways, guarded=True)
                done |= _set_status(ways, True, False)
            ways = self.run_list(lists[-1], ways, guarded=guarded) | self.broken
            done |= ways
        self.broken = outer
        return done

    def _run_command(self, command: SimpleCommand, ways: Ways, *, guarded: bool) -> Ways:
        name = program(command.words)
        if id(command) in self.slots.echo_places:  # `$?` in it is that of the command before, not of a substitution
            ways = self._print(command, ways)
        for inner in command.substitutions:
            body = partial(self.run_list, inner, guarded=guarded)
            ways = self._run_apart(body, ways, keeps="o")
        if id(command) in self.slots.watched:
            return self._run_watched(command, ways)
        if all("=" in word for word in command.words):  # its status is that of its last substitution
            ways = self._assign(command.words, ways)
            return ways if command.substitutions else _set_status(ways, True)
        if name == "set":
            ways = {self._change_settings(command.words, way) for way in ways}
        if name == "false":
            return _set_status(ways, False)
        if name in ("exit", "return", "break", "continue"):
            return self._leave(command.words, ways)
        if name in self.functions and self._calls < _MOST_CALLS:
            return self._call(name, ways)
        return _set_status(ways, True) if name in _SUCCEEDS else _set_status(ways, True, False)

    def _run_watched(self, command: SimpleCommand, ways: Ways) -> Ways:
        place, watched = self.slots.watched[id(command)]
        done: Ways = set()
        for way in ways:
            # A failure stays, whatever a later run of the command gives.
            passed = way if way.letters[place] == "f" else _put(way, place, "p")
            failed = _put(way, place, "f")
            done |= _set_status({passed}, True) | _set_status({failed}, False)
            if watched.hides_failure:
                done |= _set_status({failed, way}, True)
        return done

    def _print(self, command: SimpleCommand, ways: Ways) -> Ways:
        place, text = self.slots.echo_places[id(command)], " ".join(command.words[1:])
        if "$" not in text:
            return {_put(way, place, "y") for way in ways}
        read = self.slots.read_status
        return {_put(way, place, "z" if value else "n") for way in ways for value in read(text, way)}

    def _assign(self, words: Sequence[str], ways: Ways) -> Ways:
        for word in words:
            name, _, value = word.partition("=")
            if name in self.slots.variables:
                place = self.slots.shown + self.slots.variables.index(name)
                read = self.slots.read_status
                ways = {_put(way, place, "z" if one else "n") for way in ways for one in read(value, way)}
        return ways

    def _change_settings(self, words: Sequence[str], way: Way) -> Way:
        errexit = self.slots.errexit
        for before, word in pairwise(words):
            if word == "pipefail" and before.endswith("o"):
                way = _put(way, errexit + 1, "o" if before.startswith("-") else "-")
            elif re.fullmatch(r"[-+]\w*e\w*", word):
                way = _put(way, errexit, "e" if word.startswith("-") else "-")
        return way

    def _leave(self, words: Sequence[str], ways: Ways) -> Ways:
        if words[0] in ("break", "continue"):
            self.broken |= _set_status(ways, True)
            return set()
        given = words[1] if len(words) > 1 else "$?"
        left = {Way(value, way.letters) for way in ways for value in self.slots.read_status(given, way)}
        if words[0] == "exit":
            self.ended |= left
        else:
            self.returned |= left
        return set()

    def _call(self, name: str, ways: Ways) -> Ways:
        outer, self.returned = self.returned, set()
        self._calls += 1
        ways = self.run_list(self.functions[name], ways) | self.returned
        self._calls -= 1
        self.returned = outer
        return ways


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
