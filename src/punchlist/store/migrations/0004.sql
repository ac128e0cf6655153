-- A list is stored whole now and then, in a table of its own, and beside it what changed since.
-- The list of an agent is the one in `lists`, which has revision `base`, and the changes in `since` applied to it.
-- What was stored before is taken over without its checksums, which were taken over other columns.

CREATE TABLE lists (
    agent INTEGER PRIMARY KEY,
    sum INTEGER,
    todos BLOB NOT NULL
);

INSERT INTO lists (agent, todos) SELECT id, todos FROM agents WHERE todos IS NOT NULL;

ALTER TABLE agents ADD COLUMN base INTEGER NOT NULL DEFAULT 0;

ALTER TABLE agents ADD COLUMN since BLOB;

UPDATE agents SET base = revision, sum = NULL;

UPDATE snapshots SET sum = NULL;

ALTER TABLE agents DROP COLUMN todos;
