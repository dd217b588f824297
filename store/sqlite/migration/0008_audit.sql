-- Who did what, when and why, as far as it is no change of an operation: those
-- stand in the journal. Positions grow as long as the newest row is kept.
CREATE TABLE audit (
    position INTEGER PRIMARY KEY,
    id       BLOB    NOT NULL UNIQUE,
    at       INTEGER NOT NULL,
    tenant   TEXT    NOT NULL,
    actor    TEXT    NOT NULL,
    action   TEXT    NOT NULL,
    subject  TEXT    NOT NULL,
    reason   TEXT    NOT NULL,
    detail   TEXT    NOT NULL
) STRICT;

-- The chain over journal and audit. rows names each row that a seal covers.
CREATE TABLE seals (
    number   INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    previous BLOB    NOT NULL,
    journal  INTEGER NOT NULL, -- position of the last row that is sealed
    events   INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    rows     BLOB    NOT NULL,
    hash     BLOB    NOT NULL
) STRICT;

-- Signatures over seals.
CREATE TABLE checkpoints (
    number    INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    hash      BLOB    NOT NULL,
    key       BLOB    NOT NULL,
    signature BLOB    NOT NULL
) STRICT;

-- How requests were answered, by the hour.
CREATE TABLE tallies (
    tenant   TEXT    NOT NULL,
    hour     INTEGER NOT NULL,
    tool     TEXT    NOT NULL,
    decision TEXT    NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (tenant, hour, tool, decision)
) STRICT, WITHOUT ROWID;
