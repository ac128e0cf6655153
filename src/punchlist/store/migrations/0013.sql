-- Machines of a team report to this board, each with a token of scope `report`. `machine` is made with the token and names
-- it for good; empty, it is the machine of the board. `projects` are normalised URLs of repositories, as JSON, or `*`.
ALTER TABLE tokens ADD COLUMN machine TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN projects TEXT NOT NULL DEFAULT '[]';
ALTER TABLE tokens ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN expires_at INTEGER;

ALTER TABLE sessions ADD COLUMN machine TEXT NOT NULL DEFAULT '';
ALTER TABLE conversations ADD COLUMN machine TEXT NOT NULL DEFAULT '';

CREATE INDEX sessions_of_machine ON sessions (machine, recent);
CREATE INDEX conversations_of_machine ON conversations (machine, seen_at);

-- A line that is sent again gets its first answer, however many lines other machines sent meanwhile.
ALTER TABLE host_events ADD COLUMN machine TEXT NOT NULL DEFAULT '';
CREATE INDEX host_events_of_machine ON host_events (machine, number);

-- `heard_at` is its last heartbeat, `agents` what it said of its conversations then, as JSON. `steer`: `team`, if people
-- other than the owner of its token may edit lists there, approve plans and wake agents.
CREATE TABLE machines (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    steer TEXT NOT NULL DEFAULT 'owner',
    heard_at INTEGER NOT NULL,
    agents TEXT NOT NULL DEFAULT '[]'
);

-- Links by which a person signs in with a token of theirs, once and within minutes.
CREATE TABLE sign_ins (
    digest BLOB PRIMARY KEY,
    token INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
);
