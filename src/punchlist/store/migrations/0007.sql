-- How far the transcripts have been read that tell of a list of tasks. `mark` is what stands before that place.

CREATE TABLE task_readings (
    list INTEGER NOT NULL,
    source TEXT NOT NULL,
    place INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    mark BLOB NOT NULL,
    PRIMARY KEY (list, source)
);
