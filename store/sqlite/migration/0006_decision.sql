-- What the steps of runs decided. The body, with every version, is encoded by package store.
CREATE TABLE decisions (
    id         BLOB    NOT NULL PRIMARY KEY,
    run_id     BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    token      BLOB    NOT NULL,
    body       BLOB    NOT NULL
) STRICT;

CREATE INDEX decisions_run ON decisions (run_id, created_at, id);
