package mcpgateway

import (
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/onceward/onceward"
)

// shape says how a code is answered over MCP.
type shape uint8

const (
	shapeResult   shape = iota + 1 // a result with isError, which a model reads
	shapeProtocol                  // an error of the protocol: the call itself is wrong
)

// shapes is the one table from codes to answers; a test walks onceward.AllCodes
// through it. What is wrong with the input is a result, so that the model can
// correct itself (SEP-1303).
var shapes = map[onceward.Code]shape{
	onceward.CodeInvalidRequest: shapeResult, onceward.CodeInvalidInput: shapeResult, onceward.CodeTooLarge: shapeResult, onceward.CodeUnsupportedMedia: shapeProtocol,
	onceward.CodeUnsupportedPolicy: shapeResult, onceward.CodeCursorInvalid: shapeProtocol,
	onceward.CodeKeyMissing: shapeResult, onceward.CodeKeyInvalid: shapeResult, onceward.CodeKeyAmbiguous: shapeResult, onceward.CodeKeyReused: shapeResult,
	onceward.CodeKeyRetired: shapeResult, onceward.CodeKeyCollision: shapeResult, onceward.CodeDuplicate: shapeResult, onceward.CodeStillRunning: shapeResult,
	onceward.CodeKeysMissing: shapeResult, onceward.CodeShredded: shapeResult, onceward.CodeHeld: shapeResult, onceward.CodeHoldNotFound: shapeProtocol,
	onceward.CodeToolNotFound: shapeProtocol, onceward.CodeOperationNotFound: shapeResult, onceward.CodeReplayNotFound: shapeResult, onceward.CodeSagaNotFound: shapeResult, onceward.CodeDocumentNotFound: shapeResult,
	onceward.CodeRunNotFound: shapeResult, onceward.CodeDecisionNotFound: shapeResult, onceward.CodeDecisionConflict: shapeResult, onceward.CodeOutputInvalid: shapeResult,
	onceward.CodeBranchForbids: shapeResult, onceward.CodeWorkflowMismatch: shapeResult, onceward.CodeAttemptNotFound: shapeResult,
	onceward.CodeRouteNotFound: shapeProtocol, onceward.CodeMethodNotAllowed: shapeProtocol, onceward.CodeTokenNotFound: shapeResult,
	onceward.CodeUnauthenticated: shapeProtocol, onceward.CodeForbidden: shapeResult, onceward.CodeOriginRefused: shapeProtocol,
	onceward.CodeStateForbids: shapeResult, onceward.CodeFenceLost: shapeResult, onceward.CodeEvidenceRequired: shapeResult, onceward.CodeConfirmationNeeded: shapeResult,
	onceward.CodeReplayRefused: shapeResult, onceward.CodeOperationFailed: shapeResult, onceward.CodeContractInvalid: shapeResult, onceward.CodeContractSuperseded: shapeResult,
	onceward.CodeConfigInvalid: shapeResult, onceward.CodeRateLimited: shapeResult, onceward.CodeOverloaded: shapeResult, onceward.CodeLedgerUnavailable: shapeResult,
	onceward.CodeMayBeRecorded: shapeResult, onceward.CodeLedgerReadOnly: shapeResult, onceward.CodeLedgerForeign: shapeResult, onceward.CodeLedgerTooNew: shapeResult, onceward.CodeLedgerBehind: shapeResult,
	onceward.CodeLedgerCorrupt: shapeResult, onceward.CodeWriteConflict: shapeResult, onceward.CodeCanceled: shapeProtocol, onceward.CodeProviderUnreachable: shapeResult,
	onceward.CodeInternal: shapeResult, onceward.CodeSourceNotFound: shapeProtocol, onceward.CodeEventNotFound: shapeProtocol, onceward.CodeSignatureInvalid: shapeProtocol,
	onceward.CodeResultNotKept: shapeResult, onceward.CodePassedUnknown: shapeResult,
}

// refusalMark is what _meta says of a refusal.
type refusalMark struct {
	Code      string `json:"code"`
	Decision  string `json:"decision"`
	Operation string `json:"operation,omitempty"`
	advice
}

// refused answers a call that became no operation, or joined none.
func (c *call) refused(err error) (*object, error) {
	code := onceward.CodeOf(err)
	if code.ForOperators() {
		c.log.Error("call refused", "tool", c.name, "code", string(code), "error", err)
	}
	if shapes[code] == shapeProtocol {
		return nil, rpcError(err)
	}
	a := onceward.AdviceFor(err)
	text := asSentence(a.Sentence)
	var e *onceward.Error
	mark := refusalMark{Code: string(code), Decision: string(onceward.DecisionBlocked), advice: adviceOf(a)}
	if errors.As(err, &e) {
		if !code.ForOperators() && e.Message != "" {
			text = "Refused: " + strings.TrimSuffix(e.Message, ".") + ". " + text
		}
		if !e.OperationID.IsZero() {
			mark.Operation = e.OperationID.String()
			text += " The operation is " + mark.Operation + "."
		}
	}
	if !a.SideEffectPossible {
		text = "This call did nothing. " + text
	}
	return failure(text, mark), nil
}

// asSentence writes a hint, which has neither capital nor full stop, as one of
// several sentences.
func asSentence(hint string) string {
	if hint == "" {
		return ""
	}
	return strings.ToUpper(hint[:1]) + strings.TrimSuffix(hint[1:], ".") + "."
}

// rpcError is an error as an error of the protocol.
func rpcError(err error) error {
	code := onceward.CodeOf(err)
	rpc := int64(jsonrpc.CodeInvalidRequest)
	if code == onceward.CodeInternal {
		rpc = jsonrpc.CodeInternalError
	}
	message := string(code)
	var e *onceward.Error
	if errors.As(err, &e) && !code.ForOperators() && e.Message != "" {
		message = e.Message
	}
	return &jsonrpc.Error{Code: rpc, Message: message, Data: mustMarshal(map[string]string{"code": string(code)})}
}

// unknownTool is what the protocol says of a name that is not listed.
func unknownTool(name string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown tool " + onceward.Visible(name[:min(len(name), 128)])}
}

// unreadable refuses a body that is no message of the protocol.
func unreadable(err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the body is no message: " + err.Error()}
}
