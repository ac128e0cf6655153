-- name: list_notices
SELECT subject, at, body FROM notices ORDER BY subject;

-- name: save_notice
INSERT INTO notices (subject, at, body) VALUES (:subject, :at, :body)
ON CONFLICT (subject) DO UPDATE SET at = excluded.at, body = excluded.body;

-- name: delete_notice
DELETE FROM notices WHERE subject = :subject;

-- name: find_notice
SELECT at, body FROM notices WHERE subject = :subject;
