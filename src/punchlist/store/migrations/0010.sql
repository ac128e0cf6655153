-- The list of an agent is in `lists`, whole. All else of it that changes with its steps is in its own row: `activity` is
-- what its events tell of it, `summary` its list in short; `doctor` can rebuild both.
-- A row whose checksum was wrong gets a wrong one again. Until then `lists.sum` is 1 where those of both rows were right.
INSERT INTO lists (agent, sum, todos)
SELECT a.id,
  is_sealed(a.sum, CAST(a.id || ' ' || a.revision || ' ' || a.base || ' ' || a.name AS BLOB), a.since, a.shown)
  AND is_sealed(l.sum, CAST(a.id || ' ' || a.base AS BLOB), l.todos, NULL),
  fold_list(l.todos, a.since)
FROM agents a LEFT JOIN lists l ON l.agent = a.id WHERE a.since IS NOT NULL OR l.agent IS NOT NULL
ON CONFLICT (agent) DO UPDATE SET sum = excluded.sum, todos = excluded.todos;

UPDATE lists SET sum = seal_row(
  sum = 1, (SELECT CAST(a.id || ' ' || a.revision AS BLOB) FROM agents a WHERE a.id = lists.agent), todos);

UPDATE agents SET sum = seal_row(
  is_sealed(sum, CAST(id || ' ' || revision || ' ' || base || ' ' || name AS BLOB), since, shown),
  CAST(id || ' ' || revision || ' ' || name AS BLOB), shown);

ALTER TABLE agents ADD COLUMN activity BLOB;

ALTER TABLE agents ADD COLUMN summary BLOB;

UPDATE agents SET (activity, summary) = (SELECT o.activity, o.list FROM overviews o WHERE o.agent = agents.id);

DROP TABLE overviews;

ALTER TABLE agents DROP COLUMN since;

ALTER TABLE agents DROP COLUMN base;
