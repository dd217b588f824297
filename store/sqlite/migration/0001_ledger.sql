-- Times are microseconds since 1970, NULL for none. Blobs are encoded by package
-- store, unless said otherwise.

CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row an operation, and one an earlier identity that leads to it (alias_of).
--
-- Why a table with rowids: rows are appended, so that the rows of a batch share
-- pages, and only the index of the random IDs is written all over. Clustered by
-- ID, each row would dirty a page of its own, twice.
--
-- Why no index on state, owner or a time of ending: every column that changes
-- between claim and success would cost an index write more. What is off that
-- path is found in "due".
CREATE TABLE operations (
    id             BLOB    NOT NULL PRIMARY KEY,
    alias_of       BLOB,                       -- then nothing below but tenant and tool is set
    tenant         TEXT    NOT NULL,
    tool           TEXT    NOT NULL,
    key            TEXT    NOT NULL DEFAULT '',
    generation     INTEGER NOT NULL DEFAULT 0,
    digest         BLOB,
    contract       TEXT    NOT NULL DEFAULT '',
    effect         INTEGER NOT NULL DEFAULT 0,
    state          INTEGER NOT NULL DEFAULT 0,
    version        INTEGER NOT NULL DEFAULT 0,
    token          BLOB,
    attempt        INTEGER NOT NULL DEFAULT 0, -- the newest one's number: the fence
    owner          TEXT    NOT NULL DEFAULT '',
    lease_until    INTEGER,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER,
    completed_at   INTEGER,
    run            TEXT    NOT NULL DEFAULT '',
    correlation_id TEXT    NOT NULL DEFAULT '',
    trace_parent   TEXT    NOT NULL DEFAULT '',
    actor          TEXT    NOT NULL DEFAULT '',
    provider_key   TEXT    NOT NULL DEFAULT '',
    reference      TEXT    NOT NULL DEFAULT '',
    side           INTEGER NOT NULL DEFAULT 0, -- which parts are in "bodies": one bit each
    prints         BLOB,
    input          BLOB,                       -- canonical JSON
    request        BLOB,
    result         BLOB,
    detail         BLOB
) STRICT;

CREATE INDEX operations_created ON operations (tenant, created_at, id) WHERE alias_of IS NULL;
CREATE INDEX operations_run ON operations (tenant, run, created_at, id) WHERE run <> '';
CREATE INDEX operations_correlation ON operations (tenant, correlation_id, created_at, id) WHERE correlation_id <> '';

-- Parts of an operation that are too long for its row.
CREATE TABLE bodies (
    operation_id BLOB    NOT NULL REFERENCES operations (id),
    part         INTEGER NOT NULL,
    bytes        BLOB    NOT NULL,
    PRIMARY KEY (operation_id, part)
) STRICT;

-- Whatever is off the happy path. created_at is the operation's, for listings.
CREATE TABLE due (
    operation_id BLOB    NOT NULL PRIMARY KEY REFERENCES operations (id),
    tenant       TEXT    NOT NULL,
    tool         TEXT    NOT NULL,
    state        INTEGER NOT NULL,
    kind         INTEGER NOT NULL,
    parked       TEXT    NOT NULL,
    at           INTEGER,
    since        INTEGER,
    created_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX due_at ON due (at, operation_id) WHERE at IS NOT NULL;
CREATE INDEX due_listed ON due (tenant, state, created_at, operation_id, tool);
CREATE INDEX due_parked ON due (tenant, parked, since, operation_id, tool) WHERE parked <> '';

-- Timelines, written only off the happy path.
CREATE TABLE records (
    operation_id BLOB    NOT NULL REFERENCES operations (id),
    version      INTEGER NOT NULL,
    seq          INTEGER NOT NULL,
    at           INTEGER,
    event        TEXT    NOT NULL,
    body         BLOB    NOT NULL,
    PRIMARY KEY (operation_id, version, seq)
) STRICT;

-- One row a commit. Positions grow as long as the newest row is kept.
CREATE TABLE journal (
    position INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    token    BLOB    NOT NULL, -- the write token of the first entry
    entries  BLOB    NOT NULL
) STRICT;

CREATE TABLE switches (
    tenant TEXT    NOT NULL,
    tool   TEXT    NOT NULL,
    paused INTEGER NOT NULL,
    reason TEXT    NOT NULL,
    by     TEXT    NOT NULL,
    at     INTEGER,
    PRIMARY KEY (tenant, tool)
) STRICT, WITHOUT ROWID;

CREATE TABLE contracts (
    tool       TEXT    NOT NULL,
    version    TEXT    NOT NULL,
    source     BLOB    NOT NULL, -- the document as it came
    serial     INTEGER NOT NULL,
    active     INTEGER NOT NULL,
    created_at INTEGER,
    PRIMARY KEY (tool, version)
) STRICT;

CREATE TABLE replicas (
    id         TEXT    NOT NULL PRIMARY KEY,
    started_at INTEGER NOT NULL,
    beat_at    INTEGER NOT NULL,
    low_water  INTEGER
) STRICT, WITHOUT ROWID;
