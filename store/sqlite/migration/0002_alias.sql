-- Finds the aliases of a row, so that they go with it when its tombstone is dropped.
CREATE INDEX operations_alias ON operations (alias_of) WHERE alias_of IS NOT NULL;
