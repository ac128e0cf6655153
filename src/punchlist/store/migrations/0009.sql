-- The key of the hashes on this board, so that those of two boards cannot be compared.
CREATE TABLE board_key (
    number INTEGER PRIMARY KEY CHECK (number = 1),
    key BLOB NOT NULL
);

INSERT INTO board_key (number, key) VALUES (1, randomblob(32));

-- The loop detector's hashes were over whole arguments and results: whoever read them could guess a password in them.
-- They are overwritten, and calls begin to count again.
PRAGMA secure_delete = ON;

UPDATE tool_calls SET loop_seq = NULL, loop = NULL WHERE loop IS NOT NULL;

UPDATE agents SET memory = forget_hashes(memory) WHERE memory IS NOT NULL;
