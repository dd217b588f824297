-- Replays of many operations are listed by tenant, the newest first.
create index replays_listed on replays (tenant, created_at, id);
