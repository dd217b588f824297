-- What the steps of runs decided. The body, with every version, is encoded by package store.
create table decisions (
    id         uuid        primary key,
    run_id     uuid        not null,
    created_at timestamptz not null,
    revision   bigint      not null,
    token      uuid        not null,
    body       bytea       not null
);

create index decisions_run on decisions (run_id, created_at, id);
