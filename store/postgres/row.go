package postgres

import (
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// write is a change on its way into the database.
type write struct {
	store.Write
	aliasOf onceward.OperationID // zero but for the row of an alias
	begins  int32                // its entry in the row of the journal, counted from 1
}

// column is a column of the operations table: how it is written and read.
type column struct {
	field[*write]
	fixed bool // never changes within one generation: an ordinary update leaves it alone
	part  bool // input, request, result or prints: not read where bodies are not wanted
	// One of these reads it. Texts and blobs are read together, see readRow.
	get  func(r *store.Row, v []byte) error
	text func(r *store.Row) *string
	blob func(r *store.Row) *[]byte
}

// columns is every column of the operations table but for alias_of and gone.
var columns = []column{
	fixed(identifier("id", func(r *store.Row) *[16]byte { return (*[16]byte)(&r.ID) })),
	fixed(moment("created_at", func(r *store.Row) *time.Time { return &r.CreatedAt })),
	fixed(number("generation", kindInt8, appendInt8, func(r *store.Row) *int64 { return &r.Generation })),
	fixed(text("tenant", func(r *store.Row) *string { return &r.Tenant })),
	fixed(text("tool", func(r *store.Row) *string { return &r.Tool })),
	fixed(text("key", func(r *store.Row) *string { return &r.Key })),
	fixed(text("actor", func(r *store.Row) *string { return &r.Actor })),
	fixed(optional("run", func(r *store.Row) *string { return &r.Run })),
	fixed(optional("correlation_id", func(r *store.Row) *string { return &r.CorrelationID })),
	fixed(optional("trace_parent", func(r *store.Row) *string { return &r.TraceParent })),
	fixed(optional("subject", func(r *store.Row) *string { return &r.Subject })),
	text("contract", func(r *store.Row) *string { return &r.Contract }),
	digest("digest", func(r *store.Row) *onceward.Digest { return &r.Digest }),
	part(blob("prints", func(r *store.Row) *[]byte { return &r.Prints })),
	optional("provider_key", func(r *store.Row) *string { return &r.ProviderKey }),
	part(blob("input", func(r *store.Row) *[]byte { return &r.Input })),
	optional("owner", func(r *store.Row) *string { return &r.Owner }),
	moment("lease_until", func(r *store.Row) *time.Time { return &r.LeaseUntil }),
	number("attempt", kindInt4, appendInt4, func(r *store.Row) *int32 { return &r.Attempt }),
	number("effect", kindInt2, appendInt2, func(r *store.Row) *int16 { return &r.Effect }),
	number("side", kindInt2, appendInt2, func(r *store.Row) *int16 { return &r.Side }),
	number("version", kindInt8, appendInt8, func(r *store.Row) *int64 { return &r.Version }),
	moment("updated_at", func(r *store.Row) *time.Time { return &r.UpdatedAt }),
	moment("completed_at", func(r *store.Row) *time.Time { return &r.CompletedAt }),
	number("state", kindInt2, appendInt2, func(r *store.Row) *int16 { return &r.State }),
	identifier("token", func(r *store.Row) *[16]byte { return (*[16]byte)(&r.Token) }),
	optional("reference", func(r *store.Row) *string { return &r.Reference }),
	part(blob("request", func(r *store.Row) *[]byte { return &r.Request })),
	part(blob("result", func(r *store.Row) *[]byte { return &r.Result })),
	blob("detail", func(r *store.Row) *[]byte { return &r.Detail }),
}

// fixed marks a column that never changes within one generation.
func fixed(c column) column { c.fixed = true; return c }

// part marks a column that is not read where bodies are not wanted.
func part(c column) column { c.part = true; return c }

// columnOf is a column whose value stands at the same place of a store.Row
// whether it is written or read.
func columnOf[T any](name string, k kind, put func([]byte, T) []byte, get func([]byte) (T, error), at func(*store.Row) *T) column {
	return column{
		field: field[*write]{name, k, func(b []byte, w *write) []byte { return put(b, *at(&w.Row)) }},
		get: func(r *store.Row, v []byte) (err error) {
			*at(r), err = get(v)
			return err
		},
	}
}

func identifier(name string, at func(*store.Row) *[16]byte) column {
	return columnOf(name, kindUUID, appendUUID, readUUID, at)
}

func moment(name string, at func(*store.Row) *time.Time) column {
	return columnOf(name, kindTime, appendTime, readTime, at)
}

func text(name string, at func(*store.Row) *string) column { return textOf(name, appendText, at) }

// optional is a text that is mostly empty, which is kept as NULL.
func optional(name string, at func(*store.Row) *string) column {
	return textOf(name, appendOptional, at)
}

func textOf(name string, put func([]byte, string) []byte, at func(*store.Row) *string) column {
	return column{field: field[*write]{name, kindText, func(b []byte, w *write) []byte { return put(b, *at(&w.Row)) }}, text: at}
}

func blob(name string, at func(*store.Row) *[]byte) column {
	return column{field: field[*write]{name, kindBytes, func(b []byte, w *write) []byte { return appendBytes(b, *at(&w.Row)) }}, blob: at}
}

func number[T int16 | int32 | int64](name string, k kind, put func([]byte, T) []byte, at func(*store.Row) *T) column {
	return columnOf(name, k, put, readNumber[T], at)
}

func digest(name string, at func(*store.Row) *onceward.Digest) column {
	put := func(b []byte, d onceward.Digest) []byte { return appendBytes(b, d[:]) }
	get := func(v []byte) (d onceward.Digest, err error) {
		if len(v) != len(d) {
			return d, &malformedError{"digest"}
		}
		return onceward.Digest(v), nil
	}
	return columnOf(name, kindBytes, put, get, at)
}

// The fields of the sources of a commit.
var (
	insertFields = fieldsWhere(func(c *column) bool { return true })
	aliasFields  = append(fieldsWhere(func(c *column) bool { return true }), field[*write]{"alias_of", kindUUID, func(b []byte, w *write) []byte {
		if w.aliasOf.IsZero() {
			return appendNull(b)
		}
		return appendUUID(b, w.aliasOf)
	}})
	// beforeField is what the row's version has to be for an update.
	beforeField = field[*write]{"before", kindInt8, func(b []byte, w *write) []byte { return appendInt8(b, w.Change.Before) }}
	idField     = fieldsWhere(func(c *column) bool { return c.name == "id" })[0]
	tokenField  = fieldsWhere(func(c *column) bool { return c.name == "token" })[0]
	// outcomeFields is what an update within one generation sets.
	outcomeFields = fieldsWhere(func(c *column) bool { return !c.fixed })
	// renewalFields is what an update sets that may raise the generation.
	renewalFields = fieldsWhere(func(c *column) bool { return c.name != "id" })
)

func fieldsWhere(want func(*column) bool) []field[*write] {
	var fields []field[*write]
	for i := range columns {
		if want(&columns[i]) {
			fields = append(fields, columns[i].field)
		}
	}
	return fields
}

func idOf(v []byte) (onceward.OperationID, error) {
	id, err := readUUID(v)
	return id, err
}

// What is selected of an operation o: its columns, where it leads to if it is
// an alias, and its side bodies as two arrays. They are read by the statement
// that reads the row, so that none can go in between.
var (
	selectWhole = selection(false) + `,
    case when o.side <> 0 then array(select b.part from bodies b where b.operation_id = o.id order by b.part) end,
    case when o.side <> 0 then array(select b.bytes from bodies b where b.operation_id = o.id order by b.part) end`
	selectSlim = selection(true)
)

func selection(slim bool) string {
	s := "o.alias_of"
	for i := range columns {
		if !slim || !columns[i].part {
			s += ", o." + columns[i].name
		}
	}
	return s
}

// readRow reads what selectWhole or selectSlim selected. aliasOf is zero for an
// operation; nothing else of an alias is read.
//
// Why texts and blobs are each copied into one space: there are ten of them in
// a row, and an allocation for each costs more than all the rest.
func readRow(row *store.Row, values [][]byte, slim bool) (bodies []store.Body, aliasOf onceward.OperationID, err error) {
	*row = store.Row{}
	if aliasOf, err = idOf(values[0]); err != nil {
		return nil, aliasOf, err
	}
	textBytes, blobBytes := sizesOf(values, slim)
	var texts strings.Builder
	texts.Grow(textBytes)
	blobs := make([]byte, 0, blobBytes)
	next := 1
	for i := range columns {
		c := &columns[i]
		if slim && c.part {
			continue
		}
		v := values[next]
		next++
		switch {
		case c.text != nil:
			at := texts.Len()
			texts.Write(v)
			*c.text(row) = texts.String()[at:]
		case c.blob == nil:
			err = c.get(row, v)
		case v != nil:
			at := len(blobs)
			blobs = append(blobs, v...)
			*c.blob(row) = blobs[at:len(blobs):len(blobs)]
		}
		if err != nil {
			return nil, aliasOf, err
		}
	}
	if slim || row.Side == 0 {
		return nil, aliasOf, nil
	}
	bodies, err = readBodies(values[next], values[next+1])
	return bodies, aliasOf, err
}

// sizesOf is how long the texts of a row are together, and the blobs.
func sizesOf(values [][]byte, slim bool) (texts, blobs int) {
	next := 1
	for i := range columns {
		c := &columns[i]
		if slim && c.part {
			continue
		}
		switch {
		case c.text != nil:
			texts += len(values[next])
		case c.blob != nil:
			blobs += len(values[next])
		}
		next++
	}
	return texts, blobs
}

func readBodies(parts, contents []byte) ([]store.Body, error) {
	var bodies []store.Body
	err := readArray(parts, func(v []byte) error {
		n, err := readNumber[int16](v)
		bodies = append(bodies, store.Body{Part: store.Part(n)})
		return err
	})
	if err != nil {
		return nil, err
	}
	i := 0
	err = readArray(contents, func(v []byte) error {
		if i == len(bodies) {
			return &malformedError{"list of bodies"}
		}
		var err error
		bodies[i].Bytes, err = readBytes(v)
		i++
		return err
	})
	if err == nil && i != len(bodies) {
		err = &malformedError{"list of bodies"}
	}
	return bodies, err
}
