-- Credentials of programs, by hash. A row is never deleted: that there is one is
-- what makes a loopback server ask for credentials.
CREATE TABLE tokens (
    id           TEXT    NOT NULL PRIMARY KEY,
    tenant       TEXT    NOT NULL,
    subject      TEXT    NOT NULL,
    scope        BLOB    NOT NULL, -- roles, groups, tools and effect classes
    note         TEXT    NOT NULL,
    hash         BLOB    NOT NULL,
    created_by   TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    revoked_by   TEXT    NOT NULL,
    revoked_at   INTEGER,
    last_used_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX tokens_listed ON tokens (tenant, id);
