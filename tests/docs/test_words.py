"""One vocabulary on every screen, in the help, the docs, errors and events: docs/glossary.md."""

import argparse
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tools import check_docs

from punchlist import errors
from punchlist.cli import COMMANDS, COMPATIBILITY, load_parser, main
from punchlist.core.events import KINDS, Event
from punchlist.core.grounding.grades import GRADES
from punchlist.core.grounding.session import STATES
from punchlist.settings.environment import list_variables
from punchlist.terminal.sentences import sentence
from punchlist.terminal.spans import UNICODE

DOCS = check_docs.ROOT / "docs"
GENERATED = {"api.md"}  # docstrings, for programmers
UNWANTED = {
    r"sign(s)? of life": "heartbeat, or activity",
    r"g(a|i)ven? (\w+ )?back": "released",
    r"put(s)? (\w+ )?aside": "waiting",
    r"take[ns]? back|took back": "roll back",
    r"tried again|try it again": "retried",
    r"\banew\b": "again",
    r"in a circle|\bcircles\b": "cycle",
    r"(?<!`)rhythms?\b": "table of reminders",  # `rhythm` is the name of an option
    r"\b(a )?new plan\b": "a new list",
    r"\basserted\b|\bcontradicted\b": "unseen, failing",
}
"""Words that STYLE and the glossary replace, each with its replacement."""


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
                yield from _parsers(inner)  # pyright: ignore[reportUnknownArgumentType]


def _texts() -> Iterator[tuple[str, str]]:
    for page in (check_docs.ROOT / "README.md", *sorted(DOCS.rglob("*.md"))):
        if page.name not in GENERATED:
            yield page.name, page.read_text(encoding="utf-8")
    for name in COMMANDS:
        for number, parser in enumerate(_parsers(load_parser(name))):
            yield f"punchlist {name} --help, {number}", parser.format_help()
    for name, meaning in list_variables().items():
        yield name, meaning
    for kind, meaning in KINDS.items():
        yield kind, meaning
        yield f"{kind}, as a sentence", sentence(_event(kind), UNICODE)
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.PunchlistError):
            yield kind.__name__, kind.__doc__ or ""


def _event(kind: str) -> Event:
    data = {"content": "X", "subject": "X", "id": "1", "goal": "X", "plan_revision": 1}
    return Event(1, datetime(2026, 1, 1, tzinfo=UTC), kind, "ada", None, "s1", "main", data)


@pytest.mark.parametrize("words", UNWANTED)
def test_one_word_is_used_for_one_thing(words: str) -> None:
    found = [(place, match[0]) for place, text in _texts() for match in re.finditer(words, text, re.IGNORECASE)]
    assert found == [], f"say {UNWANTED[words]}"


def test_a_list_is_never_called_a_plan() -> None:
    assert sentence(_event("plan.started"), UNICODE) == "ada began a new list for main"
    assert "plan" not in KINDS["plan.started"].partition(":")[0]


def test_the_glossary_is_short_and_has_every_word() -> None:
    page = (DOCS / "glossary.md").read_text(encoding="utf-8")
    assert len([line for line in page.splitlines() if line.strip()]) <= 15
    words = ["item", "task", "plan", "session", "agent", "session state", "released", "retried", "heartbeat", "waiting"]
    plain = re.sub(r"[*\s]+", " ", page).lower()
    assert [word for word in (*words, *GRADES, *STATES) if not re.search(rf"\b{word.removesuffix('d')}", plain)] == []
    assert "docs/glossary.md" in check_docs.links((check_docs.ROOT / "README.md").read_text(encoding="utf-8"))


def test_what_other_programs_brought_is_shown_only_to_those_who_ask_for_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(COMMANDS)[-len(COMPATIBILITY) :] == list(COMPATIBILITY)
    main(["--help"])
    assert not re.search(r"flow|dialect|profile|layers", capsys.readouterr().out.replace("--follow", ""))
    main(["--help", "--all"])
    shown = capsys.readouterr().out
    assert all(f"\n  {name} " in shown for name in COMPATIBILITY)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in COMPATIBILITY])
def test_the_help_of_our_own_commands_needs_no_words_of_other_programs(name: str) -> None:
    for parser in _parsers(load_parser(name)):
        assert not re.search(r"\b(flow|profile|layer|rhythm)s?\b", parser.format_help())


@pytest.mark.parametrize("page", ["commands.md", "settings.md", "compatibility.md"])
def test_the_pages_have_a_part_on_compatibility(page: str) -> None:
    assert re.search(r"(?m)^#+ Compatibility$", Path(DOCS / page).read_text(encoding="utf-8"))
