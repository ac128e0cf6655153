"""Judge what commands do to the files of a project: they read, they record, or they change.

`reads`: known to write no file, run no other program and change nothing elsewhere. `records`: writes, but nothing that
a check would look at (a commit, a push, an install, a file in a temporary folder). `changes`: everything else. What is
not known changes. Plan mode lets only `reads` pass; grades look for `changes`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Final, Literal

from punchlist.core.shell.wrappers import SHELLS, expand, program, read_options, word_set, word_table
from punchlist.core.tables import programs as tables
from punchlist.text.patterns import compile_later
from punchlist.text.shell import CommandGroup, CommandList, Node, Pipeline, Redirect, SimpleCommand

Effect = Literal["reads", "records", "changes"]
_SYSTEM_FOLDERS: Final = frozenset({"/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/sbin", "/usr/sbin"})
NOWHERE: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "-"})
_TEMPORARY: Final = compile_later(r"(?:/tmp|/var/tmp|/private/tmp|\$\{?TMPDIR\}?|\$\(mktemp.*)(?:/|$)")
PROSE: Final = compile_later(
    r"\.(?:md|rst|txt|adoc|log|bak|orig|patch|diff)$"
    r"|(?:^|/)(?:changelog|changes|readme|licen[cs]e|copying|notice|authors|contributing|logs?)(?:-\w+)?$",
    re.IGNORECASE,
)
"""Files that no check looks at."""

HTTP_CLIENTS: Final = word_set("curl wget http https xh")

_HARMLESS_VARIABLES: Final = compile_later(
    r"(?:LC_\w+|LANG|LANGUAGE|TZ|COLUMNS|LINES|TERM|NO_COLOR|FORCE_COLOR|CLICOLOR\w*|PYTHONUNBUFFERED)=.*"
    r"|(?:PAGER|GIT_PAGER|MANPAGER)=cat",
    re.DOTALL,
)


_READS: Final = word_set(tables.READS)

_RECORDS: Final = word_set(tables.RECORDS)

_READ_VERBS: Final = word_table(tables.READ_VERBS)

_RECORD_VERBS: Final = word_table(tables.RECORD_VERBS)
_WRITING_OPTIONS: Final = word_table(tables.WRITING_OPTIONS)

_CLOUDS: Final = word_set("aws gcloud az heroku fly flyctl vercel netlify doctl")
_CLOUD_READS: Final = compile_later(r"(?:ls|list|describe|get|show|status|logs?|info|help|version)(?:-.*)?")

_WRITING_VERBS: Final = word_set("checkout fix")
"""`gh pr checkout`, `npm audit fix`."""

_VERSIONED: Final = word_set(tables.VERSIONED)

_VERSIONED_SHORT: Final = word_set("node npm npx pnpm yarn php ruby")
_ENVIRONMENT_SCRIPTS: Final = word_set(
    "activate activate.fish activate.csh .bashrc .bash_profile .profile .zshrc .env env .envrc nvm.sh sdkman-init.sh "
    "asdf.sh conda.sh"
)

_NOT_VOUCHED_FOR: Final = compile_later(
    r"\0|\$\(\(|\$\[|\$\{(?!\w+\})|(?:^|\s)#|\beval\b|\bsudo\s+-(?!n\b|-non)|\bfor\s+(?:PATH|IFS|LD_\w+|\w+ENV)\b"
)
"""Forms that are followed for grades, but that differ between shells or could do more than they show."""


def effect_of_line(line: str | Sequence[str]) -> Effect:
    """Return the strongest effect of the commands of a line, or of the words of one command. Never raises."""
    if not isinstance(line, str) and program(line) not in SHELLS and any(char.isspace() for char in "".join(line)):
        return "changes"  # a word holds lines of a script; only that of a shell, after `-c`, may
    tree = expand(line)
    if tree.is_cut or not tree.entries:
        return "changes"
    text = line if isinstance(line, str) else " ".join(line)
    least: Effect = "reads" if _NOT_VOUCHED_FOR.search(text) is None else "records"
    return _find_strongest([least, _effect_of_list(tree)])


def is_temporary(path: str) -> bool:
    return _TEMPORARY.match(path) is not None


def _find_strongest(effects: Iterable[Effect]) -> Effect:
    given = set(effects)
    return "changes" if "changes" in given else "records" if "records" in given else "reads"


def _effect_of_list(tree: CommandList) -> Effect:
    return "changes" if tree.is_cut else _find_strongest(_effect_of_node(entry.node) for entry in tree.entries)


def _effect_of_node(node: Node) -> Effect:
    match node:
        case SimpleCommand():
            return effect_of(node)
        case Pipeline():
            return _find_strongest(map(_effect_of_node, node.parts))
        case CommandGroup():
            return _find_strongest([*map(_effect_of_list, node.lists), *map(_effect_of_redirect, node.redirects)])


def effect_of(command: SimpleCommand) -> Effect:
    """Return what a simple command does."""
    effects: list[Effect] = [*map(_effect_of_redirect, command.redirects), *map(_effect_of_list, command.substitutions)]
    if command.substitutions or not all(map(_HARMLESS_VARIABLES.fullmatch, command.assignments)):
        effects.append("records")  # what a substitution gives could be an option
    effects.append(effect_of_words(command))
    return _find_strongest(effects)


def writes_file(command: SimpleCommand) -> bool:
    return any(">" in one.operator and _effect_of_redirect(one) != "reads" for one in command.redirects)


def _effect_of_redirect(redirect: Redirect) -> Effect:
    operator, target = redirect.operator.lstrip("0123456789"), redirect.target
    if operator in ("<<", "<<-", "<<<"):
        return "records"  # its text may hold anything; nothing is written
    if ">" not in operator or target in NOWHERE or (operator.endswith("&") and target.isdecimal()):
        return "reads"
    return "records" if is_temporary(target) or PROSE.search(target) else "changes"


def effect_of_words(command: SimpleCommand) -> Effect:
    """Return what the words of a command do, without its redirections and substitutions."""
    words, name = command.words, program(command.words)
    if not words or (len(words) == 1 and re.fullmatch(r"[A-Za-z_]\w*\+?=.*", words[0], re.DOTALL)):
        return "records" if words and not _HARMLESS_VARIABLES.fullmatch(words[0]) else "reads"
    folder = words[0].rpartition("/")[0]
    args = list(words[1:])
    if folder and folder not in _SYSTEM_FOLDERS:
        return "changes"
    if name in _READS:
        return "reads"
    if not command.has_unknown and _reads(name, args):
        return "reads"
    return "records" if _records(name, args) else "changes"


def _reads(name: str, args: list[str]) -> bool:
    if name in _VERSIONED and args in (["--version"], ["-V"], ["--help"], ["version"], ["-version"]):
        return True
    if name in _VERSIONED_SHORT and args == ["-v"]:
        return True
    verbs = _READ_VERBS.get(name)
    if verbs is not None:
        has_log = any(arg.startswith("--log") for arg in args)
        return bool(args) and not has_log and (args[0] in verbs or " ".join(args[:2]) in verbs)
    form = _FORMS.get(name)
    if form is not None:
        return form(args) and (name == "git" or _writes_nothing(name, args))
    return name in _WRITING_OPTIONS and _writes_nothing(name, args)


def _records(name: str, args: list[str]) -> bool:
    if name in _RECORDS:
        return True
    if name in ("source", "."):
        return bool(args) and args[0].rpartition("/")[2] in _ENVIRONMENT_SCRIPTS
    if name in ("rm", "cp", "mv", "touch", "tee", "ln", "rmdir", "tar", "unzip", "chmod"):
        operands = [arg for arg in args if not arg.startswith("-")]
        written = operands if name in ("rm", "touch", "tee", "rmdir", "chmod") else operands[-1:]
        return bool(written) and all(is_temporary(path) or PROSE.search(path) for path in written)
    if name in HTTP_CLIENTS:
        return not saves_file(name, args)
    if name in ("awk", "gawk", "mawk"):
        return not any(re.search(r"print[^;}]*>|system|\||-i\b", arg) for arg in args)
    if name == "find":
        return all(_effect_of_list(expand(inner)) != "changes" for inner in _find_executed(args))
    given = skip_options(args)
    if name in _CLOUDS:
        return any(_CLOUD_READS.fullmatch(arg) for arg in given[:3])
    if name == "git" and given and _leaves_files(given[0], given[1:]):
        return True
    verbs = () if name in _FORMS and name != "git" else _RECORD_VERBS.get(name, ())
    named = (given[0], " ".join(given[:2])) if given else ("-",)
    is_writing = name in ("gh", "npm") and not _WRITING_VERBS.isdisjoint(args[1:3])
    return not is_writing and any(verb in verbs for verb in named)


def saves_file(name: str, args: Sequence[str]) -> bool:
    """True if an HTTP client with these arguments writes what it gets to a file of the project."""
    if "--spider" in args:
        return False
    if any(re.fullmatch(r"--remote-name.*|--download|-[a-zA-Z]*O", arg) for arg in args) and name != "wget":
        return True
    named = ("-O", "--output-document") if name == "wget" else ("-o", "--output")
    targets = [value for _, value in read_options(args, named)]
    return not all(target in NOWHERE or is_temporary(target) for target in targets) if targets else name == "wget"


def skip_options(args: Sequence[str]) -> list[str]:
    """Return the arguments from the verb on. Options may come first, with a value for the few that take one."""
    at = 0
    while at < len(args) and args[at].startswith("-"):
        at += 2 if args[at] in ("-C", "-c", "--git-dir", "--work-tree", "--prefix", "--cwd", "--dir") else 1
    return list(args[at:])


def _leaves_files(verb: str, rest: Sequence[str]) -> bool:
    """True if a verb of git that may change files has a form that changes none: a new branch, the index alone."""
    operands = [arg for arg in rest if not arg.startswith("-")]
    match verb:
        case "checkout" | "switch":
            return not {"-b", "-B", "-c", "-C", "--create", "--orphan"}.isdisjoint(rest) and len(operands) == 1
        case "restore":
            return not {"--staged", "-S"}.isdisjoint(rest) and {"--worktree", "-W"}.isdisjoint(rest)
        case "reset":
            return {"--hard", "--merge", "--keep"}.isdisjoint(rest)
        case _:
            return verb == "stash" and list(rest[:1]) in (["list"], ["show"])


def _find_executed(args: Sequence[str]) -> list[list[str]]:
    """Return the commands that `find` runs; what else it writes is a command that is not known."""
    found: list[list[str]] = []
    for at, arg in enumerate(args):
        if arg in ("-exec", "-execdir"):
            found.append(list(takewhile(lambda word: word not in (";", "+"), args[at + 1 :])))
        elif arg in _FINDS:
            found.append([arg])
    return found


# Programs that read in some forms and write in others.


def _writes_nothing(name: str, args: Sequence[str]) -> bool:
    """True if a program is given none of its options that write: a long one, or its beginning, or a short letter."""
    writing = _WRITING_OPTIONS.get(name, frozenset())
    letters = {option[1] for option in writing if len(option) == 2}
    for arg in args:
        if arg.startswith("--"):
            option = arg.partition("=")[0]
            if len(option) > 2 and any(one.startswith(option) or option.startswith(one) for one in writing):
                return False
        elif arg.startswith("-") and not letters.isdisjoint(arg):
            return False
    return True


_FINDS: Final = word_set("-delete -exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls")
_SED_OPTIONS: Final = compile_later(r"-[nErsuz]+|--quiet|--silent|--regexp-extended|--posix|--null-data|--separate")
_SED_SCRIPT: Final = compile_later(r"-[nErsuz]*e")
_SED_WHERE: Final = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)"
_SED_STEP: Final = compile_later(
    rf"\s*(?:{_SED_WHERE}(?:,\s*(?:\+?\d+|{_SED_WHERE}))?)?\s*!?\s*"
    r"(?:[pdq=lnNgGhHxD]|s([/|#,@!])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpI\d]*)\s*(?:;|\n|$)"
)
_AWK_WRITES: Final = compile_later(r"[>|@]|system|getline|close")
_AWK_OPTIONS: Final = compile_later(r"-F.*|-v.+")


def _reads_sed(args: list[str]) -> bool:
    scripts: list[str] = []
    at = 0
    while at < len(args):
        arg = args[at]
        if _SED_SCRIPT.fullmatch(arg) is not None or arg == "--expression":
            at += 1
            if at == len(args):
                return False
            scripts.append(args[at])
        elif arg.startswith("-") and arg != "-":
            if _SED_OPTIONS.fullmatch(arg) is None:
                return False
        elif not scripts:
            scripts.append(arg)
        at += 1
    return bool(scripts) and all(_reads_sed_script(script) for script in scripts)


def _reads_sed_script(script: str) -> bool:
    """True for a script that prints, deletes and replaces; `w`, `e` and the rest are not read."""
    at = 0
    while at < len(script):
        step = _SED_STEP.match(script, at)
        if step is None or step.end() == at:
            return False
        at = step.end()
    return True


def _reads_awk(args: list[str]) -> bool:
    for arg in args:
        if arg.startswith("-") and arg not in ("-", "-v") and _AWK_OPTIONS.fullmatch(arg) is None:
            return False
    return not any(_AWK_WRITES.search(arg) for arg in args)


def _count_operands(args: list[str]) -> int:
    return sum(not arg.startswith("-") for arg in args)


_GIT_READS: Final = word_set(tables.GIT_READS)
_GIT_LISTS: Final = word_table(tables.GIT_LISTS)
_GIT_ALONE: Final = ("remote", "remote -v", "remote --verbose", "reflog")
_BRANCH_LISTS: Final = compile_later(r"--list|-l|--(?:no-)?(?:contains|merged)(?:=.*)?|--points-at.*")
_BRANCH_SHOWS: Final = compile_later(
    r"-[arvn\d]+|--all|--remotes|--verbose|--show-current|--(?:sort|format|column|color)(?:=.*)?|--no-\w+"
)


def _reads_git(args: list[str]) -> bool:
    """True if `git` with these arguments only reads. `-c` could name a program to run, so it does not."""
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
    if not _writes_nothing("git", rest):
        return False
    if verb in _GIT_READS:
        return True
    if verb == "grep":
        return not any(arg.startswith("-O") for arg in rest)
    if verb in ("branch", "tag"):
        lists = any(_BRANCH_LISTS.fullmatch(arg) for arg in rest)
        options = [arg for arg in rest if arg.startswith("-")]
        shows = all(_BRANCH_LISTS.fullmatch(arg) or _BRANCH_SHOWS.fullmatch(arg) for arg in options)
        return shows and (lists or len(options) == len(rest))
    known = _GIT_LISTS.get(verb)
    return " ".join(args[at:]) in _GIT_ALONE or (known is not None and bool(rest) and rest[0] in known)


_FORMS: Final[Mapping[str, Callable[[list[str]], bool]]] = {
    "find": lambda args: all(program(inner) in _READS and "/" not in inner[0] for inner in _find_executed(args)),
    "sed": _reads_sed,
    **dict.fromkeys(("awk", "gawk", "mawk"), _reads_awk),
    "printf": lambda args: not (args and re.match(r"-[^-]*v", args[0])),
    "bat": lambda args: args[:1] != ["cache"],
    **dict.fromkeys(("uniq", "xxd"), lambda args: _count_operands(args) <= 1),
    "date": lambda args: not any(arg.isdecimal() for arg in args),
    "hostname": lambda args: not _count_operands(args),
    "tar": lambda args: (
        bool(args)
        and re.fullmatch(r"-?t[vzjJf]*|-[vzjJ]*t[vzjJf]*", args[0]) is not None
        and not any(arg.startswith("-") for arg in args[1:])
    ),
    "unzip": lambda args: args[:1] in (["-l"], ["-Z"], ["-v"]),
    "git": _reads_git,
    "env": lambda args: not args,
    "command": lambda args: args[:1] in (["-v"], ["-V"]),
}
"""Programs that read in some forms only; those of `_WRITING_OPTIONS` read in all forms without such an option."""
