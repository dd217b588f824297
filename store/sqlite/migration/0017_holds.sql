-- Legal holds that stand. Who set and who lifted one is in the audit trail.
CREATE TABLE holds (
    id        TEXT    NOT NULL PRIMARY KEY,
    tenant    TEXT    NOT NULL,
    operation BLOB,
    subject   TEXT    NOT NULL,
    tool      TEXT    NOT NULL,
    from_at   INTEGER,
    until_at  INTEGER,
    reason    TEXT    NOT NULL,
    by        TEXT    NOT NULL,
    at        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
