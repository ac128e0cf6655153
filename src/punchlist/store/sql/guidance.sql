-- name: find_guidance
SELECT sum, state FROM guidance WHERE agent = ?;

-- name: add_guidance
INSERT INTO guidance (agent, sum, state) VALUES (?, ?, ?)
ON CONFLICT (agent) DO UPDATE SET sum = excluded.sum, state = excluded.state;

-- name: costs_of_session
SELECT a.id, a.session, a.name, a.ledger, g.sum, g.state
FROM agents a LEFT JOIN guidance g ON g.agent = a.id
WHERE a.session = :session ORDER BY a.id;

-- name: costs_of_project
-- What each agent of a project cost; a session belongs to one project.
SELECT a.id, a.session, a.name, a.ledger, g.sum, g.state
FROM sessions s JOIN agents a ON a.session = s.id LEFT JOIN guidance g ON g.agent = a.id
WHERE s.project = :project ORDER BY a.id;

-- name: costs_of_board
SELECT a.id, a.session, a.name, a.ledger, g.sum, g.state
FROM agents a LEFT JOIN guidance g ON g.agent = a.id ORDER BY a.id;

-- name: delete_guidance
DELETE FROM guidance WHERE agent = :agent;
