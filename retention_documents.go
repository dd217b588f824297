package onceward

import (
	"context"
	"fmt"
	"time"
)

// Limits of the retention of documents.
const (
	// DocumentsKeepMin is the shortest time for which documents are kept.
	DocumentsKeepMin = 24 * time.Hour
	// documentNamedAnew is how old a document is whose being named is noted.
	//
	// Invariant: it is well below DocumentsKeepMin. An operation whose being claimed was
	// not noted is so much older than the walk that looks for it.
	documentNamedAnew = DocumentsKeepMin / 2
	// documentsAtOnce is how many documents a walk of the operations decides on.
	documentsAtOnce = 10_000
)

// DocumentWalk is how far a walk came that drops old documents. The zero value
// begins one.
//
// Why a walk: who names a document stands in the operations, and an index of it
// would cost each claim a row.
type DocumentWalk struct {
	from    DocumentCursor             // where the next documents are chosen
	before  time.Time                  // those that are decided on were last named before it
	unnamed map[documentName]time.Time // and no operation that was looked at names them; when they were added
	ops     Cursor                     // where the walk of the operations goes on
	walking bool
}

type documentName struct {
	tenant Tenant
	digest Digest
}

// RetireDocumentsStep takes a walk one step further, of limit operations or
// documents. It drops documents that were added, and last named by a request,
// longer ago than keep, that no operation names whose record is kept, and that no
// legal hold covers. A hold of a subject, a time or the tenant covers every
// document of its tenant and time. over: the walk came to its end. keep 0: nothing
// is dropped.
func (l *Ledger) RetireDocumentsStep(ctx context.Context, w *DocumentWalk, keep time.Duration, limit int) (done int, over bool, err error) {
	switch {
	case keep <= 0:
		return 0, true, nil
	case w.walking:
		return 0, false, l.lookForNames(ctx, w, limit)
	case len(w.unnamed) > 0:
		done, err = l.dropUnnamed(ctx, w, limit)
		return done, err == nil && len(w.unnamed) == 0 && w.from == (DocumentCursor{}), err
	}
	w.before = l.clock.now().Add(-max(keep, DocumentsKeepMin))
	docs, err := l.store.AgedDocuments(ctx, w.from, w.before, documentsAtOnce)
	if err != nil {
		return 0, false, fmt.Errorf("list old documents: %w", err)
	}
	w.from = DocumentCursor{}
	if len(docs) == documentsAtOnce {
		last := &docs[len(docs)-1]
		w.from = DocumentCursor{CreatedAt: last.CreatedAt, Tenant: last.Tenant, Digest: last.Digest}
	}
	w.unnamed, w.ops, w.walking = map[documentName]time.Time{}, Cursor{}, len(docs) > 0
	for i := range docs {
		w.unnamed[documentName{docs[i].Tenant, docs[i].Digest}] = docs[i].CreatedAt
	}
	return 0, len(docs) == 0, nil
}

// lookForNames looks at operations, and leaves alone what those name that are
// kept.
func (l *Ledger) lookForNames(ctx context.Context, w *DocumentWalk, limit int) error {
	ops, err := l.store.Aged(ctx, w.ops, l.clock.now().Add(time.Second), limit)
	if err != nil {
		return fmt.Errorf("list operations: %w", err)
	}
	for _, op := range ops {
		for i := range op.Documents {
			delete(w.unnamed, documentName{op.Tenant, op.Documents[i].Digest})
		}
	}
	if w.walking = len(ops) == limit && len(w.unnamed) > 0; w.walking {
		last := ops[len(ops)-1]
		w.ops = Cursor{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	return nil
}

// dropUnnamed drops what no operation names, unless it was named meanwhile.
func (l *Ledger) dropUnnamed(ctx context.Context, w *DocumentWalk, limit int) (done int, err error) {
	holds, err := l.store.Holds(ctx)
	if err != nil {
		return 0, fmt.Errorf("list holds: %w", err)
	}
	for name, created := range w.unnamed {
		if limit--; limit < 0 {
			break
		}
		if !heldTenant(holds, name.tenant, created, true) {
			dropped, err := l.store.DropDocument(ctx, name.tenant, name.digest, w.before,
				NewAuditEvent(AuditEvent{Tenant: name.tenant, Actor: l.opts.Owner, Action: AuditDocumentDropped, Subject: name.digest.String()}))
			if err != nil {
				return done, fmt.Errorf("drop document %s: %w", name.digest, err)
			}
			if dropped {
				done++
			}
		}
		delete(w.unnamed, name)
	}
	return done, nil
}

// noteNamed notes of uploaded documents that a request names them, so that they
// are not dropped while it is claimed. CodeDocumentNotFound: one was dropped.
func (l *Ledger) noteNamed(ctx context.Context, t Tenant, named []DocumentRef) error {
	for i := range named {
		there, err := l.store.NameDocument(ctx, t, named[i].Digest, l.clock.now())
		if err != nil {
			return fmt.Errorf("name document %s: %w", named[i].Digest, err)
		}
		if !there {
			return notUploaded(&named[i])
		}
	}
	return nil
}

// RetireBulkReplaysStep looks at most limit bulk replays, oldest first from the
// cursor on, and drops those that ended longer ago than keep, unless a legal hold
// covers everything of their tenant and time. It returns where to go on, zero at
// the end, and how many it dropped. keep 0: nothing is dropped.
func (l *Ledger) RetireBulkReplaysStep(ctx context.Context, from BulkCursor, keep time.Duration, limit int) (next BulkCursor, done int, err error) {
	if keep <= 0 {
		return BulkCursor{}, 0, nil
	}
	over := l.clock.now().Add(-keep)
	all, err := l.store.AgedBulkReplays(ctx, from, over, limit)
	if err != nil || len(all) == 0 {
		return BulkCursor{}, 0, err
	}
	holds, err := l.store.Holds(ctx)
	if err != nil {
		return BulkCursor{}, 0, fmt.Errorf("list holds: %w", err)
	}
	plans, err := l.plansInUse(ctx)
	if err != nil {
		return BulkCursor{}, 0, err
	}
	for _, b := range all {
		if b.State == BulkRunning || !b.FinishedAt.Before(over) || plans[b.ID] || heldTenant(holds, b.Tenant, b.CreatedAt, false) {
			continue
		}
		dropped, err := l.store.DropBulkReplay(ctx, b, NewAuditEvent(AuditEvent{Tenant: b.Tenant, Actor: l.opts.Owner, Action: AuditReplayDropped, Subject: b.ID.String()}))
		if err != nil {
			return BulkCursor{}, done, fmt.Errorf("drop bulk replay %s: %w", b.ID, err)
		}
		if dropped {
			done++
		}
	}
	if len(all) < limit {
		return BulkCursor{}, done, nil
	}
	last := all[len(all)-1]
	return BulkCursor{CreatedAt: last.CreatedAt, ID: last.ID}, done, nil
}

// plansInUse are the dry runs that a bulk replay carries out now.
func (l *Ledger) plansInUse(ctx context.Context) (map[BulkReplayID]bool, error) {
	running, err := l.store.RunningBulkReplays(ctx, MaxPage)
	if err != nil {
		return nil, fmt.Errorf("list bulk replays: %w", err)
	}
	plans := make(map[BulkReplayID]bool, len(running))
	for _, b := range running {
		plans[b.Plan] = true
	}
	return plans, nil
}
