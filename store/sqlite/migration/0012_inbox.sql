-- Events that senders delivered. The body is everything else but the payload
-- (content type, header, body of the event); package store encodes both.
CREATE TABLE inbox (
    id          BLOB    NOT NULL PRIMARY KEY,
    tenant      TEXT    NOT NULL,
    source      TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    received_at INTEGER NOT NULL,
    next_at     INTEGER,          -- when it is handled
    drop_at     INTEGER,          -- when it may be forgotten
    revision    INTEGER NOT NULL,
    token       BLOB    NOT NULL,
    body        BLOB    NOT NULL,
    payload     BLOB    NOT NULL
) STRICT;

CREATE INDEX inbox_next ON inbox (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX inbox_drop ON inbox (drop_at) WHERE drop_at IS NOT NULL;
CREATE INDEX inbox_received ON inbox (tenant, received_at, id);
CREATE INDEX inbox_waiting ON inbox (tenant, received_at, id) WHERE state IN ('unmapped', 'failed', 'late');
