-- All worktrees of a repository are one project. `project` is its key, which `source` says how to read: `git`, it stands
-- for the common git directory; `folder`, it is the folder itself. `remote` is the URL that the repository was cloned
-- from, without user, password and `.git`. `folder` is the root of the worktree in which the session was first seen.
-- `is_declined`: nobody wants the open items that it left.
ALTER TABLE sessions ADD COLUMN source TEXT NOT NULL DEFAULT 'folder';
ALTER TABLE sessions ADD COLUMN remote TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN folder TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN is_declined INTEGER NOT NULL DEFAULT 0;

-- `is_begun`: its first prompt was seen.
ALTER TABLE conversations ADD COLUMN is_begun INTEGER NOT NULL DEFAULT 0;

-- What was kept under the folder of a worktree is found under its repository.
UPDATE sessions SET folder = project;
UPDATE sessions SET project = find_project(folder, 'key'), source = find_project(folder, 'source'), remote = find_project(folder, 'remote');
UPDATE agents SET project = find_project(project, 'key');
UPDATE conversations SET project = find_project(project, 'key'), is_begun = 1;
UPDATE tokens SET project = find_project(project, 'key') WHERE project IS NOT NULL;
UPDATE task_lists SET project = find_project(project, 'key') WHERE project <> '';
UPDATE task_lists SET name = 'project:' || project
WHERE number IN (SELECT min(l.number) FROM task_lists l WHERE l.name LIKE 'project:%' GROUP BY l.project)
  AND NOT EXISTS (SELECT 1 FROM task_lists o WHERE o.name = 'project:' || task_lists.project);

CREATE INDEX sessions_by_folder ON sessions (folder, recent);
