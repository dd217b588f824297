package sealed

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Options say how a store is opened.
type Options struct {
	// Keys are the master keys; nil: none. Then a ledger that holds nothing encrypted
	// is served, and contracts that want encryption are refused.
	Keys *KeyRing
	// Shredded is a file outside of the ledger that lists the data keys which were
	// shredded, so that a restored backup brings none back; empty: there is none.
	Shredded string
	// Wait passes the time in which other processes may still use a key that was
	// closed; nil: real time passes.
	Wait func(ctx context.Context, d time.Duration) error
}

// Store is a store in front of another one. It encrypts what it is given and
// decrypts what it reads, and is the ledger's Sealer.
type Store struct {
	onceward.Store
	keys *keys
	opts Options
	list shreddedList
}

var (
	_ onceward.Store         = (*Store)(nil)
	_ onceward.Sealer        = (*Store)(nil)
	_ onceward.ServerWatcher = (*Store)(nil)
)

// Open puts encryption in front of a store. CodeKeysMissing: a data key that is
// not shredded is wrapped by a master key that is not among those given; nothing
// was changed then. A data key that the list of shredded ones names, and that is
// there, came back with a backup: it is shredded again, and that is noted.
func Open(ctx context.Context, s onceward.Store, opts Options) (*Store, error) {
	if opts.Wait == nil {
		opts.Wait = wait
	}
	sealed := &Store{Store: s, keys: newKeys(s, opts.Keys), opts: opts, list: shreddedList{path: opts.Shredded}}
	uses, err := s.MasterUses(ctx)
	if err != nil {
		return nil, err
	}
	for _, u := range uses {
		if opts.Keys.find(u.Master) == nil {
			return nil, lacking(u, opts.Keys)
		}
	}
	return sealed, sealed.ShredAgain(ctx)
}

// OnNewServer implements onceward.ServerWatcher, where the store does.
func (s *Store) OnNewServer(told func(), refusal func() error) {
	if w, ok := s.Store.(onceward.ServerWatcher); ok {
		w.OnNewServer(told, refusal)
	}
}

func lacking(u onceward.MasterUse, ring *KeyRing) error {
	have := "there is none"
	if names := ring.Names(); len(names) > 0 {
		have = "there is " + strings.Join(names, ", ")
	}
	e := onceward.Errorf(onceward.CodeKeysMissing, "%d data keys of the ledger are wrapped by master key %s: %s", u.Keys, u.Master, have)
	e.Op, e.Hint = "open ledger", "give serve, with --keys, the file that has it"
	return e
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return onceward.Errorf(onceward.CodeCanceled, "the caller stopped waiting")
	}
}

func lower(s string) string { return strings.ToLower(s) }

// Commit implements onceward.Store.
func (s *Store) Commit(ctx context.Context, batch []onceward.Change) (onceward.Commit, error) {
	hidden := batch
	for i := range batch {
		if batch[i].After.Subject == "" {
			continue
		}
		if &hidden[0] == &batch[0] {
			hidden = slices.Clone(batch)
		}
		var err error
		if hidden[i], err = s.Conceal(ctx, &batch[i]); err != nil {
			return onceward.Commit{}, err
		}
	}
	out, err := s.Store.Commit(ctx, hidden)
	if err != nil {
		return out, err
	}
	for i := range out.Results {
		if r := &out.Results[i]; r.Stored != nil {
			if err := s.Reveal(ctx, r.Stored); err != nil {
				r.Stored, r.Err = nil, err
			}
		}
	}
	return out, nil
}

// Conceal implements onceward.Sealer.
func (s *Store) Conceal(ctx context.Context, c *onceward.Change) (onceward.Change, error) {
	out, op := *c, &c.After
	if op.Subject == "" {
		return out, nil
	}
	own, err := s.keys.tenant(ctx, op.Tenant)
	if err != nil {
		return out, err
	}
	out.After.Digest = hideDigest(own, rowPurpose(op), op.Digest)
	out.After.Sealed = nil
	var key []byte
	if !op.DataKey.IsZero() {
		if key, err = s.keys.toSeal(ctx, op.DataKey); err != nil {
			return out, err
		}
	}
	out.After.Shredded = op.Shredded || key == nil && !op.Retired
	if !op.Retired {
		plain := store.TakeSecrets(&out.After)
		if key != nil {
			if out.After.Sealed, err = seal(op.DataKey, key, rowPurpose(op), plain); err != nil {
				return out, err
			}
		}
	}
	out.Records = slices.Clone(c.Records)
	for i := range out.Records {
		if out.Records[i], err = concealRecord(op, key, out.Records[i]); err != nil {
			return out, err
		}
	}
	return out, nil
}

// concealRecord encrypts what a record tells; without a key its evidence goes.
func concealRecord(op *onceward.Operation, key []byte, r onceward.Record) (onceward.Record, error) {
	if key == nil {
		r.Evidence = nil
		return r, nil
	}
	plain := store.TakeRecordSecrets(&r)
	if plain == nil {
		return r, nil
	}
	var err error
	r.Sealed, err = seal(op.DataKey, key, recordPurpose(op.ID), plain)
	return r, err
}

// Reveal implements onceward.Sealer.
func (s *Store) Reveal(ctx context.Context, ops ...*onceward.Operation) error {
	var ids []onceward.DataKeyID
	for _, op := range ops {
		if op == nil || op.Sealed == nil {
			continue
		}
		id, ok := keyOf(op.Sealed)
		if !ok {
			return corrupt(op.ID, "what is encrypted cannot be read")
		}
		ids = append(ids, id)
	}
	var found map[onceward.DataKeyID][]byte
	if len(ids) > 0 {
		var err error
		if found, err = s.keys.of(ctx, ids...); err != nil {
			return err
		}
	}
	for _, op := range ops {
		if op == nil || op.Subject == "" {
			continue
		}
		own, err := s.keys.tenant(ctx, op.Tenant)
		if err != nil {
			return err
		}
		op.Digest = showDigest(own, rowPurpose(op), op.Digest)
		if op.Sealed != nil {
			if err := reveal(op, found); err != nil {
				return err
			}
		}
	}
	return nil
}

func reveal(op *onceward.Operation, found map[onceward.DataKeyID][]byte) error {
	id, _ := keyOf(op.Sealed)
	key := found[id]
	if key == nil {
		op.Shredded, op.Sealed = true, nil
		return nil
	}
	plain, ok := open(key, rowPurpose(op), op.Sealed)
	if !ok {
		return corrupt(op.ID, "what is encrypted was altered")
	}
	op.DataKey, op.Blind = id, blind(key, op)
	return store.PutSecrets(op, plain)
}

// revealed decrypts a page.
func (s *Store) revealed(ctx context.Context, ops []*onceward.Operation, err error) ([]*onceward.Operation, error) {
	if err == nil {
		err = s.Reveal(ctx, ops...)
	}
	if err != nil {
		return nil, err
	}
	return ops, nil
}

// Load implements onceward.Store.
func (s *Store) Load(ctx context.Context, ids []onceward.OperationID) ([]*onceward.Operation, error) {
	ops, err := s.Store.Load(ctx, ids)
	if err != nil {
		return nil, err
	}
	return s.revealed(ctx, distinct(ops), nil)
}

// distinct has no operation twice, which two IDs may lead to: it would be
// decrypted twice.
func distinct(ops []*onceward.Operation) []*onceward.Operation {
	seen := make(map[*onceward.Operation]bool, len(ops))
	for i, op := range ops {
		if op == nil {
			continue
		}
		if seen[op] {
			same := op.Clone()
			ops[i] = &same
		}
		seen[ops[i]] = true
	}
	return ops
}

// List implements onceward.Store.
func (s *Store) List(ctx context.Context, f onceward.Filter) ([]*onceward.Operation, error) {
	ops, err := s.Store.List(ctx, f)
	return s.revealed(ctx, ops, err)
}

// Search implements onceward.Store.
func (s *Store) Search(ctx context.Context, f onceward.Filter, scan int) ([]*onceward.Operation, onceward.Cursor, error) {
	ops, stopped, err := s.Store.Search(ctx, f, scan)
	ops, err = s.revealed(ctx, ops, err)
	return ops, stopped, err
}

// Aged implements onceward.Store.
func (s *Store) Aged(ctx context.Context, after onceward.Cursor, before time.Time, limit int) ([]*onceward.Operation, error) {
	ops, err := s.Store.Aged(ctx, after, before, limit)
	return s.revealed(ctx, ops, err)
}

// Stranded implements onceward.Store.
func (s *Store) Stranded(ctx context.Context, replica string, from, to time.Time, limit int) ([]*onceward.Operation, error) {
	ops, err := s.Store.Stranded(ctx, replica, from, to, limit)
	return s.revealed(ctx, ops, err)
}

// LoadDetail implements onceward.Store.
func (s *Store) LoadDetail(ctx context.Context, id onceward.OperationID) (onceward.Detail, error) {
	d, err := s.Store.LoadDetail(ctx, id)
	if err != nil {
		return d, err
	}
	for i := range d.Records {
		if err := s.revealRecord(ctx, id, &d.Records[i]); err != nil {
			return onceward.Detail{}, err
		}
	}
	return d, nil
}

func (s *Store) revealRecord(ctx context.Context, id onceward.OperationID, r *onceward.Record) error {
	if r.Sealed == nil {
		return nil
	}
	with, ok := keyOf(r.Sealed)
	if !ok {
		return corrupt(id, "a record of its timeline cannot be read")
	}
	found, err := s.keys.of(ctx, with)
	if err != nil {
		return err
	}
	if found[with] == nil {
		r.Reason, r.Sealed = "(shredded)", nil
		return nil
	}
	plain, ok := open(found[with], recordPurpose(id), r.Sealed)
	if !ok {
		return corrupt(id, "a record of its timeline was altered")
	}
	return store.PutRecordSecrets(id, r, plain)
}
