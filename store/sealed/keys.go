package sealed

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

const (
	// freshFor is how long what is known of a data key is believed: a subject that
	// was shredded by another process can be read here that long.
	freshFor = 2 * time.Second
	// cachedMax is how many unwrapped keys are held at once.
	cachedMax = 10_000
)

// dataKey is a data key as this process knows it; nil key: it was shredded.
type dataKey struct {
	key     []byte
	subject onceward.SubjectID
	seen    time.Time
}

type owner struct {
	tenant  onceward.Tenant
	subject onceward.SubjectID
}

type inUse struct {
	id   onceward.DataKeyID
	seen time.Time
}

// keys are the data keys that this process holds unwrapped.
type keys struct {
	store onceward.DataKeyStore
	ring  *KeyRing
	now   func() time.Time

	mu      sync.Mutex
	byID    map[onceward.DataKeyID]dataKey
	current map[owner]inUse
	tenants map[onceward.Tenant][]byte // the tenants' own keys, which are never shredded
}

func newKeys(s onceward.DataKeyStore, ring *KeyRing) *keys {
	return &keys{store: s, ring: ring, now: time.Now, byID: map[onceward.DataKeyID]dataKey{}, current: map[owner]inUse{}, tenants: map[onceward.Tenant][]byte{}}
}

// known returns the keys of these IDs that are fresh, and those to be asked for.
func (k *keys) known(ids []onceward.DataKeyID) (found map[onceward.DataKeyID][]byte, ask []onceward.DataKeyID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found = make(map[onceward.DataKeyID][]byte, len(ids))
	for _, id := range ids {
		if e, ok := k.byID[id]; ok && k.now().Sub(e.seen) < freshFor {
			found[id] = e.key
		} else if _, asked := found[id]; !asked {
			found[id] = nil
			ask = append(ask, id)
		}
	}
	return found, ask
}

// of returns the keys of these IDs; nil for one that was shredded.
func (k *keys) of(ctx context.Context, ids ...onceward.DataKeyID) (map[onceward.DataKeyID][]byte, error) {
	found, ask := k.known(ids)
	if len(ask) == 0 {
		return found, nil
	}
	rows, err := k.store.DataKeys(ctx, ask)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if found[rows[i].ID], err = k.keep(&rows[i]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// one returns a key and whose it is; nil if it was shredded.
func (k *keys) one(ctx context.Context, id onceward.DataKeyID) (key []byte, subject onceward.SubjectID, err error) {
	k.mu.Lock()
	e, ok := k.byID[id]
	k.mu.Unlock()
	if ok && k.now().Sub(e.seen) < freshFor {
		return e.key, e.subject, nil
	}
	rows, err := k.store.DataKeys(ctx, []onceward.DataKeyID{id})
	if err != nil || len(rows) == 0 {
		return nil, "", err
	}
	key, err = k.keep(&rows[0])
	return key, rows[0].Subject, err
}

// keep unwraps a key and remembers it; nil: it was shredded.
func (k *keys) keep(row *onceward.DataKey) (key []byte, err error) {
	if row.Wrapped != nil {
		if key, err = k.ring.unwrap(row); err != nil {
			return nil, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for id := range k.byID { // any will do: it can be asked for again
		if len(k.byID) < cachedMax {
			break
		}
		delete(k.byID, id)
	}
	k.byID[row.ID] = dataKey{key: key, subject: row.Subject, seen: k.now()}
	return key, nil
}

// toSeal is the key of an operation that is written now: also one that was known
// a while ago, for what is encrypted with a shredded key is as good as shredded.
func (k *keys) toSeal(ctx context.Context, id onceward.DataKeyID) ([]byte, error) {
	k.mu.Lock()
	e, ok := k.byID[id]
	k.mu.Unlock()
	if ok {
		return e.key, nil
	}
	found, err := k.of(ctx, id)
	return found[id], err
}

// tenant is the tenant's own key, which names subjects and hides digests.
func (k *keys) tenant(ctx context.Context, t onceward.Tenant) ([]byte, error) {
	k.mu.Lock()
	key, ok := k.tenants[t]
	k.mu.Unlock()
	if ok {
		return key, nil
	}
	row, err := k.inUse(ctx, owner{tenant: t})
	if err != nil {
		return nil, err
	}
	if key, err = k.keep(row); err != nil {
		return nil, err
	}
	if key == nil {
		return nil, onceward.Errorf(onceward.CodeLedgerCorrupt, "the key of tenant %s is gone", t)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tenants[t] = key
	return key, nil
}

// inUse reads the key that is in use, and makes one where there is none.
func (k *keys) inUse(ctx context.Context, o owner) (*onceward.DataKey, error) {
	row, err := k.store.DataKeyInUse(ctx, o.tenant, o.subject)
	if err != nil || row != nil {
		return row, err
	}
	fresh := onceward.DataKey{Tenant: o.tenant, Subject: o.subject, CreatedAt: k.now()}
	key := make([]byte, masterBytes)
	_, _ = rand.Read(fresh.ID[:]) // never fails (crypto/rand)
	_, _ = rand.Read(key)
	if err := k.ring.wrap(&fresh, key); err != nil {
		return nil, err
	}
	stands, err := k.store.PutDataKey(ctx, fresh)
	return &stands, err
}

// newest is the data key of a subject's new operations.
func (k *keys) newest(ctx context.Context, o owner) (onceward.DataKeyID, []byte, error) {
	k.mu.Lock()
	e, ok := k.current[o]
	ok = ok && k.now().Sub(e.seen) < freshFor
	key := k.byID[e.id].key
	k.mu.Unlock()
	if ok && key != nil {
		return e.id, key, nil
	}
	began := k.now()
	row, err := k.inUse(ctx, o)
	if err != nil {
		return onceward.DataKeyID{}, nil, err
	}
	if key, err = k.keep(row); err != nil {
		return onceward.DataKeyID{}, nil, err
	}
	if key == nil {
		return onceward.DataKeyID{}, nil, onceward.Errorf(onceward.CodeInternal, "data key %s is in use and shredded", row.ID)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.current) >= cachedMax {
		clear(k.current)
	}
	k.current[o] = inUse{row.ID, began}
	return row.ID, key, nil
}

// forget drops what is known of data keys. It leaves the bytes to the collector:
// somebody may be encrypting with them, and must not do so with zeros.
func (k *keys) forget(ids []onceward.DataKeyID, o owner) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.current, o)
	for _, id := range ids {
		delete(k.byID, id)
	}
}

// subjects are written like operations' IDs, so that they are told from names.
var subjectText = base32.HexEncoding.WithPadding(base32.NoPadding)

// forgetAll drops what is known of every key, the tenants' own too.
func (k *keys) forgetAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.byID)
	clear(k.current)
	clear(k.tenants)
}

// name is a subject's ID: nobody can try names against it without the tenant's key.
func (k *keys) name(ctx context.Context, t onceward.Tenant, subject string) (onceward.SubjectID, error) {
	key, err := k.tenant(ctx, t)
	if err != nil {
		return "", err
	}
	return onceward.SubjectID("sub_" + lower(subjectText.EncodeToString(mac(key, "onceward/subject/v1\n"+subject)[:16]))), nil
}
