-- Replays of many operations. The body is everything else, encoded by package store.
create table replays (
    id         uuid        primary key,
    tenant     text        collate "C" not null,
    state      text        collate "C" not null,
    created_at timestamptz not null,
    revision   bigint      not null,
    token      uuid        not null,
    body       bytea       not null
);

create index replays_running on replays (created_at, id) where state = 'running';
