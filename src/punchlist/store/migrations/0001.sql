-- The schema of a board. Times are microseconds since 1970. `sum` is a checksum; a row without one is not checked.
-- `recent` is the time of the last write, up to a minute late, so that two indexes are not written with every change.
-- `checks` is the record of a session's checks and code changes, `state` what it says: red, unchecked, green or idle.

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    recent INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'idle',
    checks BLOB
) WITHOUT ROWID;

CREATE INDEX sessions_by_time ON sessions (recent);

CREATE INDEX sessions_by_project ON sessions (project, recent);

-- The number of a deleted agent never comes back: old events may still name it. `mode_data` says when and why the agent
-- entered plan mode, as JSON. `memory` is all that is remembered of it between two reports, and `started_for` the item
-- of its parent that it was started for. Its list is the one in `lists`, which has revision `base`, with the changes in
-- `since` applied to it; `shown` is what the model knows of it, NULL if it knows it all.
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
    sum INTEGER,
    base INTEGER NOT NULL DEFAULT 0,
    since BLOB,
    shown BLOB,
    memory BLOB,
    started_for TEXT,
    mode_data BLOB,
    mode_sum INTEGER,
    UNIQUE (session, name)
);

CREATE INDEX agents_by_project ON agents (project, recent) WHERE item_count > 0;

CREATE INDEX agents_by_time ON agents (recent) WHERE item_count > 0;

CREATE TABLE lists (
    agent INTEGER PRIMARY KEY,
    sum INTEGER,
    todos BLOB NOT NULL
);

-- An event is about an agent, about a task, or both. `revision` is set where the event made that revision of a list.
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    author TEXT NOT NULL,
    agent INTEGER,
    revision INTEGER,
    v INTEGER NOT NULL DEFAULT 1,
    sum INTEGER,
    data BLOB NOT NULL,
    task_list INTEGER,
    task INTEGER
);

CREATE INDEX events_of_agent ON events (agent, revision);

CREATE INDEX events_of_task ON events (task_list, task) WHERE task_list IS NOT NULL;

-- The list of an agent at each 50th revision.
CREATE TABLE snapshots (
    agent INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    sum INTEGER,
    todos BLOB NOT NULL,
    PRIMARY KEY (agent, revision)
) WITHOUT ROWID;

-- Calls that were answered: the same call id again gets the same reply.
CREATE TABLE calls (
    agent INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    sum INTEGER,
    fingerprint BLOB NOT NULL,
    reply BLOB NOT NULL,
    PRIMARY KEY (agent, call_id)
) WITHOUT ROWID;

-- One row per tool call; can be rebuilt from the log. `seq` is the event of its first report, `ended` that of its end,
-- NULL while it runs; `outcome` is running, ok, failed or abandoned. `drifts` is 1 where the call changes something that the list should tell of. `loop` is the call as the loop detector
-- recorded it with the event `loop_seq`, NULL where it does not count. `body` is all that the reports say of it.
CREATE TABLE tool_calls (
    agent INTEGER NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    tool TEXT NOT NULL,
    ended INTEGER,
    outcome TEXT NOT NULL,
    drifts INTEGER NOT NULL,
    loop_seq INTEGER,
    loop BLOB,
    sum INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (agent, id)
) WITHOUT ROWID;

CREATE INDEX calls_ended ON tool_calls (agent, ended);

CREATE INDEX open_calls ON tool_calls (agent, seq) WHERE outcome IN ('running', 'abandoned');

CREATE INDEX loop_window ON tool_calls (agent, loop_seq) WHERE loop_seq IS NOT NULL;

-- Completed items and tasks, each with the window of its completion. `position` is the event before the completing write,
-- `until` the one before the next completing write of the agent.
CREATE TABLE completions (
    agent INTEGER NOT NULL,
    key TEXT NOT NULL,
    position INTEGER NOT NULL,
    until INTEGER,
    at INTEGER NOT NULL,
    grade TEXT NOT NULL,
    sum INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (agent, key)
) WITHOUT ROWID;

CREATE INDEX completions_in_order ON completions (agent, position);

-- Read models, written with the events that they follow from; `doctor` can rebuild them. One row per agent: what its
-- events tell of it, and its list in short.
CREATE TABLE overviews (
    agent INTEGER PRIMARY KEY,
    activity BLOB,
    list BLOB
);

-- Every item that a list ever had. `touched` is the last event about it; `is_gone`: it left its list while open.
CREATE TABLE kept_items (
    agent INTEGER NOT NULL,
    plan TEXT NOT NULL,
    id TEXT NOT NULL,
    touched INTEGER NOT NULL,
    status TEXT NOT NULL,
    is_gone INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (agent, plan, id)
) WITHOUT ROWID;

CREATE INDEX items_standing ON kept_items (agent) WHERE is_gone = 0 AND status IN ('in_progress', 'blocked', 'failed');

-- The event up to which a reader of the log has come, by what it reads for.
CREATE TABLE marks (
    name TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
);

-- Plans to be approved, one row per revision.
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

-- Questions to people. `state` is `open`, `answered` (its agent was not told yet) or `told`.
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

CREATE INDEX task_lists_of_no_session ON task_lists (project) WHERE session IS NULL;

-- `due_at` is when something happens to a task by itself, whatever its status: its lease ends (in progress), its timer
-- ends (waiting), its back-off ends (pending). `rank` lies above that of every blocker. `agent` is the agent that works
-- on it, if it is one of this board. `open_blockers` and `children` are counts that follow from other rows.
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

-- A failed task is still owed: by the agent that had it, and by the name that it was given to.
CREATE INDEX tasks_failed_of_agent ON tasks (agent) WHERE status = 'failed' AND agent IS NOT NULL;

CREATE INDEX tasks_failed ON tasks (list, owner) WHERE status = 'failed';

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

-- Events that came before a task waited for them, and are kept; several of one name queue up.
CREATE TABLE task_signals (
    number INTEGER PRIMARY KEY,
    list INTEGER NOT NULL,
    topic TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    sum INTEGER,
    payload BLOB NOT NULL
);

CREATE INDEX signals_by_name ON task_signals (list, topic, correlation_id);

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

-- How far the transcripts have been read that tell of a list of tasks. `mark` is the text before that place.
CREATE TABLE task_readings (
    list INTEGER NOT NULL,
    source TEXT NOT NULL,
    place INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    mark BLOB NOT NULL,
    PRIMARY KEY (list, source)
);

-- The agent whose list is worked under a task, by its number, which stays when its session gets another id.
CREATE TABLE task_todos (
    task INTEGER PRIMARY KEY,
    agent INTEGER NOT NULL
);

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

-- Runs that were seen of a flow's steps.
CREATE TABLE flow_steps (
    flow INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (flow, run_id)
);
