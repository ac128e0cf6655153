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
-- The latest revision of each agent's plan, of all projects or one, the newest agents first.
SELECT a.updated_at, a.session, a.name, a.project, p.agent, p.sum, p.body FROM plans p JOIN agents a ON a.id = p.agent
WHERE (CAST(:project AS TEXT) IS NULL OR a.project = :project)
  AND p.revision = (SELECT max(other.revision) FROM plans other WHERE other.agent = p.agent)
ORDER BY p.agent DESC LIMIT :limit;

-- name: save_plan
INSERT INTO plans (agent, revision, id, state, sum, body) VALUES (:agent, :revision, :id, :state, :sum, :body)
ON CONFLICT (agent, revision) DO UPDATE SET state = excluded.state, sum = excluded.sum, body = excluded.body;

-- name: decided_plans
-- Decisions of which the agent was not told yet.
SELECT sum, body FROM plans WHERE agent = :agent AND state IN ('approved', 'rejected') ORDER BY revision;

-- name: decisions_told
-- The plan itself keeps its state; without an id, all decisions.
UPDATE plans SET state = 'told'
WHERE agent = :agent AND state IN ('approved', 'rejected') AND (CAST(:id AS TEXT) IS NULL OR id = :id);

-- name: delete_plan
DELETE FROM plans WHERE agent = :agent AND revision = :revision;

-- name: delete_plans
DELETE FROM plans WHERE agent = :agent;

-- name: latest_question
-- What an item asked last.
SELECT number, state, sum, body FROM questions
WHERE agent = :agent AND item = :item AND plan_id = :plan_id ORDER BY number DESC LIMIT 1;

-- name: open_questions
-- What is asked on the board, or by one agent, the oldest first for each agent.
SELECT a.session, a.name, a.project, q.agent, q.number, q.sum, q.body FROM questions q JOIN agents a ON a.id = q.agent
WHERE q.state = 'open' AND (:agent IS NULL OR q.agent = :agent) ORDER BY q.agent, q.number LIMIT :limit;

-- name: answered_questions
-- Answers of which the agent was not told yet.
SELECT number, sum, body FROM questions WHERE agent = :agent AND state = 'answered' ORDER BY number;

-- name: next_question
SELECT coalesce(max(number), 0) + 1 FROM questions WHERE agent = :agent;

-- name: save_question
INSERT INTO questions (agent, number, item, plan_id, state, sum, body)
VALUES (:agent, :number, :item, :plan_id, :state, :sum, :body)
ON CONFLICT (agent, number) DO UPDATE SET state = excluded.state, sum = excluded.sum, body = excluded.body;

-- name: answers_told
UPDATE questions SET state = 'told' WHERE agent = :agent AND state = 'answered';

-- name: delete_questions
DELETE FROM questions WHERE agent = :agent;

-- name: save_mode
-- The mode of an agent, with when and why it was entered.
UPDATE agents SET mode = :mode, mode_data = :body, mode_sum = :sum, updated_at = :at WHERE id = :agent;

-- name: find_mode
SELECT mode_sum, mode_data FROM agents WHERE id = :agent;
