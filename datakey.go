package onceward

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SubjectID names whose data an operation holds, without saying who it is: it is
// made of the subject's name by a key of the tenant. Empty: nothing is encrypted.
type SubjectID string

// DataSubjectBytesMax is the longest name of a subject.
const DataSubjectBytesMax = 255

// DataKeyID names a data key. It is random and no secret.
type DataKeyID [16]byte

// IsZero reports whether it names none.
func (id DataKeyID) IsZero() bool { return id == DataKeyID{} }

// String is "dk_" and the ID in hexadecimal.
func (id DataKeyID) String() string { return "dk_" + hex.EncodeToString(id[:]) }

// ParseDataKeyID reads what String writes; CodeInvalidRequest for anything else.
func ParseDataKeyID(s string) (id DataKeyID, err error) {
	b, err := hex.DecodeString(strings.TrimPrefix(s, "dk_"))
	if err != nil || len(b) != len(id) || !strings.HasPrefix(s, "dk_") {
		return id, Errorf(CodeInvalidRequest, "no data key has that ID: it is dk_ and 32 hexadecimal digits")
	}
	return DataKeyID(b), nil
}

// Concealed is how a row beside the operations is kept encrypted: a run, a
// decision, a saga, an event or a document. Where the process has master keys every such row
// is, and its digests with it; what else of it is encrypted its type says.
type Concealed struct {
	Subject  SubjectID // whose data it is; empty: the tenant's, which is never shredded
	DataKey  DataKeyID // with which it is encrypted; zero: with the subject's that is in use when it is written, if there are master keys
	Shredded bool      // its data key is gone, and with it what was encrypted
	Sealed   []byte    // as stored: what is encrypted; nil: it is in clear. A ledger sees none
}

// DataKey is a key with which the bodies of one subject's operations are
// encrypted, as the ledger keeps it: wrapped by a master key that stands outside
// of it.
type DataKey struct {
	ID         DataKeyID
	Tenant     Tenant
	Subject    SubjectID // empty: the tenant's own, which names subjects and hides digests
	Master     string    // the master key that wraps it; empty once shredded
	Wrapped    []byte    // nil once shredded
	CreatedAt  time.Time
	ClosedAt   time.Time // since then nothing new is encrypted with it; zero: it is in use
	ShreddedAt time.Time // zero: what it encrypts can be read
}

// MasterUse is how many data keys a master key wraps.
type MasterUse struct {
	Master string
	Keys   int
}

// DataKeyStore keeps wrapped data keys. Its methods are safe for concurrent use
// and return the errors of [Store].
type DataKeyStore interface {
	// PutDataKey stores a key unless its tenant and subject have one in use, and
	// returns the one that is in use then.
	PutDataKey(ctx context.Context, k DataKey) (DataKey, error)
	// DataKeyInUse reads the key that is in use; nil: there is none.
	DataKeyInUse(ctx context.Context, t Tenant, subject SubjectID) (*DataKey, error)
	// DataKeys reads keys by ID, in any order; absent ones are left out.
	DataKeys(ctx context.Context, ids []DataKeyID) ([]DataKey, error)
	// ListDataKeys returns at most limit keys of a tenant, of every tenant for
	// [EveryTenant], with IDs after the given one, by ID; with a subject, those of it.
	ListDataKeys(ctx context.Context, t Tenant, subject SubjectID, after DataKeyID, limit int) ([]DataKey, error)
	// MasterUses counts the keys that each master key wraps, by name.
	MasterUses(ctx context.Context) ([]MasterUse, error)
	// KeysNotWrappedBy returns at most limit keys that another master key wraps.
	KeysNotWrappedBy(ctx context.Context, master string, limit int) ([]DataKey, error)
	// RewrapDataKey replaces the wrapping if it is still the given one.
	RewrapDataKey(ctx context.Context, id DataKeyID, was []byte, master string, wrapped []byte) (bool, error)
	// CloseDataKeys takes the keys of a subject out of use; what they encrypt can
	// still be read.
	CloseDataKeys(ctx context.Context, t Tenant, subject SubjectID, at time.Time) error
	// ShredDataKeys removes the wrapped keys for good, notes the events in the same
	// transaction, and returns how many there were.
	ShredDataKeys(ctx context.Context, ids []DataKeyID, at time.Time, notes ...AuditEvent) (int, error)
}

// KeyRotation is how far a rotation came.
type KeyRotation struct {
	Masters []string // the first of them wraps
	Rotated int      // data keys that were wrapped anew just now
	More    bool     // others are left: do it again
	Uses    []MasterUse
}

// RotateKeys wraps data keys by the first master key, some thousands at a time, so
// that nobody waits for an answer without end. What the data keys encrypt is not
// touched, and everything goes on meanwhile. Doing it again goes on, or changes
// nothing; once no data key is wrapped by a master key any more, it can go.
func (l *Ledger) RotateKeys(ctx context.Context, p Principal) (*KeyRotation, error) {
	if err := Authorize(p, ActionManageKeys); err != nil {
		return nil, err
	}
	if !l.encrypts() {
		return nil, keysMissing()
	}
	r := &KeyRotation{Masters: l.opts.Sealer.Masters()}
	var err error
	for step := 0; step < rotateSteps && (step == 0 || r.More) && err == nil; step++ {
		var n int
		n, r.More, err = l.opts.Sealer.Rotate(ctx, rotateBatch)
		r.Rotated += n
	}
	if r.Rotated > 0 { // as far as it came
		l.note(ctx, AuditEvent{Tenant: p.Tenant, Actor: p.String(), Action: AuditKeysRotated, Subject: r.Masters[0], Detail: fmt.Sprintf("%d data keys", r.Rotated)})
	}
	if err != nil {
		return nil, fmt.Errorf("rotate keys: %w", err)
	}
	if r.Uses, err = l.store.MasterUses(ctx); err != nil {
		return nil, fmt.Errorf("count data keys: %w", err)
	}
	return r, nil
}

// Limits of one call of RotateKeys.
const (
	rotateBatch = 500 // data keys of a step
	rotateSteps = 10
)

// MasterKeys says which master keys this process has, and which the ledger's data
// keys are wrapped by.
func (l *Ledger) MasterKeys(ctx context.Context, p Principal) (masters []string, uses []MasterUse, err error) {
	if err := Authorize(p, ActionReadKeys); err != nil {
		return nil, nil, err
	}
	if l.opts.Sealer != nil {
		masters = slices.Clone(l.opts.Sealer.Masters())
	}
	if uses, err = l.store.MasterUses(ctx); err != nil {
		return nil, nil, fmt.Errorf("count data keys: %w", err)
	}
	return masters, uses, nil
}

// DataKeyPageMax is the longest page of data keys.
const DataKeyPageMax = 500

// ListDataKeys returns a page of the tenant's data keys by ID, without what they
// are wrapped in; with a subject's name, those of it.
func (l *Ledger) ListDataKeys(ctx context.Context, p Principal, subject string, after DataKeyID, limit int) ([]DataKey, error) {
	if err := Authorize(p, ActionReadKeys); err != nil {
		return nil, err
	}
	if limit < 1 || limit > DataKeyPageMax {
		return nil, Errorf(CodeInvalidRequest, "limit is not a number from 1 to %d", DataKeyPageMax)
	}
	id, err := l.subjectNamed(ctx, p.Tenant, subject)
	if err != nil {
		return nil, err
	}
	keys, err := l.store.ListDataKeys(ctx, p.Tenant, id, after, limit)
	for i := range keys {
		keys[i].Wrapped = nil
	}
	return keys, err
}

// encrypts reports whether the process has master keys.
func (l *Ledger) encrypts() bool { return l.opts.Sealer != nil && len(l.opts.Sealer.Masters()) > 0 }

// subjectNamed is the ID of a subject; empty for nobody.
func (l *Ledger) subjectNamed(ctx context.Context, t Tenant, subject string) (SubjectID, error) {
	switch {
	case subject == "":
		return "", nil
	case len(subject) > DataSubjectBytesMax:
		return "", Errorf(CodeInvalidRequest, "the subject is longer than %d bytes", DataSubjectBytesMax)
	case l.opts.Sealer == nil:
		return "", keysMissing()
	}
	return l.opts.Sealer.Name(ctx, t, subject)
}
