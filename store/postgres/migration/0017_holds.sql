-- Legal holds that stand. Who set and who lifted one is in the audit trail.
create table holds (
    id        text        collate "C" primary key,
    tenant    text        collate "C" not null,
    operation uuid,
    subject   text        collate "C" not null,
    tool      text        collate "C" not null,
    from_at   timestamptz,
    until_at  timestamptz,
    reason    text        not null,
    by        text        not null,
    at        timestamptz not null
);
