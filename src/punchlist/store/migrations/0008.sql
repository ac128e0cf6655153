-- Flows are tasks of a list of their own. Here is what tasks do not have: the id that flows go by, whose they are, and
-- the order in which they are listed. `task` is the task's number; status and times are those of the task.

CREATE TABLE flows (
    task INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    session TEXT,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    sum INTEGER NOT NULL
);

CREATE INDEX flows_of_owner ON flows (owner, created_at);

CREATE INDEX flows_of_status ON flows (status, updated_at);

CREATE INDEX flows_of_session ON flows (session) WHERE session IS NOT NULL;

-- What was seen of a flow's work, a row a run.
CREATE TABLE flow_steps (
    flow INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (flow, run_id)
);
