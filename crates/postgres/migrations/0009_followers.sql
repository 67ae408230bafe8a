-- Followers of the change log: how far each has read it. A position moves in the transaction that writes what its follower made of
-- what it read, and is compared first. The old positions come along.
CREATE TABLE followers (
    name      text    COLLATE "C" NOT NULL PRIMARY KEY,
    position  bigint  NOT NULL,
    holds_log boolean NOT NULL DEFAULT true   -- what it has not read is not pruned, for a week at most; false: a bookkeeper that
                                              -- has not come yet, whose row is there for the version before
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);

-- Nobody moves between the copy and the drop: whoever is about to waits for the end of this transaction, and finds the view.
LOCK TABLE courier, bookkeeper IN ACCESS EXCLUSIVE MODE;
INSERT INTO followers (name, position) SELECT 'courier', position FROM courier;
INSERT INTO followers (name, position, holds_log) SELECT 'bookkeeper', position, false FROM bookkeeper;
DROP TABLE courier, bookkeeper;

-- The version before knows two tables of one row each. These views are simple enough to be written to, locked and compared like
-- them: an old courier and a new one move the same row, and one of the two is overtaken. To be dropped when no binary of before
-- this version is served any more.
CREATE VIEW courier AS SELECT name, position FROM followers WHERE name = 'courier';
ALTER VIEW courier ALTER COLUMN name SET DEFAULT 'courier';
CREATE VIEW bookkeeper AS SELECT name, position FROM followers WHERE name = 'bookkeeper';
ALTER VIEW bookkeeper ALTER COLUMN name SET DEFAULT 'bookkeeper';
