-- Format 2: what an instance is allowed by whoever invoked it, and what it has spent.

ALTER TABLE instances ADD COLUMN policy TEXT NOT NULL DEFAULT '';
ALTER TABLE instances ADD COLUMN ledger TEXT;
