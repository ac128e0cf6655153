-- name: overviews_of_session
SELECT a.id, a.session, a.name, a.project, a.parent, a.started_for, a.activity, a.summary, s.state, s.folder
FROM sessions s JOIN agents a ON a.session = s.id WHERE s.id = :session ORDER BY a.id;

-- name: overviews_of_project
SELECT a.id, a.session, a.name, a.project, a.parent, a.started_for, a.activity, a.summary, s.state, s.folder
FROM sessions s JOIN agents a ON a.session = s.id WHERE s.project = :project ORDER BY a.id;

-- name: overviews_of_board
SELECT a.id, a.session, a.name, a.project, a.parent, a.started_for, a.activity, a.summary, s.state, s.folder
FROM sessions s JOIN agents a ON a.session = s.id ORDER BY a.id;

-- name: clear_read_models
UPDATE agents SET activity = NULL, summary = NULL WHERE id = :agent;

-- name: names_of_agents
-- A page of all agents, oldest first.
SELECT id, session, name FROM agents WHERE id > :after ORDER BY id LIMIT :limit;

-- name: has_agent
SELECT 1 FROM agents WHERE name = :name LIMIT 1;

-- name: items_of_plan
SELECT id, body FROM kept_items WHERE agent = ? AND plan = ?;

-- name: latest_kept_item
SELECT body FROM kept_items WHERE agent = ? AND id = ? ORDER BY touched DESC LIMIT 1;

-- name: save_kept_item
INSERT INTO kept_items (agent, plan, id, touched, status, is_gone, body) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (agent, plan, id) DO UPDATE SET touched = excluded.touched, status = excluded.status,
  is_gone = excluded.is_gone, body = excluded.body;

-- name: standing_items
SELECT agent, plan, body FROM kept_items
WHERE is_gone = 0 AND status IN ('in_progress', 'blocked', 'failed') ORDER BY agent;

-- name: blocked_items
-- With the time of the last event about each.
SELECT a.project, a.session, a.name, k.id, e.at FROM kept_items k JOIN agents a ON a.id = k.agent
JOIN events e ON e.seq = k.touched
WHERE k.is_gone = 0 AND k.status IN ('in_progress', 'blocked', 'failed') AND k.status = 'blocked' ORDER BY k.agent;

-- name: items_since
SELECT plan, body FROM kept_items WHERE agent = ? AND touched > ?;

-- name: finished_items
SELECT k.agent, k.plan, k.body FROM agents a JOIN kept_items k ON k.agent = a.id
WHERE a.session = ? AND k.status = 'completed' ORDER BY k.touched DESC;

-- name: items_of_agent
SELECT plan, body FROM kept_items WHERE agent = ?;

-- name: agents_since
-- The agents that have events after a cursor, in the order of the first one, each with the last. That one fell idle, or
-- was closed, is no work.
SELECT agent, max(seq) FROM events WHERE seq > ? AND agent IS NOT NULL AND kind <> 'agent.state' GROUP BY agent ORDER BY min(seq);

-- name: tasks_since
SELECT DISTINCT task_list, task FROM events WHERE seq > ? AND task_list IS NOT NULL AND kind LIKE 'task.%';

-- name: others_since
-- Events of no agent after a cursor: the last one about each task, and about none.
SELECT task_list, task, max(seq) FROM events WHERE seq > ? AND agent IS NULL GROUP BY task_list, task;

-- name: tasks_in_log
SELECT DISTINCT task_list, task FROM events WHERE agent = ? AND task_list IS NOT NULL;

-- name: standing_tasks
SELECT list, id FROM tasks WHERE status IN ('in_progress', 'waiting', 'failed');

-- name: tasks_waiting_for_person
-- A wait for a time has a due date, and one for an event a topic. Flows are tasks too.
SELECT t.number, a.project, a.session, a.name FROM tasks t LEFT JOIN agents a ON a.id = t.agent
WHERE t.status = 'waiting' AND t.due_at IS NULL AND t.topic IS NULL;

-- name: events_of_one_task
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, coalesce(a.project, l.project),
  coalesce(a.session, l.session), a.name
FROM events e LEFT JOIN agents a ON a.id = e.agent JOIN task_lists l ON l.number = e.task_list
WHERE e.task_list = ? AND e.task = ? ORDER BY e.seq;

-- name: log_of_agent
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, a.project, a.session, a.name
FROM agents a JOIN events e ON e.agent = a.id WHERE a.id = ? ORDER BY e.seq;

-- name: delete_kept_items
DELETE FROM kept_items WHERE agent = :agent;

-- name: latest_items
-- The items of all lists, with whose they are, those that changed last first; with a status, those in it.
SELECT k.body, a.project, a.session, a.name FROM kept_items k JOIN agents a ON a.id = k.agent
WHERE CAST(:status AS TEXT) IS NULL OR k.status = :status ORDER BY k.touched DESC LIMIT :limit;
