-- name: board_key
-- The key of the hashes on this board.
SELECT key FROM board;

-- name: find_session
-- The project of a session, and the root of the worktree in which it was first seen.
SELECT project, folder FROM sessions WHERE id = :session;

-- name: machine_of_session
SELECT machine FROM sessions WHERE id = :session;

-- name: has_conversation_of_machine
SELECT 1 FROM conversations WHERE session = :session AND machine = :machine;

-- name: list_sessions_by_part
-- The sessions whose ids begin or end with a text. No index finds the end of one: where few match, it reads them all.
SELECT id FROM sessions
WHERE substr(id, 1, length(:part)) = :part
  OR (length(id) >= length(:part) AND substr(id, length(id) - length(:part) + 1) = :part)
ORDER BY id LIMIT :limit;

-- name: add_session
-- A session belongs to the project in which it was first seen.
INSERT INTO sessions (id, project, source, remote, folder, machine, created_at, recent, line)
VALUES (:session, :project, :source, :remote, :folder, :machine, :at, :at, '')
ON CONFLICT DO NOTHING;

-- name: line_of_session
-- The agents of a session, with its last subagents only; whether anything of it may wait, and whether it has tasks.
SELECT a.id, a.session, a.name, a.project, a.parent, a.started_for, a.activity, a.summary,
  EXISTS (SELECT 1 FROM agents w WHERE w.session = :session AND (
    EXISTS (SELECT 1 FROM questions q WHERE q.agent = w.id AND q.state = 'open')
    OR EXISTS (SELECT 1 FROM plans p WHERE p.agent = w.id AND p.state = 'proposed')
    OR EXISTS (SELECT 1 FROM kept_items k WHERE k.agent = w.id AND k.is_gone = 0 AND k.status = 'blocked'
      AND k.status IN ('in_progress', 'blocked', 'failed'))
    OR EXISTS (SELECT 1 FROM tasks t WHERE t.agent = w.id AND t.finished_at IS NULL AND t.status = 'waiting')))
  OR EXISTS (SELECT 1 FROM task_lists k JOIN tasks t ON t.list = k.number
    WHERE k.session = :session AND t.status = 'waiting'),
  EXISTS (SELECT 1 FROM task_lists k WHERE k.session = :session)
  OR EXISTS (SELECT 1 FROM agents w JOIN tasks t ON t.agent = w.id
    WHERE w.session = :session AND t.finished_at IS NULL)
  OR EXISTS (SELECT 1 FROM agents w JOIN tasks t ON t.agent = w.id
    WHERE w.session = :session AND t.status = 'failed')
FROM agents a WHERE a.session = :session AND (a.parent IS NULL OR a.id IN (
  SELECT id FROM agents WHERE session = :session AND parent IS NOT NULL ORDER BY id DESC LIMIT :most))
ORDER BY a.id;

-- name: lines_of_recent_sessions
-- Each with the label of its first agent.
SELECT s.id, s.state, s.line, s.folder, (SELECT a.label FROM agents a WHERE a.session = s.id ORDER BY a.id LIMIT 1)
FROM sessions s WHERE s.recent >= :since ORDER BY s.recent DESC LIMIT :limit;

-- name: line_of_one_session
SELECT s.id, s.state, s.line, s.folder, (SELECT a.label FROM agents a WHERE a.session = s.id ORDER BY a.id LIMIT 1)
FROM sessions s WHERE s.id = :session;

-- name: board_header
-- The schema, the last event, and whether there are lists of tasks.
SELECT b.version, (SELECT coalesce(max(e.seq), 0) FROM events e), EXISTS (SELECT 1 FROM task_lists) FROM board b;

-- name: find_agent
-- The header of the board; an agent by its session and name, with its list, its last completing write and the checks of
-- its session; the reply to a call.
SELECT b.version, (SELECT coalesce(max(e.seq), 0) FROM events e), EXISTS (SELECT 1 FROM task_lists),
  a.id, a.session, a.name, a.parent, a.label, a.project, a.mode, a.recent, a.unseen, a.updated_at,
  a.revision, a.sum, a.shown, l.sum, l.todos, a.memory, a.activity, a.summary,
  EXISTS (SELECT 1 FROM tasks t WHERE t.agent = a.id AND t.finished_at IS NULL),
  (SELECT d.position FROM completions d WHERE d.agent = a.id ORDER BY d.position DESC LIMIT 1),
  (SELECT d.at FROM completions d WHERE d.agent = a.id ORDER BY d.position DESC LIMIT 1),
  s.folder, s.state, s.check_name, s.checks, s.line, c.sum, c.fingerprint, c.reply
FROM board b LEFT JOIN agents a ON a.session = :session AND a.name = :name LEFT JOIN lists l ON l.agent = a.id
LEFT JOIN sessions s ON s.id = a.session LEFT JOIN calls c ON c.agent = a.id AND c.call_id = :call_id;

-- name: key_of_agent
SELECT session, name FROM agents WHERE id = ?;

-- name: find_spawned
-- The child that a host calls by an id of its own.
SELECT name FROM agents WHERE session = :session AND parent = :parent AND spawn_id = :spawn_id;

-- name: name_of_agent
SELECT name FROM agents WHERE id = :agent;

-- name: names_of_session
SELECT name FROM agents WHERE session = :session;

-- name: first_agent
SELECT name FROM agents WHERE session = :session AND parent IS NULL ORDER BY id LIMIT 1;

-- name: add_agent
-- A new agent with an empty list.
INSERT INTO agents (session, name, parent, label, spawn_id, project, created_at, updated_at, recent)
VALUES (:session, :name, :parent, :label, :spawn_id, :project, :at, :at, :at)
RETURNING id;

-- name: title_agent
UPDATE agents SET label = :label WHERE id = :agent;

-- name: save_agent
-- All of an agent that changes with its steps.
UPDATE agents SET unseen = ?, updated_at = ?, revision = ?, sum = ?, shown = ?, memory = ?, activity = ?, summary = ?
WHERE id = ?;

-- name: save_list
-- The list of an agent, whole.
INSERT INTO lists (agent, sum, todos) VALUES (?, ?, ?)
ON CONFLICT (agent) DO UPDATE SET sum = excluded.sum, todos = excluded.todos;

-- name: save_place
-- Where an agent stands among the recent ones.
UPDATE agents SET recent = ?, item_count = ? WHERE id = ?;

-- name: save_session_place
-- Where a session stands among the recent ones.
UPDATE sessions SET recent = ? WHERE id = ? AND recent < ?;

-- name: agents_of_session
-- All agents of a session, parents before children.
SELECT a.id, a.session, a.name, a.parent, a.label, a.project, a.mode, a.updated_at,
  (SELECT s.folder FROM sessions s WHERE s.id = a.session), a.revision, l.sum, l.todos
FROM agents a LEFT JOIN lists l ON l.agent = a.id WHERE a.session = :session ORDER BY a.id;

-- name: lists_of_project
-- Agents of a project that have a list, the latest first.
SELECT a.id, a.session, a.name, a.parent, a.label, a.project, a.mode, a.updated_at,
  (SELECT s.folder FROM sessions s WHERE s.id = a.session), a.revision, l.sum, l.todos
FROM agents a LEFT JOIN lists l ON l.agent = a.id
WHERE a.project = :project AND a.item_count > 0 ORDER BY a.recent DESC, a.id DESC LIMIT :limit;

-- name: lists_of_board
-- Agents of any project that have a list, the latest first.
SELECT a.id, a.session, a.name, a.parent, a.label, a.project, a.mode, a.updated_at,
  (SELECT s.folder FROM sessions s WHERE s.id = a.session), a.revision, l.sum, l.todos
FROM agents a LEFT JOIN lists l ON l.agent = a.id
WHERE a.item_count > 0 ORDER BY a.recent DESC, a.id DESC LIMIT :limit;

-- name: agents_with_tasks
-- Agents without a list that have begun tasks, or began a session with a task list; the latest first.
SELECT a.id, a.session, a.name, a.parent, a.label, a.project, a.mode, a.updated_at,
  (SELECT s.folder FROM sessions s WHERE s.id = a.session), a.revision, l.sum, l.todos
FROM agents a LEFT JOIN lists l ON l.agent = a.id
WHERE a.item_count = 0 AND (CAST(:project AS TEXT) IS NULL OR a.project = :project) AND a.id IN (
  SELECT t.agent FROM tasks t WHERE t.agent IS NOT NULL AND t.finished_at IS NULL
  UNION
  SELECT r.id FROM task_lists k JOIN agents r ON r.session = k.session
  WHERE r.parent IS NULL AND k.session IS NOT NULL AND EXISTS (SELECT 1 FROM tasks t WHERE t.list = k.number))
ORDER BY a.recent DESC, a.id DESC LIMIT :limit;

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

-- name: browse_sessions
-- Sessions after the first so many, the latest first, each with the first of its agents that no other started, and the
-- host of its latest conversation.
SELECT s.id, s.project, s.created_at, s.recent, s.state, a.name, a.label, a.activity,
  (SELECT max(c.host) FROM conversations c WHERE c.session = s.id
    AND c.seen_at = (SELECT max(k.seen_at) FROM conversations k WHERE k.session = s.id))
FROM (SELECT id, project, created_at, recent, state FROM sessions
  ORDER BY recent DESC, id DESC LIMIT :limit OFFSET :skip) AS s
LEFT JOIN agents a ON a.id = (SELECT min(r.id) FROM agents r WHERE r.session = s.id AND r.parent IS NULL);

-- name: browse_sessions_of_project
-- The same for one project.
SELECT s.id, s.project, s.created_at, s.recent, s.state, a.name, a.label, a.activity,
  (SELECT max(c.host) FROM conversations c WHERE c.session = s.id
    AND c.seen_at = (SELECT max(k.seen_at) FROM conversations k WHERE k.session = s.id))
FROM (SELECT id, project, created_at, recent, state FROM sessions WHERE project = :project
  ORDER BY recent DESC, id DESC LIMIT :limit OFFSET :skip) AS s
LEFT JOIN agents a ON a.id = (SELECT min(r.id) FROM agents r WHERE r.session = s.id AND r.parent IS NULL);

-- name: session_by_id
SELECT s.id, s.project, s.created_at,
  (SELECT count(*) FROM agents a WHERE a.session = s.id),
  (SELECT max(a.updated_at) FROM agents a WHERE a.session = s.id), s.state
FROM sessions s WHERE s.id = :session;

-- name: sessions_of_folder
-- Sessions of a worktree whose open items nobody has declined, the latest first.
SELECT id FROM sessions WHERE folder = :folder AND recent >= :since AND id <> :but AND is_declined = 0
ORDER BY recent DESC LIMIT :limit;

-- name: decline_session
UPDATE sessions SET is_declined = 1 WHERE id = :session;

-- name: move_session
UPDATE sessions SET id = :target WHERE id = :source;

-- name: move_agents
UPDATE agents SET session = :target WHERE session = :source;

-- name: copy_session
INSERT INTO sessions (id, project, source, remote, folder, machine, created_at, recent)
SELECT :target, project, source, remote, folder, machine, :at, :at FROM sessions WHERE id = :source;

-- name: count_rows
-- How much there is on the board, for `doctor`: it reads all of it.
SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM agents), (SELECT count(*) FROM events);

-- name: count_pruned_agents
SELECT count(*) FROM agents WHERE session IN (
  SELECT s.id FROM sessions s WHERE s.recent < :before AND s.created_at < :before
    AND (:session = '' OR s.id = :session) AND (:project = '' OR s.project = :project)
    AND (:machine = '' OR s.machine = :machine)
    AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.session = s.id AND a.updated_at >= :before));

-- name: pruned_sessions
-- Sessions to delete: those that nobody wrote to since, of one id, project or machine if one is named. `recent` may be a minute
-- late, so it only says which to look at.
SELECT s.id FROM sessions s WHERE s.recent < :before AND s.created_at < :before
  AND (:session = '' OR s.id = :session) AND (:project = '' OR s.project = :project)
    AND (:machine = '' OR s.machine = :machine)
  AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.session = s.id AND a.updated_at >= :before)
LIMIT :limit;

-- name: agents_of_pruned
SELECT id FROM agents WHERE session = :session LIMIT :limit;

-- name: delete_events
-- The last event of the board stays, so that its number is not given again; what an agent did to tasks, too.
DELETE FROM events WHERE seq IN (
  SELECT e.seq FROM events e WHERE e.agent = :agent AND e.task_list IS NULL AND e.seq < (SELECT max(seq) FROM events)
  LIMIT :rows);

-- name: delete_snapshots
DELETE FROM snapshots WHERE agent = :agent;

-- name: delete_calls
DELETE FROM calls WHERE agent = :agent AND call_id IN (
  SELECT c.call_id FROM calls c WHERE c.agent = :agent LIMIT :rows);

-- name: delete_list
DELETE FROM lists WHERE agent = :agent;

-- name: delete_agent
DELETE FROM agents WHERE id = :agent;

-- name: blank_last_event
-- The last event of the board keeps its number, and tells nothing any more.
UPDATE events SET kind = 'board.pruned', agent = NULL, revision = NULL, task_list = NULL, task = NULL, sum = NULL, data = :empty
WHERE seq = (SELECT max(seq) FROM events) AND agent = :agent AND task_list IS NULL;

-- name: delete_session
DELETE FROM sessions WHERE id = :session;

-- name: delete_old_calls
DELETE FROM calls WHERE (agent, call_id) IN (SELECT agent, call_id FROM calls WHERE at < :before LIMIT :rows);
