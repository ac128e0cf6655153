"""Whatever is put into a task: an error of ours or a task that is kept, never anything else."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from punchlist import PunchlistError
from punchlist.text import clean
from tests.tasks.boards import Desk

_text = st.text(alphabet=st.characters(), max_size=12) | st.sampled_from(["1", "2", "\ud800", "\x1b[2J", "\x00", ""])
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=3),
    max_leaves=6,
)
_fields = st.fixed_dictionaries(
    {},
    optional={
        "description": _json,
        "active_form": _json,
        "blocked_by": _json,
        "blocks": _json,
        "parent": _text | st.none(),
        "priority": _json,
        "labels": _json,
        "checklist": _json,
        "state": _json,
        "metadata": _json,
        "owner": _text | st.none(),
        "max_attempts": _json,
        "backoff": _json,
        "not_before": _json,
        "runs_after": _json,
    },
)


@given(_text, _fields, _text, _json, _text)
def test_hostile_words_make_a_task_or_an_error(
    subject: str, fields: dict[str, Any], word: str, value: Any, other: str
) -> None:
    desk = Desk()
    tasks = desk.tasks
    try:
        tasks.create("one")
        calls: list[Any] = [
            lambda: tasks.create(subject, **fields),
            lambda: tasks.create(subject, call_id=word),
            lambda: tasks.update("1", **{name: each for name, each in fields.items() if not name.startswith("block")}),
            lambda: tasks.update("1", add_blocked_by=value, checked=value),
            lambda: tasks.update("1", status=word, owner=other),
            lambda: tasks.claim(word, label=other, reserve=[word, other], call_id=other),
            lambda: tasks.wait("1", topic=word, correlation_id=other),
            lambda: tasks.signal(word, other, value, keep=True),
            lambda: tasks.fail("1", word),
            lambda: tasks.complete("1", result=value, call_id=word),
            lambda: tasks.wait("1", until=timedelta(seconds=1)),
            lambda: (tasks.get(word), tasks.history(word), tasks.delete(word)),
            lambda: (tasks.list(owner=word, label=other), tasks.ready(label=word), tasks.list(after=word)),
            lambda: desk.board.tasks(word).create(subject),
        ]
        for call in calls:
            with suppress(PunchlistError):
                call()
        for task in tasks.list():
            assert clean(task.subject).text == task.subject
            assert task == tasks.get(task.id)
            str(task).encode()
    finally:
        desk.board.close()
