-- name: save_mode
-- The mode of an agent, with when and why it was entered.
UPDATE agents SET mode = :mode, mode_data = :body, mode_sum = :sum, updated_at = :at WHERE id = :agent;

-- name: find_mode
SELECT mode_sum, mode_data FROM agents WHERE id = :agent;
