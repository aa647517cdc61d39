-- Format 5: lines of the audit are chained by hash for each instance, and the row of an instance holds the ends of both of
-- its chains, so that deleted last rows show; the number of pruned records is known, so that others that are missing show.
-- Chains and ends of what is there are filled in by upgrade.rs.

ALTER TABLE audit ADD COLUMN chain BLOB NOT NULL DEFAULT x'';
ALTER TABLE instances ADD COLUMN audit_lines INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instances ADD COLUMN audit_chain BLOB NOT NULL DEFAULT x'';
ALTER TABLE instances ADD COLUMN journal_step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instances ADD COLUMN journal_chain BLOB NOT NULL DEFAULT x'';
ALTER TABLE marks ADD COLUMN pruned_records INTEGER NOT NULL DEFAULT 0;
