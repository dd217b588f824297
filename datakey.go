package onceward

import (
	"context"
	"encoding/hex"
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
