package postgres

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// batchBytesMax is how much the side bodies of a batch may hold together, unless
// it is one change. A message to the server, and an array in it, is at most 1 GiB.
const batchBytesMax = 256 << 20

// batch is the changes of one commit, sorted into the parts of its statement.
type batch struct {
	claims  []*write // sorted by ID
	updates []*write // sorted by ID
	all     []write  // both, in the order in which they came
	place   []int    // of all, among the changes that were asked for
	aliased bool     // some claim has aliases
	aside   bool     // see shape
	bytes   int      // of all side bodies
	token   [16]byte
	params  params
}

// batches keeps batches, so that their space is used again.
var batches = sync.Pool{New: func() any { return new(batch) }}

// reuse ends the use of a batch, and of what points into it.
func (b *batch) reuse() {
	clear(b.all[:cap(b.all)])
	clear(b.claims)
	clear(b.updates)
	*b = batch{claims: b.claims[:0], updates: b.updates[:0], all: b.all[:0], place: b.place[:0], params: b.params.reused()}
	batches.Put(b)
}

// The rows that a batch writes besides operations and journal.
type (
	bodyRow struct {
		id   onceward.OperationID
		body store.Body
	}
	dueRow struct {
		id        onceward.OperationID
		due       *onceward.Due
		createdAt time.Time
	}
	recordRow struct {
		id     onceward.OperationID
		record store.RecordRow
	}
	switchRow struct {
		id    onceward.OperationID
		place int32
		tool  *onceward.ToolSwitch
	}
	memberRow struct{ id, owner onceward.OperationID }
	sagaRow   struct {
		id   onceward.OperationID
		saga onceward.SagaID
	}
	shownRow struct {
		id     onceward.OperationID
		tenant string
		digest onceward.Digest
	}
)

// Their columns, as the statements name them.
var (
	updateFields = append([]field[*write]{beforeField, idField}, outcomeFields...)
	renewFields  = append([]field[*write]{beforeField, idField}, renewalFields...)
	placedFields = []field[*write]{idField, tokenField}
	bodyFields   = []field[bodyRow]{
		{"id", kindUUID, func(b []byte, r bodyRow) []byte { return appendUUID(b, r.id) }},
		{"part", kindInt2, func(b []byte, r bodyRow) []byte { return appendInt2(b, int16(r.body.Part)) }},
		{"bytes", kindBytes, func(b []byte, r bodyRow) []byte { return appendBytes(b, r.body.Bytes) }},
	}
	dueFields = []field[dueRow]{
		{"operation_id", kindUUID, func(b []byte, r dueRow) []byte { return appendUUID(b, r.id) }},
		{"tenant", kindText, func(b []byte, r dueRow) []byte { return appendText(b, string(r.due.Tenant)) }},
		{"tool", kindText, func(b []byte, r dueRow) []byte { return appendText(b, string(r.due.Tool)) }},
		{"state", kindInt2, func(b []byte, r dueRow) []byte { return appendInt2(b, int16(r.due.State)) }},
		{"kind", kindInt2, func(b []byte, r dueRow) []byte { return appendInt2(b, int16(r.due.Kind)) }},
		{"parked", kindText, func(b []byte, r dueRow) []byte { return appendText(b, string(r.due.Parked)) }},
		{"at", kindTime, func(b []byte, r dueRow) []byte { return appendTime(b, store.Stored(r.due.At)) }},
		{"since", kindTime, func(b []byte, r dueRow) []byte { return appendTime(b, store.Stored(r.due.Since)) }},
		{"created_at", kindTime, func(b []byte, r dueRow) []byte { return appendTime(b, r.createdAt) }},
	}
	goneFields = []field[onceward.OperationID]{
		{"id", kindUUID, func(b []byte, id onceward.OperationID) []byte { return appendUUID(b, id) }},
	}
	recordFields = []field[recordRow]{
		{"operation_id", kindUUID, func(b []byte, r recordRow) []byte { return appendUUID(b, r.id) }},
		{"version", kindInt8, func(b []byte, r recordRow) []byte { return appendInt8(b, r.record.Version) }},
		{"seq", kindInt4, func(b []byte, r recordRow) []byte { return appendInt4(b, int32(r.record.Seq)) }},
		{"at", kindTime, func(b []byte, r recordRow) []byte { return appendTime(b, r.record.At) }},
		{"event", kindText, func(b []byte, r recordRow) []byte { return appendText(b, r.record.Event) }},
		{"body", kindBytes, func(b []byte, r recordRow) []byte { return appendBytes(b, r.record.Body) }},
	}
	switchFields = []field[switchRow]{
		{"id", kindUUID, func(b []byte, r switchRow) []byte { return appendUUID(b, r.id) }},
		{"place", kindInt4, func(b []byte, r switchRow) []byte { return appendInt4(b, r.place) }},
		{"tenant", kindText, func(b []byte, r switchRow) []byte { return appendText(b, string(r.tool.Tenant)) }},
		{"tool", kindText, func(b []byte, r switchRow) []byte { return appendText(b, string(r.tool.Tool)) }},
		{"paused", kindBool, func(b []byte, r switchRow) []byte { return appendBool(b, r.tool.Paused) }},
		{"reason", kindText, func(b []byte, r switchRow) []byte { return appendText(b, r.tool.Reason) }},
		{"by", kindText, func(b []byte, r switchRow) []byte { return appendText(b, r.tool.By) }},
		{"at", kindTime, func(b []byte, r switchRow) []byte { return appendTime(b, store.Stored(r.tool.At)) }},
	}
	shownFields = []field[shownRow]{
		{"id", kindUUID, func(b []byte, r shownRow) []byte { return appendUUID(b, r.id) }},
		{"tenant", kindText, func(b []byte, r shownRow) []byte { return appendText(b, r.tenant) }},
		{"sha256", kindBytes, func(b []byte, r shownRow) []byte { return appendBytes(b, r.digest[:]) }},
	}
	sagaFields = []field[sagaRow]{
		{"id", kindUUID, func(b []byte, r sagaRow) []byte { return appendUUID(b, r.id) }},
		{"saga", kindUUID, func(b []byte, r sagaRow) []byte { return appendUUID(b, r.saga) }},
	}
	memberFields = []field[memberRow]{
		{"id", kindUUID, func(b []byte, r memberRow) []byte { return appendUUID(b, r.id) }},
		{"owner", kindUUID, func(b []byte, r memberRow) []byte { return appendUUID(b, r.owner) }},
	}
)

// newBatch prepares the changes. One that is refused has its error in results
// and is left out.
func newBatch(changes []onceward.Change, results []onceward.Committed) *batch {
	b := batches.Get().(*batch)
	b.all, b.place = slices.Grow(b.all, len(changes)), slices.Grow(b.place, len(changes))
	for i := range changes {
		w, err := store.Prepare(&changes[i])
		if err != nil {
			results[i].Err = err
			continue
		}
		b.all = append(b.all, write{Write: w})
		b.place = append(b.place, i)
	}
	b.refuseDoubles(results)
	hash := sha256.New()
	for i := range b.all {
		w := &b.all[i]
		hash.Write(w.Row.Token[:])
		b.aliased = b.aliased || len(w.Aliases) > 0
		b.aside = b.aside || w.aside()
		for _, body := range w.Bodies {
			b.bytes += len(body.Bytes)
		}
		if w.Change.Before == 0 {
			b.claims = append(b.claims, w)
		} else {
			b.updates = append(b.updates, w)
		}
	}
	b.aside = b.aside || b.aliased
	b.token = [16]byte(hash.Sum(nil))
	slices.SortFunc(b.claims, byID)
	slices.SortFunc(b.updates, byID)
	return b
}

// check refuses a batch that no message can carry. Why the code: halves are tried.
func (b *batch) check() error {
	if b.bytes <= batchBytesMax || len(b.all) == 1 {
		return nil
	}
	return &onceward.Error{Code: onceward.CodeTooLarge, Op: commitOp, Message: "the bodies of the batch are longer than 256 MiB together"}
}

func byID(a, b *write) int { return bytes.Compare(a.Row.ID[:], b.Row.ID[:]) }

// refuseDoubles refuses every change but the first of one operation: of two
// changes of one row in one statement PostgreSQL loses one without a word.
func (b *batch) refuseDoubles(results []onceward.Committed) {
	if len(b.all) < 2 {
		return
	}
	seen := make(map[onceward.OperationID]struct{}, len(b.all))
	kept := 0
	for i := range b.all {
		id := b.all[i].Row.ID
		if _, double := seen[id]; double {
			results[b.place[i]].Err = &onceward.Error{
				Code: onceward.CodeInternal, Op: "store operation", OperationID: id,
				Message: "one batch holds two changes of the operation",
			}
			continue
		}
		seen[id] = struct{}{}
		b.all[kept], b.place[kept] = b.all[i], b.place[i]
		kept++
	}
	b.all, b.place = b.all[:kept], b.place[:kept]
}

// aside reports whether the change writes more than its row and the journal, or
// columns that an ordinary update leaves alone.
func (w *write) aside() bool {
	c := w.Change
	return len(w.Bodies) > 0 || c.Due != nil || c.DueGone || len(w.Records) > 0 || c.Slim || c.Tool != nil || !c.Saga.IsZero() || len(c.Events) > 0 ||
		(c.Before > 0 && w.Row.Generation > 0)
}

func (b *batch) shape() shape {
	if b.aside {
		return shape{claims: many, updates: many, aside: true, placed: b.aliased}
	}
	return shape{claims: rowsOf(len(b.claims)), updates: rowsOf(len(b.updates))}
}

// values gives the values of the parameters of commitStatement(sh), in the
// order in which that numbers them.
func (b *batch) values(sh shape) [][]byte {
	p := &b.params
	switch {
	case sh.placed:
		appendArrays(p, placedFields, b.claims)
	case sh.claims == one:
		appendRow(p, insertFields, b.claims[0])
	case sh.claims == many:
		appendArrays(p, insertFields, b.claims)
	}
	switch {
	case sh.aside:
		appendArrays(p, renewFields, b.updates)
	case sh.updates == one:
		appendRow(p, updateFields, b.updates[0])
	case sh.updates == many:
		appendArrays(p, updateFields, b.updates)
	}
	b.journal(!sh.single())
	if sh.aside {
		b.besides()
	}
	return p.taken()
}

// journal appends the row of the journal with an entry for every change, the
// token, and, if that is wanted, the array of where each entry begins, from 1.
func (b *batch) journal(starts bool) {
	p := &b.params
	row := len(p.space)
	p.space = append(p.space, store.JournalHead...)
	for i := range b.all {
		b.all[i].begins = int32(len(p.space) - row + 1)
		p.space = store.AppendEntry(p.space, &b.all[i].Entry)
	}
	p.end(row)
	p.values = append(p.values, b.token[:])
	if !starts {
		return
	}
	start := len(p.space)
	p.space = appendArrayHead(p.space, kindInt4, len(b.all))
	for i := range b.all {
		p.space = appendInt4(p.space, b.all[i].begins)
	}
	p.end(start)
}

// besides appends the values of what besides adds to the statement.
func (b *batch) besides() {
	var (
		bodies        []bodyRow
		dues          []dueRow
		settled, slim []onceward.OperationID
		records       []recordRow
		switches      []switchRow
		unshown       []shownRow
		sagas         []sagaRow
		events        []outboxRow
	)
	for i := range b.all {
		w := &b.all[i]
		id := w.Row.ID
		for _, body := range w.Bodies {
			bodies = append(bodies, bodyRow{id, body})
		}
		for _, record := range w.Records {
			records = append(records, recordRow{id, record})
		}
		switch {
		case w.Change.Due != nil:
			dues = append(dues, dueRow{id, w.Change.Due, w.Row.CreatedAt})
		case w.Change.DueGone:
			settled = append(settled, id)
		}
		if w.Change.Slim {
			slim = append(slim, id)
		}
		for _, d := range w.Change.Unshown {
			unshown = append(unshown, shownRow{id, w.Row.Tenant, d})
		}
		for j := range w.Change.Events {
			events = append(events, outboxRow{id, int32(len(events)), &w.Change.Events[j]})
		}
		if !w.Change.Saga.IsZero() {
			sagas = append(sagas, sagaRow{id, w.Change.Saga})
		}
		if w.Change.Tool != nil {
			switches = append(switches, switchRow{id, int32(i), w.Change.Tool})
		}
	}
	appendArrays(&b.params, bodyFields, bodies)
	appendArrays(&b.params, dueFields, dues)
	appendArrays(&b.params, goneFields, settled)
	appendArrays(&b.params, recordFields, records)
	appendArrays(&b.params, goneFields, slim)
	appendArrays(&b.params, switchFields, switches)
	appendArrays(&b.params, shownFields, unshown)
	appendArrays(&b.params, sagaFields, sagas)
	appendArrays(&b.params, outboxFields, events)
}

// placeValues gives the claims and their aliases for placeStatement, and the
// groups that are all or nothing for unplaceStatement.
func (b *batch) placeValues() (place, unplace [][]byte) {
	var placed []*write
	var members []memberRow
	for _, w := range b.claims {
		placed = append(placed, w)
		if len(w.Aliases) == 0 {
			continue
		}
		members = append(members, memberRow{w.Row.ID, w.Row.ID})
		for _, id := range w.Aliases {
			placed = append(placed, w.alias(id))
			members = append(members, memberRow{id, w.Row.ID})
		}
	}
	slices.SortFunc(placed, byID)
	appendArrays(&b.params, aliasFields, placed)
	place = b.params.taken()
	appendArrays(&b.params, memberFields, members)
	return place, b.params.taken()
}

// alias is the row that leads from an earlier ID to the operation.
func (w *write) alias(id onceward.OperationID) *write {
	return &write{aliasOf: w.Row.ID, Write: store.Write{Change: w.Change, Row: store.Row{
		ID: id, Tenant: w.Row.Tenant, Tool: w.Row.Tool, Token: w.Row.Token, CreatedAt: w.Row.CreatedAt, UpdatedAt: w.Row.UpdatedAt,
	}}}
}
