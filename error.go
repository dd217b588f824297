package onceward

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Code names one kind of refusal or failure. The list is closed: every adapter
// (HTTP, command line, MCP) has one exhaustive table from Code to its own
// answer, and a test walks AllCodes through each of them.
type Code string

// The closed list of codes. docs/reference/errors.md explains each.
const (
	CodeInvalidRequest      Code = "invalid_request"      // the request itself is malformed: not JSON, unknown member, wrong type
	CodeInvalidInput        Code = "invalid_input"        // the input breaks the contract's schema or the canonical form
	CodeTooLarge            Code = "too_large"            // a named limit of size, depth or count is exceeded
	CodeUnsupportedMedia    Code = "unsupported_media"    // the body's media type is not one that is read
	CodeUnsupportedPolicy   Code = "unsupported_policy"   // on_duplicate, then, wait or another policy value is not known
	CodeCursorInvalid       Code = "cursor_invalid"       // a page cursor was not made by this ledger
	CodeKeyMissing          Code = "key_missing"          // the tool writes and neither contract nor caller gives a key
	CodeKeyInvalid          Code = "key_invalid"          // the caller's key, or a derived part of it, is unusable
	CodeKeyAmbiguous        Code = "key_ambiguous"        // header and body carry different keys
	CodeKeyReused           Code = "key_reused"           // same key, other digest: another intention
	CodeKeyRetired          Code = "key_retired"          // the record was retired; its tombstone refuses
	CodeKeysMissing         Code = "keys_missing"         // something is to be kept encrypted, and there is no master key
	CodeShredded            Code = "shredded"             // the bodies are gone with their data key
	CodeHeld                Code = "held"                 // a legal hold covers it
	CodeHoldNotFound        Code = "hold_not_found"       // no such hold in this tenant
	CodeKeyCollision        Code = "key_collision"        // two identities with one digest; refused, never merged
	CodeDuplicate           Code = "duplicate"            // on_duplicate asked to fail on any duplicate
	CodeStillRunning        Code = "still_running"        // on_duplicate asked to fail while the first is not terminal
	CodeToolNotFound        Code = "tool_not_found"       // no contract of that name is in force
	CodeOperationNotFound   Code = "operation_not_found"  // no such operation in this tenant
	CodeRunNotFound         Code = "run_not_found"        // no such run in this tenant
	CodeDecisionNotFound    Code = "decision_not_found"   // no such decision in this tenant
	CodeDecisionConflict    Code = "decision_conflict"    // the step was decided about another input, or under other rules
	CodeOutputInvalid       Code = "output_invalid"       // a step's output breaks its schema, or its rules cannot be evaluated over it
	CodeBranchForbids       Code = "branch_forbids"       // the tool is not one of the branch that the pinned decision chose
	CodeWorkflowMismatch    Code = "workflow_mismatch"    // another version of the workflow is in force
	CodeReplayNotFound      Code = "replay_not_found"     // no bulk replay of that ID in this tenant
	CodeSagaNotFound        Code = "saga_not_found"       // no saga of that ID in this tenant
	CodeDocumentNotFound    Code = "document_not_found"   // no document of that content in this tenant
	CodeAttemptNotFound     Code = "attempt_not_found"    // no such attempt, or its secret does not match
	CodeSourceNotFound      Code = "source_not_found"     // no source of that name is in force
	CodeEventNotFound       Code = "event_not_found"      // no such event in the inbox of this tenant
	CodeSignatureInvalid    Code = "signature_invalid"    // a delivery is not signed by its sender, or was signed too long ago
	CodeRouteNotFound       Code = "route_not_found"      // no such path
	CodeMethodNotAllowed    Code = "method_not_allowed"   // the path exists, the method does not
	CodeTokenNotFound       Code = "token_not_found"      // no such token in this tenant
	CodeUnauthenticated     Code = "unauthenticated"      // who asks is not known
	CodeForbidden           Code = "forbidden"            // who asks is known and may not
	CodeOriginRefused       Code = "origin_refused"       // Host or Origin is not one that may reach a local server
	CodeStateForbids        Code = "state_forbids"        // the event is not allowed in the operation's state
	CodeFenceLost           Code = "fence_lost"           // a newer attempt or a settled state makes this write void
	CodeEvidenceRequired    Code = "evidence_required"    // a resolve needs a reference or a reason
	CodeConfirmationNeeded  Code = "confirmation_needed"  // a dangerous replay needs its exact sentence
	CodeReplayRefused       Code = "replay_refused"       // a new attempt is not safe and cannot be confirmed
	CodeOperationFailed     Code = "operation_failed"     // the operation ended without effect
	CodeContractInvalid     Code = "contract_invalid"     // a contract does not load
	CodeContractSuperseded  Code = "contract_superseded"  // the ledger holds a newer version of this contract
	CodeConfigInvalid       Code = "config_invalid"       // a flag, variable or file of the configuration is wrong
	CodeRateLimited         Code = "rate_limited"         // the caller asks more often than allowed
	CodeOverloaded          Code = "overloaded"           // the queue is full; nothing was recorded
	CodeLedgerUnavailable   Code = "ledger_unavailable"   // the ledger cannot be reached; the provider was not called
	CodeMayBeRecorded       Code = "may_be_recorded"      // the ledger was lost after submission: ask again with the same key
	CodeLedgerReadOnly      Code = "ledger_read_only"     // the database does not take writes
	CodeLedgerForeign       Code = "ledger_foreign"       // the database belongs to another application
	CodeLedgerTooNew        Code = "ledger_too_new"       // the database was migrated by a newer version
	CodeLedgerBehind        Code = "ledger_behind"        // the ledger is older than its own dispatches: it was restored
	CodeLedgerCorrupt       Code = "ledger_corrupt"       // a stored row cannot be read back
	CodeWriteConflict       Code = "write_conflict"       // compare-and-set lost; load again
	CodeCanceled            Code = "canceled"             // the caller stopped waiting
	CodeProviderUnreachable Code = "provider_unreachable" // a probe or check could not reach the provider
	CodeResultNotKept       Code = "result_not_kept"      // it is done, and the provider's answer is not kept to be sent again
	CodePassedUnknown       Code = "passed_unknown"       // a write that passed through without an operation got no answer
	CodeInternal            Code = "internal"             // a defect of ours
)

// AllCodes lists every Code once, in the order of their declaration.
var AllCodes = []Code{
	CodeInvalidRequest, CodeInvalidInput, CodeTooLarge, CodeUnsupportedMedia, CodeUnsupportedPolicy, CodeCursorInvalid,
	CodeKeyMissing, CodeKeyInvalid, CodeKeyAmbiguous, CodeKeyReused, CodeKeyRetired, CodeKeysMissing, CodeShredded, CodeHeld, CodeHoldNotFound, CodeKeyCollision,
	CodeDuplicate, CodeStillRunning, CodeToolNotFound, CodeOperationNotFound, CodeReplayNotFound, CodeSagaNotFound, CodeDocumentNotFound, CodeRunNotFound, CodeDecisionNotFound,
	CodeDecisionConflict, CodeOutputInvalid, CodeBranchForbids, CodeWorkflowMismatch, CodeAttemptNotFound, CodeSourceNotFound, CodeEventNotFound, CodeSignatureInvalid, CodeRouteNotFound,
	CodeMethodNotAllowed, CodeTokenNotFound, CodeUnauthenticated, CodeForbidden, CodeOriginRefused, CodeStateForbids, CodeFenceLost,
	CodeEvidenceRequired, CodeConfirmationNeeded, CodeReplayRefused, CodeOperationFailed, CodeContractInvalid,
	CodeContractSuperseded, CodeConfigInvalid, CodeRateLimited, CodeOverloaded, CodeLedgerUnavailable, CodeMayBeRecorded,
	CodeLedgerReadOnly, CodeLedgerForeign, CodeLedgerTooNew, CodeLedgerBehind, CodeLedgerCorrupt, CodeWriteConflict, CodeCanceled,
	CodeProviderUnreachable, CodeResultNotKept, CodePassedUnknown, CodeInternal,
}

// Error is the one error type that crosses package boundaries. It is matched by
// code: errors.Is(err, &Error{Code: CodeKeyReused}), or Is(err, CodeKeyReused).
// An outcome (done, not done, unknown) is never an Error.
type Error struct {
	Code        Code
	Op          string      // what was being done: "load operation", "claim"; may be empty
	OperationID OperationID // zero when no operation is concerned
	Message     string      // what is wrong and where; never payloads, headers, secrets or DSNs
	Hint        string      // what to do about it; may be empty
	Err         error       // the cause; may be nil
}

// Error renders op, operation, message and cause, in that order.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op)
		if e.OperationID != (OperationID{}) {
			b.WriteString(" " + e.OperationID.String())
		}
		b.WriteString(": ")
	}
	if e.Message != "" {
		b.WriteString(e.Message)
	} else {
		b.WriteString(string(e.Code))
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an *Error with the same Code.
func (e *Error) Is(target error) bool {
	var t *Error
	return errors.As(target, &t) && t.Code == e.Code
}

// Errorf makes an Error of a code with a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// CodeOf returns the outermost Code in err's chain, CodeInternal for any other
// error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// poisonCodes say that the data of a change is at fault, and not the ledger.
var poisonCodes = []Code{CodeTooLarge, CodeLedgerCorrupt, CodeKeyCollision, CodeInvalidInput}

// Poisoned reports whether an error of a commit is the data's fault: writing the
// same data again fails again, and other data is not concerned.
func Poisoned(err error) bool { return slices.Contains(poisonCodes, CodeOf(err)) }

// Is reports whether err carries the code anywhere in its chain.
func Is(err error, code Code) bool { return err != nil && errors.Is(err, &Error{Code: code}) }
