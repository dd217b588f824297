-- Runs are looked at oldest first, of every tenant, to be dropped once their time is over.
create index runs_aged on runs (created_at, id);
