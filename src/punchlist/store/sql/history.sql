-- name: written_at
-- When a list came to its present revision; of a copy, whose events are the original's, when it was stored.
SELECT coalesce((SELECT max(at) FROM events WHERE agent = :agent AND revision = :upto), updated_at)
FROM agents WHERE id = :agent;

-- name: confirmed_at
-- When a write last said what was already so.
SELECT at FROM events WHERE agent = :agent AND revision IS NULL AND kind = 'list.confirmed' ORDER BY seq DESC LIMIT 1;
