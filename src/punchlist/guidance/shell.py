"""Decide whether a shell command only reads. A command that is not known to read counts as a change.

A line is split into simple commands, as much of the language as can be judged and no more. The tables name commands
that write nothing whatever their arguments (`PLAIN`), commands that read in some forms (a function each, in `FORMS`),
and programs with verbs that read (`VERBS`). A variable or pattern in the arguments of one of the latter two could
become an option that writes, so it counts as a change there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

UNKNOWN: Final = "\0"
LONGEST: Final = 8_000
"""A longer command counts as a change: agents seldom write one, and reading it costs time."""

_REFUSED = re.compile(r"\0|`|\$[(\[]|\$\{(?!\w+\})|<<|[<>]\(")
"""Command substitution, arithmetic, parameter expansion, heredocs: not judged, wherever they are."""

_TOKEN = re.compile(
    r"""
      (?P<blank>(?:[\ \t]|\\\r?\n)++)
    | (?P<end>\r?\n|;|&&|\|\|?&?|&(?!>)|[()])
    | (?P<comment>\#[^\n;|&<>()]*+)
    | (?P<move>(?:\d*|&)>(?:[>|&])?|\d*<[>&]?)
    | (?P<word>(?:[^\s;&|<>()'"\\]++|'[^']*+'|"(?:[^"\\]++|\\.)*+"|\\.)++)
    """,
    re.VERBOSE | re.DOTALL,
)
_PIECE = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^'"\\]+""", re.DOTALL)
_QUOTES = re.compile(r"""['"\\$*?\[{]""")
_ESCAPED = re.compile(r'\\([$`"\\\n])')
_NOWHERE: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})


class Unreadable(Exception):
    """The line holds syntax that is not judged here."""


def split_commands(line: str) -> Iterator[list[str]]:
    """Yield the simple commands of a line as lists of unquoted words. Raises `Unreadable`, also for a write to a file.

    A word holds `UNKNOWN` where the shell would insert a variable, a brace list or a leading pattern.
    """
    if len(line) > LONGEST or _REFUSED.search(line) is not None:
        raise Unreadable
    words: list[str] = []
    move = ""
    at = 0
    for token in _TOKEN.finditer(line):
        if token.start() != at:
            raise Unreadable
        at = token.end()
        kind = token.lastgroup
        if kind == "word":
            word = _unquoted(token[0])
            if not move:
                words.append(word)
            elif _writes(move, word):
                raise Unreadable
            move = ""
        elif kind == "move":
            if move:
                raise Unreadable
            move = token[0]
        elif kind == "end":
            if move:
                raise Unreadable
            if words:
                yield words
                words = []
    if move or at != len(line):
        raise Unreadable
    if words:
        yield words


def _writes(move: str, target: str) -> bool:
    """True if a redirection changes a file."""
    if ">" not in move:
        return False
    if move.endswith("&") and (target.isdecimal() or target == "-"):
        return False
    return target not in _NOWHERE


def _unquoted(word: str) -> str:
    if _QUOTES.search(word) is None:
        return word
    pieces: list[str] = []
    plain = ""
    for piece in _PIECE.findall(word):
        if piece[0] == "'":
            if plain.endswith("$"):  # an ANSI string
                raise Unreadable
            pieces.append(piece[1:-1])
            plain = "'"
        elif piece[0] == '"':
            if plain.endswith("$"):
                raise Unreadable
            inside = piece[1:-1]
            shown = inside.replace("\\$", "").replace("\\\\", "")
            pieces.append(UNKNOWN if _expands(shown) else _ESCAPED.sub(_literal, inside))
            plain = '"'
        elif piece[0] == "\\":
            pieces.append("" if piece[1] == "\n" else piece[1])
            plain = "\\"
        else:
            plain = piece
            unknown = _expands(piece) or ("{" in word and ("," in word or ".." in word))
            unknown = unknown or (not pieces and piece[0] in "*?[" and word not in ("[", "[["))
            pieces.append(UNKNOWN + piece if unknown else piece)
    return "".join(pieces)


def _expands(text: str) -> bool:
    """True if the shell inserts a value: a `$` before a name. One at the end, or before a sign, is a dollar."""
    at = text.find("$")
    while at >= 0:
        behind = text[at + 1 : at + 2]
        if behind.isalnum() or (behind and behind in "_{@*#?-$!"):
            return True
        at = text.find("$", at + 1)
    return False


def _literal(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def without(*writing: str, short: str = "") -> Callable[[list[str]], bool]:
    """Return a test that fails for an option that writes: a long one, a prefix of it, or a letter among short ones."""

    def judge(args: list[str]) -> bool:
        for arg in args:
            if arg.startswith("--"):
                name = arg.partition("=")[0]
                if len(name) > 2 and any(one.startswith(name) or name.startswith(one) for one in writing):
                    return False
            elif arg.startswith("-") and any(letter in arg for letter in short):
                return False
        return True

    return judge


PLAIN: Final = _names(
    """
    : [ [[ b2sum base32 basename bzcat cal cat cd cksum cmp column comm cut df diff dir dirname
    dirs du echo egrep exa expand expr eza false fgrep fmt fold free getconf getent grep groups head hexdump id join
    jq last locale ls lsblk lscpu md5sum netstat nl nproc od paste pgrep popd printenv ps pushd pwd
    readlink realpath rev seq set sha1sum sha224sum sha256sum sha384sum sha512sum sleep stat strings sum tac tail
    test tr true tty type uname unexpand uptime users w wc whatis whereis which who whoami xzcat xzgrep zcat zgrep
    """
)
"""Programs that no argument makes write a file, run a command or change something over the network."""

VERBS: Final = {
    "docker": _names("ps images logs inspect version info top stats port diff history search")
    | {"container ls", "image ls", "volume ls", "network ls", "compose ps", "compose logs"},
    "kubectl": _names("get describe logs version explain top api-resources api-versions cluster-info"),
    "gh": frozenset(
        f"{thing} {verb}"
        for thing in ("pr", "issue", "run", "repo", "release", "workflow")
        for verb in ("view", "list")
    )
    | {
        "pr diff",
        "pr status",
        "pr checks",
        "issue status",
        "auth status",
        "search code",
        "search issues",
        "search prs",
    },
    "npm": frozenset({"ls", "list", "view", "outdated", "root", "prefix"}),
    "pip": frozenset({"list", "show", "freeze", "check"}),
    "pip3": frozenset({"list", "show", "freeze", "check"}),
    "uv": frozenset({"pip list", "pip show", "pip freeze", "pip tree", "pip check", "version", "python list"}),
    "cargo": frozenset({"tree", "search"}),
    "go": frozenset({"version", "doc"}),
    "systemctl": _names("status list-units list-unit-files is-active is-enabled is-failed show cat"),
    "brew": frozenset({"list", "info", "search"}),
    "apt": frozenset({"list", "show", "search"}),
    "dpkg": frozenset({"-l", "-L", "-s", "-S", "--list", "--status"}),
}
"""Programs and their verbs that read: one word or two, which have to come first."""

VERSIONED: Final = _names(
    """
    bun cargo clang cmake deno docker gcc gh git go gradle java javac kubectl make mvn node npm npx perl php pip pip3
    pnpm poetry psql pytest python python3 ruby ruff rustc rustup sqlite3 terraform tsc uv yarn
    """
)
"""Programs that only read when asked for their version or help."""


_GIT_READS: Final = _names(
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
    """True if `git` with these arguments only reads. `-c` could name a program to run, so it does not count."""
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


_FINDS: Final = _names("-delete -exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls")


_SED_OPTIONS = re.compile(r"-[nErsuz]+|--quiet|--silent|--regexp-extended|--posix|--null-data|--separate")
_SED_SCRIPT = re.compile(r"-[nErsuz]*e")
_SED_WHERE = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)"
_SED_STEP = re.compile(
    rf"\s*(?:{_SED_WHERE}(?:,\s*(?:\+?\d+|{_SED_WHERE}))?)?\s*!?\s*"
    r"(?:[pdq=lnNgGhHxD]|s([/|#,@!])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpI\d]*)\s*(?:;|\n|$)"
)


def _sed(args: list[str]) -> bool:
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
    return bool(scripts) and all(_sed_reads(script) for script in scripts)


def _sed_reads(script: str) -> bool:
    """True for a script that prints, deletes and replaces; `w`, `e` and other commands do not pass."""
    at = 0
    while at < len(script):
        step = _SED_STEP.match(script, at)
        if step is None or step.end() == at:
            return False
        at = step.end()
    return True


_AWKWARD = re.compile(r"[>|@]|system|getline|close")
_AWK_OPTIONS = re.compile(r"-F.*|-v.+")


def _awk(args: list[str]) -> bool:
    """True for a program without output to files or commands, and without a program file."""
    for arg in args:
        if arg.startswith("-") and arg not in ("-", "-v") and _AWK_OPTIONS.fullmatch(arg) is None:
            return False
    return not any(_AWKWARD.search(arg) for arg in args)


def _operands(args: list[str]) -> int:
    return sum(not arg.startswith("-") for arg in args)


def _tar(args: list[str]) -> bool:
    return (
        bool(args)
        and re.fullmatch(r"-?t[vzjJf]*|-[vzjJ]*t[vzjJf]*", args[0]) is not None
        and not any(arg.startswith("-") for arg in args[1:])
    )


FORMS: dict[str, Callable[[list[str]], bool]] = {
    "find": _FINDS.isdisjoint,
    "fd": without("--exec", "--exec-batch", short="xX"),
    "fdfind": without("--exec", "--exec-batch", short="xX"),
    "rg": without("--pre", "--hostname-bin"),
    "sed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "sort": without("--output", "--compress-program", "--temporary-directory", short="oT"),
    "printf": lambda args: without(short="v")(args[:1]),
    "base64": without("--output", short="o"),
    "ss": without("--kill", short="K"),
    "lsof": without(short="D"),
    "bat": lambda args: args[:1] != ["cache"] and without("--pager")(args),
    "ag": without("--pager"),
    "ack": without("--pager", "--output"),
    "uniq": lambda args: _operands(args) <= 1,
    "xxd": lambda args: _operands(args) <= 1 and without(short="r")(args),
    "tree": without("--output", short="oR"),
    "file": without("--compile", short="C"),
    "date": lambda args: without("--set", short="s")(args) and not any(arg.isdecimal() for arg in args),
    "hostname": lambda args: not _operands(args) and without("--file", short="Fb")(args),
    "yq": without("--inplace", "--in-place", "--split-exp", short="is"),
    "tar": _tar,
    "unzip": lambda args: args[:1] in (["-l"], ["-Z"], ["-v"]),
    "journalctl": without(
        "--vacuum", "--rotate", "--flush", "--sync", "--update-catalog", "--setup-keys", "--cursor-file"
    ),
    "git": git,
}


_DEEPEST: Final = 4
"""Levels of shells within shells that are read; deeper ones count as a change."""

_HOMES: Final = frozenset({"/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/sbin", "/usr/sbin"})
_SKIPPED: Final = frozenset({"!", "{", "}", "if", "then", "elif", "else", "fi", "while", "until", "do", "done"})
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_HARMLESS = re.compile(r"LC_\w+|LANG|LANGUAGE|TZ|COLUMNS|LINES|TERM|NO_COLOR|FORCE_COLOR|CLICOLOR\w*|PYTHONUNBUFFERED")
_PAGERS: Final = frozenset({"PAGER", "GIT_PAGER", "MANPAGER"})


def reads_only(command: str | Sequence[str], depth: int = 0) -> bool:
    """True if this command, a line or its words, is known to change nothing. Never raises."""
    if not isinstance(command, str):
        words = list(command)
        return _shell(words[1:], depth) if words and words[0] in _SHELLS else _split(words) and _reads(words, depth)
    try:
        found = False
        for words in split_commands(command):
            found = True
            if not _reads(words, depth):
                return False
    except Unreadable:
        return False
    return found


def _split(words: list[str]) -> bool:
    """True for the words of one command, not lines of several."""
    return sum(map(len, words)) <= LONGEST and not any(char.isspace() for word in words for char in word)


def _reads(words: list[str], depth: int) -> bool:
    at = 0
    while at < len(words) and words[at] in _SKIPPED:
        at += 1
    while at < len(words) and (set_to := _ASSIGNMENT.fullmatch(words[at])) is not None:
        is_pager = set_to[1] in _PAGERS and set_to[2] == "cat"
        if not is_pager and _HARMLESS.fullmatch(set_to[1]) is None:
            return False
        at += 1
    if at == len(words):
        return True
    home, _, name = words[at].rpartition("/")
    if home and home not in _HOMES:
        return False
    args = words[at + 1 :]
    if name in PLAIN:
        return True
    wrapper = _WRAPPERS.get(name)
    if wrapper is not None:
        return wrapper(args, depth)
    if any(UNKNOWN in arg for arg in args):
        return False
    if name in VERSIONED and args in (["--version"], ["-V"], ["--help"], ["version"]):
        return True
    verbs = VERBS.get(name)
    if verbs is not None:
        logs = any(arg.startswith("--log") for arg in args)
        return bool(args) and not logs and (args[0] in verbs or " ".join(args[:2]) in verbs)
    form = FORMS.get(name)
    return form is not None and form(args)


# Commands that run another one.

_LINE = re.compile(r"-[lieux]*c")
_XARGS = re.compile(r"-[0rtx]+|-[nPLIds].+|--null|--no-run-if-empty")


def _shell(args: list[str], depth: int) -> bool:
    if depth >= _DEEPEST or len(args) < 2 or _LINE.fullmatch(args[0]) is None:
        return False
    return UNKNOWN not in args[1] and reads_only(args[1], depth + 1)


def _after(flags: str, *, valued: str = "", operands: int = 0) -> Callable[[list[str], int], bool]:
    """Return the rule of a wrapper such as `timeout`: its flags, flags with a value, operands, then the command."""
    pattern = re.compile(flags)

    def judge(args: list[str], depth: int) -> bool:
        at = 0
        while at < len(args) and args[at].startswith("-"):
            if args[at] in valued.split():
                at += 2
            elif pattern.fullmatch(args[at]) is not None:
                at += 1
            else:
                return False
        return _inner(args[at + operands :], depth)

    return judge


def _inner(words: list[str], depth: int) -> bool:
    return bool(words) and depth < _DEEPEST and _reads(words, depth + 1)


def _env(args: list[str], depth: int) -> bool:
    return not args or (not args[0].startswith("-") and _inner(args, depth))


def _command(args: list[str], depth: int) -> bool:
    return args[:1] in (["-v"], ["-V"]) or (bool(args) and not args[0].startswith("-") and _inner(args, depth))


def _for(args: list[str], _depth: int) -> bool:
    """True for the head of a loop whose variable means nothing to the shell."""
    return bool(args) and args[0].isidentifier() and args[0].islower()


def _xargs(args: list[str], _depth: int) -> bool:
    """True for commands that no option makes write: arguments from the pipe may look like options."""
    at = 0
    while at < len(args) and args[at].startswith("-"):
        if _XARGS.fullmatch(args[at]) is not None:
            at += 1
        elif args[at] in ("-n", "-P", "-L", "-I", "-d", "-s"):
            at += 2
        else:
            return False
    name = args[at] if at < len(args) else "echo"
    return name in PLAIN


_WRAPPERS: dict[str, Callable[[list[str], int], bool]] = {
    **dict.fromkeys(_SHELLS, _shell),
    "for": _for,
    "env": _env,
    "command": _command,
    "xargs": _xargs,
    "sudo": _after("-n|--non-interactive"),
    "time": _after("-p"),
    "nice": _after(r"-\d+|-n-?\d+", valued="-n"),
    "timeout": _after(r"-[sk].+|--(?:signal|kill-after)=.+|--foreground|--preserve-status", valued="-s -k", operands=1),
    "stdbuf": _after(r"-[oei].+"),
}
