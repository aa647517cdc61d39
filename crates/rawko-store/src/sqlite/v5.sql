-- Format 5: a call that was refused keeps its result until its instance hears it, and a call that a stopping host did not
-- begin is marked, so that the next host runs it instead of reporting it as interrupted. A call under a key that may have
-- had its effect before is marked too.

ALTER TABLE effects ADD COLUMN result TEXT NOT NULL DEFAULT '';
ALTER TABLE effects ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE effects ADD COLUMN in_doubt INTEGER NOT NULL DEFAULT 0;
