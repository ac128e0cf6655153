-- name: latest_question
-- What an item asked last.
SELECT number, state, sum, body FROM questions
WHERE agent = :agent AND item = :item AND plan_id = :plan_id ORDER BY number DESC LIMIT 1;

-- name: open_questions
-- What is asked on the board, the oldest first for each agent.
SELECT a.session, a.name, a.project, q.agent, q.number, q.sum, q.body FROM questions q JOIN agents a ON a.id = q.agent
WHERE q.state = 'open' ORDER BY q.agent, q.number LIMIT :limit;

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
