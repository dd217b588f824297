-- What this database is: its application, its ledger and when it was made.
create table meta (
    name  text collate "C" primary key,
    value text not null
);
insert into meta (name, value) values
    ('application', 'onceward'), ('ledger', gen_random_uuid()::text), ('created_at', now()::text);

-- The migrations that were run, each with the SHA-256 of its file.
create table migrations (
    number     integer     primary key,
    name       text        not null,
    sum        bytea       not null,
    applied_at timestamptz not null
);

-- One row for each business intention. Columns that never change stand first:
-- the log of an update begins at the first byte that differs. Whatever changes
-- between claim and success is in no index, so that the update stays on its page.
create table operations (
    id             uuid        primary key,
    created_at     timestamptz not null,
    generation     bigint      not null,
    tenant         text        collate "C" not null,
    tool           text        collate "C" not null,
    key            text        collate "C" not null,
    actor          text        collate "C" not null,
    run            text        collate "C",
    correlation_id text        collate "C",
    trace_parent   text        collate "C",
    alias_of       uuid,                    -- this ID is an earlier name of that operation; the row holds nothing else
    contract       text        collate "C" not null,
    digest         bytea       not null,
    prints         bytea,
    provider_key   text        collate "C",
    input          bytea,
    owner          text        collate "C", -- of the newest attempt
    lease_until    timestamptz,             -- of the newest attempt
    attempt        integer     not null,    -- number of the newest attempt: the fence
    effect         smallint    not null,
    side           smallint    not null,    -- parts that are in bodies, one bit each
    version        bigint      not null,
    updated_at     timestamptz not null,
    completed_at   timestamptz,
    state          smallint    not null,
    gone           smallint,                -- parts that the last update took out of bodies
    token          uuid        not null,    -- of the last write
    reference      text        collate "C",
    request        bytea,
    result         bytea,
    detail         bytea
) with (fillfactor = 50, toast_tuple_target = 4080);

create index operations_created on operations (tenant, created_at, id) where alias_of is null;
create index operations_correlation on operations (tenant, correlation_id, created_at, id) where correlation_id is not null;
create index operations_run on operations (tenant, run, created_at, id) where run is not null;

-- Parts of an operation that are too long for its row.
create table bodies (
    operation_id uuid     not null,
    part         smallint not null,
    bytes        bytea    not null,
    primary key (operation_id, part)
);

-- A row for whatever is off the happy path. Without a time it is never due by
-- itself: parked, in review, or ended and only listed.
create table due (
    operation_id uuid        primary key,
    tenant       text        collate "C" not null,
    tool         text        collate "C" not null,
    state        smallint    not null,
    kind         smallint    not null,
    parked       text        collate "C" not null,
    at           timestamptz,
    since        timestamptz,               -- when it came into this state
    created_at   timestamptz not null       -- of the operation: the order of listings
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create index due_at on due (at, operation_id) where at is not null;
create index due_listing on due (tenant, state, created_at, operation_id);
create index due_parked on due (tenant, parked, since, operation_id) where parked <> '';

-- Timelines, written off the happy path only.
create table records (
    operation_id uuid        not null,
    version      bigint      not null,
    seq          integer     not null,
    at           timestamptz,
    event        text        collate "C" not null,
    body         bytea       not null,
    primary key (operation_id, version, seq)
);

-- One row for each commit. Whoever reads it in order reads the rows whose xid is
-- below pg_snapshot_xmin(pg_current_snapshot()), by (xid, position): a row of a
-- transaction that began earlier may still come, one of those cannot.
create table journal (
    xid      xid8        not null,
    position bigint      generated always as identity,
    at       timestamptz not null,
    token    uuid        not null,          -- of the batch: the same when it is run again
    entries  bytea       not null,
    primary key (xid, position)
);

create table switches (
    tenant text        collate "C" not null,
    tool   text        collate "C" not null, -- empty: every tool of the tenant
    paused boolean     not null,
    reason text        not null,
    by     text        not null,
    at     timestamptz,
    primary key (tenant, tool)
);

create table contracts (
    tool       text        collate "C" not null,
    version    text        collate "C" not null,
    source     bytea       not null,
    serial     bigint      not null,        -- order of activation
    active     boolean     not null,
    created_at timestamptz,
    primary key (tool, version),
    unique (tool, serial)
);

create table replicas (
    id         text        collate "C" primary key,
    started_at timestamptz not null,
    beat_at    timestamptz not null,
    low_water  timestamptz
);
