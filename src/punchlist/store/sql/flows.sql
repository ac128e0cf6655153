-- name: find_flow
SELECT task, id, owner, status, sum FROM flows WHERE id = :id;

-- name: flows_like
-- Flows whose ids begin so, for people who do not type a whole UUID.
SELECT task, id, owner, status, sum FROM flows WHERE id >= :id AND id < :upto ORDER BY id LIMIT :limit;

-- name: flows_of_owner
-- The newest first.
SELECT task, id, owner, status, sum FROM flows WHERE owner = :owner ORDER BY created_at DESC, task DESC;

-- name: flows_of_status
-- Those that changed longest ago first.
SELECT task, id, owner, status, sum FROM flows WHERE status = :status ORDER BY updated_at, task;

-- name: flows_of_board
-- The newest first.
SELECT task, id, owner, status, sum FROM flows ORDER BY task DESC LIMIT :limit;

-- name: flows_before
-- The flows that come before one, each with the status of its task.
SELECT f.id, t.status FROM task_edges e JOIN flows f ON f.task = e.blocker JOIN tasks t ON t.number = e.blocker
WHERE e.task = :task ORDER BY f.task;

-- name: flow_of_task
-- The id of the flow that is the task of this number in its list.
SELECT f.id FROM tasks t JOIN flows f ON f.task = t.number WHERE t.list = :list AND t.id = :id;

-- name: add_flow
INSERT INTO flows (task, id, owner, session, status, created_at, updated_at, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: save_flow
UPDATE flows SET status = :status, updated_at = :at WHERE task = :task;

-- name: flows_of_session
SELECT task, id, owner FROM flows WHERE session = :session;

-- name: move_flow
UPDATE flows SET owner = :owner, session = :session, sum = :sum WHERE task = :task;

-- name: delete_flow
DELETE FROM flows WHERE task = :task;

-- name: flow_steps
-- The oldest first.
SELECT run_id, sum, body FROM flow_steps WHERE flow = :task ORDER BY created_at, run_id;

-- name: find_flow_step
SELECT run_id, sum, body FROM flow_steps WHERE flow = :task AND run_id = :id;

-- name: save_flow_step
INSERT INTO flow_steps (flow, run_id, created_at, sum, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (flow, run_id) DO UPDATE SET sum = excluded.sum, body = excluded.body;

-- name: delete_flow_steps
DELETE FROM flow_steps WHERE flow = :task;
