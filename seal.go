package onceward

import (
	"context"
	"fmt"
)

// Sealer encrypts what contracts say is kept encrypted. The store that the ledger
// is given does so by itself, with the same sealer (package store/sealed); the
// ledger asks it for what a store cannot know.
type Sealer interface {
	// Assign gives a new operation its subject, by name, and that one's data key. An
	// empty name is that of the tenant itself. CodeKeysMissing: there is no master key.
	Assign(ctx context.Context, op *Operation, subject string) error
	// Name names a subject, whether anything of it is known or not.
	Name(ctx context.Context, t Tenant, subject string) (SubjectID, error)
	// Conceal returns the change with its bodies encrypted, as a store keeps it. The
	// given one is not altered.
	Conceal(ctx context.Context, c *Change) (Change, error)
	// Reveal puts the bodies of operations as a store keeps them back in place, or
	// marks those whose data key was shredded.
	Reveal(ctx context.Context, ops ...*Operation) error
	// CloseSubject takes a subject's data keys out of use and returns once no process
	// encrypts anything new with them, with those that are to be shredded.
	CloseSubject(ctx context.Context, t Tenant, subject SubjectID) ([]DataKeyID, error)
	// Shred removes data keys for good, and has that remembered outside of the
	// ledger before, where somebody asked for it. It returns how many there were.
	Shred(ctx context.Context, ids []DataKeyID, notes ...AuditEvent) (int, error)
	// ShredAgain shreds what is remembered as shredded and the ledger has: it may be
	// another one than before, put back from a backup or by a failover. What was known
	// of the one before is forgotten. Doing it again changes nothing.
	ShredAgain(ctx context.Context) error
	// Rotate wraps at most limit data keys by the first master key, which another
	// one wraps; more: some are left.
	Rotate(ctx context.Context, limit int) (done int, more bool, err error)
	// Masters names the master keys, the first of them wraps.
	Masters() []string
}

// Encrypted reports whether the bodies of its operations are stored encrypted.
func (p *Policy) Encrypted() bool {
	return p.KeepInput == KeepEncrypted || p.KeepResult == KeepEncrypted
}

// assign gives a new operation its subject and data key, if its contract wants
// its bodies encrypted. CodeKeysMissing: this process has no master key.
func (l *Ledger) assign(ctx context.Context, op *Operation, p *Prepared) error {
	if !op.Policy.Encrypted() {
		return nil
	}
	if l.opts.Sealer == nil {
		return keysMissing()
	}
	if err := l.opts.Sealer.Assign(ctx, op, p.Subject); err != nil {
		return fmt.Errorf("find data key of operation %s: %w", op.ID, err)
	}
	return nil
}

func keysMissing() error {
	return &Error{Code: CodeKeysMissing, Op: "encrypt", Message: "there is no master key, and nothing is stored in clear in place of encrypted",
		Hint: "give serve --keys; onceward key new makes one"}
}

// shreddedFailure is why nothing of an operation is sent or looked up any more
// whose data key is gone.
func shreddedFailure() Failure {
	return Failure{Class: ClassValidation, Code: string(CodeShredded), Message: "its bodies were shredded: what would be sent is not known any more"}
}
