"""Calls of both dialects and people's edits, as a model or a person may send them."""

from typing import Any

from hypothesis import strategies as st

from tests.core.strategies import clean_texts, hostile_texts

ids = st.sampled_from(["1", "2", "3", "4", 2, "#3"])
words = st.sampled_from(["pending", "in_progress", "completed"])
todo_items = st.fixed_dictionaries({"content": clean_texts, "status": words, "activeForm": clean_texts})
todo_writes = st.lists(todo_items, max_size=5).map(lambda todos: {"todos": todos})
own_items = hostile_texts | st.fixed_dictionaries(
    {"text": clean_texts},
    optional={
        "status": st.sampled_from(["pending", "doing", "done", "blocked", "failed", "cancelled"]),
        "phase": clean_texts,
    },
)
own_calls = st.fixed_dictionaries(
    {},
    optional={
        "set": st.lists(own_items, max_size=5) | st.dictionaries(ids.map(str), clean_texts, max_size=2),
        "add": st.lists(own_items, max_size=2),
        "start": ids,
        "done": st.lists(ids, min_size=1, max_size=3),
        "drop": ids,
        "block": st.dictionaries(ids.map(str), hostile_texts, max_size=2),
        "note": st.dictionaries(ids.map(str), hostile_texts, max_size=2),
        "next": st.booleans(),
        "view": st.booleans(),
    },
)
Call = tuple[str, dict[str, Any]]
calls: st.SearchStrategy[Call] = st.one_of(
    st.tuples(st.just("claude-code"), todo_writes), st.tuples(st.just("punchlist"), own_calls)
)
verbs = ["start", "done", "drop", "remove", "note", "block", "unblock", "reword", "append", "restore"]
edits = st.fixed_dictionaries(
    {"op": st.sampled_from(verbs)},
    optional={
        "item": ids,
        "text": clean_texts,
        "items": st.lists(clean_texts, min_size=1, max_size=2),
        "phase": clean_texts,
    },
)
TOOLS = {"claude-code": "TodoWrite", "punchlist": "todo"}
