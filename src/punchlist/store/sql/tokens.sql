-- name: add_token
INSERT INTO tokens (name, digest, scope, project, created_at, is_person)
VALUES (:name, :digest, :scope, :project, :at, :is_person);

-- name: list_tokens
SELECT id, name, digest, scope, project, created_at, is_person FROM tokens ORDER BY id;

-- name: find_token
SELECT id, name, digest, scope, project, created_at, is_person FROM tokens
WHERE digest = :digest OR id = :id OR name = :name;

-- name: remove_token
DELETE FROM tokens WHERE name = :name;
