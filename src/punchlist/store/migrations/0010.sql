-- The list of an agent is in `lists`, whole. All else of it that changes with its steps is in its own row: `activity` is
-- what its events tell of it, `summary` its list in short; `doctor` can rebuild both.
INSERT INTO lists (agent, sum, todos)
SELECT a.id, 0, fold_list(l.todos, a.since) FROM agents a LEFT JOIN lists l ON l.agent = a.id WHERE a.since IS NOT NULL
ON CONFLICT (agent) DO UPDATE SET todos = excluded.todos;

UPDATE lists SET sum = seal_row((SELECT a.id || ' ' || a.revision FROM agents a WHERE a.id = lists.agent), todos);

UPDATE agents SET sum = seal_row(id || ' ' || revision || ' ' || name, coalesce(shown, x''));

ALTER TABLE agents ADD COLUMN activity BLOB;

ALTER TABLE agents ADD COLUMN summary BLOB;

UPDATE agents SET (activity, summary) = (SELECT o.activity, o.list FROM overviews o WHERE o.agent = agents.id);

DROP TABLE overviews;

ALTER TABLE agents DROP COLUMN since;

ALTER TABLE agents DROP COLUMN base;

-- When the next completing write of an agent was follows from its completions.
ALTER TABLE completions DROP COLUMN until;
