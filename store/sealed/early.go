package sealed

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/onceward/onceward"
)

// earlySealed stands before an encrypted reason. Nobody's words begin with it, and
// no digest is zero but that of such a row.
const earlySealed = "\x01"

func earlyPurpose(a *onceward.EarlyApproval) string {
	return "onceward/early-approval/v1\n" + a.Operation.String() + "\n" + a.Actor
}

// PutEarlyApproval implements onceward.Store: digest and reason are encrypted
// where there are master keys.
func (s *Store) PutEarlyApproval(ctx context.Context, a onceward.EarlyApproval, notes ...onceward.AuditEvent) error {
	id, key, err := s.key(ctx, a.Tenant, &onceward.Concealed{})
	if err != nil {
		return err
	}
	if !id.IsZero() {
		envelope, err := seal(id, key, earlyPurpose(&a), append(a.Digest[:], a.Reason...))
		if err != nil {
			return err
		}
		a.Digest, a.Reason = onceward.Digest{}, earlySealed+base64.StdEncoding.EncodeToString(envelope)
	}
	return s.Store.PutEarlyApproval(ctx, a, notes...)
}

// EarlyApprovals implements onceward.Store.
func (s *Store) EarlyApprovals(ctx context.Context, id onceward.OperationID) ([]onceward.EarlyApproval, error) {
	all, err := s.Store.EarlyApprovals(ctx, id)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if err := s.revealEarly(ctx, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (s *Store) revealEarly(ctx context.Context, a *onceward.EarlyApproval) error {
	text, sealed := strings.CutPrefix(a.Reason, earlySealed)
	if !sealed || !a.Digest.IsZero() {
		return nil
	}
	altered := corruptRow("early approval", a.Operation.String())
	envelope, err := base64.StdEncoding.DecodeString(text)
	id, ok := keyOf(envelope)
	if err != nil || !ok {
		return altered
	}
	key, _, err := s.keys.one(ctx, id)
	if err != nil {
		return err
	}
	if key == nil {
		return altered
	}
	plain, ok := open(key, earlyPurpose(a), envelope)
	if !ok || len(plain) < len(a.Digest) {
		return altered
	}
	a.Digest, a.Reason = onceward.Digest(plain[:len(a.Digest)]), string(plain[len(a.Digest):])
	return nil
}
