"""Read how a run went from its output: the summary lines of test frameworks, compilers and linters."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final, Literal, NamedTuple, get_args

from punchlist.core.shell.wrappers import split_name
from punchlist.core.tables import summaries as tables
from punchlist.text.hashing import blake2b
from punchlist.text.patterns import compile_later

WINDOW: Final = 65_536
"""Characters at the end of an output that are read."""

Summary = Literal["failed", "empty", "passed"]
Shown = Literal["whole", "end", "part", "hidden"]
"""The part of an output that is seen: all, its end (`tail`), lines (`grep`, `head`), or nothing as it was printed."""

Kind = Literal["failed", "empty", "passed", "built", "findings"]


class Reading(NamedTuple):
    """The reading of an output. `has_findings`: single findings; `has_talk`: words of failure that prove little.

    `is_contradicted`: it holds a summary of failures, and a later one without any.
    """

    summary: Summary | None
    has_findings: bool = False
    has_talk: bool = False
    is_contradicted: bool = False


_N: Final = r"[1-9]\d{0,8}"
"""A count of at least one. Every pattern takes a time that is linear in a line."""

_THINGS: Final = r"(?:tests? |specs? |checks? |cases? )?"
_UP_TO_DATE: Final = r"(?<=\A\n)(?:g?make|task): (?:.* is up to date|Nothing to be done).*\s*\Z"
"""The whole output of a runner that had nothing to do: a success of a build, and no test was run."""

_PLACE: Final = r"\S[^:\n]{0,300}:\d+:"


class Framework(NamedTuple):
    """The lines by which some programs tell how a run went. A line is matched from its first character that counts.

    `programs`: programs, or with `+` a program and its verb or the family of its check (`ruff+format`, `cargo+test`).
    `built`: something was built, which is a success unless tests were to run. `findings`: single findings; a program
    may print the like as talk, so they count only where no exit status is known. `is_final`: a run ends with one
    summary, so the last one counts and what a test printed before it is noise. `empty_wins`: a line that says that
    nothing was looked at outweighs one that says that all is well. `own`: the lines are too common to be looked for
    where the program is not known to have run. `is_total`: one line counts all tests, so that it is enough alone.
    """

    programs: str
    failed: str = ""
    empty: str = ""
    passed: str = ""
    built: str = ""
    findings: str = ""
    is_final: bool = False
    empty_wins: bool = False
    own: bool = False
    is_total: bool = False


# Not one possessive group with a choice in it: Python before 3.11.5 matches those wrongly.


def _read_table() -> Iterator[Framework]:
    text = tables.TABLE.replace("{N}", _N).replace("{PLACE}", _PLACE).replace("{UP_TO_DATE}", _UP_TO_DATE)
    for block in re.split(r"\n    (?=\S)", text.rstrip())[1:]:
        head, *rows = block.split("\n        ")
        programs, _, flags = head.partition(":")
        lines: dict[str, str] = {}
        for kind, _, pattern in (row.partition(" ") for row in rows):
            lines[kind] = f"{lines[kind]}|{pattern}" if kind in lines else pattern
        yield Framework(programs)._replace(**lines, **dict.fromkeys(flags.split(), True))


FRAMEWORKS: Final = tuple(_read_table())

_COMMON: Final = tuple(framework for framework in FRAMEWORKS if not framework.own)

_ANY: Final = Framework(
    "",
    failed=rf"(?:.*\b)?\d+ {_THINGS}(?:passed|passing|ok)\b[, ;|]+{_N} {_THINGS}(?:failed|failing|failures?)\b"
    rf"|.*\b\d+ {_THINGS}(?:passed|passing)\b.*\b{_N} (?:exceptions?|errors?)\b(?! (?:expected|ignored))"
    rf"|(?:.*\b)?{_N} {_THINGS}(?:failed|failing|failures?)[, ;|]+\d+ {_THINGS}(?:passed|passing|ok)\b"
    rf"|.*(?<!expected )\b(?i:fail(?:ed|ures?)?)[:=] *{_N}\b"
    rf"|(?![Tt]est \d|(?:.*\b)?(\d+)(?:/| of )\1\b)(?:.*\b)?\d+(?:/| of )\d+ {_THINGS}passed$"
    r"|.*(?<!\b0 )\b(?:tests|checks) (?:have )?(?:failed|did not pass)\b",
    findings=rf"(?:.*\b)?(?<![\w./-]){_N} {_THINGS}(?:failed|failing|failures?)\b(?! (?:login|attempt|request|job))"
    r"|(?:.*\s)?(?:FAIL(?:ED|URE)?|NOT OK)$|(?:FAIL(?:ED|URE)?|NOT OK)[:!. ].*$"
    r"|.*\b(?:build|lint|suite) failed\b|❌|✗ ",
    empty=r".*\b(?:0 tests?(?: ran| run| found|$)|[Nn]o tests? (?:ran|run|found|collected|executed|yet))",
    passed=rf"(?:.*\b)?(?<![\w./-]){_N} {_THINGS}(?:passed|passing)\b"
    rf"|.*\b[Pp]assed[:=] *{_N}\b|(?:PASS(?:ED)?|OK)(?:[:!. ].*)?$"
    r"|(?:.*\b)?[Aa]ll (?:\d+ )?(?:tests?|checks?|assertions?|specs?|good|ok)\b.*\b(?:pass(?:ed)?|hold|ok|good|green)\b"
    "|✅|ALL (?:OK|PASS(?:ED)?|GOOD|TESTS PASSED)",
)
"""How most programs say it. Looked for where the program that ran is not known, or its own lines are not there."""

_ANY_SIGNS: Final[dict[Kind, tuple[str, ...]]] = {
    "failed": ("fail", "Fail", "FAIL", "pass"),
    "empty": ("0 test", "o test"),
    "passed": ("pass", "Pass", "PASS", "OK", "all ", "All ", "ALL ", "✅"),
    "findings": ("fail", "Fail", "FAIL", "NOT OK", "❌", "✗"),
}
"""Every line of such a kind has one of these in it. To search all lines for the patterns takes long."""

_COVERAGE: Final = compile_later(
    r"\n[^\S\n]*(?:FAIL Required test coverage|ERROR: Coverage (?:failure|for)|Coverage failure"
    r"|Jest: .*coverage threshold)"
)
"""A threshold of coverage that was missed. It is a failure, though all tests passed."""

_CONTROLS: Final = compile_later(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]+[0-~]|[0-~])")
_EXECUTION_ERROR: Final = compile_later(
    r".*(?:: |^)(?:command not found|not found|No such file or directory|Permission denied)"
    r"|(?:.*: )?(?:Killed|Terminated|Aborted|Segmentation fault)|.*\(core dumped\)|Fatal Python error\b.*"
    r"|(?:.*\b)?(?:[Tt]imed out|[Tt]imeout)(?: (?:waiting|after|of|for)\b.*)?|.*\bNo module named .*"
    r"|[\w./-]+: error: .*|\w*(?:Error|Exception)(?:: .*)?|[Uu]sage: .*|Error: Cannot find module.*"
)
_NOT_STARTED: Final = compile_later(
    r"\S*(?:python|pypy|py)[\d.]*(?:\.exe)?: (?:No module named \S+|can't open file .*|Error while finding module .*)"
    r"|(?:ERROR: )?[Uu]sage: .*|ERROR: (?:file or directory )?not found: .*|.*: error: unrecognized arguments.*"
    r"|.*\b(?:[Uu]nknown|[Uu]nrecognized|[Uu]nexpected|[Ii]nvalid|no such) (?:option|argument|flag|command)s?\b.*"
    r"|.*\bMissing script\b.*|.*No rule to make target (?!.*needed by).*|.*Couldn't find a script named.*"
    r"|error Command \S+ not found.*|error: Script not found.*|.*\bflag provided but not defined\b.*"
    r"|go: (?:go\.mod file not found|cannot find main module).*|error: could not find `Cargo.toml`.*"
    r"|.*is not recognized as .*|error: Failed to spawn: .*|[Cc]ommand not found: .*|The command \S+ could not be found"
    r"|.*\b(?:could not determine executable|Could not read package\.json|Couldn't find a package\.json"
    r"|No package\.json was found|no makefile found|does not contain recipe|unknown environment|JAVA_HOME is not set"
    r"|[Cc]ould not find (?:a Mix\.Project|Package\.swift)|couldn't find an eslint\.config"
    r"|No test configuration file found|Could not open input file)\b.*|stat \S+: directory not found"
    r"|go: go\.mod requires .*"
)
"""Lines with which an interpreter or a runner says that the run could not begin."""

_NO_PROJECT: Final = compile_later(
    r"could not find `Cargo\.toml`|there is no POM\b|does not contain a Gradle build|failed to read dockerfile: "
    r"|unable to prepare context: |Cannot connect to the Docker daemon"
)
"""Sentences of runners without the file, or the service, that they work on."""

_MISSING: Final = compile_later(r".*: (?:command not found|not found|No such file or directory|Permission denied)")
_SHELL: Final = compile_later(r"\S*sh: ")
_NO_TESTS: Final = compile_later(
    r"\b(?:[Nn]o tests? (?:were |was )?(?:collected|found|ran|run|executed)|0 tests (?:run|ran|found)\b)"
)
_RAN: Final = compile_later(
    r"Traceback \(most recent call last\)|ImportError while loading conftest|ERROR collecting|SyntaxError|\n *at \S+ \("
)
"""Marks of code that ran, or that was found and could not be loaded."""

_REFUSED: Final = compile_later(
    r"(?:The (?:tool use|tool call|command|user) (?:was|has|did not|doesn't|does not|chose|rejected|denied|declined)"
    r"|User (?:has |have )?(?:denied|rejected|declined|refused)|Permission denied by|\[Request interrupted by user"
    r"|<tool_use_error>|Rejected by user|(?:Error: )?Claude requested permissions? to|Permission to use \w+"
    r"|PreToolUse:\w+|(?:[\w :]{0,40} )?(?:rejected by user|failed in sandbox))\b.*",
    re.DOTALL,
)
_NO_FOLDER: Final = compile_later(r"(?:.*: )?cd: (?:.*: (?:No such file or directory|Not a directory)|can't cd to .*)")
_LONGEST_REFUSAL: Final = 1_000

_WORST: Final[tuple[Summary, ...]] = ("failed", "passed", "empty")


def clean_output(output: str) -> str:
    """Return the end of an output without colours and without lines that were written over."""
    text = _CONTROLS.sub("", output[-WINDOW:]) if "\x1b" in output else output[-WINDOW:]
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_summary(
    text: str, names: tuple[str, ...], *, runs_others: bool, is_test: bool, repeats: bool, shown: Shown = "whole"
) -> Reading:
    """Return what a cleaned output says of the run of a program.

    `names`: the program, and the program with its verb and with its family.
    `runs_others`: the program is a script or a runner, so that any framework may speak. `repeats`: it may have run
    more than once, so that each summary counts. `shown`: of single lines, only one that counts all tests says that all
    went well; of what was changed on its way, only failures are believed.
    """
    text = f"\n{text}"
    known = _find_frameworks(names)
    any_speaks = runs_others or not known
    if (is_test or any_speaks) and _COVERAGE.search(text) is not None:
        return Reading("failed")
    frameworks = [*known, *_COMMON] if any_speaks else known
    last: list[tuple[int, int, Kind]] = []
    found: set[str] = set()
    has_findings = False
    for framework in dict.fromkeys(frameworks):
        lines = list(_read_lines(text, framework, is_test=is_test))
        if shown == "end" and "cargo+test" in framework.programs and {kind for *_, kind in lines} == {"empty"}:
            return Reading(None)  # each binary has a summary, and the last is that of the doc tests
        if shown == "hidden" or (shown == "part" and not (framework.is_final or framework.is_total)):
            lines = [line for line in lines if line[2] not in ("passed", "built")]
        if shown == "hidden":
            lines = [line for line in lines if line[2] != "empty"]
        kinds = {kind for *_, kind in lines}
        has_findings = has_findings or "findings" in kinds
        if framework.is_final and not repeats and framework in known:
            last += [line for line in lines if line[2] != "findings"]
        elif framework.empty_wins and "empty" in kinds:
            return Reading("failed" if "failed" in kinds else "empty", has_findings)
        else:
            found |= kinds
    if last and not (max(last)[2] == "empty" and "failed" in found):
        is_contradicted = {kind for *_, kind in last} >= {"failed", "passed"}
        return Reading(_pick({max(last)[2]}), has_findings, is_contradicted=is_contradicted)
    said = _find_talk(text) if any_speaks and shown in ("whole", "end") else set[str]()
    found |= said if _pick(found) is None else said & {"failed"}
    return Reading(_pick(found), has_findings, has_talk="findings" in said)


def find_summary_ends(text: str, names: tuple[str, ...]) -> list[int]:
    """Return where the runs of a program end in a cleaned output, if each ends with one summary; else nothing."""
    final = (framework for framework in _find_frameworks(names) if framework.is_final)
    found = (match for framework in final for _, lines in _compile(framework) for match in lines.finditer(f"\n{text}"))
    return sorted({match.end() - 1 for match in found})


def _find_frameworks(names: tuple[str, ...]) -> list[Framework]:
    return [framework for name in dict.fromkeys(names) for framework in _by_program().get(name, ())]


def _find_talk(text: str) -> set[str]:
    found: set[str] = set()
    for kind, pattern in _compile(_ANY):
        lines = [line for line in text.split("\n") if any(sign in line for sign in _ANY_SIGNS[kind])]
        if lines and pattern.search("\n" + "\n".join(lines)) is not None:
            found.add(kind)
    return found


def _pick(found: set[str]) -> Summary | None:
    return next((kind for kind in _WORST if kind in found), None)


def read_any_summary(output: str) -> Summary | None:
    """Return what an output says where nothing is known of the program that printed it."""
    text = clean_output(output)
    reading = read_summary(text, (), runs_others=True, is_test=True, repeats=False)
    if reading.summary is not None:
        return reading.summary
    if any(kind == "built" and lines.search(f"\n{text}") for each in _COMMON for kind, lines in _compile(each)):
        return "passed"
    return "failed" if reading.has_findings or reading.has_talk else None


def has_execution_error(text: str) -> bool:
    """True if an output ends with a shell or an interpreter saying that the run could not begin or broke off."""
    last = text[-2_000:].rstrip().rpartition("\n")[2].strip()
    return _EXECUTION_ERROR.fullmatch(last) is not None


def could_not_start(text: str, program: str, *, is_test: bool, is_script: bool) -> bool:
    """True if the first or the last line of an output is the runner's own and says that nothing was run.

    Code of the project that could not be loaded, or that raised, was run.
    """
    if _RAN.search(text) is not None:
        return False
    lines = text.strip().split("\n")
    for line in (lines[0].strip(), *(line.strip() for line in lines[-4:])):
        if is_test and _NO_TESTS.search(line):
            return True
        is_own = program in line or (not is_script and _SHELL.match(line) is not None)
        if _NOT_STARTED.fullmatch(line) or (is_own and _MISSING.fullmatch(line)):
            return True
    return False


def lacks_operand(text: str, operands: Iterable[str], ran: int) -> bool:
    """True if unittest ran nothing but its stand-ins for modules that the command names and that are not there."""
    missing = re.findall(r"No module named '(?:\w+\.)*(\w+)'", text)
    named = {part for word in operands for part in re.findall(r"\w+", word)}
    return bool(missing) and ran == len(re.findall(r"(?m)^ERROR: .*_FailedTest", text)) and named.issuperset(missing)


def lacks_project(text: str) -> bool:
    """True if a runner said that there is no project to work on, and no code ran."""
    return _RAN.search(text) is None and _NO_PROJECT.search(text) is not None


def is_refusal(text: str) -> bool:
    """True if a text says that the call was not let run, or ends with a folder that is not there."""
    if len(text) > _LONGEST_REFUSAL:
        return False
    last = text.rstrip().rpartition("\n")[2]
    return is_declined(text) or _NO_FOLDER.fullmatch(last.strip()) is not None


def is_declined(text: str) -> bool:
    """True if a text says that a person did not let the call run."""
    return len(text) <= _LONGEST_REFUSAL and _REFUSED.match(text.lstrip()) is not None


# What single tests did.

_COUNTS: Final = compile_later(
    r"\b(\d+) (?:tests? |specs? |examples? )?(passed|passing|failed|failing|failures?|errors?|exceptions?|skipped"
    r"|pending|ignored|deselected|filtered out|pass|fail|ok)\b"
    r"|(?<!expected )\b(failures|errors|skipped|Failures|Errors|Skipped)[=:] ?(\d+)"
    r"|(?:\bRan|\bTests run:|^Tests:|\bOK \() ?(\d+)\b"
)
_COUNTED: Final = compile_later(
    r"\n[ \t=|#>*-]{0,200}(?=.*\d)(?:.*\b(?:passed|failed|passing|failing|failures|deselected|skipped)\b.*"
    r"|Ran \d+ tests?.*|.*Tests run: \d+.*|(?:OK|FAILED) \(.*|\d+ (?:pass|fail)$)"
)
_FAILURE_NAMES: Final = compile_later(
    r"^(?:(?:FAILED|ERROR) (\S+(?:\[.*\])?)(?: - .*)?$|(?:FAIL|ERROR): (\w+ \([^)\n]*\))|[ \t]*--- FAIL: (\S+)"
    r"|test (\S+) \.\.\. FAILED|[ \t]*● (.+ › .+)$|_+ (\S+\.py:\S+) _+$|rspec (\S+)|\d+\) (\S+::\S+)"
    r"|not ok \d+ -? ?(.+)|\[ERROR\] +(\S+).* <<< (?:FAILURE|ERROR)!|[ \t]*FAIL[ \t]+(\S+ > .+)$"
    r"|(\S+ > .+) FAILED$|FAIL\s+(\S+ \[(?:build|setup) failed\])"
    r"|(INTERNALERROR>|error(?:\[E\d+\])?: .+)|(\S[^:\n]{0,200}:\d+(?::\d+)?:? .+))",
    re.MULTILINE,
)
"""The forms in which runners name a test that failed, and linters a finding."""

_COUNTED_AS: Final = (
    ("failed", ("fail", "error", "exception")),
    ("skipped", ("skip", "pend", "ignor")),
    ("left out", ("desel", "filter")),
)
_MOST_NAMES: Final = 40
_NUMBER: Final = compile_later(r":\d+")


class RunCounts(NamedTuple):
    """The numbers of a run, and short hashes of what failed in it: one for all together, if they are many."""

    ran: int = 0
    failed: int = 0
    skipped: int = 0
    left_out: int = 0
    failures: tuple[str, ...] = ()


def count_tests(text: str, *, is_test: bool) -> RunCounts:
    """Return the numbers and the names of failures that an output tells of; zeros where it tells none.

    `is_test`: a place in a file is no name of a failure, as it is for compilers and linters.
    """
    counts = Counter[str]()
    lines = [line[0].strip() for line in _COUNTED.finditer(f"\n{text}")]
    results = [line for line in lines if line.startswith("test result:")]
    ran = [line for line in lines[-4:] if line.startswith("Ran ")]
    for line in results or [*ran[-1:], *lines[-1:]]:
        for one in _COUNTS.finditer(line):
            word, number = (one[2] or one[3] or "").lower(), int(one[1] or one[4] or one[5])
            if word:
                counts[next((kind for kind, words in _COUNTED_AS if word.startswith(words)), "ran")] += number
            else:
                counts["total"] = number
    seen = Counter[str]()
    for match in _FAILURE_NAMES.finditer(text):
        name = next(group for group in match.groups() if group is not None)
        if not (is_test and match.lastindex == len(match.groups())):
            seen[_NUMBER.sub("", name)] += 1
    hashes = sorted({_hash(f"{name} {at}") for name, count in seen.items() for at in range(count)})
    names = tuple(hashes) if len(hashes) <= _MOST_NAMES else (_hash(" ".join(hashes)),)
    total = counts["total"] or counts["ran"] + counts["failed"]
    return RunCounts(total, counts["failed"], counts["skipped"], counts["left out"], names)


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=3).hexdigest()


def ends_in_summary(text: str) -> bool:
    """True if an output ends in the summary of a known test runner."""
    end = "\n" + "\n".join(text.rstrip().split("\n")[-4:])
    totals = (framework for framework in FRAMEWORKS if framework.is_final or framework.is_total)
    return any(
        pattern.search(end) for framework in totals for kind, pattern in _compile(framework) if kind != "findings"
    )


def _read_lines(text: str, framework: Framework, *, is_test: bool) -> Iterator[tuple[int, int, Kind]]:
    """Yield where a line of the framework stands, how it ranks on that place, and what it says."""
    for rank, (kind, pattern) in enumerate(_compile(framework)):
        if kind == "built" and is_test:
            continue
        for match in pattern.finditer(text):
            yield match.start(), -rank, "passed" if kind == "built" else kind


@cache
def _compile(framework: Framework) -> tuple[tuple[Kind, re.Pattern[str]], ...]:
    # 200: a frame as wide as a terminal. Without a bound, a line that is all frame takes the square of its length.
    return tuple(
        # From a newline to the next the engine jumps; `^` it would try at each character.
        (kind, re.compile(rf"\n[ \t=|#>*-]{{0,200}}(?:{lines})", re.MULTILINE))
        for kind in get_args(Kind)
        if (lines := getattr(framework, kind))
    )


@cache
def _by_program() -> dict[str, list[Framework]]:
    found: dict[str, list[Framework]] = {}
    for framework in FRAMEWORKS:
        for name in framework.programs.split():
            found.setdefault(split_name(name), []).append(framework)
    return found
