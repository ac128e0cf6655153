-- name: add_event
INSERT INTO events (seq, at, kind, author, agent, revision, sum, data, task_list, task)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: events_after
-- Events after a cursor, in order.
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, coalesce(a.project, l.project),
  coalesce(a.session, l.session), a.name
FROM events e LEFT JOIN agents a ON a.id = e.agent LEFT JOIN task_lists l ON l.number = e.task_list
WHERE e.seq > :after ORDER BY e.seq LIMIT :limit;

-- name: last_events
-- The latest events, newest first.
SELECT e.seq, e.at, e.kind, e.author, e.agent, e.revision, e.v, e.sum, e.data, coalesce(a.project, l.project),
  coalesce(a.session, l.session), a.name
FROM events e LEFT JOIN agents a ON a.id = e.agent LEFT JOIN task_lists l ON l.number = e.task_list
ORDER BY e.seq DESC LIMIT :limit;

-- name: events_of_list
-- What changed a list between two revisions, in order.
SELECT seq, at, kind, author, agent, revision, v, sum, data FROM events
WHERE agent = :agent AND revision > :after AND revision <= :upto ORDER BY revision, seq;

-- name: changes_by_author
-- The revisions at which an author changed a list, the latest first.
SELECT revision, kind, data FROM events
WHERE agent = :agent AND revision IS NOT NULL AND author = :author AND kind LIKE 'list.%'
  AND kind NOT IN ('list.confirmed', 'list.refused', 'list.wiped', 'list.ordered')
ORDER BY revision DESC, seq DESC LIMIT 1000;

-- name: lists_of_session_changed_by
-- The agents of a session whose lists an author changed, the latest change first.
SELECT a.id, a.session, a.name FROM agents a JOIN events e ON e.agent = a.id
WHERE a.session = :session AND e.revision IS NOT NULL AND e.author = :author AND e.kind LIKE 'list.%'
GROUP BY a.id ORDER BY max(e.seq) DESC;

-- name: lists_of_project_changed_by
SELECT a.id, a.session, a.name FROM agents a JOIN events e ON e.agent = a.id
WHERE a.project = :project AND e.revision IS NOT NULL AND e.author = :author AND e.kind LIKE 'list.%'
GROUP BY a.id ORDER BY max(e.seq) DESC;

-- name: snapshot_before
SELECT revision, sum, todos FROM snapshots WHERE agent = :agent AND revision <= :upto ORDER BY revision DESC LIMIT 1;

-- name: add_snapshot
INSERT INTO snapshots (agent, revision, sum, todos) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: find_call
SELECT sum, fingerprint, reply FROM calls WHERE agent = ? AND call_id = ?;

-- name: add_call
-- A call that was only known from a transcript may be answered later.
INSERT INTO calls (agent, call_id, at, sum, fingerprint, reply) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (agent, call_id)
DO UPDATE SET at = excluded.at, sum = excluded.sum, fingerprint = excluded.fingerprint, reply = excluded.reply;

-- name: last_write
-- The last write of a list by its own agent, on the board or in a transcript; what people changed since is none.
SELECT at, data FROM events
WHERE agent = :agent AND revision IS NOT NULL AND (kind = 'list.restored'
  OR (author = :author AND kind IN ('list.replaced', 'list.merged', 'list.edited', 'list.undone')))
ORDER BY revision DESC, seq DESC LIMIT 1;

-- name: said_again
-- When a write last said what was already so, or the list came here as a copy, whose events are the original's.
SELECT at FROM events
WHERE agent = :agent AND revision IS NULL
  AND (kind = 'session.copied' OR (author = :author AND kind = 'list.confirmed'))
ORDER BY seq DESC LIMIT 1;

-- name: answered
-- The session in which a call was answered, of those whose lists hold something; the one that was at work last.
SELECT a.session FROM agents a JOIN calls c ON c.agent = a.id AND c.call_id = :call_id AND c.fingerprint = :fingerprint
WHERE a.project = :project AND a.name = :name AND a.item_count > 0
ORDER BY a.recent DESC, a.id DESC LIMIT 1;

-- name: wiped_from_plan
-- What was cleared off a list during one plan, which began at revision :first.
SELECT revision, data FROM events
WHERE agent = :agent AND kind = 'list.wiped' AND revision >= :first AND revision < coalesce(
  (SELECT min(e.revision) FROM events e WHERE e.agent = :agent AND e.revision > :first AND e.kind = 'plan.started'),
  :most)
ORDER BY revision;
