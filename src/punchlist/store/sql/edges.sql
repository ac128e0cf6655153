-- name: neighbours_of_task
-- The blockers of a task (0) with how they stand, and its dependents (1).
SELECT 0, t.id, t.status FROM tasks o JOIN task_edges e ON e.task = o.number JOIN tasks t ON t.number = e.blocker
WHERE o.list = :list AND o.id = :id
UNION ALL
SELECT 1, t.id, t.status FROM tasks o JOIN task_edges e ON e.blocker = o.number JOIN tasks t ON t.number = e.task
WHERE o.list = :list AND o.id = :id;

-- name: edges_of_list
-- All edges of a list: the task, its blocker, and how the blocker stands.
SELECT t.id, b.id, b.status FROM tasks t JOIN task_edges e ON e.task = t.number JOIN tasks b ON b.number = e.blocker
WHERE t.list = :list ORDER BY t.id, b.id;

-- name: blockers_between
-- The same of the tasks whose ids lie in a range.
SELECT t.id, b.id, b.status FROM tasks t JOIN task_edges e ON e.task = t.number JOIN tasks b ON b.number = e.blocker
WHERE t.list = :list AND t.id BETWEEN :first AND :last ORDER BY t.id, b.id;

-- name: dependents_between
-- Who waits for the tasks whose ids lie in a range: a task, and who waits for it.
SELECT b.id, t.id FROM tasks b JOIN task_edges e ON e.blocker = b.number JOIN tasks t ON t.number = e.task
WHERE b.list = :list AND b.id BETWEEN :first AND :last ORDER BY b.id, t.id;

-- name: find_edge
SELECT 1 FROM task_edges WHERE task = ? AND blocker = ?;

-- name: add_edge
INSERT INTO task_edges (task, blocker) VALUES (?, ?);

-- name: delete_edge
DELETE FROM task_edges WHERE task = ? AND blocker = ?;

-- name: delete_edges
DELETE FROM task_edges WHERE task = :task OR blocker = :task;

-- name: shift_open_blockers
-- One task is held back by more blockers, or fewer.
UPDATE tasks SET open_blockers = open_blockers + ? WHERE number = ?;

-- name: shift_dependents
-- All that wait for a blocker in this manner are held back by more, or fewer.
UPDATE tasks SET open_blockers = open_blockers + :by
WHERE number IN (SELECT task FROM task_edges WHERE blocker = :blocker) AND runs_after = :runs_after
RETURNING id, open_blockers, status;

-- name: set_open_blockers
-- The count from the edges, for one task.
UPDATE tasks SET open_blockers = (
  SELECT count(*) FROM task_edges e JOIN tasks b ON b.number = e.blocker
  WHERE e.task = tasks.number AND b.status <> 'completed'
    AND (tasks.runs_after = 'completed' OR b.status NOT IN ('failed', 'cancelled')))
WHERE number = :task;

-- name: wrong_open_blockers
-- Tasks of a list whose count is not what the edges say.
SELECT t.number FROM tasks t WHERE t.list = :list AND t.open_blockers <> (
  SELECT count(*) FROM task_edges e JOIN tasks b ON b.number = e.blocker
  WHERE e.task = t.number AND b.status <> 'completed'
    AND (t.runs_after = 'completed' OR b.status NOT IN ('failed', 'cancelled')));

-- name: wrong_children
SELECT t.number FROM tasks t
WHERE t.list = :list AND t.children <> (SELECT count(*) FROM tasks c WHERE c.parent = t.number);

-- name: rank_of_task
SELECT rank FROM tasks WHERE number = ?;

-- name: save_rank
UPDATE tasks SET rank = ? WHERE number = ?;

-- name: blockers_from
-- The blockers of a task that do not lie below a rank.
SELECT b.number, b.rank FROM task_edges e JOIN tasks b ON b.number = e.blocker WHERE e.task = ? AND b.rank >= ?;

-- name: dependents_upto
-- The dependents of a task that do not lie above a rank.
SELECT t.number, t.rank FROM task_edges e JOIN tasks t ON t.number = e.task WHERE e.blocker = ? AND t.rank <= ?;

-- name: way_forward
-- Everything that waits for a task, directly or not, each with what it waits for. To look at ranks as well would make
-- it slower than to look at some tasks too many.
WITH RECURSIVE way (number, via) AS (
  SELECT CAST(:task AS BIGINT), CAST(0 AS BIGINT)
  UNION
  SELECT e.task, e.blocker FROM way w JOIN task_edges e ON e.blocker = w.number
)
SELECT number, via FROM way;

-- name: ids_of_tasks
SELECT id FROM tasks WHERE number = ?;
