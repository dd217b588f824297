-- What supports a request, and what approvers were shown, by its content.
create table documents (
    tenant     text        collate "C" not null,
    sha256     bytea       not null,
    media_type text        not null,
    bytes      bytea       not null,
    actor      text        not null, -- who added it first
    created_at timestamptz not null,
    primary key (tenant, sha256)
);

-- Yeses to operations that are not there yet.
create table early_approvals (
    operation_id uuid        not null,
    actor        text        collate "C" not null,
    tenant       text        not null,
    tool         text        not null,
    digest       bytea       not null,
    contract     text        not null,
    reason       text        not null,
    at           timestamptz not null,
    until        timestamptz not null,
    primary key (operation_id, actor)
);
