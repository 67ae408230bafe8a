-- Which tasks a worker has handlers for, so that a job that no worker would take is noticed. NULL: a binary of the version before
-- registered it, and did not say.
ALTER TABLE sessions ADD COLUMN tasks text[];
