-- Runs are looked at oldest first, of every tenant, to be dropped once their time is over.
CREATE INDEX runs_aged ON runs (created_at, id);
