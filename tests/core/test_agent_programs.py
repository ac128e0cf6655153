"""The table of agent programs, and the readers that belong to it."""

from typing import get_args

import pytest

from punchlist.core.programs import PROGRAMS, AgentProgram, ProgramName
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
