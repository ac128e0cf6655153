-- Durable tasks: their lists, the tasks, the edges between them, answered calls, and their place in the log.
-- Times are microseconds. `due_at` is when something happens to a task by itself, whatever its status: its lease ends
-- (in progress), its timer is over (waiting), its rest is over (pending).

CREATE TABLE task_lists (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    project TEXT NOT NULL,
    session TEXT,
    created_at INTEGER NOT NULL,
    next_id INTEGER NOT NULL DEFAULT 1
);

CREATE INDEX task_lists_of_session ON task_lists (session) WHERE session IS NOT NULL;

CREATE INDEX task_lists_of_project ON task_lists (project);

-- `rank` lies above that of every blocker. `agent` is the agent that works on it, when it is one of this board.
-- `open_blockers` and `children` are counts that follow from other rows; `sum` is a checksum of the body.
CREATE TABLE tasks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    list INTEGER NOT NULL,
    id INTEGER NOT NULL,
    status TEXT NOT NULL,
    priority INTEGER NOT NULL,
    owner TEXT,
    agent INTEGER,
    parent INTEGER,
    children INTEGER NOT NULL DEFAULT 0,
    rank INTEGER NOT NULL,
    open_blockers INTEGER NOT NULL DEFAULT 0,
    runs_after TEXT NOT NULL,
    due_at INTEGER,
    lease INTEGER,
    fence INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    topic TEXT,
    correlation_id TEXT,
    reserved TEXT,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    updated_at INTEGER NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0,
    sum INTEGER,
    body BLOB NOT NULL,
    UNIQUE (list, id)
);

CREATE INDEX tasks_ready ON tasks (list, priority, id)
WHERE status = 'pending' AND owner IS NULL AND open_blockers = 0 AND due_at IS NULL AND cancel_requested = 0;

CREATE INDEX tasks_due ON tasks (list, due_at) WHERE due_at IS NOT NULL;

CREATE INDEX tasks_of_owner ON tasks (list, owner, priority, id) WHERE owner IS NOT NULL AND finished_at IS NULL;

CREATE INDEX tasks_of_agent ON tasks (agent) WHERE agent IS NOT NULL AND finished_at IS NULL;

CREATE INDEX tasks_of_parent ON tasks (parent) WHERE parent IS NOT NULL;

CREATE INDEX tasks_of_event ON tasks (list, topic, correlation_id) WHERE topic IS NOT NULL;

CREATE INDEX tasks_reserving ON tasks (list) WHERE reserved IS NOT NULL;

CREATE TABLE task_edges (
    task INTEGER NOT NULL,
    blocker INTEGER NOT NULL,
    PRIMARY KEY (task, blocker)
) WITHOUT ROWID;

CREATE UNIQUE INDEX task_edges_of_blocker ON task_edges (blocker, task);

CREATE TABLE task_labels (
    task INTEGER NOT NULL,
    label TEXT NOT NULL,
    PRIMARY KEY (task, label)
) WITHOUT ROWID;

-- Events that came before anybody waited for them, and are to be kept.
CREATE TABLE task_signals (
    list INTEGER NOT NULL,
    topic TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    sum INTEGER,
    payload BLOB NOT NULL,
    PRIMARY KEY (list, topic, correlation_id)
) WITHOUT ROWID;

CREATE TABLE task_calls (
    list INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    sum INTEGER,
    fingerprint BLOB NOT NULL,
    reply BLOB NOT NULL,
    PRIMARY KEY (list, call_id)
) WITHOUT ROWID;

CREATE INDEX task_calls_by_time ON task_calls (at);

ALTER TABLE events ADD COLUMN task_list INTEGER;

ALTER TABLE events ADD COLUMN task INTEGER;

CREATE INDEX events_of_task ON events (task_list, task) WHERE task_list IS NOT NULL;
