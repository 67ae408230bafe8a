-- The lowest position that a writer has announced and may still be writing behind. (src/changes.rs says how.)
--
--   $1 ours among the advisory locks of this database
SELECT min((classid::bigint & 65535) << 32 | objid::bigint) AS position FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint >> 16 = $1::bigint >> 48
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
