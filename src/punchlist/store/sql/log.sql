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

-- name: last_kind
-- What happened to an agent last, on its list or elsewhere, beside what its host says of its state.
SELECT kind FROM (
  SELECT kind, seq FROM (
    SELECT kind, seq FROM events WHERE agent = :agent AND revision IS NULL AND kind <> 'agent.state' ORDER BY seq DESC LIMIT 1
  ) AS beside
  UNION ALL
  SELECT kind, seq FROM (
    SELECT kind, seq FROM events WHERE agent = :agent AND revision IS NOT NULL ORDER BY revision DESC, seq DESC LIMIT 1
  ) AS listed
) AS latest ORDER BY seq DESC LIMIT 1;

-- name: last_time
-- When something happened to an agent last, on its list or elsewhere.
SELECT max(at) FROM (
  SELECT at FROM (
    SELECT at FROM events WHERE agent = :agent AND revision IS NULL ORDER BY seq DESC LIMIT 1
  ) AS beside
  UNION ALL
  SELECT at FROM (
    SELECT at FROM events WHERE agent = :agent AND revision IS NOT NULL ORDER BY revision DESC, seq DESC LIMIT 1
  ) AS listed
) AS latest;

-- name: findings_of_agent
-- What detectors found about an agent after a cursor, and what of it is over, in order.
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, a.project, a.session, a.name
FROM events e JOIN agents a ON a.id = e.agent
WHERE e.agent = :agent AND e.revision IS NULL AND e.seq > :after
  AND e.kind IN ('finding.raised', 'finding.cleared') ORDER BY e.seq;

-- name: regraded_items
-- Changes of grades of an agent's items after a revision, in order.
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, a.project, a.session, a.name
FROM events e JOIN agents a ON a.id = e.agent
WHERE e.agent = :agent AND e.revision > :after AND e.kind = 'item.changed' AND e.author = 'punchlist'
ORDER BY e.revision, e.seq;

-- name: item_changes_of_others
-- Changes of an agent's items after a revision by anybody but one author, in order.
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, a.project, a.session, a.name
FROM events e JOIN agents a ON a.id = e.agent
WHERE e.agent = :agent AND e.revision > :after AND e.kind LIKE 'item.%' AND e.author != :author
ORDER BY e.revision, e.seq;

-- name: left_out_items
-- Items that an author's rewrites left out of an agent's list after a revision, in order.
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, a.project, a.session, a.name
FROM events e JOIN agents a ON a.id = e.agent
WHERE e.agent = :agent AND e.revision > :after AND e.kind = 'item.omitted' AND e.author = :author
ORDER BY e.revision, e.seq;

-- name: regraded_tasks
-- Changes of grades of an agent's tasks after a cursor, in order.
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, a.project, a.session, a.name
FROM events e JOIN agents a ON a.id = e.agent
WHERE e.agent = :agent AND e.revision IS NULL AND e.seq > :after AND e.kind = 'task.graded' ORDER BY e.seq;


-- name: latest_of_agent
-- The latest events of an agent before one, in no order. Changes of its list and all others are each found by index.
SELECT * FROM (
  SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, a.project, a.session, a.name
  FROM events e JOIN agents a ON a.id = e.agent
  WHERE e.agent = :agent AND e.revision IS NULL AND e.seq < :before ORDER BY e.seq DESC LIMIT :limit
)
UNION ALL
SELECT * FROM (
  SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, a.project, a.session, a.name
  FROM events e JOIN agents a ON a.id = e.agent
  WHERE e.agent = :agent AND e.revision IS NOT NULL AND e.seq < :before ORDER BY e.revision DESC, e.seq DESC LIMIT :limit
);

-- name: maker_of_revision
-- The event that closes the change of a list to a revision.
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, a.project, a.session, a.name
FROM events e JOIN agents a ON a.id = e.agent
WHERE e.agent = :agent AND e.revision = :revision ORDER BY e.seq DESC LIMIT 1;
