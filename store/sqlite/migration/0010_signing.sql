-- Contract versions that wait for their owners' yes, and who signed which.
ALTER TABLE contracts ADD COLUMN proposed INTEGER NOT NULL DEFAULT 0;

CREATE TABLE signings (
    tool      TEXT    NOT NULL,
    version   TEXT    NOT NULL,
    against   TEXT    NOT NULL, -- the version in force that it is to replace
    signed_as TEXT    NOT NULL,
    actor     TEXT    NOT NULL,
    reason    TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (tool, version, against, signed_as),
    UNIQUE (tool, version, against, actor)
) STRICT;
