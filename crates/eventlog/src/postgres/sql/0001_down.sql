-- Removes the event log @events@ and its consumers, with everything in them.
DROP FUNCTION IF EXISTS @read@(bigint, bigint, text[], text[], text);
DROP FUNCTION IF EXISTS @holders@();
DROP FUNCTION IF EXISTS @frontier@();
DROP FUNCTION IF EXISTS @append@(text, text, bigint, jsonb, text, text);
DROP FUNCTION IF EXISTS @try_append@(text, text, text, bigint, uuid[], text[], integer[], bytea[], text[], text[], text[], text[], text);
DROP FUNCTION IF EXISTS @announcement@(bigint);
DROP TABLE IF EXISTS @leader@, @audit@, @parked@, @checkpoints@, @assignments@, @workers@, @heads@, @events@, @epochs@, @log@;
DROP SEQUENCE IF EXISTS @positions@;
