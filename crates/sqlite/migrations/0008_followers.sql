-- Followers of the change log: how far each has read it. A position moves in the transaction that writes what its follower made of
-- what it read, and is compared first. The old positions come along.
CREATE TABLE followers (
    name      TEXT    NOT NULL PRIMARY KEY,
    position  INTEGER NOT NULL,              -- in `changes`; everything up to it has been read
    holds_log INTEGER NOT NULL DEFAULT 1     -- what it has not read is not pruned, for a week at most; 0: a bookkeeper that has not
                                             -- come yet, whose row is there for the version before
) STRICT, WITHOUT ROWID;
INSERT INTO followers (name, position) SELECT 'courier', position FROM courier;
INSERT INTO followers (name, position, holds_log) SELECT 'bookkeeper', position, 0 FROM bookkeeper;

-- The version before knows two tables of one row each, and counts the rows that it moves, which a view would not tell it. So the
-- tables stay, and every move of the one is a move of the other: whoever goes back and comes again finds the follower where it was
-- left. To be dropped with the tables when no binary of before this version is served any more.
CREATE TRIGGER courier_appointed AFTER INSERT ON courier BEGIN
    INSERT INTO followers (name, position) VALUES ('courier', NEW.position)
    ON CONFLICT DO UPDATE SET position = excluded.position WHERE position <> excluded.position;
END;
CREATE TRIGGER courier_moved AFTER UPDATE ON courier BEGIN
    UPDATE followers SET position = NEW.position WHERE name = 'courier' AND position <> NEW.position;
END;
CREATE TRIGGER courier_dismissed AFTER DELETE ON courier BEGIN
    DELETE FROM followers WHERE name = 'courier';
END;
CREATE TRIGGER bookkeeper_moved AFTER UPDATE ON bookkeeper BEGIN
    UPDATE followers SET position = NEW.position WHERE name = 'bookkeeper' AND position <> NEW.position;
END;

CREATE TRIGGER follower_added AFTER INSERT ON followers BEGIN
    INSERT INTO courier (only, position) SELECT 1, NEW.position WHERE NEW.name = 'courier'
    ON CONFLICT DO UPDATE SET position = excluded.position WHERE position <> excluded.position;
    UPDATE bookkeeper SET position = NEW.position WHERE NEW.name = 'bookkeeper' AND position <> NEW.position;
END;
CREATE TRIGGER follower_moved AFTER UPDATE ON followers BEGIN
    UPDATE courier SET position = NEW.position WHERE NEW.name = 'courier' AND position <> NEW.position;
    UPDATE bookkeeper SET position = NEW.position WHERE NEW.name = 'bookkeeper' AND position <> NEW.position;
END;
CREATE TRIGGER follower_dismissed AFTER DELETE ON followers BEGIN
    DELETE FROM courier WHERE OLD.name = 'courier';
    UPDATE bookkeeper SET position = 0 WHERE OLD.name = 'bookkeeper';
END;
