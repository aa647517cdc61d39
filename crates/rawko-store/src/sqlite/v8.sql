-- Format 8: the last record of an instance counts its open effects and deliveries, and `marks` the messages in flight, so
-- that deleted rows show; what changes in the row of an instance, messages and `marks` have a hash, so that modified ones
-- do. Filled in for what is there by row_counts.rs and seals.rs.

ALTER TABLE journal ADD COLUMN open_effects INTEGER;
ALTER TABLE journal ADD COLUMN deliveries INTEGER;
ALTER TABLE instances ADD COLUMN head_seal BLOB NOT NULL DEFAULT x'';
ALTER TABLE inbound ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
ALTER TABLE marks ADD COLUMN in_flight INTEGER NOT NULL DEFAULT 0;
ALTER TABLE marks ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
