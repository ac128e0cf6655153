-- Kept events queue up: several of one name may wait to be waited for.
CREATE TABLE task_signal_queue (
    number INTEGER PRIMARY KEY,
    list INTEGER NOT NULL,
    topic TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    sum INTEGER,
    payload BLOB NOT NULL
);

INSERT INTO task_signal_queue (list, topic, correlation_id, at, sum, payload)
SELECT list, topic, correlation_id, at, sum, payload FROM task_signals ORDER BY at;

DROP TABLE task_signals;

ALTER TABLE task_signal_queue RENAME TO task_signals;

CREATE INDEX signals_by_name ON task_signals (list, topic, correlation_id);
