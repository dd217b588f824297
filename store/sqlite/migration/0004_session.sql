-- People who signed in, by the hash of what their browser holds.
CREATE TABLE sessions (
    hash       BLOB    NOT NULL PRIMARY KEY,
    tenant     TEXT    NOT NULL,
    issuer     TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    scope      BLOB    NOT NULL, -- roles and groups
    created_at INTEGER NOT NULL,
    ends_at    INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_ended ON sessions (ends_at);
