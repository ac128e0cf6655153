-- What is on its way from this machine to a team's server. A line of `outbox` is deleted once the server has it; the hook
-- of its event waits for the answer `until` then. `relay` is one row: the number of the last line, the bytes that wait, and
-- how many lines were dropped because too many waited.
CREATE TABLE outbox (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    event TEXT NOT NULL,
    until INTEGER NOT NULL,
    line BLOB NOT NULL
);

CREATE TABLE relay (
    number INTEGER PRIMARY KEY CHECK (number = 1),
    last INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    sent_at INTEGER
);

-- Calls that began here, as they were described: the end of a call, or one that reads its output, is described with it.
CREATE TABLE described_calls (
    number INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    id TEXT NOT NULL,
    background TEXT NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (agent, id)
);

-- The line of a session that is on the server, for the rows under its prompt.
CREATE TABLE team_lines (
    session TEXT PRIMARY KEY,
    line TEXT NOT NULL
);
