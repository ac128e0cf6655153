"""Who waits for whom: edges, circles, and what becomes ready."""

import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist import TaskStatus
from punchlist.core.task import fold_task
from punchlist.errors import CycleRefused, TaskBlocked, TaskRevisionConflict, TaskUnknown
from tests.tasks.boards import Desk, ids


def _ranks(desk: Desk) -> dict[str, int]:
    def read(tx: object) -> dict[str, int]:
        where, _ = tx.tasks.find_list_and_due("default", desk.clock())  # type: ignore[attr-defined]
        return {row.task.id: row.rank for row in tx.tasks.page(where)}  # type: ignore[attr-defined]

    return desk.board.store.read(read)


def _check(desk: Desk) -> None:
    """Edges are mirrored, counts are those of the edges, and every task ranks above its blockers."""
    graph = desk.tasks.graph()
    ranks = _ranks(desk)
    by_id = {task.id: task for task in graph.tasks}
    assert all(ranks[blocker] < ranks[task] for blocker, task in graph.edges)
    for task in graph.tasks:
        assert task == desk.tasks.get(task.id)
        assert task.blocked_by == tuple(blocker for blocker, waiting in graph.edges if waiting == task.id)
        assert sorted(task.blocks, key=int) == sorted((w for b, w in graph.edges if b == task.id), key=int)
        assert task.open_blockers == len(task.held_by)
        assert [each.status for each in task.held_by] == [by_id[each.id].status for each in task.held_by]
    middle = len(graph.tasks) // 3
    assert desk.tasks.list(after=str(middle), limit=4) == graph.tasks[middle:][:4]
    assert desk.tasks.list(status="completed") == tuple(task for task in graph.tasks if task.status == "completed")
    assert ids(desk.tasks.ready(1000)) == [task.id for task in graph.tasks if task.is_ready]
    assert desk.board.store.transact(lambda tx: tx.tasks.rebuild()) == 0


def test_edges_are_mirrored_and_adding_one_twice_is_adding_it_once(desk: Desk) -> None:
    desk.many("one", "two", "three")
    desk.tasks.update("1", add_blocks=["2"])
    for _ in range(2):
        assert desk.tasks.update("3", add_blocked_by=["1", "2", "1"]).blocked_by == ("1", "2")
    assert desk.tasks.get("1").blocks == ("2", "3")
    assert desk.kinds("3") == ["created", "linked", "linked"]
    _check(desk)


def _steps(desk: Desk, limit: int) -> int:
    """How much the database has to do for a page, in hundreds of its own steps."""
    count = [0]

    def step() -> None:
        count[0] += 1

    def read(tx: Any) -> None:
        where, _ = tx.tasks.find_list_and_due("default", desk.clock())
        tx.connection.set_progress_handler(step, 100)
        tx.tasks.page(where, limit=limit)
        tx.connection.set_progress_handler(None, 100)

    desk.board.store.read(read)
    return count[0]


@pytest.mark.sqlite
def test_a_page_costs_what_it_shows_however_many_edges_the_list_has(desk: Desk) -> None:
    def grow(tx: Any) -> None:
        work = desk.tasks.within(tx)
        for _ in range(200):
            task = work.create("next")
            if int(task.id) > 1:
                work.update(task.id, add_blocked_by=[str(int(task.id) - 1)])

    desk.board.store.transact(grow)
    few = _steps(desk, 20)
    for _ in range(4):
        desk.board.store.transact(grow)
    assert _steps(desk, 20) < 2 * few


def test_edges_can_be_taken_away(desk: Desk) -> None:
    desk.many("one", "two", "three")
    desk.tasks.update("3", add_blocked_by=["1", "2"])
    assert desk.tasks.update("3", remove_blocked_by=["1", "1"]).blocked_by == ("2",)
    assert desk.tasks.update("2", remove_blocks=["3", "1"]).blocks == ()
    assert ids(desk.tasks.ready()) == ["1", "2", "3"]
    _check(desk)


def test_a_task_that_waits_for_itself_or_for_nobody_is_refused(desk: Desk) -> None:
    desk.tasks.create("one")
    with pytest.raises(CycleRefused) as refused:
        desk.tasks.update("1", add_blocked_by=["1"])
    assert refused.value.data["path"] == "1 → 1"
    with pytest.raises(TaskUnknown):
        desk.tasks.update("1", add_blocked_by=["2"])


def test_a_circle_is_refused_and_named(desk: Desk) -> None:
    desk.many("one", "two", "three")
    desk.tasks.update("2", add_blocked_by=["1"])
    desk.tasks.update("3", add_blocked_by=["2"])
    for change in ({"add_blocked_by": ["3"]}, {"add_blocked_by": ["2"]}):
        with pytest.raises(CycleRefused) as refused:
            desk.tasks.update("1", **change)  # type: ignore[arg-type]
        path = str(refused.value.data["path"]).split(" → ")
        assert path[0] == path[-1] == "1"
        edges = set(desk.tasks.graph().edges) | {(change["add_blocked_by"][0], "1")}
        assert all((blocker, task) in edges for task, blocker in pairwise(path))
    with pytest.raises(CycleRefused):
        desk.tasks.update("3", add_blocks=["1"])
    _check(desk)


def test_a_diamond_is_no_circle(desk: Desk) -> None:
    desk.many("one", "two", "three", "four")
    desk.tasks.update("1", add_blocked_by=["2", "3"])
    desk.tasks.update("4", add_blocks=["2", "3"])
    assert ids(desk.tasks.ready()) == ["4"]
    _check(desk)


def test_a_long_circle_is_named_by_its_ends(desk: Desk) -> None:
    desk.tasks.create("first")
    for number in range(1, 600):
        desk.tasks.create("next", blocked_by=[str(number)])
    with pytest.raises(CycleRefused) as refused:
        desk.tasks.update("1", add_blocked_by=["600"])
    assert refused.value.data["length"] == 600
    assert refused.value.data["path"] == (
        "1 → 600 → 599 → 598 → 597 → 596 → 595 → … 588 more … → 6 → 5 → 4 → 3 → 2 → 1"
    )
    desk.tasks.create("before all")
    assert desk.tasks.update("1", add_blocked_by=["601"]).blocked_by == ("601",)
    assert desk.tasks.update("601", add_blocked_by=[]).blocks == ("1",)


def test_two_long_chains_are_joined_against_their_order(desk: Desk) -> None:
    """Both ends are too large to be looked at one by one."""

    def chain(length: int) -> tuple[str, str]:
        first = last = desk.tasks.create("link").id
        for _ in range(length - 1):
            last = desk.tasks.create("link", blocked_by=[last]).id
        return first, last

    one, two = chain(250), chain(250)
    desk.tasks.update(one[0], add_blocked_by=[two[1]])
    ranks = _ranks(desk)
    assert all(ranks[blocker] < ranks[task] for blocker, task in desk.tasks.graph().edges)
    with pytest.raises(CycleRefused):
        desk.tasks.update(two[0], add_blocked_by=[one[1]])


def test_completing_a_blocker_readies_its_dependents_and_says_so(desk: Desk) -> None:
    desk.many("one", "two", "three", "four")
    desk.tasks.update("1", add_blocks=["2", "3"])
    desk.tasks.update("3", add_blocked_by=["4"])
    desk.tasks.complete("1")
    assert list(desk.board.events())[-1].data["readied"] == ["2"]
    assert ids(desk.tasks.ready()) == ["2", "4"]
    desk.tasks.complete("4")
    assert list(desk.board.events())[-1].data["readied"] == ["3"]
    _check(desk)


@pytest.mark.parametrize("ending", ["fail", "cancel"])
def test_a_blocker_that_ends_badly_holds_unless_the_policy_lets_go(desk: Desk, ending: str) -> None:
    desk.tasks.create("one")
    desk.tasks.create("strict", blocked_by=["1"])
    desk.tasks.create("easy", blocked_by=["1"], runs_after="ended")
    getattr(desk.tasks, ending)("1")
    assert ids(desk.tasks.ready()) == ["3"]
    strict = desk.tasks.get("2")
    assert (strict.is_blocked, strict.stuck_on) == (True, ("1",))
    assert desk.tasks.update("2", runs_after="ended").open_blockers == 0
    assert ids(desk.tasks.ready()) == ["2", "3"]
    assert desk.tasks.update("2", runs_after="completed").open_blockers == 1
    _check(desk)


def test_deleting_a_blocker_frees_its_dependents(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.tasks.create("two", blocked_by=["1"])
    desk.tasks.create("three", blocked_by=["2"])
    desk.tasks.delete("2")
    assert ids(desk.tasks.ready()) == ["1", "3"]
    assert desk.tasks.get("1").blocks == ()
    _check(desk)


def test_an_edge_that_comes_during_the_work_stops_its_completion(desk: Desk) -> None:
    desk.many("one", "two")
    task = desk.taken()
    desk.tasks.update("1", add_blocked_by=["2"])
    with pytest.raises(TaskBlocked):
        desk.tasks.complete("1", fence=task.fence)
    desk.tasks.complete("2")
    assert desk.tasks.complete("1", fence=task.fence).status is TaskStatus.COMPLETED


def test_wrong_counts_are_found_and_mended(desk: Desk) -> None:
    desk.tasks.create("one")
    desk.tasks.create("two", blocked_by=["1"], parent="1")
    desk.board.store.transact(lambda tx: tx.run("shift_open_blockers", (3, 2)))  # type: ignore[attr-defined]
    assert desk.tasks.get("2").open_blockers == 4
    assert desk.board.store.transact(lambda tx: tx.tasks.rebuild()) == 1
    _check(desk)


@given(st.integers(0, 2**32 - 1))
def test_random_edges_close_no_circle_and_what_is_refused_would_have(seed: int) -> None:
    rng, desk, size = random.Random(seed), Desk(), 12
    try:
        desk.many(*("task" for _ in range(size)))
        edges: set[tuple[str, str]] = set()
        for _ in range(30):
            blocker, task = (str(number) for number in rng.sample(range(1, size + 1), 2))
            closes = _reaches(edges, task, blocker)
            try:
                desk.tasks.update(task, add_blocked_by=[blocker])
                edges.add((blocker, task))
                assert not closes
            except CycleRefused as refused:
                assert closes
                path = str(refused.data["path"]).split(" → ")
                assert all((b, t) in edges | {(blocker, task)} for t, b in pairwise(path))
            if edges and rng.random() < 0.2:
                blocker, task = rng.choice(sorted(edges))
                desk.tasks.update(task, remove_blocked_by=[blocker])
                edges.discard((blocker, task))
        assert set(desk.tasks.graph().edges) == edges
        _check(desk)
    finally:
        desk.board.close()


def _reaches(edges: set[tuple[str, str]], start: str, goal: str) -> bool:
    seen, todo = {start}, [start]
    while todo:
        at = todo.pop()
        if at == goal:
            return True
        for blocker, task in edges:
            if blocker == at and task not in seen:
                seen.add(task)
                todo.append(task)
    return False


def test_the_children_of_a_deleted_task_go_to_its_parent_and_their_history_says_so(desk: Desk) -> None:
    desk.tasks.create("top")
    desk.tasks.create("middle", parent="1")
    child = desk.tasks.create("below", parent="2")
    for parent in ("1", None):
        desk.tasks.delete("2" if parent else "1")
        after = desk.tasks.get("3")
        assert (after.parent, after.revision) == (parent, child.revision + 1)
        folded = None
        for event in desk.tasks.history("3"):
            folded = fold_task(folded, event.kind, event.data, event.at)
        assert folded is not None
        assert folded.parent == parent
        with pytest.raises(TaskRevisionConflict):
            desk.tasks.update("3", subject="other", revision=child.revision)
        child = after
