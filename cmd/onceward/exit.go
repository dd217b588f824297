package main

import (
	"errors"
	"fmt"

	"github.com/onceward/onceward"
)

// The exit codes, documented in docs/reference/exit-codes.md.
const (
	exitDone        = 0 // it is done, or the question is answered
	exitOther       = 1 // a defect, or trouble of another kind
	exitUsage       = 2 // the command line or configuration is wrong
	exitConflict    = 3 // the key stands for another intention
	exitNotFinal    = 4 // it is not final yet: ask again with the same key
	exitFailed      = 5 // it ended without effect
	exitRefused     = 6 // refused by policy
	exitUnreachable = 7 // the ledger or the server cannot be reached
	exitBroken      = 8 // a drill found a promise broken, or a verification the audit trail
)

// exitError ends the process with a code. said: everything was printed already.
type exitError struct {
	code int
	said bool
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// exits is the one table from error code to exit code.
var exits = map[onceward.Code]int{
	onceward.CodeInvalidRequest: exitUsage, onceward.CodeInvalidInput: exitUsage, onceward.CodeTooLarge: exitUsage,
	onceward.CodeUnsupportedMedia: exitUsage, onceward.CodeUnsupportedPolicy: exitUsage, onceward.CodeCursorInvalid: exitUsage,
	onceward.CodeKeyMissing: exitUsage, onceward.CodeKeyInvalid: exitUsage, onceward.CodeKeyAmbiguous: exitUsage,
	onceward.CodeKeyReused: exitConflict, onceward.CodeKeyRetired: exitConflict, onceward.CodeKeyCollision: exitConflict,
	onceward.CodeKeysMissing: exitUnreachable, onceward.CodeShredded: exitRefused, onceward.CodeHeld: exitRefused, onceward.CodeHoldNotFound: exitUsage,
	onceward.CodeDuplicate: exitConflict, onceward.CodeStillRunning: exitNotFinal,
	onceward.CodeToolNotFound: exitUsage, onceward.CodeOperationNotFound: exitUsage, onceward.CodeDocumentNotFound: exitUsage, onceward.CodeReplayNotFound: exitUsage, onceward.CodeSagaNotFound: exitUsage, onceward.CodeAttemptNotFound: exitUsage,
	onceward.CodeSourceNotFound: exitUsage, onceward.CodeEventNotFound: exitUsage, onceward.CodeSignatureInvalid: exitRefused,
	onceward.CodeRunNotFound: exitUsage, onceward.CodeDecisionNotFound: exitUsage, onceward.CodeDecisionConflict: exitConflict,
	onceward.CodeOutputInvalid: exitUsage, onceward.CodeBranchForbids: exitRefused, onceward.CodeWorkflowMismatch: exitRefused,
	onceward.CodeRouteNotFound: exitOther, onceward.CodeMethodNotAllowed: exitOther,
	onceward.CodeTokenNotFound: exitUsage, onceward.CodeUnauthenticated: exitRefused, onceward.CodeForbidden: exitRefused, onceward.CodeOriginRefused: exitRefused,
	onceward.CodeStateForbids: exitRefused, onceward.CodeFenceLost: exitRefused, onceward.CodeEvidenceRequired: exitUsage,
	onceward.CodeConfirmationNeeded: exitRefused, onceward.CodeReplayRefused: exitRefused, onceward.CodeOperationFailed: exitFailed,
	onceward.CodeContractInvalid: exitUsage, onceward.CodeContractSuperseded: exitRefused, onceward.CodeConfigInvalid: exitUsage,
	onceward.CodeRateLimited: exitRefused, onceward.CodeOverloaded: exitUnreachable, onceward.CodeLedgerUnavailable: exitUnreachable,
	onceward.CodeMayBeRecorded: exitNotFinal, onceward.CodeLedgerReadOnly: exitUnreachable, onceward.CodeLedgerForeign: exitUnreachable,
	onceward.CodeLedgerTooNew: exitUnreachable, onceward.CodeLedgerBehind: exitUnreachable, onceward.CodeLedgerCorrupt: exitOther, onceward.CodeWriteConflict: exitOther,
	onceward.CodeCanceled: exitNotFinal, onceward.CodeProviderUnreachable: exitOther, onceward.CodeInternal: exitOther,
	onceward.CodeResultNotKept: exitOther, onceward.CodePassedUnknown: exitNotFinal,
}

func exitCode(err error) int {
	var e *exitError
	if errors.As(err, &e) {
		return e.code
	}
	var typed *onceward.Error
	if errors.As(err, &typed) {
		if code, known := exits[typed.Code]; known {
			return code
		}
	}
	return exitOther
}

func hintOf(err error) string {
	var e *onceward.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}
