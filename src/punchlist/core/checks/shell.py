"""Split a shell line into simple commands, with the groups and operators that join them.

Nothing is expanded, `$(…)` is kept as text, here-documents are data, and what cannot be read is left as it is. Never
raises, and takes linear time; only the beginning of a very long line is read.
"""

import re
from functools import cache
from typing import Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

LONGEST: Final = 16_384
"""Characters of a line that are read."""

_DEEPEST: Final = 32
"""Groups within groups that are told apart. Every analysis walks the scope of each command, so that a line of
thousands of open brackets would take minutes; people write three or four."""

Joint = Literal["", "&&", "||", ";", "|", "&"]


SUBSHELL: Final = "("
BRACE: Final = "{"
PROCESS: Final = "$"
"""How a group begins in a scope: a subshell, a group of the same shell, a shell that is started anew."""


class SimpleCommand(Struct, frozen=True):
    """One simple command. `joint` is what stands behind it; `loose` says that it is in a condition or a loop, `unsure`
    that what runs it does not always do so, or does not wait for it.

    `scope` are the groups that it stands in, the outermost first; the joint of the last command of a group is that of
    the group. `inner` are the texts of `$(…)` and of backticks in it.
    """

    words: tuple[str, ...]
    joint: Joint = ""
    writes: bool = False
    loose: bool = False
    scope: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()
    unsure: bool = False


_TOKEN: Final = r"""
    (?P<blank> (?: [ \t\r] | \\\n )++ )
  | (?P<operator> && | \|\| | ;;?&? | \|&? | \n | [()] | &(?!>) )
  | (?P<redirect> (?: \d{0,3} (?: <<<|<<-?|<>|>>|>\||>&|<&|>|< ) | &>>? ) )
  | (?P<word> (?: [^\s;|&()<>'"\\`$#] | (?<!\s)(?<!^)\# | \\(?s:.) | \$(?![('"{]) )++ )
  | (?P<single> \$?'[^']*+'? )
  | (?P<double> \$?"(?: [^"\\`$] | \\(?s:.) | \$(?!\() | `[^`]*+`? | \$\([^()"]*+\) | \$\( )*+"? )
  | (?P<comment> \#[^\n]*+ )
  | (?P<braced> \$\{[^}]*+\}? )
  | (?P<other> (?s:.) )
"""
_CONDITIONS: Final = frozenset({"if", "elif", "while", "until"})
_LOOPS: Final = frozenset({"for", "while", "until", "if", "case", "select"})
_ENDS: Final = frozenset({"fi", "done", "esac"})
_WORDS_BEFORE: Final = frozenset({"then", "else", "do", "{", "}", "!", *_CONDITIONS, *_ENDS})
_HARMLESS_FILES: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "-"})


def split_line(line: str) -> tuple[SimpleCommand, ...]:
    """Return the simple commands of a line in order, those of subshells and groups among the others."""
    reading = _ShellReader()
    text = line[:LONGEST]
    at = 0
    match = compiled(_TOKEN, re.VERBOSE).match
    while at < len(text):
        token = match(text, at)
        if token is None:
            break
        at = reading.take(token.lastgroup or "other", token[0], text, token.end())
    reading.close("")
    return tuple(reading.found)


class _ShellReader(Struct):
    found: list[SimpleCommand] = field(default_factory=list[SimpleCommand])
    words: list[str] = field(default_factory=list[str])
    glued: bool = False  # the next piece belongs to the last word
    writes: bool = False
    target: str = ""  # the redirection whose file comes next
    heredocs: list[str] = field(default_factory=list[str])
    depth: int = 0  # of loops and conditions
    scope: list[str] = field(default_factory=list[str])
    groups: int = 0
    too_deep: int = 0  # open groups below the deepest that is told apart
    inner: list[str] = field(default_factory=list[str])

    def take(self, kind: str, piece: str, text: str, end: int) -> int:
        """Reads one token; returns where to go on."""
        match kind:
            case "blank" | "comment":
                self.glued = False
            case "operator":
                return self.operator(piece, text, end)
            case "redirect":
                self.target = piece
                self.glued = False
            case "single":
                self.add(piece.removeprefix("$")[1:].removesuffix("'"))
            case "double":
                inner = piece.removeprefix("$")[1:]
                if "$(" in inner or "`" in inner:
                    self.inner += map(_substituted, compiled(r"\$\([^()\"]*+\)?|`[^`]*+`?").findall(inner))
                self.add(_unescaped(inner[:-1] if inner.endswith('"') and not inner.endswith('\\"') else inner))
            case "other" if piece == "`" or (piece == "$" and text[end : end + 1] == "("):
                start, end = end, _closing(text, end, "`" if piece == "`" else ")")
                self.inner.append(_substituted(text[start:end]))
                self.add("$()")
            case _:
                self.add(_unescaped(piece) if "\\" in piece else piece)
        return end

    def add(self, piece: str) -> None:
        if self.glued and self.words and not self.target:
            self.words[-1] += piece
        elif self.target:
            self.redirected(piece)
        else:
            self.words.append(piece)
        self.glued = True

    def redirected(self, name: str) -> None:
        target, self.target = self.target.lstrip("0123456789"), ""
        if target.startswith("<<") and target != "<<<":
            self.heredocs.append(name)
        elif ">" in target and not (target.endswith("&") and (name.isdigit() or name == "-")):
            self.writes = self.writes or name not in _HARMLESS_FILES

    def operator(self, piece: str, text: str, end: int) -> int:
        joints: dict[str, Joint] = {"&&": "&&", "||": "||", "|": "|", "|&": "|", "&": "&"}
        if piece == "(":
            if self.words:  # a function or an array; what is inside is read as commands all the same
                self.close(";")
            self.target = ""  # `<(…)` names no file
            self.open_group(SUBSHELL)
        elif piece == ")":
            self.close("")
            self.close_group(SUBSHELL)
        else:
            self.close(joints.get(piece, ";"))
        if piece == "\n" and self.heredocs:
            end = self.skip_heredocs(text, end)
        self.glued = False
        return end

    def open_group(self, kind: str) -> None:
        if len(self.scope) == _DEEPEST:
            self.too_deep += 1
            return
        self.groups += 1
        self.scope.append(f"{kind}{self.groups}")

    def close_group(self, kind: str) -> None:
        if self.too_deep:
            self.too_deep -= 1
        elif self.scope and self.scope[-1][0] == kind:
            self.scope.pop()

    def skip_heredocs(self, text: str, end: int) -> int:
        for name in self.heredocs:
            mark = re.compile(rf"^\t*{re.escape(name)}[ \t]*$", re.MULTILINE).search(text, end)
            end = len(text) if mark is None else mark.end()
        self.heredocs.clear()
        return end

    def close(self, joint: Joint) -> None:
        """Ends the command at hand. With none, the joint belongs to the last one: `(a; b) | c`."""
        words, loose = self.without_keywords()
        if words or self.writes or self.inner:
            scope, inner = tuple(self.scope), tuple(self.inner)
            self.found.append(SimpleCommand(tuple(words), joint, self.writes, loose, scope, inner))
        elif joint and self.found and (self.found[-1].joint == "" or (self.found[-1].joint == ";" and joint != ";")):
            self.found[-1] = replace(self.found[-1], joint=joint)
        self.words, self.writes, self.glued, self.target = [], False, False, ""
        self.inner.clear()

    def without_keywords(self) -> tuple[list[str], bool]:
        at, loose = 0, self.depth > 0 or self.too_deep > 0
        words = self.words
        while at < len(words) and words[at] in _WORDS_BEFORE:
            loose = loose or words[at] in _CONDITIONS or words[at] == "!"
            self.count(words[at])
            if words[at] == "{":
                self.open_group(BRACE)
            elif words[at] == "}":
                self.close_group(BRACE)
            at += 1
        if at < len(words) and words[at] in _LOOPS:
            self.count(words[at])
            return [], True
        return words[at:], loose or self.depth > 0 or self.too_deep > 0

    def count(self, word: str) -> None:
        if word in _LOOPS:
            self.depth += 1
        elif word in _ENDS:
            self.depth = max(0, self.depth - 1)


def _closing(text: str, at: int, end: str) -> int:
    """Where the substitution that began before `at` is over; at the end of the line if it never is."""
    if end == "`":
        found = text.find("`", at)
        return len(text) if found < 0 else found + 1
    depth = 0
    for place in range(at, len(text)):
        if text[place] == "(":
            depth += 1
        elif text[place] == ")":
            depth -= 1
            if depth <= 0:
                return place + 1
    return len(text)


def _substituted(text: str) -> str:
    """The commands within a substitution; none of arithmetic."""
    text = text.removeprefix("$").removeprefix("(") if text[:1] in "$(" else text.removeprefix("`")
    return "" if text[:1] == "(" else text.removesuffix(")").removesuffix("`")


def _unescaped(piece: str) -> str:
    return compiled(r"\\(.)", re.DOTALL).sub(r"\1", piece)


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a pattern at its first use: there are hundreds, and most lines need a few."""
    return re.compile(pattern, flags)
