"""The manifest and the tests keep each other honest: no rule without a test, no test of an unknown rule."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("rule", sorted(RULES))
def test_every_rule_has_a_test(rule: str) -> None:
    assert rule in {marked for marked, _ in MARKED}, f"no test is marked with requirement({rule!r})"


@pytest.mark.parametrize(("rule", "where"), MARKED)
def test_every_marked_test_names_a_rule(rule: str, where: str) -> None:
    assert rule in RULES, f"{where} names a rule that is not in manifest.toml"


def test_every_dialect_has_rules() -> None:
    assert set(REGISTRY) <= set(MANIFEST)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_is_one_sentence(rule: str) -> None:
    said = RULES[rule]
    assert said.endswith(".")
    assert ". " not in said
    assert "\n" not in said
