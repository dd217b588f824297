package simprovider

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// books is what the provider knows: its objects, and for every business
// reference what arrived and what was done. It changes by apply alone, so that
// reading the file again gives the same books. The Server's mutex guards it.
type books struct {
	objects map[string]map[string]json.RawMessage // system → object ID → its state
	lookup  map[lookupKey][]string                // → object IDs, oldest first
	numbers map[string]int                        // ID prefix → last number given
	rows    map[rowKey]*Row
	order   []*Row            // rows as they first appeared
	named   map[string][]*Row // any name of a row → rows
	reads   map[[2]string]int // {system, name} → lookups that arrived
}

type lookupKey struct{ system, value string }

type rowKey struct{ system, action, reference string }

// Row is what the auditor has counted for one action under one reference.
type Row struct {
	System    string `json:"system"`
	Action    string `json:"action"`
	Reference string `json:"reference"`
	// Aliases are the other names of the same business: an external ID, an
	// idempotency key.
	Aliases []string `json:"aliases,omitempty"`
	// Count is how many effects were committed. More than one for one
	// intention is what nobody wants to see.
	Count int `json:"count"`
	// Requests is how many writes arrived on the wire, refused ones included.
	Requests int `json:"requests"`
	// Reads is how many lookups under one of the names arrived.
	Reads int `json:"reads"`
	// Pending is how many late commits are still to come.
	Pending int `json:"pending"`
	// Automations is how often work behind a contact ran; it rises on an
	// upsert that changed nothing, too.
	Automations int `json:"automations,omitempty"`
	// Faults is how often each fault was in force on a write.
	Faults map[string]int `json:"faults,omitempty"`
	// EffectIDs are the provider's references of the effects, oldest first.
	EffectIDs []string  `json:"effect_ids,omitempty"`
	FirstAt   time.Time `json:"first_at,omitzero"` // first effect
	LastAt    time.Time `json:"last_at,omitzero"`  // latest effect
}

func newBooks() *books {
	return &books{
		objects: map[string]map[string]json.RawMessage{},
		lookup:  map[lookupKey][]string{},
		numbers: map[string]int{},
		rows:    map[rowKey]*Row{},
		named:   map[string][]*Row{},
		reads:   map[[2]string]int{},
	}
}

// row finds or opens the row of a subject and learns its aliases.
func (b *books) row(sub subject) *Row {
	key := rowKey{sub.System, sub.Action, sub.Reference}
	row := b.rows[key]
	if row == nil {
		row = &Row{System: sub.System, Action: sub.Action, Reference: sub.Reference}
		b.rows[key] = row
		b.order = append(b.order, row)
		b.name(row, sub.Reference)
	}
	for _, alias := range sub.Aliases {
		if alias != row.Reference && !slices.Contains(row.Aliases, alias) {
			row.Aliases = append(row.Aliases, alias)
			b.name(row, alias)
		}
	}
	return row
}

func (b *books) name(row *Row, name string) {
	if !slices.Contains(b.named[name], row) {
		b.named[name] = append(b.named[name], row)
	}
}

// nextID gives the ID that the next object with this prefix will have. It
// changes nothing: the number is taken when the effect is applied.
func (b *books) nextID(prefix string) string {
	return prefix + "-" + strconv.Itoa(b.numbers[prefix]+1)
}

// takeNumber keeps an ID such as T-7 from being given again; the ID of a change
// (T-7/closed) has no number of its own.
func (b *books) takeNumber(id string) {
	prefix, digits, _ := strings.Cut(id, "-")
	if n, err := strconv.Atoi(digits); err == nil && n > b.numbers[prefix] {
		b.numbers[prefix] = n
	}
}

// apply writes one record into the books.
func (b *books) apply(rec record) {
	row := b.row(rec.subject)
	if rec.Type == typeRequest {
		row.Requests++
		row.countFault(rec.Fault)
		return
	}
	row.Automations += rec.Automations
	if rec.EffectID != "" {
		row.Count++
		row.EffectIDs = append(row.EffectIDs, rec.EffectID)
		b.name(row, rec.EffectID)
		if row.FirstAt.IsZero() {
			row.FirstAt = rec.At
		}
		row.LastAt = rec.At
		b.takeNumber(rec.EffectID)
	}
	if rec.Object != nil {
		b.put(rec.System, *rec.Object)
	}
}

func (r *Row) countFault(name string) {
	if name == "" {
		return
	}
	if r.Faults == nil {
		r.Faults = map[string]int{}
	}
	r.Faults[name]++
}

func (b *books) put(system string, obj object) {
	if b.objects[system] == nil {
		b.objects[system] = map[string]json.RawMessage{}
	}
	_, known := b.objects[system][obj.ID]
	b.objects[system][obj.ID] = obj.State
	if !known && obj.Lookup != "" {
		key := lookupKey{system, obj.Lookup}
		b.lookup[key] = append(b.lookup[key], obj.ID)
	}
}

// get reads an object's state into v, a pointer to the type that was put.
func (b *books) get(system, id string, v any) bool {
	state, ok := b.objects[system][id]
	return ok && json.Unmarshal(state, v) == nil
}

// find lists the states of all objects under a lookup value, oldest first;
// never nil, so that JSON shows an empty list.
func (b *books) find(system, value string) []json.RawMessage {
	items := []json.RawMessage{}
	for _, id := range b.lookup[lookupKey{system, value}] {
		items = append(items, b.objects[system][id])
	}
	return items
}
