-- Format 7: open effects, deliveries and the columns of an instance that never change have a hash, so that a modified
-- row stops its instance. Hashes of existing rows are filled in by seals.rs.

ALTER TABLE effects ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
ALTER TABLE deliveries ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
ALTER TABLE instances ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
