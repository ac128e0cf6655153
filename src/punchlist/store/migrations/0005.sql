-- Files of agents that are watched, and how far each was read. `file` is its device and inode, `sum` a fingerprint of
-- the bytes before `place`: where either differs, it is another file and is read from its beginning. `state` is what the
-- reader has to know to go on: calls that have begun and not ended.
CREATE TABLE watched_files (
    path TEXT PRIMARY KEY,
    file TEXT NOT NULL,
    place INTEGER NOT NULL,
    sum BLOB NOT NULL,
    state TEXT NOT NULL,
    at INTEGER NOT NULL
);
