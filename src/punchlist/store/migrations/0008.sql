-- The subagents of an agent, asked for with every window of tool calls: without the index each reads the whole table.
CREATE INDEX agents_of_parent ON agents (parent) WHERE parent IS NOT NULL;
