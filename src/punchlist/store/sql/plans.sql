-- name: current_plan
-- The latest revision of an agent's plan.
SELECT sum, body FROM plans WHERE agent = :agent ORDER BY revision DESC LIMIT 1;

-- name: plans_of_agent
-- Every revision, the oldest first.
SELECT sum, body FROM plans WHERE agent = :agent ORDER BY revision;

-- name: find_plan
-- A plan by its id, with whose it is.
SELECT a.session, a.name, a.project, p.agent, p.sum, p.body FROM plans p JOIN agents a ON a.id = p.agent
WHERE p.id = :id;

-- name: proposed_plans
-- What is proposed on the board, whether or not it is too late to decide.
SELECT a.session, a.name, a.project, p.agent, p.sum, p.body FROM plans p JOIN agents a ON a.id = p.agent
WHERE p.state = 'proposed' LIMIT :limit;

-- name: latest_plans
-- The latest revision of each agent's plan, of all projects or one, the agents that were last at work first.
SELECT a.session, a.name, a.project, p.agent, p.sum, p.body FROM plans p JOIN agents a ON a.id = p.agent
WHERE (:project IS NULL OR a.project = :project)
  AND p.revision = (SELECT max(other.revision) FROM plans other WHERE other.agent = p.agent)
ORDER BY a.updated_at DESC, p.agent LIMIT :limit;

-- name: save_plan
INSERT INTO plans (agent, revision, id, state, sum, body) VALUES (:agent, :revision, :id, :state, :sum, :body)
ON CONFLICT (agent, revision) DO UPDATE SET state = excluded.state, sum = excluded.sum, body = excluded.body;

-- name: touch_agent
-- Somebody was at work here: the session is not an old one.
UPDATE agents SET updated_at = :at WHERE id = :agent AND updated_at < :at;

-- name: delete_plan
DELETE FROM plans WHERE agent = :agent AND revision = :revision;

-- name: delete_plans
DELETE FROM plans WHERE agent = :agent;
