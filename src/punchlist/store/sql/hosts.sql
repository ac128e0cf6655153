-- name: find_conversation
SELECT host, id, session, project, pid, state, event, since, seen_at, sent_upto, told_upto, is_begun
FROM conversations
WHERE host = :host AND id = :id;

-- name: conversations_of_session
-- The latest first.
SELECT host, id, session, project, pid, state, event, since, seen_at, sent_upto, told_upto, is_begun
FROM conversations
WHERE session = :session ORDER BY seen_at DESC LIMIT :limit;

-- name: conversations_of_board
SELECT host, id, session, project, pid, state, event, since, seen_at, sent_upto, told_upto, is_begun
FROM conversations
ORDER BY seen_at DESC LIMIT :limit;

-- name: save_conversation
-- The project is that of the first event; a session to which it was bound stays.
INSERT INTO conversations (host, id, session, project, pid, state, event, since, seen_at, is_begun)
VALUES (:host, :id, :session, :project, :pid, :state, :event, :at, :at, :begins)
ON CONFLICT (host, id) DO UPDATE SET
    is_begun = CASE WHEN excluded.is_begun <> 0 THEN 1 ELSE conversations.is_begun END,
    pid = coalesce(excluded.pid, conversations.pid), event = excluded.event, state = excluded.state,
    seen_at = CASE WHEN excluded.seen_at > conversations.seen_at THEN excluded.seen_at ELSE conversations.seen_at END,
    since = CASE WHEN conversations.state = excluded.state THEN conversations.since ELSE excluded.since END;

-- name: bind_conversation
INSERT INTO conversations (host, id, session, project, pid, state, event, since, seen_at)
VALUES (:host, :id, :session, :project, NULL, 'idle', '', :at, :at)
ON CONFLICT (host, id) DO UPDATE SET session = excluded.session;

-- name: find_served_session
-- The session of an MCP server that was first called at a time, or near it.
SELECT session FROM agents
WHERE project = :project AND name = 'main' AND substr(session, 1, length(:prefix)) = :prefix AND created_at BETWEEN :first AND :last
ORDER BY abs(created_at - :at) LIMIT 1;

-- name: find_told
SELECT told, is_unread FROM conversations WHERE host = :host AND id = :id;

-- name: save_told
UPDATE conversations SET told = :told, is_unread = 1 WHERE host = :host AND id = :id;

-- name: mark_read
UPDATE conversations SET is_unread = 0 WHERE host = :host AND id = :id AND is_unread <> 0;

-- name: save_delivery
UPDATE conversations SET sent_upto = :sent, told_upto = :told WHERE host = :host AND id = :id;

-- name: move_conversations
UPDATE conversations SET session = :target WHERE session = :source;

-- name: delete_old_conversations
DELETE FROM conversations WHERE seen_at < :before;

-- name: add_host_call
-- The ids of some hosts begin again in each conversation: the latest call of an id is meant.
INSERT INTO host_calls (id, host, conversation, agent, at, spawns, label)
VALUES (:id, :host, :conversation, :agent, :at, :spawns, :label)
ON CONFLICT (id) DO UPDATE SET number = (SELECT max(latest.number) + 1 FROM host_calls latest), host = excluded.host,
    conversation = excluded.conversation, agent = excluded.agent, at = excluded.at, spawns = excluded.spawns,
    label = excluded.label;

-- name: forget_host_calls
DELETE FROM host_calls WHERE number <= (SELECT max(number) FROM host_calls) - :most;

-- name: find_host_call
SELECT coalesce(c.session, h.conversation), h.agent, h.at, c.pid FROM host_calls h
LEFT JOIN conversations c ON c.host = h.host AND c.id = h.conversation WHERE h.id = :id;

-- name: find_earlier_call
SELECT 1 FROM calls c JOIN agents a ON a.id = c.agent
WHERE a.session = :session AND a.name = :agent AND c.call_id = :id AND c.at < :before;

-- name: find_label
-- The label of the subagent that was asked for first and has not begun.
SELECT number, label FROM host_calls
WHERE host = :host AND conversation = :conversation AND spawns = :spawns ORDER BY number LIMIT 1;

-- name: use_label
UPDATE host_calls SET spawns = NULL WHERE number = :number;

-- name: add_host_event
INSERT INTO host_events (id, at, answer) VALUES (:id, :at, :answer);

-- name: forget_host_events
DELETE FROM host_events WHERE number <= (SELECT max(number) FROM host_events) - :most;

-- name: find_host_event
SELECT answer FROM host_events WHERE id = :id;

-- name: inbox_place
SELECT place FROM inbox WHERE generation = :generation;

-- name: save_inbox_place
INSERT INTO inbox (number, generation, place) VALUES (1, :generation, :place)
ON CONFLICT (number) DO UPDATE SET generation = excluded.generation, place = excluded.place;

-- name: add_handoff
INSERT INTO handoffs (token, session, host, at) VALUES (:token, :session, :host, :at);

-- name: find_handoff
SELECT session FROM handoffs WHERE token = :token AND host = :host AND at >= :since;

-- name: forget_handoffs
DELETE FROM handoffs WHERE at < :before;

-- name: find_watched_file
SELECT file, place, sum, state FROM watched_files WHERE path = :path;

-- name: list_watched_files
SELECT path, file, place FROM watched_files;

-- name: forget_watched_file
DELETE FROM watched_files WHERE path = :path AND at < :before;

-- name: save_watched_file
INSERT INTO watched_files (path, file, place, sum, state, at) VALUES (:path, :file, :place, :sum, :state, :at)
ON CONFLICT (path) DO UPDATE SET file = excluded.file, place = excluded.place, sum = excluded.sum,
    state = excluded.state, at = excluded.at;
