-- Format 6: a record of a step that wrote to the audit holds the end of that audit, so that a step that calls something
-- does not write the row of its instance. Rows of instances follow behind, together with the indexes.

ALTER TABLE journal ADD COLUMN audit_lines INTEGER;
ALTER TABLE journal ADD COLUMN audit_chain BLOB;
