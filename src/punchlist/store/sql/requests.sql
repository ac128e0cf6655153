-- name: find_request
SELECT sum, fingerprint, status, etag, reply FROM requests WHERE author = ? AND key = ? AND at > ?;

-- name: save_request
INSERT INTO requests (author, key, at, sum, fingerprint, status, etag, reply) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (author, key) DO UPDATE SET at = excluded.at, sum = excluded.sum, fingerprint = excluded.fingerprint,
  status = excluded.status, etag = excluded.etag, reply = excluded.reply;

-- name: delete_old_requests
DELETE FROM requests WHERE at <= ?;

-- name: list_projects
-- Every project with a session or a list of tasks, with how many sessions it has and the latest change to one.
SELECT project, sum(sessions), max(recent) FROM (
  SELECT project, count(*) AS sessions, max(recent) AS recent FROM sessions GROUP BY project
  UNION ALL
  SELECT project, 0, max(created_at) FROM task_lists GROUP BY project
) AS places GROUP BY project ORDER BY 3 DESC, 1;
