-- What supports a request, and what approvers were shown, by its content.
CREATE TABLE documents (
    tenant     TEXT    NOT NULL,
    sha256     BLOB    NOT NULL,
    media_type TEXT    NOT NULL,
    bytes      BLOB    NOT NULL,
    actor      TEXT    NOT NULL, -- who added it first
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, sha256)
) STRICT;

-- Yeses to operations that are not there yet.
CREATE TABLE early_approvals (
    operation_id BLOB    NOT NULL,
    actor        TEXT    NOT NULL,
    tenant       TEXT    NOT NULL,
    tool         TEXT    NOT NULL,
    digest       BLOB    NOT NULL,
    contract     TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    at           INTEGER NOT NULL,
    until        INTEGER NOT NULL,
    PRIMARY KEY (operation_id, actor)
) STRICT, WITHOUT ROWID;
