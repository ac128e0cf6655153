-- Guidance: what is remembered of an agent's turns, and the tally of its calls beside its list.

ALTER TABLE agents ADD COLUMN ledger BLOB;

CREATE TABLE guidance (
    agent INTEGER PRIMARY KEY,
    sum INTEGER,
    state BLOB NOT NULL
);
