-- Conversations of the hosts that Punchlist is attached to. `session` is the session of the board that one belongs to:
-- the host's own id, unless a handoff bound it to another. `state` is busy, idle or ended; `event` is the last hook.
-- `told` is a hash of the open work that its model was last told of; `is_unread` until the next request to the model.
CREATE TABLE conversations (
    host TEXT NOT NULL,
    id TEXT NOT NULL,
    session TEXT NOT NULL,
    project TEXT NOT NULL,
    pid INTEGER,
    state TEXT NOT NULL,
    event TEXT NOT NULL,
    since INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    told TEXT,
    is_unread INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (host, id)
);

CREATE INDEX conversations_of_session ON conversations (session);

-- The last calls of our own tools, and of tools that start a subagent, by the host's id of the call. `label` is for the
-- subagent of the type `spawns`, until that has begun.
CREATE TABLE host_calls (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    host TEXT NOT NULL,
    conversation TEXT NOT NULL,
    agent TEXT NOT NULL,
    at INTEGER NOT NULL,
    spawns TEXT,
    label TEXT
);

-- The last events that hosts handed over, by the id that the hook gave them, and the answers to those.
CREATE TABLE host_events (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    answer BLOB
);

-- How far the file next to the board in which hooks leave events was ingested: its first line names its generation.
CREATE TABLE inbox (
    number INTEGER PRIMARY KEY CHECK (number = 1),
    generation TEXT NOT NULL,
    place INTEGER NOT NULL
);
