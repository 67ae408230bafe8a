-- Whether a tenant is disabled, as its settings say: asked by every claim and by the look for schedules that are due. Generated, so
-- that it is right whoever writes the settings, a binary of the version before too. The settings are written by this program
-- alone, without blanks, and what they quote is escaped; the text is only looked for, so that one that cannot be read
-- hinders nothing.
--
-- Writes the table anew, which has a row for each tenant.
ALTER TABLE tenants ADD COLUMN disabled boolean NOT NULL
    GENERATED ALWAYS AS (settings LIKE '%"is_disabled":true%') STORED;
-- Mostly empty: whether there is anyone to ask about.
CREATE INDEX tenants_disabled ON tenants (id) WHERE disabled;
