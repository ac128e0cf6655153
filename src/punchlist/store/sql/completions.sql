-- name: find_session_checks
SELECT state, check_name, checks, line FROM sessions WHERE id = ?;

-- name: save_session_checks
UPDATE sessions SET state = ?, check_name = ?, checks = ?, line = ? WHERE id = ?;

-- name: previous_completion
SELECT position, at FROM completions WHERE agent = :agent AND at <= :at ORDER BY position DESC LIMIT 1;

-- name: save_completion
INSERT INTO completions (agent, key, position, until, at, grade, sum, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (agent, key) DO UPDATE SET position = excluded.position, until = excluded.until, at = excluded.at,
  grade = excluded.grade, sum = excluded.sum, body = excluded.body;

-- name: close_completions
-- The windows of earlier completions end at a write. They stay so when what it completed is completed again, or moved.
UPDATE completions SET until = :position WHERE agent = :agent AND until IS NULL AND position < :position;

-- name: delete_completion
DELETE FROM completions WHERE agent = ? AND key = ?;

-- name: find_completion
SELECT agent, key, until, grade, sum, body FROM completions WHERE agent = ? AND key = ?;

-- name: completions_of_session
SELECT c.agent, c.key, c.until, c.grade, c.sum, c.body FROM agents a JOIN completions c ON c.agent = a.id
WHERE a.session = ?;

-- name: completions_open_to_checks
-- Completions of a session whose grade a check may still change, the latest first.
SELECT a.name, c.agent, c.key, c.until, c.grade, c.sum, c.body FROM agents a JOIN completions c ON c.agent = a.id
WHERE a.session = ? AND (c.until IS NULL OR c.grade IN ('unchecked', 'failing')) ORDER BY c.position DESC LIMIT ?;

-- name: count_completions_since
SELECT count(*) FROM agents a JOIN completions c ON c.agent = a.id WHERE a.session = ? AND c.position >= ?;

-- name: grades_since
SELECT grade, count(*) FROM completions WHERE at > :since GROUP BY grade;

-- name: states_of_sessions_since
-- The states of the sessions in which something was completed since a time.
SELECT state, count(*) FROM sessions WHERE id IN (
  SELECT a.session FROM completions c JOIN agents a ON a.id = c.agent WHERE c.at > :since) GROUP BY state;

-- name: delete_completions
DELETE FROM completions WHERE agent = :agent;
