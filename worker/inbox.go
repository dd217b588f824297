package worker

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Inbox handles events that senders delivered.
type Inbox struct{ ledger *onceward.Ledger }

// inboxEvery is how often it looks for events besides those that this process
// recorded itself: what another one left, and what is tried again.
const inboxEvery = 500 * time.Millisecond

// NewInbox returns the loop.
func NewInbox(l *onceward.Ledger) *Inbox { return &Inbox{ledger: l} }

// Name implements Loop.
func (i *Inbox) Name() string { return "inbox" }

// Step implements Loop.
func (i *Inbox) Step(ctx context.Context) (bool, error) { return i.ledger.StepInbox(ctx) }

// Idle implements Loop.
func (i *Inbox) Idle() (time.Duration, <-chan struct{}) { return inboxEvery, i.ledger.Arrivals() }

// InboxDrop forgets events whose window is over.
type InboxDrop struct{ ledger *onceward.Ledger }

// NewInboxDrop returns the loop.
func NewInboxDrop(l *onceward.Ledger) *InboxDrop { return &InboxDrop{ledger: l} }

// Name implements Loop.
func (i *InboxDrop) Name() string { return "inbox drop" }

// Step implements Loop.
func (i *InboxDrop) Step(ctx context.Context) (bool, error) { return i.ledger.StepInboxDrop(ctx) }

// Idle implements Loop.
func (i *InboxDrop) Idle() (time.Duration, <-chan struct{}) { return time.Minute, nil }
