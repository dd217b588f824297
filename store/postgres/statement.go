package postgres

import (
	"fmt"
	"strings"

	"github.com/onceward/onceward/store"
)

// rows says how the rows of a source stand in a statement.
type rows uint8

const (
	none rows = iota
	one       // as parameters of their own: what a lone caller waits for has no array to unpack
	many      // as arrays, one a column
)

func rowsOf(n int) rows { return rows(min(n, int(many))) }

// shape says which parts the statement of a batch has. There are few, so that
// each is prepared once and stays so.
type shape struct {
	claims, updates rows
	// aside: the batch touches more than operations and journal, or raises a
	// generation. Claims and updates are arrays then, and every part is there.
	aside bool
	// placed: claims with aliases stand in the table already, put there by the
	// statements before in the same transaction.
	placed bool
}

// single reports whether the batch is one change.
func (sh shape) single() bool { return !sh.aside && sh.claims+sh.updates == one }

// statement is a text with the types of its parameters.
type statement struct {
	name string // under which it is prepared; unique for the text
	sql  string
	oids []uint32
}

// sources numbers the parameters of a statement in the order in which a batch
// gives their values.
type sources struct{ oids []uint32 }

// scalar is one parameter.
func (s *sources) scalar(k kind) string {
	s.oids = append(s.oids, k.oid)
	return fmt.Sprintf("$%d::%s", len(s.oids), k.sql)
}

// array is one parameter that is an array.
func (s *sources) array(k kind) string {
	s.oids = append(s.oids, k.array)
	return fmt.Sprintf("$%d::%s[]", len(s.oids), k.sql)
}

// from is a source of rows under an alias: a row of parameters, or arrays.
//
// Why unnest in the select list and not in from: there PostgreSQL writes every
// array into a buffer of its own before it reads the first row.
func from[T any](s *sources, r rows, fields []field[T], alias string) string {
	values := make([]string, len(fields))
	for i, f := range fields {
		if r == one {
			values[i] = s.scalar(f.kind) + " as " + f.name
		} else {
			values[i] = "unnest(" + s.array(f.kind) + ") as " + f.name
		}
	}
	return "(select " + strings.Join(values, ", ") + ") as " + alias
}

// commitStatement is the one statement of a batch.
//
// Invariant: claims come before updates, and each part is sorted by ID, the
// other order deadlocks replicas. The final select reads applied, which reads
// claimed to its end and then updated; what only runs along (bodies, due,
// records, switches) runs after that, and touches only rows that belong to an
// operation whose row this transaction holds; and sagas, again sorted by ID.
//
// Why "(x in (select ...)) is true": as a plain IN it becomes a join, and with
// hash and merge joins off that is one look at every row for every row. In this
// form it is a look into a hash table.
func commitStatement(sh shape) statement {
	s := &sources{}
	var with []string
	cte := func(name, sql string) { with = append(with, name+" as (\n"+sql+"\n)") }

	var applied []string
	switch {
	case sh.placed:
		cte("claimed", `select o.id from `+from(s, many, placedFields, "u")+` join operations o on o.id = u.id
where o.token = u.token and o.xmin = pg_current_xact_id()::xid`)
		applied = append(applied, "select id from claimed")
	case sh.claims != none:
		cte("claimed", `insert into operations (`+names(insertFields, "")+`)
select `+names(insertFields, "u.")+` from `+from(s, sh.claims, insertFields, "u")+`
on conflict (id) do nothing returning id`)
		applied = append(applied, "select id from claimed")
	}
	if sh.updates != none {
		set, where, notLater := outcomeFields, updateFields, ""
		if sh.aside {
			set, where, notLater = renewalFields, renewFields, " and o.generation <= u.generation"
		}
		cte("updated", `update operations o set gone = nullif(o.side & ~u.side, 0), `+assignments(set, "u.")+`
from `+from(s, sh.updates, where, "u")+`
where o.id = u.id and o.version = u.before`+notLater+` returning o.id, o.gone`)
		cte("emptied", `delete from bodies b using updated u
where u.gone is not null and b.operation_id = u.id and (u.gone >> b.part) & 1 = 1`)
		applied = append(applied, "select id from updated")
	}
	cte("applied", strings.Join(applied, " union all "))
	cte("journaled", journal(s, sh))
	if sh.aside {
		besides(s, cte)
	}
	return statement{
		name: fmt.Sprintf("onceward_commit_%d%d_%t_%t", sh.claims, sh.updates, sh.aside, sh.placed),
		sql:  "with " + strings.Join(with, ", ") + "\nselect clock_timestamp(), array(select id from applied)",
		oids: s.oids,
	}
}

// journal appends the row of the journal: one for each commit that applied
// something, with the entries of what it applied. The row is made for the whole
// batch, and taken apart only where a change lost. An entry begins with its ID.
func journal(s *sources, sh shape) string {
	row, token := s.scalar(kindBytes), s.scalar(kindUUID)
	insert := `insert into journal (xid, at, token, entries) select pg_current_xact_id(), clock_timestamp(), ` + token + `, `
	if sh.single() {
		return insert + row + ` from applied`
	}
	starts := s.array(kindInt4)
	return insert + `case when count(*) = cardinality(` + starts + `) then ` + row + ` else (
    select substring(` + row + ` for ` + fmt.Sprint(len(store.JournalHead)) + `) || string_agg(substring(` + row + ` from e.start for e.size), '' order by e.start)
    from (select start, lead(start, 1, length(` + row + `) + 1) over (order by start) - start as size from unnest(` + starts + `) as start) e
    where (encode(substring(` + row + ` from e.start for 16), 'hex')::uuid in (select id from applied)) is true) end
from applied having count(*) > 0`
}

// besides adds what a batch writes besides operations and journal.
func besides(s *sources, cte func(name, sql string)) {
	cte("bodied", `insert into bodies as b (operation_id, part, bytes)
select u.id, u.part, u.bytes from `+from(s, many, bodyFields, "u")+` where (u.id in (select id from applied)) is true
on conflict (operation_id, part) do update set bytes = excluded.bytes where b.bytes <> excluded.bytes`)
	cte("dued", `insert into due as d (`+names(dueFields, "")+`)
select `+names(dueFields, "u.")+` from `+from(s, many, dueFields, "u")+` where (u.operation_id in (select id from applied)) is true
on conflict (operation_id) do update set `+assignments(dueFields, "excluded."))
	cte("settled", `delete from due d using `+from(s, many, goneFields, "u")+`
where (u.id in (select id from applied)) is true and d.operation_id = u.id`)
	cte("recorded", `insert into records (`+names(recordFields, "")+`)
select `+names(recordFields, "u.")+` from `+from(s, many, recordFields, "u")+` where (u.operation_id in (select id from applied)) is true
on conflict (operation_id, version, seq) do nothing`)
	cte("slimmed", `delete from records r using `+from(s, many, goneFields, "u")+`
where (u.id in (select id from applied)) is true and r.operation_id = u.id`)
	cte("switched", `insert into switches (tenant, tool, paused, reason, by, at)
select distinct on (u.tenant, u.tool) u.tenant, u.tool, u.paused, u.reason, u.by, u.at
from `+from(s, many, switchFields, "u")+` where (u.id in (select id from applied)) is true
order by u.tenant, u.tool, u.place desc
on conflict (tenant, tool) do update set paused = excluded.paused, reason = excluded.reason, by = excluded.by, at = excluded.at`)
	cte("unshown", `delete from documents d using `+from(s, many, shownFields, "u")+`
where (u.id in (select id from applied)) is true and d.tenant = u.tenant and d.sha256 = u.sha256`)
	cte("waking", `select s.id from sagas s
where s.id = any(array(select u.saga from `+from(s, many, sagaFields, "u")+` where (u.id in (select id from applied)) is true)) and s.next_at is not null
order by s.id for update`)
	cte("woken", `update sagas s set next_at = least(s.next_at, now()), revision = s.revision + 1 where s.id = any(array(select id from waking))`)
	cte("told", `insert into outbox (id, tenant, type, key, at, body)
select u.id, u.tenant, u.type, u.key, u.at, u.body from `+from(s, many, outboxFields, "u")+` where (u.operation_id in (select id from applied)) is true
order by u.place`)
}

// A claim with aliases is all or nothing. place puts all claims of the batch
// and their aliases in, sorted by ID; unplace takes out again, before anybody
// sees them, the groups of which one had to give way. Both run in the
// transaction of the statement above; xmin tells its own rows from those of an
// earlier run of the same batch.
func placeStatement() statement {
	s := &sources{}
	sql := `insert into operations (` + names(aliasFields, "") + `)
select ` + names(aliasFields, "u.") + ` from ` + from(s, many, aliasFields, "u") + `
on conflict (id) do nothing`
	return statement{name: "onceward_place", sql: sql, oids: s.oids}
}

func unplaceStatement() statement {
	s := &sources{}
	sql := `with m as materialized (select u.id, u.owner from ` + from(s, many, memberFields, "u") + `)
delete from operations o using m where o.id = m.id and o.xmin = pg_current_xact_id()::xid and exists (
  select from m n left join operations p on p.id = n.id and p.xmin = pg_current_xact_id()::xid
  where n.owner = m.owner and p.id is null)`
	return statement{name: "onceward_unplace", sql: sql, oids: s.oids}
}
