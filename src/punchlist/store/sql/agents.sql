-- name: board_key
-- The key of the hashes on this board.
SELECT key FROM board_key;

-- name: find_session
-- The project of a session.
SELECT project FROM sessions WHERE id = :session;

-- name: list_sessions_by_part
-- The sessions whose ids begin or end with a text.
SELECT id FROM sessions
WHERE substr(id, 1, length(:part)) = :part OR substr(id, -length(:part)) = :part
ORDER BY id LIMIT :limit;

-- name: add_session
-- A session belongs to the project in which it was first seen.
INSERT INTO sessions (id, project, created_at, recent, line) VALUES (:session, :project, :at, :at, '')
ON CONFLICT DO NOTHING;

-- name: find_line
-- What the line of a session follows from, beside its agents; and the line as it is.
SELECT s.id, s.state, s.check_name, s.line FROM agents a JOIN sessions s ON s.id = a.session WHERE a.id = ?;

-- name: find_line_of_session
SELECT id, state, check_name, line FROM sessions WHERE id = ?;

-- name: lines_of_recent_sessions
SELECT id, state, line FROM sessions WHERE recent >= :since ORDER BY recent DESC LIMIT :limit;

-- name: save_line
UPDATE sessions SET line = ? WHERE id = ?;

-- name: find_agent
-- One agent by its session and name, with its list.
SELECT a.id, a.session, a.name, a.parent, a.label, a.project, a.mode, a.recent, a.unseen,
  a.revision, a.base, a.sum, a.since, a.shown, l.sum, l.todos
FROM agents a LEFT JOIN lists l ON l.agent = a.id WHERE a.session = ? AND a.name = ?;

-- name: find_spawned
-- The child that a host calls by an id of its own.
SELECT name FROM agents WHERE session = :session AND parent = :parent AND spawn_id = :spawn_id;

-- name: name_of_agent
SELECT name FROM agents WHERE id = :agent;

-- name: names_of_session
SELECT name FROM agents WHERE session = :session;

-- name: add_agent
-- A new agent with an empty list.
INSERT INTO agents (session, name, parent, label, spawn_id, project, created_at, updated_at, recent)
VALUES (:session, :name, :parent, :label, :spawn_id, :project, :at, :at, :at)
RETURNING id;

-- name: save_list
-- The list of an agent after a change.
UPDATE agents SET revision = ?, unseen = ?, updated_at = ?, base = ?, sum = ?, since = ?, shown = ?
WHERE id = ?;

-- name: save_whole
-- The whole list of an agent, as it is now.
INSERT INTO lists (agent, sum, todos) VALUES (?, ?, ?)
ON CONFLICT (agent) DO UPDATE SET sum = excluded.sum, todos = excluded.todos;

-- name: save_place
-- Where an agent stands among the recent ones.
UPDATE agents SET recent = ?, item_count = ? WHERE id = ?;

-- name: touch_agent
-- An agent changed a task: that counts as a change of its own, as one of its list does.
UPDATE agents SET updated_at = :at WHERE id = :agent AND updated_at < :at;

-- name: touch_agent_place
UPDATE agents SET recent = :at WHERE id = :agent AND recent <= :before;

-- name: touch_session_place
UPDATE sessions SET recent = :at WHERE id = (SELECT session FROM agents WHERE id = :agent) AND recent <= :before;

-- name: save_session_place
-- Where a session stands among the recent ones.
UPDATE sessions SET recent = ? WHERE id = ? AND recent < ?;

-- name: save_unseen
-- How many replies ago the model saw its whole list, and what it knows of it.
UPDATE agents SET unseen = ?, sum = ?, shown = ? WHERE id = ?;

-- name: changes_since
-- What changed since the list was stored whole.
SELECT base, since, revision FROM agents WHERE id = ?;

-- name: agents_of_session
-- All agents of a session, parents before children.
SELECT a.id, a.session, a.name, a.parent, a.label, a.project, a.mode, a.updated_at,
  a.revision, a.base, a.sum, a.since, a.shown, l.sum, l.todos
FROM agents a LEFT JOIN lists l ON l.agent = a.id WHERE a.session = :session ORDER BY a.id;

-- name: lists_of_project
-- Agents of a project that have a list, the latest first.
SELECT a.id, a.session, a.name, a.parent, a.label, a.project, a.mode, a.updated_at,
  a.revision, a.base, a.sum, a.since, a.shown, l.sum, l.todos
FROM agents a LEFT JOIN lists l ON l.agent = a.id
WHERE a.project = :project AND a.item_count > 0 ORDER BY a.recent DESC LIMIT :limit;

-- name: lists_of_board
-- Agents of any project that have a list, the latest first.
SELECT a.id, a.session, a.name, a.parent, a.label, a.project, a.mode, a.updated_at,
  a.revision, a.base, a.sum, a.since, a.shown, l.sum, l.todos
FROM agents a LEFT JOIN lists l ON l.agent = a.id
WHERE a.item_count > 0 ORDER BY a.recent DESC LIMIT :limit;

-- name: agents_with_tasks
-- Agents without a list that have begun tasks, or began a session with a task list; the latest first.
SELECT a.id, a.session, a.name, a.parent, a.label, a.project, a.mode, a.updated_at,
  a.revision, a.base, a.sum, a.since, a.shown, l.sum, l.todos
FROM agents a LEFT JOIN lists l ON l.agent = a.id
WHERE a.item_count = 0 AND (:project IS NULL OR a.project = :project) AND a.id IN (
  SELECT t.agent FROM tasks t WHERE t.agent IS NOT NULL AND t.finished_at IS NULL
  UNION
  SELECT r.id FROM task_lists k JOIN agents r ON r.session = k.session
  WHERE r.parent IS NULL AND k.session IS NOT NULL AND EXISTS (SELECT 1 FROM tasks t WHERE t.list = k.number))
ORDER BY a.recent DESC LIMIT :limit;

-- name: sessions_of_board
-- Sessions, the latest first, with how many agents they have. The limit comes first: agents are counted for few.
SELECT s.id, s.project, s.created_at,
  (SELECT count(*) FROM agents a WHERE a.session = s.id),
  (SELECT max(a.updated_at) FROM agents a WHERE a.session = s.id), s.state
FROM sessions s ORDER BY s.recent DESC LIMIT :limit;

-- name: sessions_of_project
-- The same for one project.
SELECT s.id, s.project, s.created_at,
  (SELECT count(*) FROM agents a WHERE a.session = s.id),
  (SELECT max(a.updated_at) FROM agents a WHERE a.session = s.id), s.state
FROM sessions s WHERE s.project = :project ORDER BY s.recent DESC LIMIT :limit;

-- name: session_by_id
SELECT s.id, s.project, s.created_at,
  (SELECT count(*) FROM agents a WHERE a.session = s.id),
  (SELECT max(a.updated_at) FROM agents a WHERE a.session = s.id), s.state
FROM sessions s WHERE s.id = :session;

-- name: place_of_agent
SELECT session, project FROM agents WHERE id = ?;

-- name: move_session
UPDATE sessions SET id = :target WHERE id = :source;

-- name: move_agents
UPDATE agents SET session = :target WHERE session = :source;

-- name: copy_session
INSERT INTO sessions (id, project, created_at, recent)
SELECT :target, project, :at, :at FROM sessions WHERE id = :source;

-- name: old_agents
-- Agents of sessions that nobody wrote to since. `recent` may be a minute late, so it only says whom to look at.
SELECT id FROM agents WHERE session IN (
  SELECT s.id FROM sessions s WHERE s.recent < :before
    AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.session = s.id AND a.updated_at >= :before))
LIMIT :limit;

-- name: delete_events
-- The last event of the board stays, so that its number is not given again; what an agent did to tasks, too.
DELETE FROM events WHERE agent = :agent AND task_list IS NULL AND seq < (SELECT max(seq) FROM events);

-- name: delete_snapshots
DELETE FROM snapshots WHERE agent = :agent;

-- name: delete_calls
DELETE FROM calls WHERE agent = :agent;

-- name: delete_list
DELETE FROM lists WHERE agent = :agent;

-- name: delete_agent
DELETE FROM agents WHERE id = :agent;

-- name: delete_empty_sessions
DELETE FROM sessions WHERE recent < :before AND created_at < :before
  AND NOT EXISTS (SELECT 1 FROM agents WHERE session = sessions.id);

-- name: delete_old_calls
DELETE FROM calls WHERE at < :before;
