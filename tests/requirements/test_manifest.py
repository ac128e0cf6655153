"""The manifest and the tests keep each other honest: no rule without a test, no test of an unknown rule."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from punchlist.dialects import REGISTRY

TESTS = Path(__file__).parent.parent
MANIFEST = tomllib.loads((Path(__file__).parent / "manifest.toml").read_text(encoding="utf-8"))
RULES = {f"{dialect}.{rule}": said for dialect, rules in MANIFEST.items() for rule, said in rules.items()}


def _marked() -> Iterator[tuple[str, str]]:
    """Each requirement that a test names, and where."""
    for path in sorted(TESTS.rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        if "requirement" not in source or path == Path(__file__):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requirement":
                where = f"{path.relative_to(TESTS)}:{node.lineno}"
                yield from ((ast.literal_eval(argument), where) for argument in node.args)


MARKED = list(_marked())


def test_every_rule_has_a_test() -> None:
    assert sorted(set(RULES) - {rule for rule, _ in MARKED}) == []


def test_every_marked_test_names_a_rule() -> None:
    assert [(rule, where) for rule, where in MARKED if rule not in RULES] == []


def test_every_dialect_has_rules() -> None:
    assert set(REGISTRY) <= set(MANIFEST)


def test_a_rule_is_one_sentence() -> None:
    sentence = re.compile(r"((?!\. )[^\n])*\.")
    assert {rule: said for rule, said in RULES.items() if not sentence.fullmatch(said)} == {}
