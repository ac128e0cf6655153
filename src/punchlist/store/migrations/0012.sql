-- What failed is still owed: it is looked for by the agent that had it, and by the name of whom it was given to.
CREATE INDEX tasks_failed_of_agent ON tasks (agent) WHERE status = 'failed' AND agent IS NOT NULL;

CREATE INDEX tasks_failed ON tasks (list, owner) WHERE status = 'failed';

CREATE INDEX task_lists_of_no_session ON task_lists (project) WHERE session IS NULL;

-- Whose list is worked under a task: by the agent's own number, which stays when its session gets another id.
CREATE TABLE task_todos (
    task INTEGER PRIMARY KEY,
    agent INTEGER NOT NULL
);
