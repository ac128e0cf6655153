-- name: add_event
INSERT INTO events (at, kind, author, agent, revision, data) VALUES (?, ?, ?, ?, ?, ?);

-- name: events_after
-- Events behind a cursor, in order.
SELECT e.seq, e.at, e.kind, e.author, a.project, a.session, a.name, e.data, e.v
FROM events e LEFT JOIN agents a ON a.id = e.agent
WHERE e.seq > :after ORDER BY e.seq LIMIT :limit;

-- name: last_events
-- The latest events, newest first.
SELECT e.seq, e.at, e.kind, e.author, a.project, a.session, a.name, e.data, e.v
FROM events e LEFT JOIN agents a ON a.id = e.agent
ORDER BY e.seq DESC LIMIT :limit;

-- name: last_seq
SELECT coalesce(max(seq), 0) FROM events;

-- name: events_of_list
-- What changed a list between two revisions, in order.
SELECT kind, author, revision, data FROM events
WHERE agent = :agent AND revision > :after AND revision <= :upto ORDER BY revision, seq;

-- name: changes_by_author
-- The revisions at which an author changed a list, the latest first.
SELECT revision, kind, data FROM events
WHERE agent = :agent AND revision IS NOT NULL AND author = :author AND kind LIKE 'list.%'
  AND kind NOT IN ('list.confirmed', 'list.refused', 'list.wiped', 'list.ordered')
ORDER BY revision DESC, seq DESC LIMIT 1000;

-- name: snapshot_before
SELECT revision, todos FROM snapshots WHERE agent = :agent AND revision <= :upto ORDER BY revision DESC LIMIT 1;

-- name: add_snapshot
INSERT INTO snapshots (agent, revision, todos) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- name: find_call
SELECT fingerprint, reply FROM calls WHERE agent = ? AND call_id = ?;

-- name: add_call
INSERT INTO calls (agent, call_id, at, fingerprint, reply) VALUES (?, ?, ?, ?, ?);

-- name: copy_snapshots
-- The list as it is, so that the copy's history begins there.
INSERT INTO snapshots (agent, revision, todos) SELECT :target, revision, todos FROM agents
WHERE id = :target AND todos IS NOT NULL;
