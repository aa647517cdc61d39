-- Format 1 of a rawko store. A script that has been released never changes: what a later format needs goes into the
-- next one. docs/formats/store.md says what the columns mean.

PRAGMA application_id = 1918990187; -- "rawk"

CREATE TABLE charts (
    hash     BLOB PRIMARY KEY NOT NULL,
    id       TEXT NOT NULL,
    version  TEXT NOT NULL,
    name     TEXT NOT NULL,
    text     TEXT NOT NULL,
    added_ms INTEGER NOT NULL
);
CREATE INDEX charts_by_id ON charts (id, version);

CREATE TABLE instances (
    key               INTEGER PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,
    chart             BLOB NOT NULL,
    chart_id          TEXT NOT NULL,
    version           TEXT NOT NULL,
    parent_id         TEXT,
    parent_invocation INTEGER,
    parent_invoke     TEXT,
    origin_id         TEXT,
    origin_step       INTEGER,
    created_ms        INTEGER NOT NULL,
    status            TEXT NOT NULL,
    wait              TEXT NOT NULL,
    next_due_ms       INTEGER,
    fault             TEXT
);
CREATE INDEX instances_by_parent ON instances (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX instances_by_due ON instances (next_due_ms) WHERE next_due_ms IS NOT NULL;
CREATE INDEX instances_by_status ON instances (status);

-- Append-only and without an index of its own, so that the records of many instances that are committed together lie on
-- one page. `journal_index` follows behind, up to `marks.indexed_through`.
CREATE TABLE journal (
    seq      INTEGER PRIMARY KEY,
    instance INTEGER NOT NULL,
    step     INTEGER NOT NULL,
    at_ms    INTEGER NOT NULL,
    kind     INTEGER NOT NULL,
    event    TEXT NOT NULL,
    delta    TEXT NOT NULL,
    effects  TEXT NOT NULL
);
CREATE TABLE journal_index (
    instance INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    step     INTEGER NOT NULL,
    PRIMARY KEY (instance, seq)
) WITHOUT ROWID;

CREATE TABLE snapshots (
    instance  INTEGER NOT NULL,
    step      INTEGER NOT NULL,
    -- Records with seq up to here are part of the snapshot; later ones may or may not be (their step says).
    after_seq INTEGER NOT NULL,
    body      TEXT NOT NULL,
    UNIQUE (instance, step)
);

CREATE TABLE effects (
    instance    INTEGER NOT NULL,
    step        INTEGER NOT NULL,
    "index"     INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    invocation  INTEGER,
    name        TEXT NOT NULL,
    body        TEXT NOT NULL,
    opened_ms   INTEGER NOT NULL,
    due_ms      INTEGER,
    idempotency TEXT NOT NULL,
    PRIMARY KEY (instance, step, "index")
) WITHOUT ROWID;

CREATE TABLE inbound (
    seq   INTEGER PRIMARY KEY,
    "to"  INTEGER NOT NULL,
    event TEXT NOT NULL
);
CREATE INDEX inbound_by_to ON inbound ("to");

CREATE TABLE deliveries (
    instance INTEGER NOT NULL,
    key      TEXT NOT NULL,
    step     INTEGER NOT NULL,
    PRIMARY KEY (instance, key)
) WITHOUT ROWID;

CREATE TABLE blobs (
    hash BLOB PRIMARY KEY NOT NULL,
    body BLOB NOT NULL
);

CREATE TABLE audit (
    line       INTEGER PRIMARY KEY,
    at_ms      INTEGER NOT NULL,
    instance   TEXT NOT NULL,
    effect     TEXT NOT NULL,
    service    TEXT NOT NULL,
    decision   TEXT NOT NULL,
    reason     TEXT NOT NULL,
    provenance TEXT NOT NULL
);
CREATE INDEX audit_by_instance ON audit (instance);

-- One row.
CREATE TABLE marks (
    indexed_through INTEGER NOT NULL,
    inbound         INTEGER NOT NULL
);
INSERT INTO marks VALUES (0, 0);
