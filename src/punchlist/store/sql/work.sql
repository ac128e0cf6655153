-- name: find_work
SELECT sum, body FROM work WHERE agent = ? AND part = ?;

-- name: add_work
INSERT INTO work (agent, part, sum, body) VALUES (?, ?, ?, ?)
ON CONFLICT (agent, part) DO UPDATE SET sum = excluded.sum, body = excluded.body;

-- name: parts_of_work
SELECT part, sum, body FROM work WHERE agent = ? ORDER BY part;

-- name: delete_part_of_work
DELETE FROM work WHERE agent = ? AND part = ?;

-- name: watched_agents
-- Agents of which something was reported or is waited for, of a project or of all, with their own timings for that.
SELECT a.id, a.session, a.name, a.project, w.sum, w.body, t.sum, t.body
FROM work w JOIN agents a ON a.id = w.agent LEFT JOIN work t ON t.agent = w.agent AND t.part = 'stalls'
WHERE w.part = '' AND (:project IS NULL OR a.project = :project) ORDER BY a.id;

-- name: parent_of_agent
SELECT p.name FROM agents a JOIN agents p ON p.id = a.parent WHERE a.id = ?;

-- name: children_of_session
-- Agents of a session that were started by another, with the name of that one.
SELECT c.id, c.name, p.name FROM agents c JOIN agents p ON p.id = c.parent WHERE c.session = ? ORDER BY c.id;

-- name: find_mark
SELECT seq FROM marks WHERE name = ?;

-- name: save_mark
INSERT INTO marks (name, seq) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET seq = excluded.seq;

-- name: log_of_session
-- The events of a session's agents, and what people did to the tasks of its list or that its agents worked on.
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, a.project, a.session, a.name
FROM agents a JOIN events e ON e.agent = a.id
WHERE a.session = :session AND e.seq > :after
UNION ALL
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, l.project, l.session, NULL
FROM (
  SELECT DISTINCT w.task_list, w.task FROM agents a JOIN events w ON w.agent = a.id
  WHERE a.session = :session AND w.task_list IS NOT NULL
) AS t JOIN events e ON e.task_list = t.task_list AND e.task = t.task JOIN task_lists l ON l.number = e.task_list
WHERE e.agent IS NULL AND e.seq > :after
ORDER BY 1 LIMIT :limit;

-- name: log_of_project
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, a.project, a.session, a.name
FROM sessions s JOIN agents a ON a.session = s.id JOIN events e ON e.agent = a.id
WHERE s.project = :project AND e.seq > :after
UNION ALL
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, l.project, l.session, NULL
FROM task_lists l JOIN events e ON e.task_list = l.number
WHERE l.project = :project AND e.agent IS NULL AND e.seq > :after
ORDER BY 1 LIMIT :limit;

-- name: runtime_events
-- The latest events of an agent that changed no list, newest first.
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, a.project, a.session, a.name
FROM events e JOIN agents a ON a.id = e.agent
WHERE e.agent = :agent AND e.revision IS NULL ORDER BY e.seq DESC LIMIT :limit;

-- name: ended_calls
-- The latest reports of an agent, behind a number, by which a call ended.
SELECT data FROM events
WHERE agent = :agent AND revision IS NULL AND seq > :after AND kind IN ('tool.finished', 'tool.failed')
ORDER BY seq DESC LIMIT :limit;

-- name: begun_calls
-- The latest reports of an agent by which a call began.
SELECT data FROM events WHERE agent = :agent AND revision IS NULL AND kind = 'tool.started'
ORDER BY seq DESC LIMIT :limit;

-- name: first_event
-- The first event of an agent that changed no list.
SELECT min(seq) FROM events WHERE agent = :agent AND revision IS NULL;

-- name: last_kind
-- What happened to an agent last, on its list or beside it.
SELECT kind FROM (
  SELECT kind, seq FROM (
    SELECT kind, seq FROM events WHERE agent = :agent AND revision IS NULL ORDER BY seq DESC LIMIT 1
  ) AS beside
  UNION ALL
  SELECT kind, seq FROM (
    SELECT kind, seq FROM events WHERE agent = :agent AND revision IS NOT NULL ORDER BY revision DESC, seq DESC LIMIT 1
  ) AS listed
) AS latest ORDER BY seq DESC LIMIT 1;

-- name: last_own_kind
-- What an agent did last, on its list or beside it; ends of calls and what detectors saw may come after it has finished.
SELECT kind FROM (
  SELECT kind, seq FROM (
    SELECT kind, seq FROM events WHERE agent = :agent AND revision IS NULL
      AND author = (SELECT name FROM agents WHERE id = :agent)
      AND kind NOT IN ('tool.updated', 'tool.finished', 'tool.failed', 'finding.raised', 'finding.cleared')
    ORDER BY seq DESC LIMIT 1
  ) AS beside
  UNION ALL
  SELECT kind, seq FROM (
    SELECT kind, seq FROM events WHERE agent = :agent AND revision IS NOT NULL
      AND author = (SELECT name FROM agents WHERE id = :agent)
    ORDER BY revision DESC, seq DESC LIMIT 1
  ) AS listed
) AS latest ORDER BY seq DESC LIMIT 1;

-- name: hinted_events
-- The reports of an agent behind an event that the rows of its work may not know of yet, in order.
SELECT seq, at, kind, author, agent, revision, v, sum, data, hint FROM events
WHERE agent = :agent AND revision IS NULL AND seq > :after AND hint IS NOT NULL ORDER BY seq;

-- name: findings_of_agent
-- What detectors found about an agent behind a cursor, and what of it is over, in order.
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, a.project, a.session, a.name
FROM events e JOIN agents a ON a.id = e.agent
WHERE e.agent = :agent AND e.revision IS NULL AND e.seq > :after
  AND e.kind IN ('finding.raised', 'finding.cleared') ORDER BY e.seq;

-- name: regraded_items
-- Changes of grades of an agent's items behind a revision, in order.
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, a.project, a.session, a.name
FROM events e JOIN agents a ON a.id = e.agent
WHERE e.agent = :agent AND e.revision > :after AND e.kind = 'item.changed' AND e.author = 'punchlist'
ORDER BY e.revision, e.seq;

-- name: regraded_tasks
-- Changes of grades of an agent's tasks behind a cursor, in order.
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, a.project, a.session, a.name
FROM events e JOIN agents a ON a.id = e.agent
WHERE e.agent = :agent AND e.revision IS NULL AND e.seq > :after AND e.kind = 'task.graded' ORDER BY e.seq;

-- name: delete_work
DELETE FROM work WHERE agent = :agent;
