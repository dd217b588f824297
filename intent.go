package onceward

import "time"

// NewOperation is the row of an intention that was never seen: awaiting
// approval where the contract asks for one, else ready. Its version is 0 until
// it is stored.
func NewOperation(in *Intent, p *Prepared, info *ToolInfo, gen Generation, at time.Time) Operation {
	o := Operation{
		ID: NewOperationID(in.Principal.Tenant, info.Name, p.Key), Tenant: in.Principal.Tenant, Tool: info.Name, Key: p.Key,
		Generation: gen, Digest: p.Digest, Prints: p.Prints, Contract: info.Version, Effect: info.Policy.Effect,
		State: StateReady, Run: in.Run, DecidedBy: in.decidedBy, CorrelationID: in.CorrelationID, TraceParent: in.TraceParent, Actor: in.Principal.String(),
		CreatedAt: at, UpdatedAt: at, DueAt: at, IntentAt: at, SerialKey: p.SerialKey,
		ProviderKey: p.ProviderKey, Input: p.Input, Request: p.Request, Documents: in.Documents, Policy: info.Policy,
	}
	if p.Approval {
		o.State = StateAwaitingApproval
		o.putQuestion()
	}
	return o
}
