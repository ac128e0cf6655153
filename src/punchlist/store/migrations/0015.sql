-- The process of a conversation's host, by its id, its start, and the boot and the pid namespace in which it has that id:
-- an id alone means another process elsewhere.
ALTER TABLE conversations ADD COLUMN process TEXT NOT NULL DEFAULT '';

ALTER TABLE conversations DROP COLUMN pid;
