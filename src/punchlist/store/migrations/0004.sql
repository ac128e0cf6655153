-- Up to which event a conversation has news on its way: sent to the host, until that begins a turn; told to the model,
-- until it has answered. 0 is none.
ALTER TABLE conversations ADD COLUMN sent_upto INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN told_upto INTEGER NOT NULL DEFAULT 0;

-- Sessions that a conversation of another host may continue, if its first prompt holds the token.
CREATE TABLE handoffs (
    token TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    host TEXT NOT NULL,
    at INTEGER NOT NULL
);
