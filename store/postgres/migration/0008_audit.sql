-- Who did what, when and why, as far as it is no change of an operation: those
-- stand in the journal. It is read in order as the journal is.
create table audit (
    xid      xid8        not null default pg_current_xact_id(),
    position bigint      generated always as identity,
    id       uuid        not null unique,
    at       timestamptz not null,
    tenant   text        collate "C" not null,
    actor    text        not null,
    action   text        not null,
    subject  text        not null,
    reason   text        not null,
    detail   text        not null,
    primary key (xid, position)
);

-- The chain over journal and audit. rows names each row that a seal covers.
create table seals (
    number           bigint      primary key,
    at               timestamptz not null,
    previous         bytea       not null,
    journal_xid      xid8        not null, -- of the last row that is sealed
    journal_position bigint      not null,
    events_xid       xid8        not null,
    events_position  bigint      not null,
    count            integer     not null,
    rows             bytea       not null,
    hash             bytea       not null
);

-- Signatures over seals.
create table checkpoints (
    number    bigint      primary key,
    at        timestamptz not null,
    hash      bytea       not null,
    key       bytea       not null,
    signature bytea       not null
);

-- How requests were answered, by the hour.
create table tallies (
    tenant   text        collate "C" not null,
    hour     timestamptz not null,
    tool     text        collate "C" not null,
    decision text        collate "C" not null,
    count    bigint      not null,
    primary key (tenant, hour, tool, decision)
);
