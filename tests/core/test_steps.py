"""The steps that the Markdown of a plan lists."""

from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.approval import MOST_STEPS, parse_steps


def listed(text: str) -> list[str]:
    """A line a step: its phase, its box, its text, its notes."""
    return [
        f"{f'{item.phase}: ' if item.phase else ''}{'x' if item.status.value == 'completed' else '-'} {item.content}"
        f"{''.join(f' ({note})' for note in item.notes)}"
        for item in parse_steps(text).items
    ]


def test_numbered_lines_are_steps_and_bullets_beside_them_are_not():
    text = "# Move\n\nWhy:\n- it is slow\n\nHow:\n1. Read\n2) Write\n10. Check\n"
    assert listed(text) == ["- Read", "- Write", "- Check"]


def test_checkboxes_come_before_everything_else():
    assert listed("1. ignored\n\n- [ ] Paint\n* [x] Sweep\n3. [X] Lock\n") == ["- Paint", "x Sweep", "x Lock"]


def test_bullets_are_steps_where_there_is_nothing_else():
    assert listed("Plan:\n- Paint\n* Sweep\n+ Lock") == ["- Paint", "- Sweep", "- Lock"]


def test_what_is_indented_below_a_step_is_a_note_on_it():
    assert listed("1. Paint\n   - walls\n   1. floor\n2. Sweep") == ["- Paint (walls) (floor)", "- Sweep"]


def test_headings_with_steps_are_phases_if_there_are_several():
    assert listed("## Do\n1. Paint\n2. Sweep") == ["- Paint", "- Sweep"]
    assert listed("## Do\n1. Paint\n## Empty\n## Then ##\n1. Sweep") == ["Do: - Paint", "Then: - Sweep"]
    todos = parse_steps("1. First\n## Then\n1. Sweep")
    assert [(item.phase, item.phase_id) for item in todos.items] == [(None, None), ("Then", "1")]


def test_code_is_not_read():
    assert listed("1. Run\n```\n2. not a step\n~~~\n```\n3. Check\n~~~~\n4. no\n```\n~~~~") == ["- Run", "- Check"]


def test_a_plan_in_prose_has_no_steps():
    assert parse_steps("Just do it.\n\n-not a bullet\n1.5 is a number\n---\n").items == ()


def test_ids_are_unique_and_a_long_plan_is_cut():
    todos = parse_steps("\n".join(f"{number}. Step {number}" for number in range(1, MOST_STEPS + 50)))
    assert len(todos.items) == MOST_STEPS
    assert len({item.id for item in todos.items}) == MOST_STEPS


@given(st.text(alphabet="-*1.) [x]#`~\n\tab", max_size=200))
def test_any_text_can_be_read(text: str):
    todos = parse_steps(text)
    assert all(item.content.strip() for item in todos.items)
    ids = [item.id for item in todos.items] + [phase.id for phase in todos.phases]
    assert len(set(ids)) == len(ids)
    assert all(int(one) < todos.next_id for one in ids)
