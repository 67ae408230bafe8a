-- Rows of the change log. The size of a text is known without reading it.
--
--   $1 after this position   $2 up to this one   $3 at most so many   $4 none once those before it have so many bytes
SELECT position, at, moved, notes, bytes
FROM (
  SELECT *, sum(size) OVER (ORDER BY position) AS bytes
  FROM (
    SELECT position, at, moved, notes, octet_length(moved) + coalesce(octet_length(notes), 0) AS size
    FROM changes WHERE position > $1::bigint AND position <= $2::bigint ORDER BY position LIMIT $3::bigint
  ) AS next
) AS measured
WHERE bytes - size < $4::bigint ORDER BY position
