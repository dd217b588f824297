-- Replays of many operations are listed by tenant, the newest first.
CREATE INDEX replays_listed ON replays (tenant, created_at, id);
