-- Format 3: the audit is found by instance through an index that follows behind, like that of the journal. One that is kept up
-- at once costs every commit of a step that calls something a page of its own.

DROP INDEX audit_by_instance;
CREATE TABLE audit_index (
    instance TEXT NOT NULL,
    line     INTEGER NOT NULL,
    PRIMARY KEY (instance, line)
) WITHOUT ROWID;
INSERT INTO audit_index SELECT instance, line FROM audit ORDER BY instance, line;
ALTER TABLE marks ADD COLUMN audited_through INTEGER NOT NULL DEFAULT 0;
UPDATE marks SET audited_through = (SELECT coalesce(max(line), 0) FROM audit);
