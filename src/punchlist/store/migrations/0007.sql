-- What a person was told of agents, so that each fact is told once, whichever program tells it: agents as they were last
-- seen, waits that are known, facts that are held back until the quiet hours end. `subject` names what a row is about;
-- its first word says which of these it is.
CREATE TABLE notices (
    subject TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    body BLOB NOT NULL
) WITHOUT ROWID;

-- Requests to the server that came with an `Idempotency-Key`, by the name of the token and the key. `reply` is NULL where
-- the change is told from a second one by its call id.
CREATE TABLE requests (
    author TEXT NOT NULL,
    key TEXT NOT NULL,
    at INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    fingerprint BLOB NOT NULL,
    status INTEGER NOT NULL,
    etag TEXT NOT NULL,
    reply BLOB,
    PRIMARY KEY (author, key)
) WITHOUT ROWID;

CREATE INDEX requests_by_time ON requests (at);

-- A token for a person, and not for a program.
ALTER TABLE tokens ADD COLUMN is_person INTEGER NOT NULL DEFAULT 0;
