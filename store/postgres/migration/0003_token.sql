-- Credentials of programs, by hash. A row is never deleted: that there is one is
-- what makes a loopback server ask for credentials.
create table tokens (
    id           text collate "C" primary key,
    tenant       text collate "C" not null,
    subject      text             not null,
    scope        bytea            not null, -- roles, groups, tools and effect classes
    note         text             not null,
    hash         bytea            not null,
    created_by   text             not null,
    created_at   timestamptz      not null,
    expires_at   timestamptz      not null,
    revoked_by   text             not null,
    revoked_at   timestamptz,
    last_used_at timestamptz
);

create index tokens_listed on tokens (tenant, id);
