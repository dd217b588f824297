-- Contract versions that wait for their owners' yes, and who signed which.
alter table contracts add column proposed boolean not null default false;

create table signings (
    tool      text        collate "C" not null,
    version   text        collate "C" not null,
    against   text        collate "C" not null, -- the version in force that it is to replace
    signed_as text        collate "C" not null,
    actor     text        collate "C" not null,
    reason    text        not null,
    at        timestamptz not null,
    primary key (tool, version, against, signed_as),
    unique (tool, version, against, actor)
);
