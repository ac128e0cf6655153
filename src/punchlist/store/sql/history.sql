-- name: written_at
-- When a list came to its present revision; of a copy, whose events are the original's, when it was stored.
SELECT coalesce((SELECT max(at) FROM events WHERE agent = :agent AND revision = :upto), updated_at)
FROM agents WHERE id = :agent;

-- name: confirmed_at
-- When a write last said what was already so.
SELECT at FROM events WHERE agent = :agent AND revision IS NULL AND kind = 'list.confirmed' ORDER BY seq DESC LIMIT 1;

-- name: wiped_from_plan
-- What was cleared off a list during one plan, which began at revision :first.
SELECT revision, data FROM events
WHERE agent = :agent AND kind = 'list.wiped' AND revision >= :first AND revision < coalesce(
  (SELECT min(e.revision) FROM events e WHERE e.agent = :agent AND e.revision > :first AND e.kind = 'plan.started'),
  :most)
ORDER BY revision;
