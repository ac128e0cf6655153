"""The tree of a shell line."""

import sys
from collections.abc import Iterator
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.text.shell import (
    DEEPEST,
    LONGEST,
    CommandGroup,
    CommandList,
    Node,
    Pipeline,
    Redirect,
    SimpleCommand,
    parse,
)


def shape(tree: CommandList) -> str:
    """The tree as one line: words joined by `_`, groups with their kind."""
    return " ".join(f"{outline(entry.node)}{entry.operator}" for entry in tree.entries)


def outline(node: Node) -> str:
    match node:
        case SimpleCommand():
            inner = "".join(f"$({shape(one)})" for one in node.substitutions)
            return "_".join(word or "''" for word in node.words) + inner
        case Pipeline():
            return ("!" if node.is_negated else "") + "|".join(map(outline, node.parts))
        case CommandGroup():
            return f"{node.kind}{node.name}({'; '.join(map(shape, node.lists))})"


def commands(tree: CommandList) -> Iterator[SimpleCommand]:
    nodes = [entry.node for entry in tree.entries]
    while nodes:
        node = nodes.pop(0)
        match node:
            case SimpleCommand():
                yield node
            case Pipeline():
                nodes[:0] = node.parts
            case CommandGroup():
                nodes[:0] = [entry.node for inner in node.lists for entry in inner.entries]


@pytest.mark.parametrize(
    ("line", "tree"),
    [
        ("", ""),
        ("a b && c || d; e & f", "a_b&& c|| d; e& f"),
        ("a | b |& c", "a|b|c"),
        ("! a | b", "!a|b"),
        ("time a", "a"),
        ("(a; b) && { c; }", "subshell(a; b)&& brace(c;)"),
        ("if a; then b; elif c; then d; else e; fi", "if(a;; b;; c;; d;; e;)"),
        ("while a; do b; done; until c; do d; done", "loop(a;; b;); loop(c;; d;)"),
        ("for x in 1 2 3; do a $x; done", "loop(a_$x;)"),
        ("case $x in a) b;; c|d) e; f;; esac; g", "case(b; e; f); g"),
        ("f() { a; }; f", "functionf(brace(a;)); f"),
        ("function g { b; }", "functiong(brace(b;))"),
        ("x=$(a; b) c", "x=$()_c$(a; b)"),
        ('echo "x $(a "$(b)") y"', "echo_x $() y$(a_$()$(b))"),
        ("echo `a b`", "echo_$()$(a_b)"),
        ("diff <(a) <(b)", "diff_$()_$()$(a)$(b)"),
        ("echo $((1 + 2)); ((x++))", "echo_$(()); ((x++))"),
        ("a 'b c' \"d 'e'\" f\\ g ''", "a_b c_d 'e'_f g_''"),
        ("a # b; c\nd", "a d"),
        ("a \\\n  b", "a_b"),
        ("x=(a b) && y", "x=$()&& y"),
        ("done; a", "a"),
        (") a", "a"),
    ],
)
def test_a_line_is_read_as_the_shell_groups_it(line: str, tree: str) -> None:
    assert shape(parse(line)) == tree


def test_redirections_are_no_words() -> None:
    (command,) = commands(parse("a >out 2>&1 <in b &>>all"))
    assert command.words == ("a", "b")
    assert command.redirects == (
        Redirect(">", "out"),
        Redirect("2>&", "1"),
        Redirect("<", "in"),
        Redirect("&>>", "all"),
    )


def test_the_text_of_a_here_document_is_not_read_as_commands() -> None:
    first, second = commands(parse("cat <<'A' <<-B && b\nrm x\nA\n\trm y\n\tB\n"))
    assert [one.target for one in first.redirects] == ["rm x\n", "\trm y\n"]
    assert second.words == ("b",)


def test_each_word_is_found_at_its_place_in_the_text() -> None:
    line = "FOO='a b' run --key=\"x y\" $(id) z"
    (command,) = commands(parse(line))
    assert [line[start:end] for start, end in command.spans] == ["FOO='a b'", "run", '--key="x y"', "$(id)", "z"]


@pytest.mark.parametrize(
    ("line", "is_unknown"),
    [("ls $x", True), ("ls {a,b}", True), ("*", True), ("ls a*", False), ("echo 'a $x'", False), ('echo "$x"', True)],
)
def test_words_that_the_shell_fills_in_are_marked(line: str, is_unknown: bool) -> None:
    (command,) = commands(parse(line))
    assert command.has_unknown is is_unknown


@pytest.mark.parametrize("line", ["echo 'a", 'echo "a', "a" * (LONGEST + 1), "( " * (DEEPEST + 1) + "a"])
def test_a_tree_that_is_not_whole_says_so(line: str) -> None:
    assert parse(line).is_cut


PIECES = (
    "a", "b=1", " ", "\n", ";", "&", "|", "&&", "||", "(", ")", "{ ", " }", "$(", "`", "'", '"', "\\", "<", ">", "<<E",
    "\nE\n", "if ", "then ", "else ", "fi", "for ", "while ", "do ", "done", "case ", " in ", ";;", "esac", "!", "#",
    "function ", "f()", "$((", "))", "((", "${x", "}", "*", "é", "\0",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=80))
def test_any_text_has_a_tree(text: str) -> None:
    for command in commands(parse(text)):
        assert len(command.spans) == len(command.words)
        assert all(0 <= start <= end for start, end in command.spans)


@pytest.mark.parametrize("piece", [*PIECES, "a ", "$(a ", "x() ", "if a; then ", "<<E\n", "case a in b) ", "( "])
def test_the_work_to_read_a_line_grows_with_its_length(piece: str) -> None:
    """Four times the text takes four times the calls; where each character is read again it takes sixteen."""
    assert count_calls(piece, LONGEST) < 5 * count_calls(piece, LONGEST // 4) + 500


def count_calls(piece: str, length: int) -> int:
    """Count the calls that the parser makes; the profiler also sees the hooks of the garbage collector."""
    count = 0

    def note(frame: FrameType, *_: object) -> None:
        nonlocal count
        count += frame.f_code.co_filename == parse.__code__.co_filename

    text = (piece * length)[:length]
    sys.setprofile(note)
    try:
        parse(text)
    finally:
        sys.setprofile(None)
    return count
