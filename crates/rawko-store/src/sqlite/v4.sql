-- Format 4: records are chained by hash and snapshots have one, so that damage shows; the owner of the file is known to it;
-- outcomes and generations are columns; a refused call keeps its result until its instance hears it, a call that a stopping host
-- did not begin is marked, and so is one that may have had its effect under the same key before; what was pruned is not numbered again. Chains of older records are filled in by upgrade.rs.

ALTER TABLE journal ADD COLUMN chain BLOB NOT NULL DEFAULT x'';
ALTER TABLE snapshots ADD COLUMN chain BLOB NOT NULL DEFAULT x'';
ALTER TABLE snapshots ADD COLUMN hash BLOB NOT NULL DEFAULT x'';
ALTER TABLE instances ADD COLUMN outcome TEXT;
ALTER TABLE instances ADD COLUMN parent_generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE effects ADD COLUMN result TEXT NOT NULL DEFAULT '';
ALTER TABLE effects ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE effects ADD COLUMN in_doubt INTEGER NOT NULL DEFAULT 0;
ALTER TABLE marks ADD COLUMN pruned_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE marks ADD COLUMN pruned_key INTEGER NOT NULL DEFAULT 0;

-- One row.
CREATE TABLE owner (
    epoch   INTEGER NOT NULL,
    is_open INTEGER NOT NULL,
    probes  INTEGER NOT NULL
);
INSERT INTO owner VALUES (0, 0, 0);
