-- name: add_event
INSERT INTO events (seq, at, kind, author, agent, revision, sum, data, task_list, task)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: events_after
-- Events behind a cursor, in order.
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

-- name: last_seq
SELECT coalesce(max(seq), 0) FROM events;

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
