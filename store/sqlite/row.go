package sqlite

import (
	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// columns are all columns of an operation but alias_of, in the order of bindRow
// and scanRow. Those before updated_at do not change within a generation, or
// are compared; see updateRow.
const columns = `o.id, o.tenant, o.tool, o.key, o.generation, o.created_at, o.run, o.correlation_id, o.trace_parent, o.actor, o.subject,
	o.digest, o.contract, o.effect, o.state, o.version, o.token, o.attempt, o.owner, o.lease_until, o.updated_at, o.completed_at,
	o.provider_key, o.reference, o.side, o.prints, o.input, o.request, o.result, o.detail`

const insertRow = `INSERT INTO operations (id, tenant, tool, key, generation, created_at, run, correlation_id, trace_parent, actor, subject,
	digest, contract, effect, state, version, token, attempt, owner, lease_until, updated_at, completed_at,
	provider_key, reference, side, prints, input, request, result, detail)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (id) DO NOTHING`

// updateRow writes the columns that change within a generation, and so touches
// no index.
const updateRow = `UPDATE operations SET digest = ?, contract = ?, effect = ?, state = ?, version = ?, token = ?, attempt = ?,
	owner = ?, lease_until = ?, updated_at = ?, completed_at = ?, provider_key = ?, reference = ?, side = ?,
	prints = ?, input = ?, request = ?, result = ?, detail = ?
	WHERE id = ? AND version = ? AND generation = ?`

// renewRow writes every column but the identity: a key that is used anew. A row
// of a later use is left alone: the tombstone that the writer knew was dropped.
const renewRow = `UPDATE operations SET generation = ?, created_at = ?, run = ?, correlation_id = ?, trace_parent = ?, actor = ?, subject = ?,
	digest = ?, contract = ?, effect = ?, state = ?, version = ?, token = ?, attempt = ?,
	owner = ?, lease_until = ?, updated_at = ?, completed_at = ?, provider_key = ?, reference = ?, side = ?,
	prints = ?, input = ?, request = ?, result = ?, detail = ?
	WHERE id = ? AND version = ? AND generation < ?`

func (b *binder) identity(r *store.Row) {
	b.id(r.ID)
	b.text(r.Tenant)
	b.text(r.Tool)
	b.text(r.Key)
}

// use binds what is set once a generation.
func (b *binder) use(r *store.Row) {
	b.int(r.Generation)
	b.time(r.CreatedAt)
	b.text(r.Run)
	b.text(r.CorrelationID)
	b.text(r.TraceParent)
	b.text(r.Actor)
	b.text(r.Subject)
}

// mutable binds what an update in the same generation writes.
func (b *binder) mutable(r *store.Row) {
	b.blob(r.Digest[:])
	b.text(r.Contract)
	b.int(int64(r.Effect))
	b.int(int64(r.State))
	b.int(r.Version)
	b.blob(r.Token[:])
	b.int(int64(r.Attempt))
	b.text(r.Owner)
	b.time(r.LeaseUntil)
	b.time(r.UpdatedAt)
	b.time(r.CompletedAt)
	b.text(r.ProviderKey)
	b.text(r.Reference)
	b.int(int64(r.Side))
	b.blob(r.Prints)
	b.blob(r.Input)
	b.blob(r.Request)
	b.blob(r.Result)
	b.blob(r.Detail)
}

// row reads an operation's columns.
func (r *rower) row() *store.Row {
	row := &store.Row{
		ID: r.id(), Tenant: r.text(), Tool: r.text(), Key: r.text(), Generation: r.int(), CreatedAt: r.time(),
		Run: r.text(), CorrelationID: r.text(), TraceParent: r.text(), Actor: r.text(), Subject: r.text(),
	}
	r.fill(row.Digest[:])
	row.Contract, row.Effect, row.State, row.Version = r.text(), int16(r.int()), int16(r.int()), r.int()
	r.fill(row.Token[:])
	row.Attempt, row.Owner, row.LeaseUntil, row.UpdatedAt, row.CompletedAt = int32(r.int()), r.text(), r.time(), r.time(), r.time()
	row.ProviderKey, row.Reference, row.Side = r.text(), r.text(), int16(r.int())
	row.Prints, row.Input, row.Request, row.Result, row.Detail = r.blob(), r.blob(), r.blob(), r.blob(), r.blob()
	return row
}

// find reads the row of an ID, and through an alias the one that it leads to;
// direct is false then. A nil row: there is none.
func (c *conn) find(id onceward.OperationID) (row *store.Row, direct bool, err error) {
	direct = true
	for range 2 { // an alias leads to an operation, never to another alias
		var alias []byte
		err = c.query(`SELECT o.alias_of, `+columns+` FROM operations o WHERE o.id = ?`,
			func(b *binder) { b.id(id) },
			func(r *rower) error {
				if alias = r.blob(); alias == nil {
					row = r.row()
				}
				return nil
			})
		if err != nil || row != nil || alias == nil {
			return row, direct, err
		}
		copy(id[:], alias)
		direct = false
	}
	return nil, false, &onceward.Error{
		Code: onceward.CodeLedgerCorrupt, Op: "read operation", OperationID: id, Message: "an alias leads to an alias",
		Hint: "restore the database from a backup",
	}
}

// decode reads the row's side bodies, if it has any, and makes an operation of
// it. The caller sees to it that both are of one snapshot.
func (c *conn) decode(row *store.Row) (*onceward.Operation, error) {
	if row.Side == 0 {
		return store.Decode(row, nil)
	}
	var bodies []store.Body
	err := c.query(`SELECT part, bytes FROM bodies WHERE operation_id = ?`,
		func(b *binder) { b.id(row.ID) },
		func(r *rower) error {
			bodies = append(bodies, store.Body{Part: store.Part(r.int()), Bytes: r.blob()})
			return nil
		})
	if err != nil {
		return nil, err
	}
	return store.Decode(row, bodies)
}
