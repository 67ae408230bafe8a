-- What lists show of a job whose work is large, as JSON: the work without its content, so that a list need not read it. NULL: the
-- work is small, or a binary that knew nothing of this has written it; then the work itself is read, and its content skipped.
ALTER TABLE jobs ADD COLUMN outline TEXT;
