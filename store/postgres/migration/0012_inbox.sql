-- Events that senders delivered. The body is everything else but the payload
-- (content type, header, body of the event); package store encodes both.
create table inbox (
    id          uuid        primary key,
    tenant      text        collate "C" not null,
    source      text        collate "C" not null,
    state       text        collate "C" not null,
    received_at timestamptz not null,
    next_at     timestamptz,          -- when it is handled
    drop_at     timestamptz,          -- when it may be forgotten
    revision    bigint      not null,
    token       uuid        not null,
    body        bytea       not null,
    payload     bytea       not null
);

create index inbox_next on inbox (next_at) where next_at is not null;
create index inbox_drop on inbox (drop_at) where drop_at is not null;
create index inbox_received on inbox (tenant, received_at, id);
create index inbox_waiting on inbox (tenant, received_at, id) where state in ('unmapped', 'failed', 'late');
