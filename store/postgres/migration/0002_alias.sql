-- Finds the aliases of a row, so that they go with it when its tombstone is dropped.
create index operations_alias on operations (alias_of) where alias_of is not null;
