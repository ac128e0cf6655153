"""Shell lines as trees: words without quotes, operators, pipelines, groups, and any text at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.text.shell import DEEPEST, LONGEST, CommandGroup, CommandList, Node, Pipeline, SimpleCommand, parse
from tests.text.hostile import hostile_texts


def only(line: str) -> Node:
    (entry,) = parse(line).entries
    return entry.node


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ls -la src", ("ls", "-la", "src")),
        ("echo 'a b' \"c d\" e\\ f", ("echo", "a b", "c d", "e f")),
        ('echo "a \\"b\\"" c"d"e', ("echo", 'a "b"', "cde")),
        ("A=1 make  test # all of it", ("A=1", "make", "test")),
        ("echo $(date; pwd) x", ("echo", "$()", "x")),
        ("cat <in >out 2>&1 file", ("cat", "file")),
    ],
)
def test_a_command_has_its_words_without_quotes(line: str, words: tuple[str, ...]) -> None:
    command = only(line)
    assert isinstance(command, SimpleCommand)
    assert command.words == words


def test_spans_say_where_each_word_stands_with_its_quotes() -> None:
    line = "mysql -u root -p'a b' db"
    command = only(line)
    assert isinstance(command, SimpleCommand)
    assert [line[start:end] for start, end in command.spans] == ["mysql", "-u", "root", "-p'a b'", "db"]


def test_operators_pipelines_and_groups_make_the_tree() -> None:
    tree = parse("a && b | c; (d; e) & if f; then g; else h; fi")
    assert [entry.operator for entry in tree.entries] == ["&&", ";", "&", ""]
    nodes = [entry.node for entry in tree.entries]
    assert isinstance(nodes[1], Pipeline)
    assert len(nodes[1].parts) == 2
    assert isinstance(nodes[2], CommandGroup)
    assert nodes[2].kind == "subshell"
    assert isinstance(nodes[3], CommandGroup)
    assert (nodes[3].kind, len(nodes[3].lists)) == ("if", 3)


def test_a_here_document_is_kept_as_text() -> None:
    command = only("cat <<EOF\none; two\nEOF\n")
    assert isinstance(command, SimpleCommand)
    assert [(each.operator, each.target) for each in command.redirects] == [("<<", "one; two\n")]


def test_a_text_that_is_too_long_too_deep_or_unfinished_says_so() -> None:
    assert parse("a " * LONGEST).is_cut
    assert parse("( " * 10 * DEEPEST).is_cut
    assert parse("echo 'a").is_cut
    assert not parse("echo a").is_cut


@given(hostile_texts | st.text("ab \n;&|(){}<>'\"\\`$#!if fi do done case esac", max_size=60))
def test_any_text_has_a_tree_and_its_spans_are_in_order(text: str) -> None:
    for command in commands(parse(text)):
        assert len(command.words) == len(command.spans)
        assert all(0 <= start < end for start, end in command.spans)
        assert list(command.spans) == sorted(command.spans)


def commands(tree: CommandList) -> list[SimpleCommand]:
    found: list[SimpleCommand] = []
    nodes = [entry.node for entry in tree.entries]
    while nodes:
        node = nodes.pop()
        if isinstance(node, SimpleCommand):
            found.append(node)
        elif isinstance(node, Pipeline):
            nodes += node.parts
        else:
            nodes += [entry.node for each in node.lists for entry in each.entries]
    return found
