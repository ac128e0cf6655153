-- The row of the board. `version` is the schema, as in the header of the file: a transaction reads it with its first rows.
-- `key` is that of the hashes on this board, so that those of two boards cannot be compared.
CREATE TABLE board (
    number INTEGER PRIMARY KEY CHECK (number = 1),
    version INTEGER NOT NULL,
    key BLOB NOT NULL
);

INSERT INTO board (number, version, key) VALUES (1, 0, randomblob(32));

-- The loop detector's hashes were over whole arguments and results: whoever read them could guess a password in them.
-- They are overwritten, and calls begin to count again.
PRAGMA secure_delete = ON;

UPDATE tool_calls SET loop_seq = NULL, loop = NULL WHERE loop IS NOT NULL;

UPDATE agents SET memory = forget_hashes(CAST(memory AS BLOB)) WHERE memory IS NOT NULL;
