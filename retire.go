package onceward

// tombstone is why nothing of a retired record is sent again.
const tombstone = "the record was retired: what would be sent is not kept"

// gone says why nothing of an operation is sent again whose bodies are not there.
func (o *Operation) gone() string {
	if o.Shredded {
		return shreddedFailure().Message
	}
	return tombstone
}

// retired slims the row to its tombstone: digest, state, reference, first and
// last time stay; bodies, attempts and timeline go (rule 8).
func (m *step) retired(e Retired) error {
	o := m.op
	if why := o.stays(); why != "" {
		return forbidden(o, e, why)
	}
	o.Retired = true
	o.Input, o.Request, o.Result, o.Prints = nil, nil, nil, nil
	o.Supersedes, o.Documents, o.Approval = nil, nil, Approval{}
	o.DataKey, o.Sealed, o.Blind = DataKeyID{}, nil, ""
	o.Attempts, o.ProviderKey, o.SerialKey, o.TraceParent = nil, "", "", ""
	o.Failure.Message = ""
	return nil
}

// stays says why a record may not be slimmed, whatever its age; empty: it may.
func (o *Operation) stays() string {
	switch {
	case o.Retired:
		return "it is a tombstone already"
	case !o.State.Terminal():
		return "it is not terminal"
	case o.OpenAttempts() > 0 && o.State != StateAbandoned:
		return "an attempt is open"
	}
	return ""
}

// keyTakenAnew starts the next generation of a retired key in the same row, whose
// identity stays: it may be an earlier rule's.
func (m *step) keyTakenAnew(e KeyTakenAnew) error {
	o := m.op
	if !o.Retired || !o.Policy.KeyReusable {
		return forbidden(o, e, "the key is refused for good")
	}
	next := e.Next
	next.ID, next.Tenant, next.Tool, next.Key = o.ID, o.Tenant, o.Tool, o.Key
	next.Version, next.Token, next.Generation = o.Version, o.Token, o.Generation+1
	*o = next
	return nil
}
