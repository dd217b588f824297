-- Data keys, wrapped by a master key that stands outside of the ledger. A subject
-- has one in use at most; subject '' is the tenant itself. What is shredded has no
-- wrapped key any more, its row stays.
create table data_keys (
    id          uuid        primary key,
    tenant      text        collate "C" not null,
    subject     text        collate "C" not null,
    master      text        collate "C" not null, -- names the master key; '' once shredded
    wrapped     bytea,
    created_at  timestamptz not null,
    closed_at   timestamptz,
    shredded_at timestamptz
);

create unique index data_keys_in_use on data_keys (tenant, subject) where closed_at is null;
create index data_keys_subject on data_keys (tenant, subject, id);
create index data_keys_master on data_keys (master, id) where wrapped is not null;

-- Whose data the bodies of an operation are; null where they are not encrypted.
alter table operations add column subject text collate "C";
create index operations_subject on operations (tenant, subject, created_at, id) where subject is not null;
