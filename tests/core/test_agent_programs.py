"""The table of agent programs, and the readers that belong to it."""

from typing import get_args

import pytest

from punchlist.core.programs import PROGRAMS, AgentProgram, ProgramName, short_id
from punchlist.dialects import REGISTRY
from punchlist.transcripts.formats import FORMATS, LOGS

EVERY = pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda one: one.name)


def test_a_setting_takes_the_name_of_every_program():
    assert get_args(ProgramName) == tuple(PROGRAMS)


@EVERY
def test_a_program_that_keeps_logs_or_lists_has_a_reader_and_a_dialect(program: AgentProgram):
    assert program.name in REGISTRY
    assert program.logs == "" or program.name in LOGS
    assert not (program.file or program.store) or program.name in FORMATS


@EVERY
def test_a_program_that_can_be_attached_says_how_it_is_installed_and_started(program: AgentProgram):
    assert bool(program.place) == bool(program.command) == bool(program.package)


@pytest.mark.parametrize(
    ("session", "shown"),
    [
        ("5c1de2a0-7a51-4c2e-9f1b-000000bede30", "bede30"),
        ("ses_6f1c0a9d2ffeT4kq9ZpLm0aB", "pLm0aB"),
        ("d0c4a68e-e34f-11f1-bff7-02fc00000001", "d0c4a68e"),
        ("nightly-2026-11-17", "nightly-2026-11-17"),
        ("2026-11-18", "2026-11-18"),
        ("fix the login bug", "fix the login bug"),
        ("weekly-refactoring", "weekly-refactoring"),
    ],
)
def test_an_id_that_a_program_made_is_shown_by_its_random_part_and_a_chosen_one_whole(session: str, shown: str):
    assert short_id(session) == shown
