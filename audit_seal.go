package onceward

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"time"
)

// SealRowsMax is how many rows of each source one seal covers at most.
const SealRowsMax = AuditRowsMax

// sealRowsRead is how many of them are in memory at once.
const sealRowsRead = 50

// CheckpointEvery is how often a seal is signed, at most.
const CheckpointEvery = time.Minute

// Seal closes a stretch of the trail: it names every row of the stretch with its
// hash, and the seal before. Seals are made behind the writes, in batches, so
// that no write waits for another.
type Seal struct {
	Number   int64 // from 1, without gaps
	At       time.Time
	Previous Digest     // hash of the seal before; zero: it is the first
	Journal  AuditPlace // of the last row of the journal that is sealed
	Events   AuditPlace // of the last row of the events that is sealed
	Count    int        // of the rows in Rows
	Rows     []byte     // every row of the stretch: source, place and hash; see SealedRows
	Hash     Digest     // over all of the above
}

// SealedRow is one row as its seal names it.
type SealedRow struct {
	Source AuditSource
	Place  AuditPlace
	Hash   Digest
}

// Checkpoint is a signature over a seal, and so over everything before it.
type Checkpoint struct {
	Number    int64 // of the seal
	At        time.Time
	Hash      Digest // of the seal
	Key       ed25519.PublicKey
	Signature []byte
}

// HashAuditRow is the hash by which a seal knows a row.
func HashAuditRow(r *AuditRow) Digest {
	b := append(make([]byte, 0, 128+len(r.Body)), "onceward/audit-row/v1\n"...)
	b = append(b, byte(r.Source))
	b = appendPlace(b, r.Place)
	b = binary.BigEndian.AppendUint64(b, uint64(r.At.UnixMicro()))
	return sha256.Sum256(append(b, r.Body...))
}

func appendPlace(b []byte, p AuditPlace) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, p.Xid), uint64(p.Position))
}

func appendSealed(b []byte, r SealedRow) []byte {
	b = append(b, byte(r.Source))
	b = binary.AppendUvarint(b, r.Place.Xid)
	b = binary.AppendVarint(b, r.Place.Position)
	return append(b, r.Hash[:]...)
}

// SealedRows takes Seal.Rows apart; false if it cannot be read.
func (s *Seal) SealedRows() ([]SealedRow, bool) {
	var rows []SealedRow
	for b := s.Rows; len(b) > 0; {
		r := SealedRow{Source: AuditSource(b[0])}
		xid, n := binary.Uvarint(b[1:])
		if n <= 0 {
			return rows, false
		}
		b = b[1+n:]
		position, n := binary.Varint(b)
		if n <= 0 || len(b) < n+len(r.Hash) {
			return rows, false
		}
		r.Place = AuditPlace{xid, position}
		copy(r.Hash[:], b[n:])
		b = b[n+len(r.Hash):]
		rows = append(rows, r)
	}
	return rows, len(rows) == s.Count
}

// sum is what Hash has to be.
func (s *Seal) sum() Digest {
	b := append(make([]byte, 0, 256+len(s.Rows)), "onceward/seal/v1\n"...)
	b = binary.BigEndian.AppendUint64(b, uint64(s.Number))
	b = binary.BigEndian.AppendUint64(b, uint64(s.At.UnixMicro()))
	b = append(b, s.Previous[:]...)
	b = appendPlace(appendPlace(b, s.Journal), s.Events)
	b = binary.BigEndian.AppendUint64(b, uint64(s.Count))
	return sha256.Sum256(append(b, s.Rows...))
}

// last is the place of the last sealed row of a source.
func (s *Seal) last(source AuditSource) *AuditPlace {
	if source == SourceJournal {
		return &s.Journal
	}
	return &s.Events
}

// signed is what a checkpoint's signature is over.
func (c *Checkpoint) signed() []byte {
	b := append(make([]byte, 0, 96), "onceward/checkpoint/v1\n"...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Number))
	b = binary.BigEndian.AppendUint64(b, uint64(c.At.UnixMicro()))
	return append(b, c.Hash[:]...)
}

// Holds reports whether the signature is that of its key.
func (c *Checkpoint) Holds() bool {
	return len(c.Key) == ed25519.PublicKeySize && ed25519.Verify(c.Key, c.signed(), c.Signature)
}

// Auditor makes seals and checkpoints over a trail, and prunes it. It is safe for
// concurrent use, and so are several of one trail: of two seals with one number
// one is stored.
type Auditor struct {
	Store AuditStore
	Now   func(context.Context) (time.Time, error) // the database's clock
	Key   ed25519.PrivateKey                       // nil: nothing is signed
	Keep  time.Duration                            // how long sealed rows are kept; 0: for ever
	Actor string                                   // who prunes, in the trail
}

// Step seals what is there, signs where that is due, and prunes a stretch. worked
// is true if there may be more: the rows of one seal are what came since the last
// step, so whoever rests in between makes fewer and longer ones.
func (a *Auditor) Step(ctx context.Context) (worked bool, err error) {
	last, err := a.Store.LastSeal(ctx)
	if err != nil {
		return false, err
	}
	last, full, err := a.seal(ctx, last)
	if err != nil || full || last == nil {
		return full, err
	}
	now, err := a.Now(ctx)
	if err != nil {
		return false, err
	}
	if err := a.sign(ctx, last, now); err != nil {
		return false, err
	}
	return a.prune(ctx, last, now)
}

// seal closes the stretch after the last seal, and returns the newest one. full:
// there may be more than one seal takes.
func (a *Auditor) seal(ctx context.Context, last *Seal) (newest *Seal, full bool, err error) {
	next := Seal{Number: 1}
	if last != nil {
		next = Seal{Number: last.Number + 1, Previous: last.Hash, Journal: last.Journal, Events: last.Events}
	}
	for _, source := range AllAuditSources {
		taken, err := a.take(ctx, source, &next)
		if err != nil {
			return last, false, err
		}
		full = full || taken == SealRowsMax
	}
	if next.Count == 0 {
		return last, false, nil
	}
	// Why after the rows were read: whoever looks for what happened before a time
	// goes by the times of seals, and no row is younger than its seal.
	now, err := a.Now(ctx)
	if err != nil {
		return last, false, err
	}
	next.At = now.UTC().Truncate(time.Microsecond)
	next.Hash = next.sum()
	applied, err := a.Store.AppendSeal(ctx, next)
	if err != nil || !applied { // another was first: it seals the rest as well
		return last, false, err
	}
	return &next, full, nil
}

// take adds the rows of a source that follow, at most SealRowsMax of them.
//
// Why some at a time: a row names every operation of its commit, hundreds under
// load, and of all that only a hash is kept.
func (a *Auditor) take(ctx context.Context, source AuditSource, next *Seal) (taken int, err error) {
	for taken < SealRowsMax {
		limit := min(sealRowsRead, SealRowsMax-taken)
		rows, err := a.Store.AuditRows(ctx, AuditQuery{Source: source, After: *next.last(source), Limit: limit})
		if err != nil {
			return taken, err
		}
		for i := range rows {
			next.Rows = appendSealed(next.Rows, SealedRow{source, rows[i].Place, HashAuditRow(&rows[i])})
			*next.last(source) = rows[i].Place
			next.Count++
		}
		if taken += len(rows); len(rows) < limit {
			break
		}
	}
	return taken, nil
}

// sign signs the newest seal, unless that was done lately.
func (a *Auditor) sign(ctx context.Context, last *Seal, now time.Time) error {
	if len(a.Key) == 0 {
		return nil
	}
	newest, err := a.Store.LastCheckpoint(ctx)
	if err != nil || newest != nil && (newest.Number >= last.Number || now.Sub(newest.At) < CheckpointEvery) {
		return err
	}
	c := Checkpoint{Number: last.Number, At: now.UTC().Truncate(time.Microsecond), Hash: last.Hash, Key: a.Key.Public().(ed25519.PublicKey)}
	c.Signature = ed25519.Sign(a.Key, c.signed())
	return a.Store.PutCheckpoint(ctx, c)
}

// prune removes what is older than Keep, in whole seals.
func (a *Auditor) prune(ctx context.Context, last *Seal, now time.Time) (bool, error) {
	if a.Keep <= 0 {
		return false, nil
	}
	first, err := a.Store.Seals(ctx, 0, pruneSeals)
	if err != nil || len(first) < 2 {
		return false, err
	}
	if now.Sub(first[1].At) < a.Keep+min(pruneEvery, a.Keep/10) {
		return false, nil // each pruning leaves a line: not for a handful of rows
	}
	anchor := -1
	for i := 1; i < len(first) && first[i].Number < last.Number && now.Sub(first[i].At) > a.Keep; i++ {
		anchor = i
	}
	if anchor < 0 {
		return false, nil
	}
	to := first[anchor]
	return true, a.Store.PruneAudit(ctx, to, NewAuditEvent(AuditEvent{Actor: a.Actor, Action: AuditTrailPruned, Subject: anchorSubject(&to), Detail: "older than " + a.Keep.String()}))
}

// Limits of pruning.
const (
	pruneSeals = 100       // that one step prunes at most
	pruneEvery = time.Hour // how much more than Keep is there before something is pruned
)

// anchorSubject names an anchor: whoever finds a trail that begins there finds
// this in it.
func anchorSubject(s *Seal) string {
	return "seal " + strconv.FormatInt(s.Number, 10) + " " + hex.EncodeToString(s.Hash[:])
}
