-- Keeps messages that could not be read. One that is there already, by its place, is left alone.
--
--   $1 topics   $2 partitions   $3 offsets   $4 keys   $5 bytes   $6 sizes   $7 reasons
INSERT INTO parked_messages (parked_at, topic, partition, place, key, bytes, size, reason)
SELECT foreman_now(), topic, partition, place, key, bytes, size, reason
FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::bytea[], $5::bytea[], $6::bigint[], $7::text[])
     WITH ORDINALITY AS asked (topic, partition, place, key, bytes, size, reason, nth)
ORDER BY nth
ON CONFLICT (topic, partition, place) DO NOTHING
