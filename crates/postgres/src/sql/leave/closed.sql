-- The end of a statement that was told everything about its jobs: which of them it closed.
SELECT number, closed, (SELECT foreman_now()) - claimed_at AS took FROM taken
