-- Replays of many operations. The body is everything else, encoded by package store.
CREATE TABLE replays (
    id         BLOB    NOT NULL PRIMARY KEY,
    tenant     TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    token      BLOB    NOT NULL,
    body       BLOB    NOT NULL
) STRICT;

CREATE INDEX replays_running ON replays (created_at, id) WHERE state = 'running';
