"""Tell what a command line checks, and how each check went."""

import posixpath
import re
from collections.abc import Callable, Collection, Generator, Mapping, Sequence, Set
from typing import Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.checks import summaries
from punchlist.core.checks.commands import (
    FAMILIES,
    RUNS_OTHERS,
    Check,
    Family,
    Patterns,
    find_check,
    find_script_path,
    hash_words,
    is_interpreter,
    load_default_patterns,
)
from punchlist.core.shell.exit_status import State, StatusTable, Watched, find_ways, read_states, trace_line
from punchlist.core.shell.programs import HTTP_CLIENTS, effect_of, writes_file
from punchlist.core.shell.touches import SNAPSHOT_OPTIONS, SNAPSHOTS, Touch, find_touches
from punchlist.core.shell.wrappers import expand, program, walk_commands, word_set
from punchlist.core.todo import NamedCheck
from punchlist.text.patterns import compile_later
from punchlist.text.shell import CommandGroup, CommandList, Node, Pipeline, Redirect, SimpleCommand, walk

_FIXES: Final = compile_later(
    r"--fix(?:-only)?|--write|--apply|--autocorrect(?:-all)?|--in-place|(?:[\w:-]*[:_-])?fix|--\w+_out(?:=.*)?"
)
"""A check with such a word among its own repairs what it finds, or writes code."""

_PRINTS: Final = word_set("echo printf true : date tail head cat tee wc sort set cd")
_MOST_TOUCHES: Final = 48
_TALK: Final = word_set(
    "echo printf true false : sleep wait date seq set cd pushd popd pwd exit return export unset local shift "
    "trap alias ulimit umask read"
)
"""Commands that neither do anything nor look at anything; a line of nothing else has no program."""

_CHECK_TOOLS: Final[Mapping[str, Family]] = {
    **dict.fromkeys(("runtests", "runtest", "rununittests", "executetests", "pytest", "jest", "vitest"), "test"),
    **dict.fromkeys(("runlint", "runlinter", "eslint", "mypy", "pyright"), "lint"),
}
"""Names of tools that are checks, without case, `_` and `-`."""

Outcome = Literal["passed", "failed", "empty", "unknown"]
"""`empty`: nothing was run. `unknown`: it ran, and nothing that was seen says how it went."""

_PYTEST: Final = frozenset({"pytest", "py.test", "pytest-3"})
_PYTEST_EMPTY: Final = frozenset({4, 5})
"""pytest's exit codes for a wrong path or option, and for a run without tests."""

_CANNOT_RUN: Final = frozenset({126, 127})
"""A shell's exit codes for a program that is not there, or that it may not run."""

_PASSES_ON: Final = word_set("tee cat less more xcpretty xcbeautify tap-spec tap-dot gotestfmt ts")
_SHOWS_LINES: Final = word_set("head grep egrep fgrep rg ag ack")
_READERS: Final = word_set("cat tail head less more tac nl bat")
_SAYS_SUMMARY: Final = compile_later(r"(?i)\b(?:passed|failed|ok|tests?|pass|fail)\b")
_SHOWN: Final[tuple[summaries.Shown, ...]] = ("whole", "end", "part", "hidden")

_WORST: Final[tuple[Outcome, ...]] = ("failed", "unknown", "empty", "passed")


class CheckedLine(Struct, frozen=True, omit_defaults=True):
    """The checks of a command line, and what its exit status says about each.

    `repeats`: a program may run more than once. `is_detached`: the call ends before the line does.
    `checks_changes`: the line changes code first, and checks after that. `is_away`: Git puts the changes aside before
    the check, and brings them back after it.
    """

    checks: tuple[Check, ...]
    table: StatusTable = StatusTable()
    repeats: bool = False
    is_detached: bool = False
    checks_changes: bool = False
    is_away: bool = False

    @property
    def name(self) -> str:
        names = list(dict.fromkeys(check.name for check in self.checks))
        return " + ".join(names[:4]) + (" + …" if len(names) > 4 else "")

    @property
    def family(self) -> Family:
        """The family that proves most."""
        return next(family for family in FAMILIES if any(check.family == family for check in self.checks))

    @property
    def scope(self) -> tuple[str, ...]:
        """The paths that its checks name, and the folders that they run in, each once."""
        paths = (path for check in self.checks for path in (check.folder, *check.scope))
        return tuple(dict.fromkeys(path for path in paths if path))


class CommandAnalysis(NamedTuple):
    """The analysis of a command line. `changes`: it may change code; `reads`: it only looks at something.

    `may_change_and_fail`: it may have changed code though it failed, because it is more than one command, or Git.
    `program` is the first that does more than print, else the first that shows something; empty if there is none.
    `commands` are the words of its checks, or if it has none, of all that does more than print. `touches` are the files
    that it is seen to touch; `is_whole`: these are all that it may change.
    """

    check: CheckedLine | None
    changes: bool
    program: str
    commands: tuple[tuple[str, ...], ...] = ()
    reads: bool = False
    may_change_and_fail: bool = False
    touches: tuple[Touch, ...] = ()
    is_whole: bool = True


def accept_named(named: NamedCheck, others: Sequence[NamedCheck] = (), patterns: Patterns | None = None) -> bool:
    """True if a named check may verify. `others` are those of the project."""
    if named.by != "model":
        return True
    wanted = find_bare_command(named.command)
    if wanted and any(one.by == "project" and find_bare_command(one.command) == wanted for one in others):
        return True
    found = find_checks(named.command, patterns)
    return found is not None and bool(wanted) and all(one.family in FAMILIES[:2] for one in found.checks)


def find_bare_command(line: str | Sequence[str]) -> tuple[str, ...]:
    """Return the words of the one command that a line runs, without `cd`, variables and wrappers; empty if it is more.

    Its exit code is then that of the line: nothing follows it, and no pipe.
    """
    tree = expand(line)
    while len(tree.entries) == 1 and isinstance(group := tree.entries[0].node, CommandGroup):
        if group.kind not in ("brace", "process", "subshell") or len(group.lists) != 1:
            return ()
        tree = group.lists[0]
    if not tree.entries:
        return ()
    *before, last = tree.entries
    moves = [entry.node for entry in before if entry.operator in ("&&", ";")]
    is_plain = len(moves) == len(before) and all(
        isinstance(node, SimpleCommand) and program(node.words) in ("cd", "export", "set", "source", ".")
        for node in moves
    )
    if not is_plain or not isinstance(last.node, SimpleCommand) or last.operator not in ("", ";"):
        return ()
    return () if last.node.has_unknown and tree.is_cut else last.node.words


def analyse_command(
    line: str | Sequence[str], patterns: Patterns | None = None, named: Sequence[NamedCheck] = ()
) -> CommandAnalysis:
    """Return what a command line, or the words of one command, does, as far as it can be seen. Never raises.

    `named` are checks that the project or an item names; only those that `accept_named` accepts belong here.
    """
    known = patterns or load_default_patterns()
    tree = expand(line)
    bare = find_bare_command(line) if named else ()
    naming = {one.by for one in named if find_bare_command(one.command) == bare} if bare else set[str]()
    checks: list[Check] = []
    watched: list[Watched] = []
    touches: list[Touch] = []
    printed = {word for command in walk_commands(tree) for word in command.words[1:]}
    own_names, settings = _find_own_names(tree)
    own_files = _find_own_files(tree)
    changes_before, changes_after, reads, count, is_whole = False, tree.is_cut, True, 0, not tree.is_cut
    for command, folder, shown, is_free in _walk_line(tree, "", "whole", printed):
        name = program(command.words)
        found, hides_failure = find_check(command, known, settings, own_names)
        if is_free and _may_print_summary(command, own_files):
            checks = [replace(one, shown="hidden") for one in checks]
        if naming and command.words == bare:
            found = _as_named(found, command.words, of_item="project" not in naming)
        count += name not in _TALK
        reads = reads and found is None and effect_of(command) == "reads"
        touched, is_known = find_touches(command)
        touches += (
            Touch(how, _join(folder, path) if how not in ("back", "committed") else path) for how, path in touched
        )
        if found is None:
            if effect_of(command) == "changes":
                is_checked = any(check.family != "probe" for check in checks)
                changes_before, changes_after = changes_before or not is_checked, changes_after or is_checked
                is_whole = is_whole and is_known
            script = find_script_path(command.words)
            touches += [Touch("ran", _join(folder, script))] if script else []
            continue
        checks.append(replace(found, folder=_join(folder, found.folder), shown=shown))
        watched.append(Watched(command, hides_failure))
        ran = (found.script, *(path.partition("::")[0] for path in found.scope if not path.startswith(("-", "!"))))
        touches += (Touch("ran", _join(folder, path)) for path in ran if path)
        if not SNAPSHOT_OPTIONS.isdisjoint(command.words):
            touches.append(Touch("edited", SNAPSHOTS))
        fixes = any(_FIXES.fullmatch(word) for word in command.words)
        changes_after, is_whole = changes_after or fixes, is_whole and not fixes
    line_check = None
    if checks:
        programs = [check.program for check in checks]
        has_loop = any(isinstance(node, CommandGroup) and node.kind == "loop" for node in walk(tree))
        repeats = has_loop or len(set(programs)) < len(programs)
        away = [how for how, path in touches if path == "*"]
        line_check = CheckedLine(
            tuple(checks),
            trace_line(tree, watched),
            repeats,
            checks_changes=changes_before and not changes_after,
            is_away=away[:1] == ["away"] and away[-1] == "back",
        )
    all_commands = walk_commands(tree)
    spoken = [one.words for one in all_commands if program(one.words) not in _TALK or writes_file(one)]
    speaking = [words for words in spoken if program(words) not in _PRINTS and words]
    first = next((program(words) for words in (*speaking, *spoken)), "")
    main = tuple(watch.command.words for watch in watched) or tuple(speaking)
    return CommandAnalysis(
        line_check,
        changes_before or changes_after,
        first,
        main,
        reads=reads,
        may_change_and_fail=count > 1 or first in ("git", "rm") or bool(checks),
        touches=tuple(dict.fromkeys(touches))[:_MOST_TOUCHES],
        is_whole=is_whole and len(touches) <= _MOST_TOUCHES,
    )


def _as_named(found: Check | None, words: Sequence[str], *, of_item: bool) -> Check:
    """Return a command as a check that is named: its exit code alone decides."""
    known = found or Check(" ".join((program(words), *words[1:4]))[:64], "probe", program(words))
    family = known.family if of_item or known.family in FAMILIES[:2] else "test"
    return replace(known, family=family, script=find_script_path(words), named=hash_words(words), of_item=of_item)


def find_checks(line: str | Sequence[str], patterns: Patterns | None = None) -> CheckedLine | None:
    """Return the checks that a command line runs, None if there are none."""
    return analyse_command(line, patterns).check


def find_main_commands(line: str | Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the words to call a command line by: its checks, else all commands that do more than print."""
    return analyse_command(line).commands


def find_tool_check(name: str, patterns: Patterns | None = None) -> CheckedLine | None:
    """Return the check that any call of this tool is. A server's prefix before its name is ignored."""
    known = patterns or load_default_patterns()
    for part in dict.fromkeys((name, name.rpartition("__")[2], name.rpartition(".")[2])):
        found = known.find((part,)) if part in known.own else None
        family = _CHECK_TOOLS.get(part.lower().replace("_", "").replace("-", ""))
        if found is not None or family is not None:
            label, family = found or (part, family or "test")
            return CheckedLine((Check(label, family, part),), StatusTable(("p",), ("f",)))
    return None


def _find_own_names(tree: CommandList) -> tuple[set[str], list[str]]:
    """Return the names that a line gives to functions and aliases, and the variables that it sets."""
    names = {node.name for node in walk(tree) if isinstance(node, CommandGroup) and node.kind == "function"}
    settings: list[str] = []
    for words in (command.words for command in walk_commands(tree)):
        if program(words) == "alias":
            names.update(word.partition("=")[0] for word in words[1:])
        elif program(words) == "export" or all("=" in word for word in words):
            settings += words
    return names, settings


def _find_own_files(tree: CommandList) -> set[str]:
    """Return the files that a line writes."""
    commands = list(walk_commands(tree))
    teed = {word for command in commands if program(command.words) == "tee" for word in command.words}
    return teed | {one.target for command in commands for one in command.redirects if ">" in one.operator}


def _may_print_summary(command: SimpleCommand, own: Collection[str]) -> bool:
    """True if a command that is no check may print what looks like a summary: a file, code, a text of its own.

    `own` are files that the line itself writes.
    """
    name, words = program(command.words), command.words[1:]
    operands = [word for word in words if not word.startswith(("-", "+")) and not word.isdecimal()]
    if name in ("echo", "printf"):  # a text that is known is left out of the output
        text = " ".join(words)
        return ("$" in text.replace("$?", "") or "\\n" in text) and _SAYS_SUMMARY.search(text) is not None
    if name in _READERS or name in _SHOWS_LINES or name in ("sed", "awk"):
        files = operands if name in _READERS else operands[1:]
        return any(file not in own for file in files) or any("<" in one.operator for one in command.redirects)
    found, _ = find_check(command, load_default_patterns()) if is_interpreter(name) else (None, False)
    return found is not None and found.family == "probe"


def _leaves_screen(redirect: Redirect) -> bool:
    """True if a redirection takes what a command prints away from the screen; errors alone may go."""
    is_output = redirect.operator in (">", ">>", "1>", "1>>", "&>", "&>>", ">|")
    return is_output and redirect.target not in ("/dev/stdout", "-")


def _pass_through(node: Node) -> summaries.Shown:
    if not isinstance(node, SimpleCommand):
        return "hidden"
    name = program(node.words)
    if _may_print_summary(node, ()) and name in _READERS:
        return "hidden"
    if name in _PASSES_ON:
        return "hidden" if any(map(_leaves_screen, node.redirects)) else "whole"
    if name == "tail":
        return "end"
    is_changed = any(
        re.fullmatch(r"-[a-zA-Z]*[vocqlL]\w*|--(?:invert|only|count|quiet|files).*", one) for one in node.words
    )
    return "part" if name in _SHOWS_LINES and not (is_changed and name != "head") else "hidden"


def _walk_line(
    node: CommandList | Node, folder: str, shown: summaries.Shown, printed: Set[str], *, is_free: bool = True
) -> Generator[tuple[SimpleCommand, str, summaries.Shown, bool], None, str]:
    """Yield the simple commands in their order; return the folder after them.

    Each comes with the folder in which it runs, with how its output reaches the screen (a file that the line prints,
    `printed`, is on it), and with True if it runs whether or not the command before it passed.
    """
    if isinstance(node, SimpleCommand | CommandGroup):
        is_hidden = any(_leaves_screen(one) and one.target not in printed for one in node.redirects)
        shown = "hidden" if is_hidden else shown
    match node:
        case SimpleCommand():
            yield node, folder, shown, is_free
            for inner in node.substitutions:
                yield from _walk_line(inner, folder, "whole", printed, is_free=False)
            return _change_folder(node, folder)
        case Pipeline():
            after = folder
            for place, part in enumerate(node.parts):
                behind = (shown, *map(_pass_through, node.parts[place + 1 :]))
                after = yield from _walk_line(part, folder, max(behind, key=_SHOWN.index), printed, is_free=is_free)
            return after if len(node.parts) == 1 else folder
        case CommandGroup():
            inside = folder
            for inner in node.lists:
                inside = yield from _walk_line(inner, inside, shown, printed, is_free=is_free)
            return inside if node.kind in ("brace", "if", "loop", "case") else folder
        case CommandList():
            begin = folder
            for entry in node.entries:
                folder = yield from _walk_line(entry.node, folder, shown, printed, is_free=is_free)
                is_free = entry.operator != "&&"
                if entry.operator == "&":  # all that `&&` joins to it ran in a shell of its own
                    folder = begin
                elif entry.operator not in ("&&", "||"):
                    begin = folder
            return folder


def _change_folder(command: SimpleCommand, folder: str) -> str:
    words, name = command.words, program(command.words)
    if name not in ("cd", "pushd", "popd"):
        return folder
    target = next((word for word in words[1:] if not word.startswith("-")), "" if name == "popd" or words[1:] else "~")
    asked = [one.words[:2] for inner in command.substitutions for one in walk_commands(inner)]
    if not target or ("git", "rev-parse") in asked:  # back to where the line began, or to the root
        return ""
    return target if target.startswith(("$", "~")) else _join(folder, target)


def _join(folder: str, path: str) -> str:
    joined = posixpath.normpath(posixpath.join(folder, path))
    return "" if joined == "." else joined


def judge_line(
    line: CheckedLine, output: str, *, exit_code: int | None = None, is_error: bool | None = None
) -> Outcome:
    """Return the worst outcome of the checks of a line. Beside other checks a probe counts only where it failed."""
    ends = judge_ends(line, output, exit_code=exit_code, is_error=is_error)
    return worst_outcome(line, [end.outcome for end in ends])


def worst_outcome(line: CheckedLine, found: Sequence[Outcome]) -> Outcome:
    """Return the outcome of a line by those of its checks."""
    if "failed" in found:
        return "failed"
    real = [outcome for outcome, check in zip(found, line.checks, strict=True) if check.family != "probe"]
    return next(outcome for outcome in _WORST if outcome in (real or found))


class CheckEnd(NamedTuple):
    """How one check of a line came out. `ended_well`: it ended with 0, whatever that is worth.

    `has_runner`: the output ends in the summary of a known test runner, so that a script may be more than a probe.
    """

    outcome: Outcome
    counts: summaries.RunCounts = summaries.RunCounts()
    ended_well: bool = False
    has_runner: bool = False


def judge_ends(
    line: CheckedLine, output: str, *, exit_code: int | None = None, is_error: bool | None = None
) -> list[CheckEnd]:
    """Return how each check of a line came out. Where only the line is known to have failed, the last check has.

    `is_error` is what the host said: True is believed, False counts as an exit code of 0 where there is none.
    """
    is_guess = exit_code is None
    if is_error is not None and not exit_code:
        exit_code = int(is_error)
    count = len(line.checks)
    if summaries.is_refusal(output):
        return [CheckEnd("empty")] * count
    text = summaries.clean_output(output)
    ways = find_ways(line.table, count, exit_code=exit_code, output=text)
    parts = _split_output(line.checks, _drop_echoes(text, line.table.echoes))
    readings = [_read(check, part, repeats=line.repeats) for check, part in zip(line.checks, parts, strict=True)]
    has_failed = bool(exit_code) and count > 1
    if has_failed:
        ways = _narrow(ways, readings)
    states = read_states(ways, count)
    found: list[Outcome] = []
    for check, state, part, read in zip(line.checks, states, parts, readings, strict=True):
        is_clear = has_failed and state == "passed" and read.summary == "failed"  # the failure is another check's
        code = None if is_guess else exit_code
        found.append(_judge(check, state, code, part, summaries.Reading(None) if is_clear else read))
    if exit_code and ways and all("f" in way[:count] for way in ways):
        suspects = [place for place in range(count) if any(way[place] == "f" for way in ways)]
        if not any(found[place] in ("failed", "empty") for place in suspects):
            found[suspects[-1]] = "failed"
    return [
        CheckEnd(
            outcome,
            summaries.count_tests(part, is_test=check.family == "test")
            if check.shown != "hidden"
            else summaries.RunCounts(),
            ended_well=state == "passed",
            has_runner=check.script != "" and check.shown != "hidden" and summaries.ends_in_summary(part),
        )
        for check, outcome, state, part in zip(line.checks, found, states, parts, strict=True)
    ]


def _drop_echoes(text: str, echoes: Sequence[str]) -> str:
    """Return an output without the lines that the command line printed itself: they are not the words of a check."""
    own = {echo for echo in echoes if echo and "$?" not in echo}
    return "\n".join(line for line in text.split("\n") if line.strip() not in own) if own else text


def read_running_output(line: CheckedLine, output: str) -> Outcome | None:
    """Return what the output of a check says while it still runs, None if it says nothing."""
    text = summaries.clean_output(output)
    found: list[Outcome | None] = [_read(check, text, repeats=True).summary for check in line.checks]
    return next((summary for summary in found if summary is not None), None)


def _split_output(checks: Sequence[Check], text: str) -> list[str]:
    """Return the part of an output that each check may have printed.

    A line's checks print one after another: the part of a check begins where a package manager names its script, and
    ends with the summary that its program ends with, or where the next script is named.
    """
    ends = {check.names: summaries.find_summary_ends(text, check.names) for check in checks if len(checks) > 1}
    heads = [_find_heads(check, text) if len(checks) > 1 else [] for check in checks]
    start = 0
    parts: list[str] = []
    for place, check in enumerate(checks):
        begins = [head for head in heads[place] if head >= start] or [start]
        later = [head for one in heads[place + 1 :] for head in one if head > begins[0]]
        is_known = len(ends.get(check.names, ())) == sum(one.names == check.names for one in checks)
        own = [end for end in ends[check.names] if end > begins[0]] if is_known else []
        end = min((*later, *own[:1]), default=len(text))
        parts.append(text[begins[0] : end])
        start = end if own or later else begins[0]
    return parts


def _find_heads(check: Check, text: str) -> list[int]:
    """Return where a package manager names the script that it runs, if it does so once."""
    if not check.is_script or not check.name.startswith(("npm ", "pnpm ")):
        return []
    script = re.escape(check.name.rpartition(" ")[2])
    found = [head.start() for head in re.finditer(rf"^> (?:\S+@\S+ )?{script}(?: .*)?$", text, re.MULTILINE)]
    return found if len(found) == 1 else []


def _narrow(ways: set[str], readings: Sequence[summaries.Reading]) -> set[str]:
    """Return the ways of a failed line that agree with what its checks printed, the strongest evidence first."""
    said: tuple[tuple[str, Callable[[summaries.Reading], bool]], ...] = (
        ("p", lambda read: read.summary == "passed"),
        ("pf", lambda read: read.summary == "empty"),
        ("f", lambda read: read.summary == "failed"),
        ("f", lambda read: read.has_findings or read.has_talk),
    )
    for letters, holds in said:
        for place, read in enumerate(readings):
            if holds(read):
                ways = {way for way in ways if way[place] in letters} or ways
    return ways


def _read(check: Check, text: str, *, repeats: bool) -> summaries.Reading:
    is_own_code = check.family == "probe" and check.program not in HTTP_CLIENTS
    runs_others = check.is_script or is_own_code or check.program in RUNS_OTHERS
    return summaries.read_summary(
        text,
        check.names,
        runs_others=runs_others,
        is_test=check.family == "test",
        repeats=repeats,
        shown=check.shown,
    )


def _judge(check: Check, state: State | None, exit_code: int | None, text: str, read: summaries.Reading) -> Outcome:
    """Return how a check came out. `exit_code` is that of the line, if it was told."""
    if state == "not run":
        return "empty"
    may_be_error = check.shown != "hidden" and (state is None or exit_code is None)
    if check.named:  # where no exit code was told, a known runner's own words say more
        told = read.summary if exit_code is None and state != "failed" else None
        return told or state or "unknown"
    if state is None and read.is_contradicted:
        return "unknown"
    if (state == "failed" or may_be_error) and _ran_nothing(check, text, read, exit_code if state else None):
        return "empty"
    if read.summary in ("failed", "empty"):
        return read.summary
    if read.has_talk and check.family == "probe":  # code that was written to print OK or FAIL
        return "failed"
    if state == "failed" or (state is None and read.summary is None and (read.has_findings or read.has_talk)):
        return "failed"
    if read.summary == "passed":
        return "passed"
    if may_be_error and summaries.has_execution_error(text):
        return "failed"
    has_complaints = read.has_talk or read.has_findings
    if state == "passed" and (not check.is_script or (not has_complaints and _shows_its_command(text))):
        return "passed"
    return "unknown"


def _ran_nothing(check: Check, text: str, read: summaries.Reading, exit_code: int | None) -> bool:
    """True if a check that did not pass could not start: no test ran, and nothing was compiled."""
    is_empty_code = exit_code in _CANNOT_RUN or (exit_code in _PYTEST_EMPTY and check.program in _PYTEST)
    ran = summaries.count_tests(text, is_test=True).ran
    has_run = read.summary == "failed" or read.has_findings
    if (is_empty_code and not has_run) or (has_run and summaries.lacks_operand(text, check.scope, ran)):
        return True
    if not ran and summaries.lacks_project(text):
        return True
    if read.summary == "passed" or read.has_findings or ran:
        return False
    names = check.script or check.program
    return summaries.could_not_start(text, names, is_test=check.family == "test", is_script=check.is_script)


def _shows_its_command(text: str) -> bool:
    """True if a script runner printed the command that it ran, and that is a check whose exit status counts."""
    for line in text[:2_000].split("\n")[:12]:
        shown = re.match(r"(?:[>$] )?(\S.*)$", line)
        if shown is None:
            continue
        found = find_checks(shown[1])
        if found is not None and not any(check.is_script or check.family == "probe" for check in found.checks):
            count = len(found.checks)
            ways = find_ways(found.table, count, exit_code=0, output="")
            return all(state == "passed" for state in read_states(ways, count))
    return False
