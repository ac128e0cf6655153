"""Parse shell lines into a tree of lists, pipelines, groups and commands.

This is a reader, not a shell: nothing is expanded and nothing runs. It is total (any text gives a tree) and linear in
the text. Commands inside `$(…)` and backticks are trees of their own; here-documents are kept as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal

from msgspec import Struct

from punchlist.text.patterns import compile_later

LONGEST: Final = 16_384
"""Characters that are read. What follows is cut off, and the tree says so."""

DEEPEST: Final = 32
"""Groups within groups that are read. Deeper ones are hostile; without a cap they exhaust Python's stack."""

_MOST_DOCUMENTS: Final = 32
"""Here-documents that are looked for: each search reads to the end of the text."""

_CD: Final = compile_later(r"""^\s*cd\s+(?:"[^"]*"|'[^']*'|[^\s;&|]+)\s*(?:&&|;)\s*""")

Operator = Literal["", ";", "&&", "||", "&"]
GroupKind = Literal["subshell", "brace", "if", "loop", "case", "function", "process", "optional", "detached"]


def drop_cd(line: str) -> str:
    """Return a command line without the folder that it goes to first, for people to read."""
    while (rest := _CD.sub("", line)) != line and rest:
        line = rest
    return line


class Redirect(Struct, frozen=True):
    """One redirection: `2>`, `>>`, `<<<` … and the word after it; for a here-document its text."""

    operator: str
    target: str


class SimpleCommand(Struct, frozen=True):
    """One simple command: unquoted words, where each stands in the text, redirections, substitutions.

    `has_unknown`: the shell puts something of its own into a word: a variable, a brace list, a leading pattern.
    `assignments` stay among the words in the parser; `core/shell` moves them here.
    """

    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    substitutions: tuple[CommandList, ...] = ()
    has_unknown: bool = False
    assignments: tuple[str, ...] = ()


class Pipeline(Struct, frozen=True):
    """Commands joined by `|`, or one after `!`."""

    parts: tuple[Node, ...]
    is_negated: bool = False


class CommandGroup(Struct, frozen=True):
    """A compound command. `lists` by kind:

    subshell, brace, function: the body. if: condition, body, condition, body, … and the else body last.
    loop: condition and body, or the body alone for `for`. case: one body per branch. `name` is a function's name.
    The parser makes no other kinds; `core/shell` adds them: process (the script of `bash -c`), optional (may not run
    at all) and detached (not waited for).
    """

    kind: GroupKind
    lists: tuple[CommandList, ...]
    redirects: tuple[Redirect, ...] = ()
    name: str = ""


Node = SimpleCommand | Pipeline | CommandGroup


class ListEntry(Struct, frozen=True):
    """A command of a list and the operator after it."""

    node: Node
    operator: Operator = ""


class CommandList(Struct, frozen=True):
    """Commands in sequence. `is_cut`: the text was too long, too deep or ends in an open quote."""

    entries: tuple[ListEntry, ...] = ()
    is_cut: bool = False


def parse(text: str, depth: int = 0) -> CommandList:
    """Return the tree of a shell line or script."""
    if depth >= DEEPEST:
        return CommandList(is_cut=True)
    reader = _ShellReader(text[:LONGEST], depth)
    entries: list[ListEntry] = []
    while reader.at < len(reader.text):
        entries += reader.read_list().entries
        reader.at += 1  # a closing token that closes nothing
    return CommandList(tuple(entries), reader.is_cut or len(text) > LONGEST)


def walk(tree: CommandList) -> Iterator[Node]:
    """Yield all nodes of a tree in their order, those of substitutions after their command."""
    waiting: list[Node] = [entry.node for entry in reversed(tree.entries)]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Pipeline):
            waiting += reversed(node.parts)
        else:
            lists = node.substitutions if isinstance(node, SimpleCommand) else node.lists
            waiting += [entry.node for each in reversed(lists) for entry in reversed(each.entries)]


_BLANK: Final = compile_later(r"(?:[ \t\r]|\\\r?\n)+")
_OPERATOR: Final = compile_later(r"&&|\|\||;;&?|;&|[;&\n]")
_REDIRECT: Final = compile_later(r"(\d{0,3})(<<<|<<-?|<>|>>|>\||[<>]&|[<>](?!\())|(&>>?)")
_PLAIN: Final = compile_later(r"[^\s;|&()<>'\"\\`$]+")
_DOUBLE: Final = compile_later(r"[^\"\\`$]+")
_VARIABLE: Final = compile_later(r"\$(?:\{[^}]*\}?|\w+|[?!#*@$-]|)")
_RESERVED: Final = compile_later(
    r"(?:if|then|elif|else|fi|for|select|while|until|do|done|case|esac|function|\{|\}|!|time)(?=[\s;&|()<>]|$)"
)
_BRACES: Final = compile_later(r"\{[^{}]*(?:,|\.\.)")
_LEADING_SET: Final = compile_later(r"\[[^\]\[]")
_FUNCTION: Final = compile_later(r"[ \t]*\([ \t]*\)\s*")


class _ShellReader:
    """Reads one text from front to back, each character once."""

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.depth = depth
        self.at = 0
        self.is_cut = False
        self._documents = 0
        self._line_end = -1  # the newline after which here-documents stand
        self._documents_end = 0
        self._has_unknown = False

    # Lists and compound commands.

    def read_list(self, *closers: str) -> CommandList:
        """Read commands up to one of the closing tokens, which is left to the caller, or to the end."""
        entries: list[ListEntry] = []
        self.depth += 1
        if self.depth > DEEPEST:
            self.is_cut = True
            self.at = len(self.text)
        while True:
            self._skip_separators()
            start = self.at
            if start >= len(self.text) or self._peek_closer() in (*closers, ")"):
                break
            node = self._read_pipeline()
            operator = self._read_operator()
            if node is not None:
                entries.append(ListEntry(node, operator))
            if self.at == start:  # a reserved word out of place: skip it
                self.at += len(self._peek_closer()) or 1
        self.depth -= 1
        return CommandList(tuple(entries))

    def _skip_separators(self) -> None:
        while self.at < len(self.text):
            blank = _BLANK.match(self.text, self.at)
            if blank is not None:
                self.at = blank.end()
            elif self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self.text[self.at] == "\n":
                self._pass_newline()
            elif self.text[self.at] in ";&" and not self.text.startswith("&>", self.at):
                if self.text.startswith(";;", self.at):
                    return
                self.at += 1
            else:
                return

    def _pass_newline(self) -> None:
        self.at = self._documents_end if self.at == self._line_end else self.at + 1

    def _peek_closer(self) -> str:
        """Return the reserved word or bracket that stands here, or an empty string."""
        if self.text.startswith(";;", self.at):
            return ";;"
        if self.text[self.at] == ")":
            return ")"
        word = _RESERVED.match(self.text, self.at)
        return "" if word is None else word[0]

    def _read_operator(self) -> Operator:
        self._skip_blanks()
        found = _OPERATOR.match(self.text, self.at)
        if found is None or found[0].startswith(";;"):
            return ""
        if found[0] == "\n":
            self._pass_newline()
            return ";"
        self.at = found.end()
        return found[0] if found[0] in ("&&", "||", "&") else ";"  # type: ignore[return-value]

    def _skip_blanks(self) -> None:
        blank = _BLANK.match(self.text, self.at)
        if blank is not None:
            self.at = blank.end()

    def _read_pipeline(self) -> Node | None:
        negated = False
        while (word := self._peek_closer()) in ("!", "time"):
            self.at += len(word)
            negated = negated != (word == "!")
            self._skip_blanks()
            if self.at >= len(self.text):
                return None
        parts: list[Node] = []
        while True:
            part = self._read_command()
            if part is not None:
                parts.append(part)
            self._skip_blanks()
            if not self.text.startswith("|", self.at) or self.text.startswith("||", self.at):
                break
            self.at += 2 if self.text.startswith("|&", self.at) else 1
            while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
                self.at += 1
        if not parts:
            return None
        return parts[0] if len(parts) == 1 and not negated else Pipeline(tuple(parts), negated)

    def _read_command(self) -> Node | None:
        if self.at >= len(self.text):
            return None
        word = self._peek_closer()
        if self.text.startswith("((", self.at):
            end = self.text.find("))", self.at)
            start, self.at = self.at, len(self.text) if end < 0 else end + 2
            return SimpleCommand((self.text[start : self.at],), ((start, self.at),))
        if self.text[self.at] == "(":
            self.at += 1
            return self._close_group("subshell", (self.read_list(")"),), ")")
        if word == "{":
            self.at += 1
            return self._close_group("brace", (self.read_list("}"),), "}")
        if word == "if":
            return self._read_if()
        if word in ("while", "until"):
            self.at += len(word)
            condition = self.read_list("do")
            self._take("do")
            return self._close_group("loop", (condition, self.read_list("done")), "done")
        if word in ("for", "select"):
            self._skip_to_body()
            return self._close_group("loop", (self.read_list("done"),), "done")
        if word == "case":
            return self._read_case()
        if word == "function":
            self.at += len(word)
            self._skip_blanks()
            name = _PLAIN.match(self.text, self.at)
            self.at = self.at if name is None else name.end()
            return self._read_function("" if name is None else name[0])
        return None if word and word not in ("time", "!") else self._read_simple()

    def _take(self, word: str) -> None:
        if self.text.startswith(word, self.at):
            self.at += len(word)

    def _close_group(self, kind: GroupKind, lists: tuple[CommandList, ...], closer: str) -> CommandGroup:
        self._take(closer)
        return CommandGroup(kind, lists, self._read_redirects())

    def _read_if(self) -> CommandGroup:
        lists: list[CommandList] = []
        word = "if"
        while word in ("if", "elif"):
            self._take(word)
            lists.append(self.read_list("then"))
            self._take("then")
            lists.append(self.read_list("elif", "else", "fi"))
            word = self._peek_closer() if self.at < len(self.text) else ""
        if word == "else":
            self._take(word)
            lists.append(self.read_list("fi"))
        return self._close_group("if", tuple(lists), "fi")

    def _skip_to_body(self) -> None:
        """Pass `for x in …; do`; the words of the loop are data."""
        while self.at < len(self.text) and self._peek_closer() != "do":
            if self._read_operator() == "":
                start = self.at
                if self._read_word() is None and self.at == start:
                    self.at += 1
            self._skip_blanks()
        self._take("do")

    def _read_case(self) -> CommandGroup:
        lists: list[CommandList] = []
        opened = self.text.find(" in", self.at)
        self.at = len(self.text) if opened < 0 else opened + 3
        while self.at < len(self.text):
            self._skip_separators()
            if self.at >= len(self.text) or self._peek_closer() == "esac":
                break
            pattern = self.text.find(")", self.at)
            self.at = len(self.text) if pattern < 0 else pattern + 1
            lists.append(self.read_list(";;", "esac"))
            if self.text.startswith(";;", self.at):
                self.at += 3 if self.text.startswith(";;&", self.at) else 2
        return self._close_group("case", tuple(lists), "esac")

    def _read_function(self, name: str) -> CommandGroup:
        brackets = _FUNCTION.match(self.text, self.at)
        self.at = self.at if brackets is None else brackets.end()
        self._skip_separators()
        self.depth += 1
        body = None if self.depth > DEEPEST else self._read_command()
        self.depth -= 1
        entries = () if body is None else (ListEntry(body),)
        return CommandGroup("function", (CommandList(entries),), name=name)

    # Simple commands.

    def _read_redirects(self) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        self._skip_blanks()
        while self.at < len(self.text) and (redirect := self._read_redirect()) is not None:
            found.append(redirect)
            self._skip_blanks()
        return tuple(found)

    def _read_simple(self) -> Node:
        words: list[str] = []
        spans: list[tuple[int, int]] = []
        redirects: list[Redirect] = []
        inner: list[CommandList] = []
        self._has_unknown = False
        while self.at < len(self.text):
            self._skip_blanks()
            if self.at >= len(self.text):
                break
            redirect = self._read_redirect(inner)
            if redirect is not None:
                redirects.append(redirect)
                continue
            if len(words) == 1 and not redirects and self.text[self.at] == "(" and _FUNCTION.match(self.text, self.at):
                return self._read_function(words[0])
            if self.text[self.at] in ";|&\n)" or (self.text[self.at] == "#"):
                break
            start = self.at
            word = self._read_word(inner)
            if word is None:
                break
            words.append(word)
            spans.append((start, self.at))
        return SimpleCommand(tuple(words), tuple(spans), tuple(redirects), tuple(inner), self._has_unknown)

    def _read_redirect(self, inner: list[CommandList] | None = None) -> Redirect | None:
        found = _REDIRECT.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        operator = found[2] or found[3]
        self._skip_blanks()
        start = self.at
        target = self._read_word(inner) or ""
        if operator in ("<<", "<<-"):
            return Redirect(operator, self._read_document(target, start))
        return Redirect(f"{found[1] or ''}{operator}", target)

    def _read_document(self, delimiter: str, at: int) -> str:
        """Return the text of a here-document. It begins after this line, behind those that the line has already."""
        self._documents += 1
        line_end = self.text.find("\n", at)
        if line_end < 0 or self._documents > _MOST_DOCUMENTS:
            return ""
        begin = self._documents_end if line_end == self._line_end else line_end + 1
        end = re.compile(rf"^\t*{re.escape(delimiter)}[ \t]*$", re.MULTILINE).search(self.text, begin)
        self._line_end = line_end
        self._documents_end = len(self.text) if end is None else min(len(self.text), end.end() + 1)
        return self.text[begin : len(self.text) if end is None else end.start()]

    def _read_word(self, inner: list[CommandList] | None = None) -> str | None:
        """Read one word without its quotes; None where none stands. A substitution is `$()` in it."""
        substitutions = [] if inner is None else inner
        pieces: list[str] = []
        start = self.at
        while self.at < len(self.text):
            char = self.text[self.at]
            plain = _PLAIN.match(self.text, self.at)
            if plain is not None:
                if _BRACES.search(plain[0]) or ((not pieces and plain[0][0] in "*?") or _LEADING_SET.match(plain[0])):
                    self._has_unknown = True
                pieces.append(plain[0])
                self.at = plain.end()
            elif char == "'":
                pieces.append(self._read_single())
            elif char == '"':
                pieces.append(self._read_double(substitutions))
            elif char == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                pieces.append("" if escaped == "\n" else escaped)
                self.at += 2
            elif char in "$`":
                pieces.append(self._read_dollar(substitutions))
            elif char in "<>" and self.text.startswith("(", self.at + 1):
                self.at += 1
                pieces.append(self._read_substitution(substitutions))
            elif char == "(" and pieces and pieces[-1][-1:] in "=@?*+!":  # an array, or a pattern such as @(a|b)
                pieces.append(self._read_substitution([]))
            else:
                break
        return None if self.at == start else "".join(pieces)

    def _read_single(self) -> str:
        end = self.text.find("'", self.at + 1)
        self.is_cut = self.is_cut or end < 0
        end = len(self.text) if end < 0 else end
        piece, self.at = self.text[self.at + 1 : end], end + 1
        return piece

    def _read_double(self, substitutions: list[CommandList]) -> str:
        pieces: list[str] = []
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            plain = _DOUBLE.match(self.text, self.at)
            if plain is not None:
                pieces.append(plain[0])
                self.at = plain.end()
            elif self.text[self.at] == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                pieces.append(escaped if escaped in '$`"\\' else f"\\{escaped}" if escaped != "\n" else "")
                self.at += 2
            else:
                pieces.append(self._read_dollar(substitutions))
        self.is_cut = self.is_cut or self.at >= len(self.text)
        self.at += 1
        return "".join(pieces)

    def _read_dollar(self, substitutions: list[CommandList]) -> str:
        if self.text[self.at] == "`":
            end = self.text.find("`", self.at + 1)
            end = len(self.text) if end < 0 else end
            substitutions.append(parse(self.text[self.at + 1 : end], self.depth + 1))
            self.at = end + 1
            return "$()"
        if self.text.startswith("$((", self.at):
            end = self.text.find("))", self.at)
            self.at = len(self.text) if end < 0 else end + 2
            return "$(())"
        if self.text.startswith("$(", self.at):
            self.at += 1
            return self._read_substitution(substitutions)
        if self.text.startswith(("$'", '$"'), self.at):
            self.at += 1
            return ""
        variable = _VARIABLE.match(self.text, self.at)
        piece = "$" if variable is None else variable[0]
        self._has_unknown = self._has_unknown or piece != "$"
        self.at += len(piece)
        return piece

    def _read_substitution(self, substitutions: list[CommandList]) -> str:
        self.at += 1
        substitutions.append(self.read_list(")"))
        self._take(")")
        return "$()"
