-- name: find_tool_call
-- By session and name, which are known before the agent was read.
SELECT id, sum, body, seq, drifts, loop_seq, loop FROM tool_calls
WHERE agent = (SELECT id FROM agents WHERE session = ? AND name = ?) AND id = ?;

-- name: find_tool_call_of_either
-- The call of an agent, or of another one of its session.
SELECT c.agent, c.id, c.sum, c.body, c.seq, c.drifts, c.loop_seq, c.loop
FROM agents AS a JOIN tool_calls AS c ON c.agent = a.id AND c.id = :id
WHERE a.session = :session AND a.name IN (:name, :other) LIMIT 1;

-- name: reused_tool_calls
-- The calls of one id, and those whose id was made from it because the host used it again.
SELECT id, sum, body, seq, drifts, loop_seq, loop FROM tool_calls
WHERE agent = :agent AND (id = :id OR (id > :from AND id < :to)) ORDER BY seq;

-- name: oldest_open_tool_call
-- Ids that we made up begin with one `#`. A call that still runs goes before one that was given up. `seq > 0` makes
-- SQLite search the open calls alone.
SELECT id, sum, body, seq, drifts, loop_seq, loop FROM tool_calls
WHERE agent = ? AND seq > 0 AND outcome IN ('running', 'abandoned') AND tool = ? AND id LIKE '#%' AND id NOT LIKE '##%'
ORDER BY outcome DESC, seq LIMIT 1;

-- name: save_tool_call
INSERT INTO tool_calls (agent, id, seq, tool, ended, outcome, drifts, loop_seq, loop, sum, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (agent, id) DO UPDATE SET tool = excluded.tool, ended = excluded.ended, outcome = excluded.outcome,
  drifts = excluded.drifts, loop_seq = excluded.loop_seq, loop = excluded.loop, sum = excluded.sum,
  body = excluded.body;

-- name: open_tool_calls
SELECT id, sum, body, seq, drifts, loop_seq, loop FROM tool_calls
WHERE agent = ? AND outcome IN ('running', 'abandoned') AND outcome = 'running' ORDER BY seq;

-- name: tool_calls_in_window
-- The calls of an agent and its subagents that ended after a position, or still run, and began up to another one.
WITH RECURSIVE family (id) AS (
  SELECT CAST(:agent AS BIGINT) UNION SELECT a.id FROM agents a JOIN family f ON a.parent = f.id
)
SELECT c.agent, c.id, c.sum, c.body, c.seq AS first FROM family f JOIN tool_calls c ON c.agent = f.id
WHERE c.ended > :since AND c.seq <= :until
UNION ALL SELECT c.agent, c.id, c.sum, c.body, c.seq FROM family f JOIN tool_calls c ON c.agent = f.id
WHERE c.outcome IN ('running', 'abandoned') AND c.ended IS NULL AND c.seq <= :until ORDER BY first;

-- name: tool_calls_ended_since
SELECT c.agent, c.id, c.sum, c.body FROM agents a JOIN tool_calls c ON c.agent = a.id
WHERE a.session = :session AND c.ended > :since;

-- name: tool_calls_since
SELECT agent, id, sum, body FROM tool_calls WHERE agent = :agent AND ended > :after
UNION ALL SELECT agent, id, sum, body FROM tool_calls
WHERE agent = :agent AND outcome IN ('running', 'abandoned') AND ended IS NULL AND seq > :after;

-- name: tool_calls_of_agent
SELECT id, sum, body FROM tool_calls WHERE agent = ? ORDER BY seq DESC LIMIT ?;

-- name: loop_window
SELECT loop_seq, loop FROM tool_calls
WHERE agent = (SELECT id FROM agents WHERE session = ? AND name = ?) AND loop_seq IS NOT NULL
ORDER BY loop_seq DESC LIMIT ?;

-- name: delete_tool_calls
DELETE FROM tool_calls WHERE agent = :agent AND id IN (
  SELECT c.id FROM tool_calls c WHERE c.agent = :agent LIMIT :rows);

-- name: find_memory
SELECT memory FROM agents WHERE id = ?;

-- name: memories_of_session
SELECT id, session, name, project, memory FROM agents WHERE session = :session AND memory IS NOT NULL ORDER BY id;

-- name: memories_of_project
SELECT id, session, name, project, memory FROM agents WHERE project = :project AND memory IS NOT NULL ORDER BY id;

-- name: memories_of_board
SELECT id, session, name, project, memory FROM agents WHERE memory IS NOT NULL ORDER BY id;

-- name: lineage
-- An agent, and those who started it.
WITH RECURSIVE lineage (id) AS (
  SELECT CAST(:agent AS BIGINT) UNION SELECT a.parent FROM agents a JOIN lineage l ON a.id = l.id WHERE a.parent IS NOT NULL
)
SELECT id FROM lineage;

-- name: children_of_agent
SELECT id, started_for FROM agents WHERE parent = ? ORDER BY id;

-- name: find_started_for
SELECT started_for FROM agents WHERE id = ?;

-- name: save_started_for
UPDATE agents SET started_for = ? WHERE id = ?;
