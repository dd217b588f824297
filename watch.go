package onceward

import "context"

// watchPages is how many pages of a source one look at it reads.
const watchPages = 4

// Changed is something that was written: an operation, or what an audit event is
// about.
type Changed struct {
	Tenant    Tenant      // empty: it concerns every tenant
	Operation OperationID // zero: it is no operation
}

// Watch returns what was written after a place, of every tenant, and the place
// behind it. It is for a server that tells its clients what to read again, each
// only of its own tenant: what it returns is no answer to anybody. behind says
// that the trail grows faster than it is read: the changes are not all.
//
// The zero place is where the newest seal ends.
func (l *Ledger) Watch(ctx context.Context, after AuditCursor) (changes []Changed, at AuditCursor, behind bool, err error) {
	at = after
	if at == (AuditCursor{}) {
		if at, err = l.sealedTo(ctx); err != nil {
			return nil, after, false, err
		}
	}
	for _, source := range AllAuditSources {
		more := true
		for page := 0; more && page < watchPages; page++ {
			rows, err := l.store.AuditRows(ctx, AuditQuery{Source: source, After: *at.of(source), Limit: MaxPage})
			if err != nil {
				return nil, after, false, err
			}
			for i := range rows {
				changes = rows[i].tells(changes)
				*at.of(source) = rows[i].Place
			}
			more = len(rows) == MaxPage
		}
		behind = behind || more
	}
	if !behind {
		return changes, at, false, nil
	}
	end, err := l.sealedTo(ctx)
	for _, source := range AllAuditSources {
		if to := *end.of(source); to.Compare(*at.of(source)) > 0 {
			*at.of(source) = to
		}
	}
	return changes, at, true, err
}

// tells appends what a row tells of.
func (r *AuditRow) tells(changes []Changed) []Changed {
	if r.Event != nil {
		changes = append(changes, Changed{Tenant: r.Event.Tenant})
	}
	for i := range r.Entries {
		changes = append(changes, Changed{Tenant: r.Entries[i].Tenant, Operation: r.Entries[i].ID})
	}
	return changes
}

// sealedTo is how far the trail is sealed.
func (l *Ledger) sealedTo(ctx context.Context) (AuditCursor, error) {
	seal, err := l.store.LastSeal(ctx)
	if err != nil || seal == nil {
		return AuditCursor{}, err
	}
	return AuditCursor{Journal: seal.Journal, Events: seal.Events}, nil
}
