package store

import (
	"time"

	"github.com/onceward/onceward"
)

// detailFormat is the first byte of an encoded detail.
const detailFormat = 1

// The tags of a detail. Each stands before its value, and only where the value
// is not what is assumed without it: zero, for tagIntentAt the time of creation,
// for tagReference the row's column. A tag is never given another meaning.
const (
	tagAttempts byte = iota + 1
	tagFailure
	tagFlags
	tagDueAt
	tagParked
	tagSerialKey
	tagUnknownSince
	tagProbes
	tagGranted
	tagSupersedes // read only: one digest, as earlier versions wrote it
	tagApprovedUntil
	tagReviewReason
	tagReference
	tagIntentAt
	tagDecidedBy
	tagSuperseded
	tagApproval
	tagAssigned
	tagDocuments
	tagAssignedAt
	tagEdited
)

// The flags of an operation.
const (
	flagCancelRequested = 1 << iota
	flagRefPending
	flagBroken
	flagRetired
	flagApprovalNeeded
	flagApprovalSpent
	flagResendConfirmed
	flagForked
	flagShredded
	flagsKnown = 1<<iota - 1
)

// encodeDetail encodes what has no column of its own.
func encodeDetail(op *onceward.Operation, row *Row) []byte {
	e := encoder{buf: make([]byte, 1, 32)}
	e.buf[0] = detailFormat
	if len(op.Attempts) > 0 {
		e.byte(tagAttempts)
		e.attempts(op, row)
	}
	if !op.Failure.IsZero() {
		e.byte(tagFailure)
		e.failure(op.Failure)
	}
	if f := operationFlags(op); f != 0 {
		e.byte(tagFlags)
		e.uint(f)
	}
	e.tagTime(tagDueAt, op.DueAt)
	e.tagString(tagParked, string(op.Parked))
	e.tagString(tagSerialKey, op.SerialKey)
	e.tagTime(tagUnknownSince, op.UnknownSince)
	e.tagInt(tagProbes, op.Probes)
	e.tagInt(tagGranted, op.Granted)
	e.tagTime(tagApprovedUntil, op.ApprovedUntil)
	e.people(op)
	e.tagString(tagReviewReason, op.ReviewReason)
	if op.Reference != row.Reference {
		e.tagString(tagReference, op.Reference)
	}
	if at := Stored(op.IntentAt); !at.Equal(row.CreatedAt) {
		e.byte(tagIntentAt)
		e.time(at)
	}
	if !op.DecidedBy.IsZero() {
		e.byte(tagDecidedBy)
		e.decidedBy(&op.DecidedBy)
	}
	if len(e.buf) == 1 {
		return nil
	}
	return e.buf
}

func (e *encoder) tagTime(tag byte, t time.Time) {
	if !t.IsZero() {
		e.byte(tag)
		e.time(t)
	}
}

func (e *encoder) tagString(tag byte, s string) {
	if s != "" {
		e.byte(tag)
		e.string(s)
	}
}

func (e *encoder) tagInt(tag byte, n int) {
	if n != 0 {
		e.byte(tag)
		e.int(int64(n))
	}
}

func operationFlags(op *onceward.Operation) uint64 {
	var f uint64
	for _, flag := range flagsOf(op) {
		if *flag.is {
			f |= flag.bit
		}
	}
	return f
}

type flag struct {
	bit uint64
	is  *bool
}

func flagsOf(op *onceward.Operation) [9]flag {
	return [...]flag{
		{flagCancelRequested, &op.CancelRequested}, {flagRefPending, &op.RefPending}, {flagBroken, &op.Broken},
		{flagRetired, &op.Retired}, {flagApprovalNeeded, &op.ApprovalNeeded}, {flagApprovalSpent, &op.ApprovalSpent},
		{flagResendConfirmed, &op.ResendConfirmed}, {flagForked, &op.Forked},
		{flagShredded, &op.Shredded},
	}
}

// decodeDetail reads the row's detail into op.
func decodeDetail(op *onceward.Operation, row *Row) error {
	op.IntentAt = row.CreatedAt // unless the detail says otherwise
	if len(row.Detail) == 0 {
		return nil
	}
	d := decoder{buf: row.Detail}
	d.format(detailFormat)
	for d.more() {
		d.tag(op, row)
	}
	return d.problem(row.ID, "the detail cannot be read")
}

// tag reads one tag and its value.
func (d *decoder) tag(op *onceward.Operation, row *Row) {
	switch tag := d.byte(); tag {
	case tagAttempts:
		d.attempts(op, row)
	case tagFailure:
		op.Failure = d.failure()
	case tagFlags:
		f := d.uint()
		for _, flag := range flagsOf(op) {
			*flag.is = f&flag.bit != 0
		}
		if f&^flagsKnown != 0 {
			d.unknown(true)
		}
	case tagDueAt:
		op.DueAt = d.time()
	case tagParked:
		op.Parked = onceward.ParkReason(d.string())
	case tagSerialKey:
		op.SerialKey = d.string()
	case tagUnknownSince:
		op.UnknownSince = d.time()
	case tagProbes:
		op.Probes = int(d.int())
	case tagGranted:
		op.Granted = int(d.int())
	case tagSupersedes:
		op.Supersedes = make([]onceward.Superseded, 1)
		d.fill(op.Supersedes[0].Digest[:])
	case tagApprovedUntil:
		op.ApprovedUntil = d.time()
	case tagReviewReason:
		op.ReviewReason = d.string()
	case tagReference:
		op.Reference = d.string()
	case tagIntentAt:
		op.IntentAt = d.time()
	case tagDecidedBy:
		op.DecidedBy = d.decidedBy()
	case tagSuperseded:
		op.Supersedes = d.superseded()
	case tagApproval:
		op.Approval = d.approval()
	case tagAssigned:
		op.Assigned.To, op.Assigned.Team, op.Assigned.Due = d.string(), d.string(), d.time()
	case tagAssignedAt:
		op.Assigned.At = d.time()
	case tagEdited:
		op.Approval.Edited = d.edited()
	case tagDocuments:
		op.Documents = d.documents()
	default:
		d.unknown(tag != 0)
	}
}
