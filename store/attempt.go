package store

import (
	"time"

	"github.com/onceward/onceward"
)

// The bits of an encoded attempt. What the row's columns say already (owner and
// lease of the newest attempt, the operation's reference) is not said twice, so
// that the one attempt of an undisturbed operation takes about 15 bytes.
const (
	attemptFree = 1 << iota
	attemptResend
	attemptStarted
	attemptLease
	attemptEnded
	attemptLastByte
	attemptOwner
	attemptFailure
	attemptReference     // a reference of its own
	attemptSameReference // the one in the row's column
	attemptClaimToken
	attemptSecretHash
	attemptHandle
	attemptBitsKnown = 1<<iota - 1
)

// attempts encodes all attempts; times are kept as distances from the
// operation's creation.
func (e *encoder) attempts(op *onceward.Operation, row *Row) {
	e.uint(uint64(len(op.Attempts)))
	for i := range op.Attempts {
		e.attempt(&op.Attempts[i], row, i == len(op.Attempts)-1)
	}
}

func (e *encoder) attempt(a *onceward.Attempt, row *Row, newest bool) {
	bits := attemptBits(a, row, newest)
	e.uint(uint64(a.Number))
	e.byte(byte(a.Status)<<4 | byte(a.Settler)&0xf)
	e.byte(byte(a.Reach))
	e.uint(bits)
	base := Micros(row.CreatedAt)
	for _, t := range [...]struct {
		bit uint64
		at  time.Time
	}{
		{attemptStarted, a.StartedAt}, {attemptLease, a.LeaseUntil},
		{attemptEnded, a.EndedAt}, {attemptLastByte, a.LastByteAt},
	} {
		if bits&t.bit != 0 {
			e.int(Micros(t.at) - base)
		}
	}
	if bits&attemptOwner != 0 {
		e.string(a.Owner)
	}
	if bits&attemptFailure != 0 {
		e.failure(a.Failure)
	}
	if bits&attemptReference != 0 {
		e.string(a.Reference)
	}
	if bits&attemptClaimToken != 0 {
		e.string(a.ClaimToken)
	}
	if bits&attemptSecretHash != 0 {
		e.bytes(a.SecretHash)
	}
	if bits&attemptHandle != 0 {
		e.string(a.Handle)
	}
}

// attemptBits says what has to be encoded of an attempt.
func attemptBits(a *onceward.Attempt, row *Row, newest bool) uint64 {
	var bits uint64
	for _, b := range [...]struct {
		set bool
		bit uint64
	}{
		{a.Free, attemptFree}, {a.Resend, attemptResend},
		{!a.StartedAt.IsZero(), attemptStarted}, {!newest && !a.LeaseUntil.IsZero(), attemptLease},
		{!a.EndedAt.IsZero(), attemptEnded}, {!a.LastByteAt.IsZero(), attemptLastByte},
		{!newest && a.Owner != "", attemptOwner}, {!a.Failure.IsZero(), attemptFailure},
		{a.Reference != "" && a.Reference != row.Reference, attemptReference},
		{a.Reference != "" && a.Reference == row.Reference, attemptSameReference},
		{a.ClaimToken != "", attemptClaimToken}, {a.SecretHash != nil, attemptSecretHash},
		{a.Handle != "", attemptHandle},
	} {
		if b.set {
			bits |= b.bit
		}
	}
	return bits
}

// attempts reads all attempts into op.
func (d *decoder) attempts(op *onceward.Operation, row *Row) {
	n := d.count()
	if n == 0 {
		d.bad = true
		return
	}
	op.Attempts = make([]onceward.Attempt, n)
	for i := range op.Attempts {
		d.attempt(&op.Attempts[i], row)
	}
	last := &op.Attempts[n-1]
	last.Owner, last.LeaseUntil = row.Owner, row.LeaseUntil
}

func (d *decoder) attempt(a *onceward.Attempt, row *Row) {
	a.Number = d.small()
	settled := d.byte()
	a.Status, a.Settler = onceward.AttemptStatus(settled>>4), onceward.Settler(settled&0xf)
	a.Reach = onceward.Reach(d.byte())
	bits := d.uint()
	if bits&^attemptBitsKnown != 0 {
		d.unknown(true)
		return
	}
	a.Free, a.Resend = bits&attemptFree != 0, bits&attemptResend != 0
	base := Micros(row.CreatedAt)
	for _, t := range [...]struct {
		bit uint64
		at  *time.Time
	}{
		{attemptStarted, &a.StartedAt}, {attemptLease, &a.LeaseUntil},
		{attemptEnded, &a.EndedAt}, {attemptLastByte, &a.LastByteAt},
	} {
		if bits&t.bit != 0 {
			*t.at = Time(base + d.int())
		}
	}
	if bits&attemptOwner != 0 {
		a.Owner = d.string()
	}
	if bits&attemptFailure != 0 {
		a.Failure = d.failure()
	}
	if bits&attemptReference != 0 {
		a.Reference = d.string()
	}
	if bits&attemptSameReference != 0 {
		a.Reference = row.Reference
	}
	if bits&attemptClaimToken != 0 {
		a.ClaimToken = d.string()
	}
	if bits&attemptSecretHash != 0 {
		a.SecretHash = d.bytes()
	}
	if bits&attemptHandle != 0 {
		a.Handle = d.string()
	}
}
