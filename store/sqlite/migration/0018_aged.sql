-- When a request last named a document; absent: not since it was added, or before
-- this was kept. Documents and bulk replays are walked by age.
ALTER TABLE documents ADD COLUMN named_at INTEGER;

CREATE INDEX documents_aged ON documents (created_at, tenant, sha256);
CREATE INDEX replays_aged ON replays (created_at, id);
