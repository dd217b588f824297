-- Events for others, stored with the changes that they tell of. There is one
-- writer at a time, so that the order of positions is that of commits.
CREATE TABLE outbox (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT    NOT NULL,
    tenant   TEXT    NOT NULL,
    type     TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    body     BLOB    NOT NULL
) STRICT;

-- How far each destination is, and who hands events on to it.
CREATE TABLE sinks (
    name        TEXT    NOT NULL PRIMARY KEY,
    position    INTEGER NOT NULL,
    owner       TEXT    NOT NULL,
    lease_until INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;

-- Events that a sink did not take, and those behind them of the same key.
CREATE TABLE aside (
    sink     TEXT    NOT NULL,
    position INTEGER NOT NULL,
    id       TEXT    NOT NULL,
    tenant   TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    tries    INTEGER NOT NULL,
    due_at   INTEGER,                -- null: behind another one of its key, or dead
    dead     INTEGER NOT NULL,
    since    INTEGER NOT NULL,
    message  TEXT    NOT NULL,
    PRIMARY KEY (sink, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX aside_due ON aside (sink, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX aside_key ON aside (sink, key, position);
CREATE INDEX aside_place ON aside (position);

-- Which messages a consumer has handled.
CREATE TABLE receipts (
    consumer TEXT    NOT NULL,
    message  TEXT    NOT NULL,
    drop_at  INTEGER NOT NULL,
    PRIMARY KEY (consumer, message)
) STRICT, WITHOUT ROWID;

CREATE INDEX receipts_drop ON receipts (drop_at);
