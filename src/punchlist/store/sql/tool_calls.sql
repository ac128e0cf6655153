-- name: find_tool_call
SELECT id, sum, body, seq, drifts, loop_seq, loop FROM tool_calls WHERE agent = ? AND id = ?;

-- name: reused_tool_calls
-- The calls of one id, and those whose id was made from it because the host used it again.
SELECT id, sum, body, seq, drifts, loop_seq, loop FROM tool_calls
WHERE agent = :agent AND (id = :id OR (id > :from AND id < :to)) ORDER BY seq;

-- name: oldest_open_tool_call
-- Ids that we made up begin with one `#`. A call that still runs goes before one that was given up.
SELECT id, sum, body, seq, drifts, loop_seq, loop FROM tool_calls INDEXED BY open_calls
WHERE agent = ? AND outcome IN ('running', 'abandoned') AND tool = ? AND id LIKE '#%' AND id NOT LIKE '##%'
ORDER BY outcome DESC, seq LIMIT 1;

-- name: save_tool_call
INSERT INTO tool_calls (agent, id, seq, tool, item, after_item, outcome, drifts, loop_seq, loop, sum, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (agent, id) DO UPDATE SET tool = excluded.tool, item = excluded.item, after_item = excluded.after_item,
  outcome = excluded.outcome, drifts = excluded.drifts, loop_seq = excluded.loop_seq, loop = excluded.loop,
  sum = excluded.sum, body = excluded.body;

-- name: open_tool_calls
SELECT id, sum, body, seq, drifts, loop_seq, loop FROM tool_calls
WHERE agent = ? AND outcome IN ('running', 'abandoned') AND outcome = 'running' ORDER BY seq;

-- name: tool_calls_of_item
SELECT id, sum, body FROM tool_calls WHERE agent = ? AND item = ? ORDER BY seq;

-- name: tool_calls_after_item
SELECT id, sum, body FROM tool_calls WHERE agent = ? AND after_item = ? AND after_item <> '' ORDER BY seq;

-- name: tool_calls_of_agent
SELECT id, sum, body FROM tool_calls WHERE agent = ? ORDER BY seq DESC LIMIT ?;

-- name: items_of_tool_calls
SELECT item FROM tool_calls WHERE agent = :agent UNION SELECT after_item FROM tool_calls WHERE agent = :agent;

-- name: loop_window
SELECT loop FROM tool_calls WHERE agent = ? AND loop_seq > ? ORDER BY loop_seq DESC LIMIT ?;

-- name: delete_tool_calls
DELETE FROM tool_calls WHERE agent = :agent;

-- name: find_memory
SELECT memory FROM agents WHERE id = ?;

-- name: save_memory
UPDATE agents SET memory = ? WHERE id = ?;

-- name: memories_of_session
SELECT id, session, name, project, memory FROM agents WHERE session = :session AND memory IS NOT NULL ORDER BY id;

-- name: memories_of_project
SELECT id, session, name, project, memory FROM agents WHERE project = :project AND memory IS NOT NULL ORDER BY id;

-- name: memories_of_board
SELECT id, session, name, project, memory FROM agents WHERE memory IS NOT NULL ORDER BY id;

-- name: children_started_for
SELECT id FROM agents WHERE parent = ? AND started_for = ? ORDER BY id;

-- name: children_of_agent
SELECT id, started_for FROM agents WHERE parent = ? ORDER BY id;

-- name: find_started_for
SELECT started_for FROM agents WHERE id = ?;

-- name: save_started_for
UPDATE agents SET started_for = ? WHERE id = ?;
