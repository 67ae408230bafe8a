-- How far those have come in a line who can be served, found without looking at every tenant that ever came to it: the last places
-- first. Only adds: a binary that knows nothing of it runs on it.
CREATE INDEX line_shares_by_key ON line_shares (queue, lane, route, last_key, tenant);
