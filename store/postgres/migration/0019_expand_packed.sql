-- A row of the journal is mostly hashes: PostgreSQL's own compression takes longer
-- over a large one than its commit, and finds nothing. LZ4 finds what repeats, in a
-- tenth of the time; a server built without it stores such rows as they are.
do $$
begin
    alter table journal alter column entries set compression lz4;
exception when feature_not_supported then
    alter table journal alter column entries set storage external;
end $$;

-- An outcome makes a row longer: at 50 the last of a page full of claims had no room on it.
alter table operations set (fillfactor = 45);
