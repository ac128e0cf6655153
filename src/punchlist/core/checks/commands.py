"""Find the checks among commands: tests, builds, lints and probes.

A pattern is the words of a command: the program, then what has to be among its arguments. `a|b` is one of them. A word
that begins with `-` is an option, wherever it stands; another is the next verb (`go test`); with `*` before it, it may
be any argument, by its last part between colons (`gradle *test` holds for `gradle clean :app:test`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Final, Literal

from msgspec import Struct

from punchlist.core.checks.summaries import Shown
from punchlist.core.shell.programs import HTTP_CLIENTS, saves_file
from punchlist.core.shell.touches import writes_files
from punchlist.core.shell.wrappers import program, read_options, word_set, word_table
from punchlist.core.tables import check_commands as tables
from punchlist.errors import ConfigInvalid
from punchlist.text.hashing import blake2b
from punchlist.text.patterns import compile_later
from punchlist.text.shell import SimpleCommand

Family = Literal["test", "build", "lint", "probe"]
FAMILIES: Final[tuple[Family, ...]] = ("test", "build", "lint", "probe")
"""From the one that proves most to the one that proves least."""

_VALUED: Final = word_set(tables.VALUED)
_NARROWS: Final = word_table(tables.NARROWS)
_SHORT_VALUED: Final = word_table(tables.SHORT_VALUED)

_FLAG: Final = compile_later(
    r"-[a-zA-Z]+|--(?:no-.*|fix|strict|quiet|verbose|check|diff|all|cache|ci|run|bail|lf|ff|last-failed|failed-first|sw"
    r"|exitfirst|coverage|noEmit|silent|write|color|unsafe-fixes|show-.*|keepdb|parallel|failfast|release|all-.*|locked"
    r"|stepwise|passWithNoTests|runInBand|headed|debug|list-different|check-only)"
)
"""Options without a value. A bare word after another long option is taken for its value."""

_GOALS: Final = word_set(tables.GOALS)
_FILTERS: Final = word_set("cargo jest vitest react-scripts ava")
"""Programs whose operands select tests by a part of their name, unless they are paths."""

_MODULES: Final = word_set("unittest manage.py trial nose2 nosetests stestr")
_FOLDERS: Final = compile_later(
    r"src|lib|apps?|packages|(?:__)?tests?(?:__)?|specs?|unit|integration|e2e|backend|frontend|server|client"
)
"""Names that are those of folders, also where an operand could be a part of a test's name."""

_PATH: Final = compile_later(r"/|::|^\.|\.\w{1,4}(?::\d+)*$")
_NAME: Final = compile_later(r"(?!\d+[a-z]?$)[\w@][\w@.-]*")
_ONLY_LEFT_OUT: Final = compile_later(r"not [\w-]+(?: and not [\w-]+)*")
"""A selection that names only what it leaves out."""

_UNKNOWN_WORD: Final = compile_later(r"\$(?:\w+|\{\w+\}|\(\)|[@*])")
"""A word that only the shell knows, so that it may narrow a run."""

_FOLDER_OPTIONS: Final = frozenset({"-C", "--prefix", "--directory", "--cwd", "--dir", "--rootdir", "--project-dir"})

_LANGUAGES: Final = word_table(tables.LANGUAGES)
_TESTED: Final = "pytest jest go cargo rspec phpunit mvn dotnet swift dart mix"
_SOURCES: Final = frozenset[str]().union(*(_LANGUAGES[name] for name in _TESTED.split()))
"""Source of languages that have a test runner of their own."""


def looks_at(name: str, family: Family, path: str) -> bool:
    """True if a check of this name looks at files such as this: a test at all but the source of another language."""
    own = _LANGUAGES.get(name.split(" ", maxsplit=1)[0])
    ending = path.rpartition("/")[2].rpartition(".")[2].lower()
    if own is None or ending in own:
        return True
    return family == "test" and ending not in _SOURCES


# Options with which a command shows something about a check, or never ends, and checks nothing.
_IDLE: Final = word_set(tables.IDLE)
_IDLE_OF: Final = word_table(tables.IDLE_OF)
_DRY_CHECKS: Final = frozenset({"kubectl", "clang-format", "php-cs-fixer", "manage.py"})
# Options with which a check ends with 0 whatever it finds, or without having run.
_HIDES: Final = word_set("--exit-zero --if-present --ignore-errors --soft-fail --no-fail --fail-never")
_HIDES_OF: Final = word_table(tables.HIDES_OF)
_BUILDS_ONLY: Final = word_table(tables.BUILDS_ONLY)
_REPORTS_WITH: Final[Mapping[str, str]] = {"semgrep": "--error", "cppcheck": "--error-exitcode", "trivy": "--exit-code"}
"""Programs that end with 0 unless they are given this option."""

RUNS_OTHERS: Final = word_set("tox nox pre-commit prek lefthook lint-staged turbo nx lerna act")
# Scripts and targets that are checks by their name.
_RUNNERS: Final = word_set("make gmake just task rake invoke inv doit nox poe mage")
_WITHOUT_TARGET: Final[Mapping[str, tuple[str, Family]]] = {
    **dict.fromkeys(("make", "gmake"), ("make", "build")),
    "rake": ("rake", "test"),
}
_SCRIPT_PROJECTS: Final = frozenset({"pdm", "hatch", "rye", "pixi"})
_PACKAGE_MANAGERS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
_SCRIPT_WORDS: Final[Mapping[Family, frozenset[str]]] = {
    "test": word_set(
        "test tests testing spec specs unit unittest e2e integration check checks ci verify validate qa coverage "
        "cov smoke pytest jest vitest mocha cypress playwright presubmit precommit"
    ),
    "lint": word_set("lint eslint ruff clippy"),
    "build": word_set("build compile dist bundle typegen typecheck types tsc mypy pyright vet"),
}
_NO_CHECK_WORDS: Final = word_set(tables.NO_CHECK_WORDS)

_HOSTS: Final = frozenset({"manage.py", "artisan", "rails", "setup.py"})
_CHANGING_VERB: Final = compile_later(r"make|start(?:app|project)|generate|g$|new$|install|destroy|db:|compile")
"""Verbs of those that write files of the project."""

_CHECK_FILE: Final = compile_later(
    r"(?:^|[^a-z])(?:run)?(?:tests?|specs?|checks?|ci|verify|lint)(?:[^a-z]|$)|(?:Test|Spec)s?\b"
)
"""The path of a script that is a check, unless the session wrote it."""

_ONLY_PRINTS: Final = compile_later(
    r"-[vqsl]+|-r\w+|--(?:verbose|quiet|silent|no-header|no-summary|showlocals|durations.*|tb|color|colors|reporter)(?:=.*)?"
)
_OPTIONS_SET: Final = compile_later(r"\w*(?:OPTS|OPTIONS|FLAGS|ARGS|SKIP|FILTER)\w*=")
"""Variables that hold options, such as `PYTEST_ADDOPTS`."""

_DECIDING_OPTIONS: Final = word_set("-f --file --makefile --justfile -c --config -p --project")
_BUILDS_FILES: Final = word_set("docker docker-compose podman buildah kubectl helm")
"""Programs for which these name what is built."""

_SCRIPT_ENDS: Final = (".py", ".sh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".bash", ".t")
_INTERPRETER: Final = compile_later(r"(?:python|pypy)[\d.]*|node|deno|bun|ruby|perl|php|bash|sh|zsh|tsx|ts-node")
_OWN_PROGRAM: Final = compile_later(r"\.{1,2}/|(?:target|build|dist|bin|scripts?|tools|tests?|ci)/|/(?!usr/|bin/|opt/)")
_CHANGES_FILES: Final = compile_later(
    r"^(?!(?:test|tests|verify|check|repro\w*|debug|demo|show|try)[_-])(?:.*[_-])?(?:gen\w*|migrat\w+|fix\w*|format\w*|setup|install\w*|codemod\w*|update\w*|write\w*|build\w*|make\w*|"
    r"convert\w*|refactor\w*|patch\w*|apply\w*|rename\w*|replace\w*|rewrite\w*|bump\w*|transform\w*|edit\w*|sync\w*|seed\w*|scaffold\w*|deploy\w*|release\w*|publish\w*|clean\w*|modif\w+)(?:$|[_-])",
    re.IGNORECASE,
)


class Check(Struct, frozen=True, omit_defaults=True):
    """One check of a line. `is_script`: it is known only by its name, so its exit status alone proves nothing.

    `scope`: the paths that it covers, `folder`: where it ran. `script`: the file that it runs, if that is what it is.
    `options`: a hash of its options, but for those that only change what is printed. `named`: a hash of its words,
    if a person or the project names it as a check; `of_item`: only the item of a list does. `shown`: how its output
    reaches the screen. `runs`: the files that decide what it runs, if the session wrote them; `name()` for what
    the line itself gives that name.
    """

    name: str
    family: Family
    program: str = ""
    is_script: bool = False
    scope: tuple[str, ...] = ()
    folder: str = ""
    script: str = ""
    options: str = ""
    named: str = ""
    of_item: bool = False
    shown: Shown = "whole"
    runs: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which its summary lines are known: the program, with its verb, with its family."""
        return self.program, self.name, f"{self.program} {self.family}"


class Pattern(Struct, frozen=True):
    """One kind of command that is a check, for example `Pattern.parse("go test", "test")`."""

    family: Family
    program: str
    verbs: tuple[frozenset[str], ...] = ()
    options: tuple[frozenset[str], ...] = ()
    anywhere: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str, family: Family) -> Pattern:
        words = text.split()
        if not words or family not in FAMILIES:
            problem = "a check is the words of a command, and one of test, build, lint, probe"
            raise ConfigInvalid(name="checks", value=f"{text}: {family}", problem=problem)
        options = tuple(frozenset(word.split("|")) for word in words[1:] if word.startswith("-"))
        verbs = tuple(frozenset(word.split("|")) for word in words[1:] if not word.startswith(("-", "*")))
        anywhere = frozenset(name for word in words[1:] if word.startswith("*") for name in word[1:].split("|"))
        return cls(family, program(words), verbs, options, anywhere)

    def match(self, words: Sequence[str]) -> str | None:
        """Return the name of this check, or None if the words are not it. Their program fits already."""
        if not all(read_options(words[1:], options) for options in self.options):
            return None
        operands = find_operands(words[1:]) if self.verbs or self.anywhere else []
        if self.anywhere:
            found = next((word for word in operands if word.rpartition(":")[2] in self.anywhere), None)
            return None if found is None else f"{self.program} {found}"
        for place, wanted in enumerate(self.verbs):
            if place >= len(operands) or operands[place] not in wanted:
                return None
        return " ".join((self.program, *operands[: len(self.verbs)]))


class Patterns:
    """Patterns by their program. Earlier ones go first. `own` are the programs that a person's own patterns name."""

    def __init__(self, patterns: Sequence[Pattern], own: Iterable[str] = ()) -> None:
        self.own = frozenset(own)
        self._by_program: dict[str, list[Pattern]] = {}
        for pattern in patterns:
            self._by_program.setdefault(pattern.program, []).append(pattern)

    def find(self, words: Sequence[str]) -> tuple[str, Family] | None:
        for pattern in self._by_program.get(program(words), ()):
            name = pattern.match(words)
            if name is not None:
                return name, pattern.family
        return None

    def __contains__(self, name: str) -> bool:
        return name in self._by_program


@cache
def load_default_patterns() -> Patterns:
    """Return the patterns that hold unless a person says otherwise."""
    return Patterns(_parse_known())


@cache
def _parse_known() -> tuple[Pattern, ...]:
    return tuple(Pattern.parse(text, family) for family in FAMILIES for text in tables.KNOWN[family].split(","))


def add_own_patterns(own: Mapping[str, Family]) -> Patterns:
    """Return a person's own patterns, before the known ones."""
    mine = tuple(Pattern.parse(text, family) for text, family in own.items())
    return Patterns(mine + _parse_known(), [pattern.program for pattern in mine])


def find_operands(arguments: Sequence[str], valued: frozenset[str] = _VALUED) -> list[str]:
    """Return the arguments that are neither options nor, as far as known, values of one."""
    found: list[str] = []
    at = 0
    while at < len(arguments) and len(found) < 64:
        word = arguments[at]
        if word.startswith(("-", "+")):
            at += 2 if word in valued else 1
            continue
        found.append(word)
        at += 1
    return found


def find_check(
    command: SimpleCommand, patterns: Patterns, settings: Sequence[str] = (), own: Collection[str] = ()
) -> tuple[Check | None, bool]:
    """Return the check that a simple command is, or None; and True if it may end with 0 though it failed.

    `settings` are the variables that the line sets, `own` the names that it gives to scripts: these are probes.
    """
    settings = (*settings, *command.assignments)
    words, name = command.words, program(command.words)
    if len(words) > 1 and _INTERPRETER.fullmatch(name) and program(words[1:]) in _HOSTS:
        words = words[1:]  # `python manage.py test`
    if not words or _is_idle(words):
        return None, False
    found = patterns.find(words)
    label, family = found or find_script(words, patterns) or _find_probe(command) or ("", None)
    if family is None:
        return None, False
    if name in own:
        family = "probe"
    elif family == "test" and _has_option(words, _BUILDS_ONLY):
        family = "build"
    is_script = found is None and family != "probe"
    script = "" if found is not None else find_script_path(words)
    if not script or not label.endswith(program((script,))):
        script = ""
    else:  # the words after the file are its own
        words = words[words.index(script) :]
    folder = next((value for _, value in read_options(words[1:], _FOLDER_OPTIONS)), "")
    options = sorted(word for word in words[1:] if word.startswith("-") and _ONLY_PRINTS.fullmatch(word) is None)
    options += filter(_OPTIONS_SET.match, settings)
    return Check(
        label.rpartition("/")[2] if script else label,
        family,
        name,
        is_script,
        _find_scope(words, label, is_script=is_script, is_file=script != ""),
        folder,
        script=script,
        options=hash_words(options) if options else "",
        runs=(f"{name}()",) if name in own else _find_deciding_files(words, settings),
    ), _hides_failure(words)


def _find_deciding_files(words: Sequence[str], settings: Sequence[str]) -> tuple[str, ...]:
    """Return the files that decide what a command runs: the program or module itself, and what options name."""
    name = program(words)
    folders = [folder for one in settings if one.startswith("PATH=") for folder in one[5:].split(":")]
    own = [words[0]] if "/" in words[0] else [f"{folder}/{name}" for folder in folders if "$" not in folder]
    given = [value for _, value in read_options(words[1:], _DECIDING_OPTIONS)] if name not in _BUILDS_FILES else []
    return tuple(dict.fromkeys(path.removeprefix("./") for path in (*own, *given) if path))[:8]


def hash_words(words: Sequence[str]) -> str:
    return blake2b("\0".join(words).encode("utf-8", "replace"), digest_size=4).hexdigest()


def _is_idle(words: Sequence[str]) -> bool:
    """True if a command shows something about a check, or never ends, and checks nothing."""
    name = program(words)
    given = {word.partition("=")[0] for word in words[1:] if not word.endswith(("=false", "=0"))}
    return (not _IDLE.isdisjoint(given) and name not in _DRY_CHECKS) or _has_option(words, _IDLE_OF)


def _has_option(words: Sequence[str], table: Mapping[str, frozenset[str]]) -> bool:
    """True if a command has one of the options that a table has for its program: `-x`, or with a value `-x=y`."""
    given = [*words[1:], *(f"{option}={value}" for option, value in pairwise(words) if option.startswith("-"))]
    return any(re.fullmatch(option, word) for option in table.get(program(words), ()) for word in given)


def _hides_failure(words: Sequence[str]) -> bool:
    needed = _REPORTS_WITH.get(program(words))
    if needed is not None and not any(word.partition("=")[0] == needed for word in words):
        return True
    return not _HIDES.isdisjoint(words) or _has_option(words, _HIDES_OF)


def _find_scope(words: Sequence[str], name: str, *, is_script: bool, is_file: bool) -> tuple[str, ...]:
    """Return what a check is narrowed to: paths, parts of the project, tests in them that options or names select.

    What only leaves something out begins with `!`.
    """
    host = program(words)
    verbs = {*name.split()[1:], "run", "discover", "analyse", "scan"}
    is_goal = host in _GOALS or (is_script and host not in _HOSTS)
    paths: list[str] = []
    narrows = _NARROWS.get(host, frozenset())
    chosen = [
        f"{'!' if _ONLY_LEFT_OUT.fullmatch(value) else ''}{option} {value}"
        for option, value in read_options(words[1:], narrows)
    ]
    chosen += [
        f"!{word}" for word in words[1:] if f"!{word.partition('=')[0]}" in narrows or _UNKNOWN_WORD.fullmatch(word)
    ]
    for word in _find_targets(words[1:], _SHORT_VALUED.get(host, _VALUED)):
        if word in verbs:
            verbs.discard(word)
        elif host in _MODULES and "/" not in word:
            paths.append(_module_path(word))
        elif host == "cargo" or (host in _FILTERS and not _PATH.search(word) and not _FOLDERS.fullmatch(word)):
            chosen.append(f"-k {word}")
        elif is_file and not _PATH.search(word):
            chosen.append(f"!{word}")  # what a script makes of its words is not known
        elif _PATH.search(word) or not is_goal:
            paths.append(re.sub(r"(\.\w+):(\d+)(?::\d+)*$", r"\1::\2", word))
    packages = {option[1:] for option in narrows if option.startswith("@")}
    parts = paths or [value for _, value in read_options(words[1:], packages) if value]
    if not chosen:
        return tuple(parts[:16])
    selected = " ".join(chosen)
    places = [part.removesuffix("...").rstrip("/") for part in parts[:16]]
    return tuple(f"{place}::{selected}" for place in places if place not in ("", ".")) or (selected,)


def _find_targets(arguments: Sequence[str], short: frozenset[str]) -> list[str]:
    """Return the arguments that may be paths or names: neither options nor, as far as can be told, values of one."""
    found: list[str] = []
    before = ""
    for word in arguments[:256]:
        is_bare = not _PATH.search(word)
        may_be_value = bool(before) and "=" not in before and not _FLAG.fullmatch(before)
        is_named = any(value == word for _, value in read_options((before, word), short))
        is_value = is_named or (may_be_value and (is_bare or before in _VALUED))
        before = word if word.startswith("-") and word != "--" else ""
        if not is_value and not word.startswith(("-", "+")) and (not is_bare or _NAME.fullmatch(word)):
            found.append(word)
    return found


def _module_path(module: str) -> str:
    """Return the path of a module, with the test in it: `tests.test_a.TestB` is `tests/test_a.py::TestB`."""
    parts = module.removesuffix(".py").split(".")
    count = next((at for at, part in enumerate(parts) if part[:1].isupper()), len(parts))
    path = "/".join(parts[:count])
    path += ".py" * parts[count - 1].startswith("test_")
    return "::".join((path, *parts[count:]))


def name_family(name: str) -> Family | None:
    """Return what a script or target of this name checks, by the parts of its name; None if nothing."""
    parts = [part for part in re.split(r"[^a-z0-9]+", name.lower()) if part]
    if len(parts) > 4 or not _NO_CHECK_WORDS.isdisjoint(parts):
        return None
    if "typecheck" in name.lower().replace("-", "").replace("_", "") or parts == ["type", "check"]:
        return "build"
    return next((family for family, names in _SCRIPT_WORDS.items() if not names.isdisjoint(parts)), None)


def find_script(words: Sequence[str], patterns: Patterns) -> tuple[str, Family] | None:
    """Return the check that a script runner is told to do, or that a script is by its own name."""
    name = program(words)
    if name in _PACKAGE_MANAGERS:
        return _find_package_script(name, words[1:], patterns)
    if name in _RUNNERS:
        return _find_target(name, words[1:])
    if name in _SCRIPT_PROJECTS and words[1:2] == ("run",):
        script = next(iter(find_operands(words[2:])), "")
        family = name_family(script.rpartition(":")[2])
        return None if family is None else (f"{name} run {script[:64]}", family)
    if name in _HOSTS:
        return (f"{name} test", "test") if words[1:2] == ("test",) else None
    return _find_file(words)


def _find_package_script(manager: str, words: Sequence[str], patterns: Patterns) -> tuple[str, Family] | None:
    found = find_operands(words)
    if found[:1] == ["workspace"] or found[:2] == ["workspaces", "foreach"]:
        found = found[2:]
    if not found:
        return None
    if found[0] in ("run", "run-script"):
        script = found[1] if len(found) > 1 else ""
    elif found[0] in ("test", "t", "tst"):
        script = "test"
    elif manager == "npm":
        return None
    elif found[0] in patterns:  # `yarn jest`
        return patterns.find(words[list(words).index(found[0]) :])
    else:
        script = found[0]
    family = name_family(script)
    if family is None:
        return None
    return (f"{manager} test" if script == "test" else f"{manager} run {script[:64]}"), family


def _find_target(runner: str, words: Sequence[str]) -> tuple[str, Family] | None:
    targets = [word for word in find_operands(words, _VALUED - {"-w", "-k", "-n"}) if "=" not in word]
    if not targets:
        return _WITHOUT_TARGET.get(runner)
    named: dict[str, Family] = {}
    for target in targets:
        family = name_family(target)
        if family is not None:
            named[target[:64]] = family
    if not named:
        return None
    return " ".join((runner, *list(named)[:4])), min(named.values(), key=FAMILIES.index)


def _find_file(words: Sequence[str]) -> tuple[str, Family] | None:
    path = find_script_path(words)
    stem, dot, _ = path.rpartition("/")[2].rpartition(".")
    if not path or (dot and not path.endswith(_SCRIPT_ENDS)) or (not dot and "/" not in path):
        return None
    if _CHECK_FILE.search(path) is None or _CHANGES_FILES.search(stem) is not None:
        return None
    return path, name_family(stem) or "test"


def is_interpreter(name: str) -> bool:
    return _INTERPRETER.fullmatch(name) is not None


def find_script_path(words: Sequence[str]) -> str:
    """Return the file that a command runs, by itself or behind an interpreter; empty for a program or code."""
    name = program(words)
    if not words or name in _HOSTS:
        return ""
    if _INTERPRETER.fullmatch(name) is None:
        return words[0] if words[0].endswith(_SCRIPT_ENDS) or _OWN_PROGRAM.match(words[0]) else ""
    if "-c" in words[1:4] or "-e" in words[1:4] or "-m" in words[1:4]:
        return ""
    return next((word for word in words[1:4] if not word.startswith("-")), "")


def _find_probe(command: SimpleCommand) -> tuple[str, Family] | None:
    """Return the probe that a command is: code given on the line, the project's own program, a request that is read."""
    words, name = command.words, program(command.words)
    if name in HTTP_CLIENTS:
        is_local = any(re.search(r"localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]", word) for word in words[1:])
        return (name, "probe") if is_local and not saves_file(name, words[1:]) else None
    host = next((at for at in (0, 1) if program(words[at:]) in _HOSTS), None)
    if host is not None and any(map(_CHANGING_VERB.match, words[host + 1 : host + 2])):
        return None
    if _INTERPRETER.fullmatch(name) is None:
        is_own = _OWN_PROGRAM.match(words[0]) is not None
        return (name, "probe") if is_own and _CHANGES_FILES.search(name.partition(".")[0]) is None else None
    if any(re.fullmatch(r"-[a-z]*i.*", word) for word in words[1:]):  # perl and ruby edit files in place
        return None
    option, given = next((pair for pair in pairwise(words) if re.fullmatch(r"-[a-z]*[cep]", pair[0])), ("-", ""))
    code = "\n".join([given, *(one.target for one in command.redirects if one.operator.startswith("<<"))])
    if code:
        is_shell = name in ("bash", "sh", "zsh")
        return None if is_shell or writes_files(code) else (f"{name} {option}", "probe")
    path = find_script_path(words)
    stem = path.rpartition("/")[2].rpartition(".")[0]
    if not stem or _CHANGES_FILES.search(stem) is not None:
        return None
    return f"{name} {path.rpartition('/')[2]}"[:64], "probe"
