-- name: add_token
INSERT INTO tokens (name, digest, scope, project, created_at, is_person, machine, projects, owner, expires_at)
VALUES (:name, :digest, :scope, :project, :at, :is_person, :machine, :projects, :owner, :expires);

-- name: list_tokens
SELECT id, name, digest, scope, project, created_at, is_person, machine, projects, owner, expires_at FROM tokens
ORDER BY id;

-- name: find_token
SELECT id, name, digest, scope, project, created_at, is_person, machine, projects, owner, expires_at FROM tokens
WHERE digest = :digest OR id = :id OR name = :name;

-- name: remove_token
DELETE FROM tokens WHERE name = :name;

-- name: renew_token
UPDATE tokens SET digest = :digest, projects = :projects, expires_at = :expires WHERE id = :id;

-- name: add_sign_in
INSERT INTO sign_ins (digest, token, expires_at) VALUES (:digest, :token, :expires);

-- name: find_sign_in
SELECT token FROM sign_ins WHERE digest = :digest AND expires_at > :at;

-- name: delete_sign_ins
-- The one that was used, and those that are too old.
DELETE FROM sign_ins WHERE digest = :digest OR expires_at <= :at;

-- name: save_machine
INSERT INTO machines (id, name, owner, steer, heard_at, agents) VALUES (:id, :name, :owner, :steer, :at, :agents)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, owner = excluded.owner, steer = excluded.steer,
    heard_at = excluded.heard_at, agents = excluded.agents;

-- name: find_machine
SELECT id, name, owner, steer, heard_at, agents FROM machines WHERE id = :id;

-- name: list_machines
SELECT id, name, owner, steer, heard_at, agents FROM machines ORDER BY name, id;

-- name: delete_machine
DELETE FROM machines WHERE id = :machine;

-- name: delete_events_of_machine
DELETE FROM host_events WHERE machine = :machine;
