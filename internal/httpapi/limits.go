package httpapi

import (
	"time"

	"github.com/onceward/onceward"
)

// Limits of a request. docs/reference/http.md lists them.
const (
	// DefaultBodyBytesMax is the longest request body. It cannot be raised above
	// onceward.JSONBytesMax, which is as much as the JSON parser reads.
	DefaultBodyBytesMax = 4 << 20
	// BatchItemsMax is how many operations one batch may hold.
	BatchItemsMax = 100
	// QueryBytesMax is the longest query string.
	QueryBytesMax = 8 << 10
	// LabelBytesMax is the longest run, correlation ID or claim token.
	LabelBytesMax = onceward.LabelBytesMax
	// ReferenceBytesMax is the longest reference of an effect.
	ReferenceBytesMax = 1 << 10
	// ReasonBytesMax is the longest reason or sentence given by a person.
	ReasonBytesMax = 4 << 10
	// DefaultPage is how many operations a page of a list holds if nobody says.
	DefaultPage = 50
	// ReadyTimeout bounds one readiness check of the ledger.
	ReadyTimeout = 3 * time.Second
	// ReadyFor is how long the answer of a readiness check is used again, so that
	// whoever may reach /readyz cannot load the database with it.
	ReadyFor = time.Second
)
