-- People who signed in, by the hash of what their browser holds.
create table sessions (
    hash       bytea       primary key,
    tenant     text        not null,
    issuer     text        not null,
    subject    text        not null,
    name       text        not null,
    scope      bytea       not null, -- roles and groups
    created_at timestamptz not null,
    ends_at    timestamptz not null,
    seen_at    timestamptz not null
);

create index sessions_ended on sessions (ends_at);
