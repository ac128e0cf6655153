-- Tokens for the server. Of a secret only the SHA-256 is kept. `scope` is look, answer or edit, each with those before
-- it; with a `project` the token is good for that one alone.
CREATE TABLE tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    project TEXT,
    created_at INTEGER NOT NULL
);
