-- What a person was told of agents, so that each fact is told once, whichever program tells it: agents as they were last
-- seen, waits that are known, facts that are held back until the quiet hours end. `subject` names what a row is about;
-- its first word says which of these it is.
CREATE TABLE notices (
    subject TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    body BLOB NOT NULL
) WITHOUT ROWID;
