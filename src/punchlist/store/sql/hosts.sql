-- name: find_conversation
SELECT host, id, session, project, process, state, event, since, seen_at, sent_upto, told_upto, is_begun, machine
FROM conversations
WHERE host = :host AND id = :id;

-- name: conversations_of_session
-- The latest first.
SELECT host, id, session, project, process, state, event, since, seen_at, sent_upto, told_upto, is_begun, machine
FROM conversations
WHERE session = :session ORDER BY seen_at DESC LIMIT :limit;

-- name: conversations_of_board
SELECT host, id, session, project, process, state, event, since, seen_at, sent_upto, told_upto, is_begun, machine
FROM conversations
ORDER BY seen_at DESC LIMIT :limit;

-- name: conversations_of_machine
SELECT host, id, session, project, process, state, event, since, seen_at, sent_upto, told_upto, is_begun, machine
FROM conversations
WHERE machine = :machine AND state <> 'ended' ORDER BY seen_at DESC LIMIT :limit;

-- name: conversations_of_machine_after
SELECT host, id, session, project, process, state, event, since, seen_at, sent_upto, told_upto, is_begun, machine
FROM conversations
WHERE machine = :machine AND state <> 'ended' AND session IN (
  SELECT a.session FROM events e JOIN agents a ON a.id = e.agent WHERE e.seq > :after)
ORDER BY seen_at DESC LIMIT :limit;

-- name: save_conversation
-- The project is that of the first event; a session to which it was bound stays.
INSERT INTO conversations (host, id, session, project, process, state, event, since, seen_at, is_begun, machine)
VALUES (:host, :id, :session, :project, :process, :state, :event, :since, :seen_at, :is_begun, :machine)
ON CONFLICT (host, id) DO UPDATE SET is_begun = excluded.is_begun, process = excluded.process, event = excluded.event,
    state = excluded.state, seen_at = excluded.seen_at, since = excluded.since;

-- name: bind_conversation
INSERT INTO conversations (host, id, session, project, process, state, event, since, seen_at, machine)
VALUES (:host, :id, :session, :project, '', 'idle', '', :at, :at, :machine)
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

-- name: delete_calls_of_conversations
DELETE FROM host_calls WHERE EXISTS (SELECT 1 FROM conversations c
  WHERE c.session = :session AND c.host = host_calls.host AND c.id = host_calls.conversation);

-- name: delete_conversations
DELETE FROM conversations WHERE session = :session;

-- name: delete_handoffs
DELETE FROM handoffs WHERE session = :session;

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
SELECT coalesce(c.session, h.conversation), h.agent, h.at, coalesce(c.process, '') FROM host_calls h
LEFT JOIN conversations c ON c.host = h.host AND c.id = h.conversation WHERE h.id = :id;

-- name: find_session_calls
-- The calls of one id that hooks told of, one for each agent of a session, the earliest first. Its first agent may not be
-- on the board yet.
SELECT h.agent, h.at, coalesce(h.label, '') FROM host_calls h
WHERE h.id IN (
  SELECT :prefix || n.name || :suffix
  FROM (SELECT 'main' AS name UNION SELECT a.name FROM agents a WHERE a.session = :session) n)
ORDER BY h.at, h.number;

-- name: find_earlier_call
SELECT 1 FROM calls c JOIN agents a ON a.id = c.agent
WHERE a.session = :session AND a.name = :agent AND c.call_id = :id AND c.at < :before;

-- name: find_answered_call
SELECT 1 FROM calls c JOIN agents a ON a.id = c.agent
WHERE a.session = :session AND a.name = :agent AND c.call_id IN (:id, :renamed) AND c.at >= :since;

-- name: find_label
-- The label of the subagent that was asked for first and has not begun.
SELECT number, label FROM host_calls
WHERE host = :host AND conversation = :conversation AND spawns = :spawns ORDER BY number LIMIT 1;

-- name: use_label
UPDATE host_calls SET spawns = NULL WHERE number = :number;

-- name: answer_host_event
UPDATE host_events SET answer = :answer WHERE id = :id;

-- name: add_host_event
INSERT INTO host_events (id, at, answer, machine) VALUES (?, ?, ?, ?);

-- name: forget_host_events
DELETE FROM host_events WHERE machine = :machine AND number <= (
  SELECT number FROM host_events WHERE machine = :machine ORDER BY number DESC LIMIT 1 OFFSET :most);

-- name: find_host_events
SELECT id, answer FROM host_events WHERE id IN (VALUES (?));

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
