-- When and why an agent entered plan mode, as JSON, with its checksum; NULL while it works.

ALTER TABLE agents ADD COLUMN mode_data BLOB;

ALTER TABLE agents ADD COLUMN mode_sum INTEGER;
