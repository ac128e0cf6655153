-- `line` is what a status line shows of a session: a small JSON object, written with the change that it follows from.
-- Empty: there is nothing to show. NULL: the session has not changed since the column came. `check_name` is the check
-- program by which the session has its state.
ALTER TABLE sessions ADD COLUMN line TEXT;

ALTER TABLE sessions ADD COLUMN check_name TEXT NOT NULL DEFAULT '';

-- What waits is asked for on the whole board, with every look at a list.
CREATE INDEX tasks_waiting ON tasks (list) WHERE status = 'waiting';
