package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// List returns a page; see [onceward.Store].
func (s *Store) List(ctx context.Context, f onceward.Filter) ([]*onceward.Operation, error) {
	if f.Key != "" {
		return s.listKey(ctx, f)
	}
	var p parameters
	sql := ""
	if store.AllOffPath(f.States) && f.Run == "" && f.CorrelationID == "" && f.Reference == "" && f.Actor == "" && f.Subject == "" {
		sql = listDue(&f, &p)
	} else {
		sql = listAll(&f, &p)
	}
	return s.operations(ctx, "list operations", sql, p.values, false)
}

// listKey reads the one operation that a key, or an earlier key, leads to.
func (s *Store) listKey(ctx context.Context, f onceward.Filter) ([]*onceward.Operation, error) {
	ops, err := s.Load(ctx, []onceward.OperationID{onceward.NewOperationID(f.Tenant, f.Tool, f.Key)})
	if err != nil || ops[0] == nil || !store.Selects(&f, ops[0]) || f.Limit < 1 {
		return nil, err
	}
	return ops, nil
}

// bounds are the conditions that an index on what never changes helps with: run
// or correlation where one is asked for, and the time of creation.
func bounds(f *onceward.Filter, p *parameters) []string {
	where := []string{"o.alias_of is null", "o.tenant = " + p.add(textParam(string(f.Tenant)))}
	if f.Run != "" {
		where = append(where, "o.run = "+p.add(textParam(f.Run)))
	}
	if f.CorrelationID != "" {
		where = append(where, "o.correlation_id = "+p.add(textParam(f.CorrelationID)))
	}
	if f.Subject != "" {
		where = append(where, "o.subject = "+p.add(textParam(string(f.Subject))))
	}
	return append(where, within(f, p, "o.created_at", "o.id")...)
}

// within bounds a walk by time and by where the page begins.
func within(f *onceward.Filter, p *parameters, created, id string) (where []string) {
	if !f.From.IsZero() {
		where = append(where, created+" >= "+p.add(timeParam(store.Stored(f.From)))+"::timestamptz")
	}
	if before := store.Before(f); before != (onceward.Cursor{}) {
		where = append(where, "("+created+", "+id+") < ("+p.add(timeParam(store.Stored(before.CreatedAt)))+"::timestamptz, "+p.add(uuidParam(before.ID))+"::uuid)")
	}
	return where
}

// chosen are the conditions that no index helps with.
func chosen(f *onceward.Filter, p *parameters) []string {
	where := []string{"true"}
	for _, is := range []struct{ column, value string }{{"tool", string(f.Tool)}, {"reference", f.Reference}, {"actor", f.Actor}} {
		if is.value != "" {
			where = append(where, "o."+is.column+" = "+p.add(textParam(is.value)))
		}
	}
	if len(f.States) > 0 {
		where = append(where, "o.state = any("+p.add(statesParam(f.States))+"::smallint[])")
	}
	return where
}

// newestFirst is the order of listings.
const newestFirst = " order by o.created_at desc, o.id desc limit "

// listAll reads along one of the indexes on what never changes: by run or
// correlation where one is asked for, else by creation.
func listAll(f *onceward.Filter, p *parameters) string {
	where := append(bounds(f, p), chosen(f, p)...)
	return "select " + selectWhole + " from operations o where " + strings.Join(where, " and ") + newestFirst + p.add(intParam(int64(f.Limit)))
}

// listDue reads states off the happy path from the due table: for each state a
// page in order, and of these together the first page.
func listDue(f *onceward.Filter, p *parameters) string {
	where := []string{"d.tenant = " + p.add(textParam(string(f.Tenant))), "d.state = s.state"}
	if f.Tool != "" {
		where = append(where, "d.tool = "+p.add(textParam(string(f.Tool))))
	}
	where = append(where, within(f, p, "d.created_at", "d.operation_id")...)
	limit := p.add(intParam(int64(f.Limit)))
	return `with page as materialized (
select d.operation_id from (select distinct unnest(` + p.add(statesParam(f.States)) + `::smallint[])) as s (state)
cross join lateral (select d.operation_id, d.created_at from due d where ` + strings.Join(where, " and ") + `
    order by d.created_at desc, d.operation_id desc limit ` + limit + `) d
order by d.created_at desc, d.operation_id desc limit ` + limit + `)
select ` + selectWhole + ` from page join operations o on o.id = page.operation_id
order by o.created_at desc, o.id desc`
}

// inTenants finds the tenants one by one along an index, so that what asks for
// all of them in the order of creation needs no index of its own.
const inTenants = `with recursive tenants (tenant) as (
    (select o.tenant from operations o where o.alias_of is null order by o.tenant limit 1)
    union all
    select (select o.tenant from operations o where o.alias_of is null and o.tenant > t.tenant order by o.tenant limit 1)
    from tenants t where t.tenant is not null)
select %s from tenants t cross join lateral (
    select o.* from operations o where o.alias_of is null and o.tenant = t.tenant and %s
    order by o.created_at, o.id limit %s) o
where t.tenant is not null order by o.created_at, o.id limit %[3]s`

// Aged walks the ledger, oldest first; see [onceward.Store].
func (s *Store) Aged(ctx context.Context, after onceward.Cursor, before time.Time, limit int) ([]*onceward.Operation, error) {
	var p parameters
	where := "o.created_at < " + p.add(timeParam(store.Stored(before))) + "::timestamptz"
	if after != (onceward.Cursor{}) {
		where += " and (o.created_at, o.id) > (" + p.add(timeParam(store.Stored(after.CreatedAt))) + "::timestamptz, " + p.add(uuidParam(after.ID)) + "::uuid)"
	}
	sql := fmt.Sprintf(inTenants, selectSlim, where, p.add(intParam(int64(limit))))
	return s.operations(ctx, "list aged operations", sql, p.values, true)
}

// Stranded finds first attempts that a replica left; see [onceward.Store].
func (s *Store) Stranded(ctx context.Context, replica string, from, to time.Time, limit int) ([]*onceward.Operation, error) {
	var p parameters
	where := fmt.Sprintf("o.created_at between %s::timestamptz and %s::timestamptz and o.state = %d and o.attempt = 1 and o.owner = %s and o.lease_until < now()",
		p.add(timeParam(store.Stored(from))), p.add(timeParam(store.Stored(to))), onceward.StateEffectPending, p.add(textParam(replica)))
	sql := fmt.Sprintf(inTenants, selectWhole, where, p.add(intParam(int64(limit))))
	return s.operations(ctx, "list stranded operations", sql, p.values, false)
}

// operations runs a query that selects operations.
func (s *Store) operations(ctx context.Context, op, sql string, params []param, slim bool) ([]*onceward.Operation, error) {
	var ops []*onceward.Operation
	err := s.do(ctx, op, func(ctx context.Context, conn *pgx.Conn) error {
		var row store.Row
		ops = nil
		return s.each(ctx, conn, func(values [][]byte) error {
			bodies, _, err := readRow(&row, values, slim)
			if err != nil {
				return err
			}
			decode := store.Decode
			if slim {
				decode = func(r *store.Row, _ []store.Body) (*onceward.Operation, error) { return store.DecodeSlim(r) }
			}
			op, err := decode(&row, bodies)
			ops = append(ops, op)
			return err
		}, sql, params...)
	})
	if err != nil {
		return nil, err
	}
	return ops, nil
}

// parameters are those of a statement that is put together.
type parameters struct{ values []param }

// add gives the parameter its place.
func (p *parameters) add(v param) string {
	p.values = append(p.values, v)
	return fmt.Sprintf("$%d", len(p.values))
}
