-- Sagas. An ID is that of the saga's run. The body is everything else, encoded by package store.
create table sagas (
    id         uuid        primary key,
    tenant     text        collate "C" not null,
    name       text        collate "C" not null,
    state      text        collate "C" not null,
    created_at timestamptz not null,
    next_at    timestamptz,
    revision   bigint      not null,
    token      uuid        not null,
    body       bytea       not null
);

create index sagas_next on sagas (next_at, id) where next_at is not null;
create index sagas_list on sagas (tenant, created_at, id);
