package onceward

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Advice tells a caller, an agent above all, what may have happened and what to
// do now. Every adapter passes it on as it stands, so that an operation gets
// the same words over HTTP, MCP and on the command line.
type Advice struct {
	Retryable              bool   // asking again with the same key may bring another answer
	SideEffectPossible     bool   // the write may have had its effect though nothing proves it
	ReconciliationRequired bool   // somebody has to find out what happened before it is repeated
	Sentence               string // one or two sentences; holds no payload
}

// askAgain is what a caller does while the end is open.
const askAgain = "do not change the key; ask again with the same one, or ask for operation %s"

// Advice says what the operation's state means for whoever asked for it.
func (o *Operation) Advice() Advice {
	open := o.OpenAttempts() > 0
	ask := fmt.Sprintf(askAgain, o.ID)
	switch o.State {
	case StateAwaitingApproval:
		return Advice{Retryable: true, Sentence: "It has not happened: a person has to approve it first. Meanwhile " + ask + "."}
	case StateReady:
		if open && o.ResendConfirmed {
			return Advice{Retryable: true, SideEffectPossible: true, Sentence: "It may have happened, and a person accepted that it may happen a second time: it is sent again by itself. " + strings.ToUpper(ask[:1]) + ask[1:] + "."}
		}
		if open {
			return Advice{Retryable: true, SideEffectPossible: true, Sentence: "It may have happened and is sent again safely by itself: " + ask + "."}
		}
		if o.Parked == ParkToolPaused {
			return Advice{Retryable: true, Sentence: "It has not happened yet: the tool is paused, and it starts once an operator resumes it. Meanwhile " + ask + "."}
		}
		return Advice{Retryable: true, Sentence: "It has not happened yet and is tried by itself: " + ask + "."}
	case StateEffectPending:
		if o.CancelRequested {
			return Advice{Retryable: true, SideEffectPossible: true, Sentence: "It is being carried out, and a cancel was requested: whether it happened is told once that is settled. " + strings.ToUpper(ask[:1]) + ask[1:] + "."}
		}
		return Advice{Retryable: true, SideEffectPossible: true, Sentence: "It is being carried out: " + ask + "."}
	case StateOutcomeUnknown:
		return Advice{Retryable: true, SideEffectPossible: true, ReconciliationRequired: true, Sentence: "It may have happened: " + ask + "."}
	case StateNeedsReview:
		return Advice{SideEffectPossible: true, ReconciliationRequired: true,
			Sentence: "It may have happened, and a person has to find out. Do not repeat it under another key; ask for operation " + o.ID.String() + " later."}
	case StateSucceeded:
		return Advice{Sentence: "It happened. Do not send it again; a wanted second effect is a fork with its own key."}
	case StateFailed:
		return o.failedAdvice()
	case StateAbandoned:
		return Advice{SideEffectPossible: true, ReconciliationRequired: true,
			Sentence: "It may have happened, and nobody looks any further by itself. Do not repeat it under another key before somebody has looked at the provider."}
	case StateCancelled:
		if o.AskedInVain() {
			return Advice{Retryable: true, Sentence: "It did not happen: nobody approved it in time. Ask again with the same key, and it is asked anew."}
		}
		return Advice{Sentence: "It did not happen: it was cancelled. A new intention needs its own key."}
	case StateCompensated:
		return Advice{Sentence: "It happened and was undone. A wanted second effect is a fork with its own key."}
	}
	return Advice{SideEffectPossible: true, ReconciliationRequired: true, Sentence: "Its state is not known: " + ask + "."}
}

func (o *Operation) failedAdvice() Advice {
	if from := o.RetryFrom(); !from.IsZero() {
		return Advice{Retryable: true, Sentence: "It did not happen. Do not change the key; ask again with the same one from " + from.Format(time.RFC3339) + " on."}
	}
	return Advice{Sentence: "It did not happen and is not tried again by itself. A corrected request is another intention with its own key; the same one can be replayed by an operator."}
}

// AdviceFor says what an error means for whoever gets it. The hint of the error
// takes the place of the code's own sentence, unless it is meant for an operator.
func AdviceFor(err error) Advice {
	a := CodeOf(err).Advice()
	var e *Error
	if errors.As(err, &e) && e.Hint != "" && !e.Code.ForOperators() {
		a.Sentence = e.Hint
	}
	return a
}

// ForOperators reports whether message and hint of an error of this code speak
// to whoever runs the server: of hosts, settings and files. Callers get the
// code's own advice instead; the rest belongs into the log.
func (c Code) ForOperators() bool {
	switch c {
	case CodeLedgerUnavailable, CodeMayBeRecorded, CodeLedgerReadOnly, CodeLedgerForeign, CodeLedgerTooNew, CodeLedgerBehind, CodeLedgerCorrupt,
		CodeContractInvalid, CodeContractSuperseded, CodeConfigInvalid, CodeKeysMissing, CodeInternal:
		return true
	case CodeInvalidRequest, CodeInvalidInput, CodeTooLarge, CodeUnsupportedMedia, CodeUnsupportedPolicy, CodeCursorInvalid,
		CodeKeyMissing, CodeKeyInvalid, CodeKeyAmbiguous, CodeKeyReused, CodeKeyRetired, CodeShredded, CodeHeld, CodeHoldNotFound, CodeKeyCollision, CodeDuplicate, CodeStillRunning,
		CodeToolNotFound, CodeOperationNotFound, CodeReplayNotFound, CodeSagaNotFound, CodeDocumentNotFound, CodeRunNotFound, CodeDecisionNotFound, CodeDecisionConflict, CodeOutputInvalid,
		CodeBranchForbids, CodeWorkflowMismatch, CodeAttemptNotFound, CodeRouteNotFound, CodeMethodNotAllowed,
		CodeUnauthenticated, CodeForbidden, CodeOriginRefused, CodeStateForbids, CodeFenceLost, CodeEvidenceRequired, CodeConfirmationNeeded,
		CodeReplayRefused, CodeOperationFailed, CodeRateLimited, CodeOverloaded, CodeWriteConflict, CodeCanceled, CodeProviderUnreachable,
		CodeTokenNotFound, CodeSourceNotFound, CodeEventNotFound, CodeSignatureInvalid, CodeResultNotKept, CodePassedUnknown:
	}
	return false
}

// Advice says what the code means for whoever gets it. Whatever is not said to
// leave a side effect possible did nothing at all.
func (c Code) Advice() Advice {
	switch c {
	case CodeInvalidRequest, CodeInvalidInput, CodeTooLarge, CodeUnsupportedMedia, CodeUnsupportedPolicy, CodeCursorInvalid:
		return Advice{Sentence: "This request did nothing. Correct what the detail names, then send it again."}
	case CodeKeyMissing, CodeKeyInvalid, CodeKeyAmbiguous:
		return Advice{Sentence: "This request did nothing. Give one key that stays the same for every repetition of the same intention."}
	case CodeKeyReused, CodeKeyRetired, CodeKeyCollision, CodeDuplicate:
		return Advice{Sentence: "This request did nothing: the key was used before. Read that operation before anything else."}
	case CodeStillRunning:
		return Advice{Retryable: true, Sentence: "This request did nothing: the first one still runs. Ask again later with the same key."}
	case CodeToolNotFound, CodeOperationNotFound, CodeReplayNotFound, CodeSagaNotFound, CodeDocumentNotFound, CodeRunNotFound, CodeDecisionNotFound, CodeAttemptNotFound, CodeSourceNotFound, CodeEventNotFound, CodeHoldNotFound, CodeRouteNotFound, CodeMethodNotAllowed:
		return Advice{Sentence: "This request did nothing: what it names does not exist here. Check the name."}
	case CodeDecisionConflict, CodeBranchForbids:
		return Advice{Sentence: "This request did nothing: what the step decided is pinned. Read the decision, and act on it."}
	case CodeOutputInvalid:
		return Advice{Sentence: "This request changed nothing. Let the step try again, under the same claim, until its output is valid."}
	case CodeWorkflowMismatch:
		return Advice{Sentence: "This request did nothing. Start the run with the version of the workflow that is in force."}
	case CodeUnauthenticated, CodeForbidden, CodeOriginRefused:
		return Advice{Sentence: "This request did nothing. Ask with credentials that may do this."}
	case CodeSignatureInvalid:
		return Advice{Sentence: "This delivery did nothing: it is not known whose it is. Check the secret, the clock and the URL on both sides, then deliver it again."}
	case CodeTokenNotFound:
		return Advice{Sentence: "This request did nothing: the tenant has no such token. List the tokens for their IDs."}
	case CodeStateForbids, CodeFenceLost, CodeReplayRefused:
		return Advice{Sentence: "This request changed nothing. Read the operation again: it has moved on."}
	case CodeEvidenceRequired, CodeConfirmationNeeded:
		return Advice{Sentence: "This request changed nothing. Add what the detail asks for, then send it again."}
	case CodeOperationFailed:
		return Advice{Sentence: "It did not happen. Read the operation for the reason."}
	case CodeShredded:
		return Advice{Sentence: "This request did nothing: what it needs of the operation was shredded. State and reference are still there: read the operation."}
	case CodeHeld:
		return Advice{Sentence: "This request did nothing: a legal hold covers what it would remove."}
	case CodeKeysMissing:
		return Advice{Retryable: true, Sentence: "This request did nothing: this server lacks the key with which it would be stored. Ask again later with the same key."}
	case CodeContractInvalid, CodeConfigInvalid:
		return Advice{Sentence: "This request did nothing. Somebody has to correct the contract or the configuration."}
	case CodeContractSuperseded, CodeRateLimited, CodeOverloaded, CodeWriteConflict, CodeProviderUnreachable:
		return Advice{Retryable: true, Sentence: "This request did nothing. Ask again later with the same key."}
	case CodeLedgerUnavailable, CodeLedgerReadOnly:
		return Advice{Retryable: true, Sentence: "This request did nothing: the ledger cannot record it, so the provider was not called. Ask again later with the same key."}
	case CodeLedgerBehind:
		return Advice{Retryable: true, Sentence: "This request did nothing: the ledger was restored, and takes no writes until somebody has recovered it. Ask again later with the same key."}
	case CodeLedgerTooNew:
		return Advice{Retryable: true, Sentence: "This request did nothing: a newer release of this server wrote what it asks for. Ask again later with the same key."}
	case CodeLedgerForeign:
		return Advice{Sentence: "This request did nothing: the ledger's database is not one that this server may use."}
	case CodeMayBeRecorded, CodeCanceled:
		return Advice{Retryable: true, SideEffectPossible: true, Sentence: "It may have been recorded, and may happen: do not change the key; ask again with the same one."}
	case CodeResultNotKept:
		return Advice{Sentence: "It happened, and this request did nothing more. Its answer is not kept: read the operation for the reference, and the object at the provider."}
	case CodePassedUnknown:
		return Advice{SideEffectPossible: true, ReconciliationRequired: true, Sentence: "It may have happened, and no operation stands for it. Look at the provider before it is sent again."}
	case CodeLedgerCorrupt, CodeInternal:
		return Advice{Retryable: true, SideEffectPossible: true, Sentence: "It may have happened: do not change the key; ask again with the same one, and tell whoever runs this server."}
	}
	return Advice{SideEffectPossible: true, Sentence: "It may have happened: do not change the key; ask again with the same one."}
}
