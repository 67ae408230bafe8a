-- Lists of the user's own jobs, without Foreman's own (the deliveries of webhooks, in queues named `foreman.…`). Only adds: a
-- binary that knows nothing of it runs on it. A tenant with a hundred thousand deliveries and five jobs must not walk over
-- the deliveries to find the five, so each list has an index that leaves them out. With the queue,
-- because SQLite looks at it again: without it each row would be looked up in its table. Made while the file is opened.

CREATE INDEX jobs_of_users ON jobs (tenant, id, queue) WHERE substr(queue, 1, 8) <> 'foreman.';
-- By state and time.
CREATE INDEX outcomes_of_users ON outcomes (tenant, state, finished_at, job, queue)
    WHERE substr(queue, 1, 8) <> 'foreman.';
-- Those that failed or died, by their errors. The groups are found by skipping from one to the next; those that ended before
-- errors were grouped come first.
CREATE INDEX failures_of_users ON outcomes (tenant, state, error_group, finished_at, job, queue)
    WHERE state IN ('failed', 'dead') AND substr(queue, 1, 8) <> 'foreman.';

-- Which tasks a worker has handlers for, as a JSON array, so that a job that no worker would take is noticed. NULL: a binary of the
-- version before registered it, and did not say.
ALTER TABLE sessions ADD COLUMN tasks TEXT;
