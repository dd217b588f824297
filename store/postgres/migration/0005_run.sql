-- Business events being handled. The body is everything but the input, encoded by package store.
create table runs (
    id             uuid        primary key,
    tenant         text        collate "C" not null,
    workflow       text        collate "C" not null,
    state          text        collate "C" not null,
    correlation_id text        collate "C" not null,
    created_at     timestamptz not null,
    revision       bigint      not null,
    token          uuid        not null,
    body           bytea       not null,
    input          bytea                     -- canonical JSON
);

create index runs_created on runs (tenant, created_at, id);
