-- So that no statement reads a whole table that grows with the history of the board.
CREATE INDEX agents_of_project ON agents (project, created_at);

CREATE INDEX agents_of_name ON agents (name);

CREATE INDEX calls_by_time ON calls (at);

CREATE INDEX completions_by_time ON completions (at);

CREATE INDEX conversations_by_time ON conversations (seen_at);

CREATE INDEX items_by_time ON kept_items (touched);

CREATE INDEX tasks_standing ON tasks (list, id) WHERE status IN ('in_progress', 'waiting', 'failed');

CREATE INDEX tasks_completed ON tasks (finished_at, number) WHERE status = 'completed';
