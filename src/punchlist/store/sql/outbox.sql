-- name: load_relay
SELECT last, bytes, dropped, sent_at FROM relay WHERE number = 1;

-- name: save_relay
INSERT INTO relay (number, last, bytes, dropped, sent_at) VALUES (1, :last, :bytes, :dropped, :sent_at)
ON CONFLICT (number) DO UPDATE SET last = excluded.last, bytes = excluded.bytes, dropped = excluded.dropped,
    sent_at = excluded.sent_at;

-- name: add_to_outbox
INSERT INTO outbox (number, id, event, until, line) VALUES (:number, :id, :event, :until, :line);

-- name: first_of_outbox
SELECT number, id, event, until, line FROM outbox ORDER BY number LIMIT :most;

-- name: find_in_outbox
SELECT 1 FROM outbox WHERE id = :id;

-- name: has_outbox_upto
SELECT 1 FROM outbox WHERE number <= :number LIMIT 1;

-- name: delete_from_outbox
DELETE FROM outbox WHERE number = :number;

-- name: save_described_call
INSERT INTO described_calls (agent, id, background, body) VALUES (:agent, :id, :background, :body)
ON CONFLICT (agent, id) DO UPDATE SET background = excluded.background, body = excluded.body;

-- name: forget_described_calls
DELETE FROM described_calls WHERE number <= (SELECT max(number) FROM described_calls) - :most;

-- name: find_described_call
SELECT body FROM described_calls WHERE agent = :agent AND id = :id;

-- name: find_background_call
SELECT body FROM described_calls WHERE agent = :agent AND background = :background ORDER BY number DESC LIMIT 1;

-- name: save_team_line
INSERT INTO team_lines (session, line) VALUES (:session, :line) ON CONFLICT (session) DO UPDATE SET line = excluded.line;

-- name: find_team_line
SELECT line FROM team_lines WHERE session = :session;
