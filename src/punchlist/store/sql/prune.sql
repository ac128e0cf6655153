-- name: old_agents
-- Agents that nobody wrote since, in sessions of which nobody wrote since.
SELECT id FROM agents WHERE session IN
  (SELECT session FROM agents GROUP BY session HAVING max(updated_at) < :before)
LIMIT :limit;

-- name: delete_events
DELETE FROM events WHERE agent = :agent AND seq < (SELECT max(seq) FROM events);

-- name: delete_snapshots
DELETE FROM snapshots WHERE agent = :agent;

-- name: delete_calls
DELETE FROM calls WHERE agent = :agent;

-- name: delete_agent
DELETE FROM agents WHERE id = :agent;

-- name: delete_empty_sessions
DELETE FROM sessions WHERE created_at < :before AND id NOT IN (SELECT session FROM agents);

-- name: delete_old_calls
DELETE FROM calls WHERE at < :before;
