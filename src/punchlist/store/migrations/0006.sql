-- Approval plans, a row a revision, and questions to people. `sum` is a checksum of the row, as before.

CREATE TABLE plans (
    agent INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    sum INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (agent, revision)
);

CREATE INDEX plans_proposed ON plans (agent) WHERE state = 'proposed';

-- `state` is `open`, `answered` (its agent was not told yet) or `told`.
CREATE TABLE questions (
    agent INTEGER NOT NULL,
    number INTEGER NOT NULL,
    item TEXT NOT NULL,
    plan_id TEXT NOT NULL,
    state TEXT NOT NULL,
    sum INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (agent, number)
);

CREATE INDEX questions_open ON questions (agent, number) WHERE state = 'open';

CREATE INDEX questions_answered ON questions (agent, number) WHERE state = 'answered';
