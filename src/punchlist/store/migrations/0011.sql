-- What a report on a tool call was taken for, beside its event: with it the rows of `work` and `guidance`, which may
-- be some reports behind, are brought up to date. The bytes mean nothing to the store; a checksum stands behind them.

ALTER TABLE events ADD COLUMN hint BLOB;
