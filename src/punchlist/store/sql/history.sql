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
