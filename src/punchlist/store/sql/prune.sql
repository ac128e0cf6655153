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
