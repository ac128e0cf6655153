"""Patterns of files that might mean the same file are said to; what is told apart surely differs."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from punchlist.tasks.claims import normalise, overlaps


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("src/**", "src/a.py", True),
        ("src/**", "tests/a.py", False),
        ("src/*.py", "src/*.md", False),
        ("src/*.py", "src/a/b.py", False),
        ("src", "src/a/b.py", True),
        ("a/b", "a/bc", False),
        ("**/a.py", "src/x/a.py", True),
        ("**/*.py", "docs/**", True),
        ("**", "anything/at/all", True),
        ("./src//a.py", "src/b/../a.py", True),
        ("SRC/a.py", "src/A.py", True),
        ("a?c", "abc", True),
        ("a?c", "xbc", False),
        ("a[12].py", "a3.py", True),
        ("{a,b}.py", "c.py", True),
        ("{src/a,lib/b}.py", "src/a.py", True),
        ("src/{a/b,c}/d.py", "src/a/b/d.py", True),
        ("src/{a/b,c}/d.py", "tests/a/b/d.py", False),
        ("{a/b", "a/b", True),
        ("@(src|lib)/a.py", "src/a.py", True),
        ("+(src|lib)/a.py", "srclib/a.py", True),
        ("*(src|lib)", "src", True),
        ("@(src/a|lib).py", "src/a.py", True),
        ("a(1).py", "b(1).py", False),
        ("src/**/../secret", "src/x/secret", True),
        ("src/*/../secret", "src/x", False),
        ("src/{..,x}/a.py", "a.py", True),
        ("{a/b,c}/../d", "a/d", True),
        ("test_*.py", "*_test.py", True),
        ("", "src", True),
        ("/etc/passwd", "etc/passwd", True),
    ],
)
def test_two_patterns_meet_or_they_do_not(one: str, other: str, same: bool) -> None:
    assert overlaps(one, other) is overlaps(other, one) is same


def test_a_pattern_has_one_spelling() -> None:
    assert normalise("./src//x/../a.py") == normalise("src/a.py") == "src/a.py"
    assert normalise("..") == ".."
    assert normalise("./{src/a,lib/b}.py") == "{src/a,lib/b}.py"


_part = st.text(alphabet="ab.*?", min_size=1, max_size=4).filter(
    lambda part: part not in {".", ".."} and "**" not in part
)
_pattern = st.lists(st.one_of(_part, st.just("**")), min_size=1, max_size=4).map("/".join)
_path = st.lists(st.text(alphabet="ab", min_size=1, max_size=3), min_size=1, max_size=5).map("/".join)


def _matches(pattern: str, path: str) -> bool:
    """As a shell would, and everything below what is named."""
    body = re.escape(pattern).replace(r"\*\*", "(?:.*)").replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    body = body.replace("(?:.*)/", "(?:.*/)?").replace("/(?:.*)", "(?:/.*)?")
    return re.fullmatch(f"{body}(?:/.*)?", path) is not None


@given(_pattern, _pattern, _path)
@example("**/a", "a/**", "a/a")
def test_patterns_that_match_one_path_meet(one: str, other: str, path: str) -> None:
    if _matches(one, path) and _matches(other, path):
        assert overlaps(one, other)


@given(_path, _path, st.sampled_from(["", "x/", "x"]), st.sampled_from(["", "/y", "y", "/../z"]))
def test_a_choice_meets_each_of_what_it_names(one: str, other: str, before: str, behind: str) -> None:
    for choice in (f"{{{one},{other}}}", f"@({one}|{other})", f"{{{other},{{b,{one}}}}}"):
        assert overlaps(f"{before}{choice}{behind}", f"{before}{one}{behind}")


@given(_pattern)
def test_every_pattern_meets_itself(pattern: str) -> None:
    assert overlaps(pattern, pattern)


def test_patterns_of_many_parts_are_said_to_meet() -> None:
    assert overlaps("/".join("a" * 100), "/".join("b" * 100))
