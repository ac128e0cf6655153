-- name: find_task_list
-- The header of the board; a list, and whether anything in it has come due. Not by EXISTS: PostgreSQL, which plans without
-- the time, would expect to find one soon, and read all tasks.
SELECT b.version, (SELECT coalesce(max(e.seq), 0) FROM events e), EXISTS (SELECT 1 FROM task_lists),
  k.number, k.name, k.project, k.session,
  (SELECT t.due_at <= :now FROM tasks t WHERE t.list = k.number AND t.due_at IS NOT NULL ORDER BY t.due_at LIMIT 1)
FROM board b LEFT JOIN task_lists k ON k.name = :name;

-- name: task_list_by_number
SELECT number, name, project, session FROM task_lists WHERE number = ?;

-- name: add_task_list
-- A list belongs to the project in which it was first written to.
INSERT INTO task_lists (name, project, session, created_at) VALUES (:name, :project, :session, :at)
ON CONFLICT DO NOTHING;

-- name: task_lists
-- All lists but one, with how many tasks they ever had.
SELECT number, name, project, session, next_id - 1 FROM task_lists WHERE name <> :without ORDER BY number;

-- name: task_lists_due
-- Lists in which something has come due.
SELECT l.number, l.name, l.project, l.session FROM task_lists l
WHERE (SELECT t.due_at <= :now FROM tasks t WHERE t.list = l.number AND t.due_at IS NOT NULL ORDER BY t.due_at LIMIT 1);

-- name: task_lists_due_of_agent
-- The same for the lists in which an agent has open tasks, its session's own, and one of that name.
SELECT l.number, l.name, l.project, l.session FROM task_lists l
WHERE l.number IN (
    SELECT t.list FROM tasks t WHERE t.agent = :agent AND t.finished_at IS NULL AND t.due_at <= :now
    UNION
    SELECT o.number FROM task_lists o WHERE o.session = :session
      AND (SELECT t.due_at <= :now FROM tasks t WHERE t.list = o.number AND t.due_at IS NOT NULL ORDER BY t.due_at LIMIT 1)
    UNION
    SELECT o.number FROM task_lists o WHERE o.name = :name
      AND (SELECT t.due_at <= :now FROM tasks t WHERE t.list = o.number AND t.due_at IS NOT NULL ORDER BY t.due_at LIMIT 1)
);

-- name: count_tasks
-- Of a list, by status: how many tasks, how many of them may be claimed if they are pending, and the last change.
SELECT status, count(*),
  count(CASE WHEN owner IS NULL AND open_blockers = 0 AND due_at IS NULL AND cancel_requested = 0 THEN 1 END),
  max(updated_at)
FROM tasks WHERE list = :list GROUP BY status;

-- name: next_task_id
UPDATE task_lists SET next_id = next_id + 1 WHERE number = :list RETURNING next_id - 1;

-- name: task_by_id
SELECT number, list, id, status, priority, owner, agent, parent, children, rank, open_blockers, runs_after, due_at,
  lease, fence, attempts, cancel_requested, reserved, created_at, started_at, finished_at, updated_at, revision, sum,
  body
FROM tasks WHERE list = ? AND id = ?;

-- name: task_by_number
SELECT number, list, id, status, priority, owner, agent, parent, children, rank, open_blockers, runs_after, due_at,
  lease, fence, attempts, cancel_requested, reserved, created_at, started_at, finished_at, updated_at, revision, sum,
  body
FROM tasks WHERE number = ?;

-- name: tasks_of_list
-- A page of a list, by id.
SELECT number, list, id, status, priority, owner, agent, parent, children, rank, open_blockers, runs_after, due_at,
  lease, fence, attempts, cancel_requested, reserved, created_at, started_at, finished_at, updated_at, revision, sum,
  body
FROM tasks WHERE list = :list AND id > :after AND (CAST(:status AS TEXT) IS NULL OR status = :status)
  AND (CAST(:owner AS TEXT) IS NULL OR owner = :owner) AND (CAST(:parent AS BIGINT) IS NULL OR parent = :parent)
  AND (CAST(:label AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM task_labels g WHERE g.task = tasks.number AND g.label = :label))
ORDER BY id LIMIT :limit;

-- name: ready_tasks
-- What a worker may take, in the order in which it should.
SELECT number FROM tasks
WHERE list = :list AND status = 'pending' AND owner IS NULL AND open_blockers = 0 AND due_at IS NULL
  AND cancel_requested = 0
  AND (CAST(:label AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM task_labels g WHERE g.task = tasks.number AND g.label = :label))
ORDER BY priority, id LIMIT :limit;

-- name: claim_tasks
-- Finds and takes in one statement, so that no task has two workers; nothing while a task is assigned to this worker,
-- which goes first. A start is never earlier than the one before, also where a clock was set back.
UPDATE tasks SET status = 'in_progress', owner = :owner, agent = :agent, fence = fence + 1, attempts = attempts + 1,
  lease = :lease, due_at = :until, updated_at = :now, revision = revision + 1, reserved = :reserved,
  started_at = CASE WHEN coalesce(started_at, created_at) > :now THEN coalesce(started_at, created_at) ELSE :now END
WHERE number IN (
  SELECT number FROM tasks
  WHERE list = :list AND status = 'pending' AND owner IS NULL AND open_blockers = 0 AND due_at IS NULL
    AND cancel_requested = 0
    AND NOT EXISTS (SELECT 1 FROM tasks o WHERE o.list = :list AND o.owner = :owner AND o.finished_at IS NULL
      AND o.status = 'pending' AND o.open_blockers = 0 AND o.due_at IS NULL AND o.cancel_requested = 0
      AND (CAST(:label AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM task_labels g WHERE g.task = o.number AND g.label = :label)))
    AND (CAST(:label AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM task_labels g WHERE g.task = tasks.number AND g.label = :label))
  ORDER BY priority, id LIMIT :limit)
RETURNING number, list, id, status, priority, owner, agent, parent, children, rank, open_blockers, runs_after, due_at,
  lease, fence, attempts, cancel_requested, reserved, created_at, started_at, finished_at, updated_at, revision, sum,
  body, EXISTS (SELECT 1 FROM task_edges e WHERE e.task = tasks.number OR e.blocker = tasks.number);

-- name: claim_tasks_of_owner
UPDATE tasks SET status = 'in_progress', owner = :owner, agent = :agent, fence = fence + 1, attempts = attempts + 1,
  lease = :lease, due_at = :until, updated_at = :now, revision = revision + 1, reserved = :reserved,
  started_at = CASE WHEN coalesce(started_at, created_at) > :now THEN coalesce(started_at, created_at) ELSE :now END
WHERE number IN (
  SELECT number FROM tasks
  WHERE list = :list AND owner = :owner AND finished_at IS NULL AND status = 'pending' AND open_blockers = 0
    AND due_at IS NULL AND cancel_requested = 0
    AND (CAST(:label AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM task_labels g WHERE g.task = tasks.number AND g.label = :label))
  ORDER BY priority, id LIMIT :limit)
RETURNING number, list, id, status, priority, owner, agent, parent, children, rank, open_blockers, runs_after, due_at,
  lease, fence, attempts, cancel_requested, reserved, created_at, started_at, finished_at, updated_at, revision, sum,
  body, EXISTS (SELECT 1 FROM task_edges e WHERE e.task = tasks.number OR e.blocker = tasks.number);

-- name: due_tasks
-- To which something has happened by itself, the longest ago first.
SELECT number FROM tasks WHERE list = :list AND due_at <= :now ORDER BY due_at, number LIMIT :limit;

-- name: leases_too_long
-- Leases that no clock of ours can have given: whoever gave them was ahead of its time.
SELECT number FROM tasks WHERE list = :list AND due_at > :most AND lease IS NOT NULL ORDER BY due_at, number LIMIT :limit;

-- name: tasks_waiting_for
SELECT number FROM tasks WHERE list = :list AND topic = :topic AND correlation_id = :correlation_id;

-- name: children_of_task
SELECT number FROM tasks WHERE parent = :task ORDER BY id;

-- name: progress_below
-- Of everything below a task that has nothing below itself: how many are completed, how many are not cancelled.
WITH RECURSIVE below (number, children, status) AS (
  SELECT number, children, status FROM tasks WHERE parent = :task
  UNION ALL
  SELECT t.number, t.children, t.status FROM below b JOIN tasks t ON t.parent = b.number WHERE b.children > 0
)
SELECT count(CASE WHEN status = 'completed' THEN 1 END), count(CASE WHEN status <> 'cancelled' THEN 1 END)
FROM below WHERE children = 0;

-- name: tasks_of_agent
-- Open tasks that an agent works on or is to work on; those of its session's own list that bear its name; and those of
-- its project that were given to its name and are nobody's yet. What failed is still owed, but for flows, which end so.
SELECT number FROM tasks WHERE agent = :agent AND finished_at IS NULL
UNION
SELECT number FROM tasks WHERE agent = :agent AND status = 'failed'
  AND NOT EXISTS (SELECT 1 FROM flows f WHERE f.task = tasks.number)
UNION
SELECT t.number FROM task_lists l JOIN tasks t ON t.list = l.number
WHERE l.session = :session AND t.owner = :owner AND t.finished_at IS NULL
UNION
SELECT t.number FROM task_lists l JOIN tasks t ON t.list = l.number
WHERE l.session = :session AND t.owner = :owner AND t.status = 'failed'
UNION
SELECT t.number FROM task_lists l JOIN tasks t ON t.list = l.number
WHERE l.project = :project AND l.session IS NULL AND t.owner = :owner AND t.finished_at IS NULL AND t.agent IS NULL
  AND t.status <> 'in_progress' AND NOT EXISTS (SELECT 1 FROM flows f WHERE f.task = t.number)
UNION
SELECT t.number FROM task_lists l JOIN tasks t ON t.list = l.number
WHERE l.project = :project AND l.session IS NULL AND t.owner = :owner AND t.status = 'failed' AND t.agent IS NULL
  AND NOT EXISTS (SELECT 1 FROM flows f WHERE f.task = t.number);

-- name: task_outlines
SELECT number, id, status, owner, agent, created_at, started_at, finished_at, sum, body FROM tasks
WHERE list = :list ORDER BY id;

-- name: latest_settled_tasks
SELECT number FROM tasks WHERE list = :list AND status IN ('completed', 'cancelled')
ORDER BY finished_at DESC, number DESC LIMIT :limit;

-- name: latest_completed_tasks
-- Of all lists but one, each with its list.
SELECT l.number, l.name, l.project, l.session, t.number, t.id, t.status, t.owner, t.agent, t.created_at, t.started_at,
  t.finished_at, t.sum, t.body
FROM tasks t JOIN task_lists l ON l.number = t.list
WHERE t.status = 'completed' AND l.name <> :without ORDER BY t.finished_at DESC, t.number DESC LIMIT :limit;

-- name: agent_of_task
-- The agent that works on a task, by its present session.
SELECT a.session, a.name FROM tasks t JOIN agents a ON a.id = t.agent WHERE t.list = :list AND t.id = :id;

-- name: tasks_begun_by_agent
-- Open tasks of an agent on other lists than its session's, and failed ones, but for flows, which end so; in the order
-- in which they were started.
SELECT number FROM (
  SELECT number, started_at FROM tasks WHERE agent = :agent AND finished_at IS NULL AND list NOT IN (
    SELECT l.number FROM task_lists l WHERE l.session = :session)
  UNION
  SELECT number, started_at FROM tasks WHERE agent = :agent AND status = 'failed' AND list NOT IN (
    SELECT l.number FROM task_lists l WHERE l.session = :session)
    AND NOT EXISTS (SELECT 1 FROM flows f WHERE f.task = tasks.number)
) ORDER BY started_at IS NULL, started_at, number;

-- name: reservations_of_project
-- What is reserved by live claims in all lists of a project.
SELECT t.number, l.name, t.id, t.owner, t.agent, t.reserved FROM task_lists l JOIN tasks t ON t.list = l.number
WHERE l.project = :project AND t.reserved IS NOT NULL AND (t.due_at IS NULL OR t.due_at > :now);

-- name: add_task
INSERT INTO tasks (list, id, status, priority, owner, agent, parent, rank, runs_after, due_at, lease, fence, attempts,
  cancel_requested, topic, correlation_id, reserved, created_at, started_at, finished_at, updated_at, revision, sum,
  body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number;

-- name: save_task
-- Only if nobody changed it since.
UPDATE tasks SET status = ?, priority = ?, owner = ?, agent = ?, parent = ?, runs_after = ?, due_at = ?, lease = ?,
  fence = ?, attempts = ?, cancel_requested = ?, topic = ?, correlation_id = ?, reserved = ?, started_at = ?,
  finished_at = ?, updated_at = ?, revision = ?, sum = ?, body = ?
WHERE number = ? AND revision = ?;

-- name: save_lease
-- A lease that is renewed is no change to the task.
UPDATE tasks SET lease = :lease, due_at = :until WHERE number = :task;

-- name: save_task_todos
INSERT INTO task_todos (task, agent) VALUES (:task, :agent) ON CONFLICT (task) DO UPDATE SET agent = excluded.agent;

-- name: agent_of_task_todos
-- The agent whose list is worked under a task, by its present session.
SELECT a.session, a.name FROM task_todos w JOIN agents a ON a.id = w.agent WHERE w.task = :task;

-- name: delete_task_todos
DELETE FROM task_todos WHERE task = :task;

-- name: delete_task
DELETE FROM tasks WHERE number = :task;

-- name: count_children
UPDATE tasks SET children = (SELECT count(*) FROM tasks c WHERE c.parent = :task) WHERE number = :task;

-- name: move_children
-- A change to each of them, like any other.
UPDATE tasks SET parent = :parent, revision = revision + 1, updated_at = :at WHERE parent = :task;

-- name: ended_tasks_before
-- What ended before a time and holds nobody back, for pruning.
SELECT number FROM tasks t WHERE t.list = :list AND t.finished_at < :before AND t.children = 0
  AND NOT EXISTS (SELECT 1 FROM task_edges e JOIN tasks d ON d.number = e.task
    WHERE e.blocker = t.number AND d.finished_at IS NULL)
ORDER BY t.id LIMIT :limit;

-- name: add_label
INSERT INTO task_labels (task, label) VALUES (:task, :label) ON CONFLICT DO NOTHING;

-- name: delete_labels
DELETE FROM task_labels WHERE task = :task;

-- name: find_signal
-- The one that was kept first.
SELECT number, sum, payload FROM task_signals
WHERE list = :list AND topic = :topic AND correlation_id = :correlation_id ORDER BY number LIMIT 1;

-- name: add_signal
INSERT INTO task_signals (list, topic, correlation_id, at, sum, payload)
VALUES (:list, :topic, :correlation_id, :at, :sum, :payload);

-- name: delete_signal
DELETE FROM task_signals WHERE number = :number;

-- name: find_task_call
SELECT sum, fingerprint, reply FROM task_calls WHERE list = ? AND call_id = ?;

-- name: add_task_call
INSERT INTO task_calls (list, call_id, at, sum, fingerprint, reply) VALUES (?, ?, ?, ?, ?, ?);

-- name: delete_old_task_calls
DELETE FROM task_calls WHERE (list, call_id) IN (SELECT list, call_id FROM task_calls WHERE at < :before LIMIT :rows);

-- name: pruned_tasks
-- Tasks of the lists of a session, or of a project but for those of its sessions; and flows of the session.
SELECT t.number, t.list, t.id FROM task_lists l JOIN tasks t ON t.list = l.number
WHERE l.session = :session OR (:session = '' AND l.session IS NULL AND l.project = :project)
UNION ALL
SELECT t.number, t.list, t.id FROM flows f JOIN tasks t ON t.number = f.task WHERE f.session = :session
LIMIT :limit;

-- name: pruned_task_lists
SELECT number FROM task_lists
WHERE session = :session OR (:session = '' AND session IS NULL AND project = :project);

-- name: waiting_for_task
SELECT task FROM task_edges WHERE blocker = :task;

-- name: blank_last_task_event
UPDATE events SET kind = 'board.pruned', agent = NULL, revision = NULL, task_list = NULL, task = NULL, sum = NULL, data = :empty
WHERE seq = (SELECT max(seq) FROM events) AND task_list = :list AND task = :id;

-- name: delete_events_of_task
DELETE FROM events WHERE task_list = :list AND task = :id;

-- name: delete_events_of_list
-- Of tasks that were deleted before.
DELETE FROM events WHERE seq IN (
  SELECT e.seq FROM events e WHERE e.task_list = :list AND e.seq < (SELECT max(seq) FROM events) LIMIT :rows);

-- name: delete_task_calls
DELETE FROM task_calls WHERE list = :list AND call_id IN (
  SELECT c.call_id FROM task_calls c WHERE c.list = :list LIMIT :rows);

-- name: delete_signals
DELETE FROM task_signals WHERE number IN (SELECT s.number FROM task_signals s WHERE s.list = :list LIMIT :rows);

-- name: delete_readings
DELETE FROM task_readings WHERE list = :list;

-- name: delete_task_list
DELETE FROM task_lists WHERE number = :list;

-- name: events_of_task
-- What happened to a task, the latest first.
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, coalesce(a.project, l.project),
  coalesce(a.session, l.session), a.name
FROM events e JOIN task_lists l ON l.number = e.task_list LEFT JOIN agents a ON a.id = e.agent
WHERE e.task_list = :list AND e.task = :task ORDER BY e.seq DESC LIMIT :limit;

-- name: renew_leases
-- Leases of an agent that was seen at work, once a quarter of them is over.
UPDATE tasks SET due_at = :now + lease
WHERE agent = :agent AND finished_at IS NULL AND status = 'in_progress' AND due_at IS NOT NULL
  AND due_at - lease < :now - lease / 4;

-- name: move_task_lists
UPDATE task_lists SET session = :target, name = :name WHERE session = :source;

-- name: skip_task_ids
-- Numbers below this one will not be given any more.
UPDATE task_lists SET next_id = :id WHERE number = :list AND next_id <= :id RETURNING next_id;

-- name: next_id_of_list
SELECT next_id FROM task_lists WHERE number = :list;

-- name: find_reading
SELECT place, sum, mark FROM task_readings WHERE list = :list AND source = :source;

-- name: save_reading
INSERT INTO task_readings (list, source, place, sum, mark) VALUES (:list, :source, :place, :sum, :mark)
ON CONFLICT (list, source) DO UPDATE SET place = excluded.place, sum = excluded.sum, mark = excluded.mark;
