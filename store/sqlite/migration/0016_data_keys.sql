-- Data keys, wrapped by a master key that stands outside of the ledger. A subject
-- has one in use at most; subject '' is the tenant itself. What is shredded has no
-- wrapped key any more, its row stays.
CREATE TABLE data_keys (
    id          BLOB    NOT NULL PRIMARY KEY,
    tenant      TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    master      TEXT    NOT NULL, -- names the master key; '' once shredded
    wrapped     BLOB,
    created_at  INTEGER NOT NULL,
    closed_at   INTEGER,
    shredded_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX data_keys_in_use ON data_keys (tenant, subject) WHERE closed_at IS NULL;
CREATE INDEX data_keys_subject ON data_keys (tenant, subject, id);
CREATE INDEX data_keys_master ON data_keys (master, id) WHERE wrapped IS NOT NULL;

-- Whose data the bodies of an operation are; '' where they are not encrypted.
ALTER TABLE operations ADD COLUMN subject TEXT NOT NULL DEFAULT '';
CREATE INDEX operations_subject ON operations (tenant, subject, created_at, id) WHERE subject <> '';
