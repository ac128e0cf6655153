-- The first format: sessions, agents with their lists, the event log, snapshots, answered calls.
-- `recent` is when somebody last wrote, up to a minute late, so that two indexes are not written with every change.
-- `sum` is a checksum of the row; a row without one is not checked.
-- The list of an agent is the one in `lists`, which has revision `base`, and the changes in `since` applied to it.

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    recent INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX sessions_by_time ON sessions (recent);

CREATE INDEX sessions_by_project ON sessions (project, recent);

-- The number of a deleted agent never comes back: old events may still name it.
CREATE TABLE agents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL,
    name TEXT NOT NULL,
    parent INTEGER,
    label TEXT,
    spawn_id TEXT,
    project TEXT NOT NULL,
    mode TEXT NOT NULL DEFAULT 'execute',
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    recent INTEGER NOT NULL,
    item_count INTEGER NOT NULL DEFAULT 0,
    revision INTEGER NOT NULL DEFAULT 0,
    unseen INTEGER NOT NULL DEFAULT 0,
    base INTEGER NOT NULL DEFAULT 0,
    sum INTEGER,
    since BLOB,
    shown BLOB,
    UNIQUE (session, name)
);

CREATE TABLE lists (
    agent INTEGER PRIMARY KEY,
    sum INTEGER,
    todos BLOB NOT NULL
);

CREATE INDEX agents_by_project ON agents (project, recent) WHERE item_count > 0;

CREATE INDEX agents_by_time ON agents (recent) WHERE item_count > 0;

CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    author TEXT NOT NULL,
    agent INTEGER,
    revision INTEGER,
    v INTEGER NOT NULL DEFAULT 1,
    sum INTEGER,
    data BLOB NOT NULL
);

CREATE INDEX events_of_agent ON events (agent, revision);

CREATE TABLE snapshots (
    agent INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    sum INTEGER,
    todos BLOB NOT NULL,
    PRIMARY KEY (agent, revision)
) WITHOUT ROWID;

CREATE TABLE calls (
    agent INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    sum INTEGER,
    fingerprint BLOB NOT NULL,
    reply BLOB NOT NULL,
    PRIMARY KEY (agent, call_id)
) WITHOUT ROWID;
