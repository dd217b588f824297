-- Business events being handled. The body is everything but the input, encoded by package store.
CREATE TABLE runs (
    id             BLOB    NOT NULL PRIMARY KEY,
    tenant         TEXT    NOT NULL,
    workflow       TEXT    NOT NULL,
    state          TEXT    NOT NULL,
    correlation_id TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    revision       INTEGER NOT NULL,
    token          BLOB    NOT NULL,
    body           BLOB    NOT NULL,
    input          BLOB                 -- canonical JSON
) STRICT;

CREATE INDEX runs_created ON runs (tenant, created_at, id);
