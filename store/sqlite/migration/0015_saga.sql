-- Sagas. An ID is that of the saga's run. The body is everything else, encoded by package store.
CREATE TABLE sagas (
    id         BLOB    NOT NULL PRIMARY KEY,
    tenant     TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    next_at    INTEGER,
    revision   INTEGER NOT NULL,
    token      BLOB    NOT NULL,
    body       BLOB    NOT NULL
) STRICT;

CREATE INDEX sagas_next ON sagas (next_at, id) WHERE next_at IS NOT NULL;
CREATE INDEX sagas_list ON sagas (tenant, created_at, id);
