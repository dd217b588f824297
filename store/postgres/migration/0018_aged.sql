-- When a request last named a document; absent: not since it was added, or before
-- this was kept. Documents and bulk replays are walked by age.
alter table documents add column named_at timestamptz;

create index documents_aged on documents (created_at, tenant, sha256);
create index replays_aged on replays (created_at, id);
