-- Runtime work: what is remembered of an agent's tool calls. `part` is empty for what the next report needs, else it
-- names an item (a tally of the work on it) or a detector.

CREATE TABLE work (
    agent INTEGER NOT NULL,
    part TEXT NOT NULL,
    sum INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (agent, part)
);

-- Up to which event somebody has looked, by what they look at.
CREATE TABLE marks (
    name TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
);
