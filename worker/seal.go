package worker

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Seal closes the audit trail behind the writes, signs what is closed, and
// removes what is older than is kept.
type Seal struct{ auditor *onceward.Auditor }

// sealEvery is how long the newest rows stand unsealed at most, where the ledger
// answers.
const sealEvery = time.Second

// NewSeal returns the loop.
func NewSeal(a *onceward.Auditor) *Seal { return &Seal{auditor: a} }

// Name implements Loop.
func (s *Seal) Name() string { return "seal" }

// Step implements Loop.
func (s *Seal) Step(ctx context.Context) (bool, error) { return s.auditor.Step(ctx) }

// Idle implements Loop.
func (s *Seal) Idle() (time.Duration, <-chan struct{}) { return sealEvery, nil }
