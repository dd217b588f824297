package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/onceward/onceward"
)

// route is one line of the table from which the mux, the rights, the OpenAPI
// document and docs/reference/http.md are made.
type route struct {
	Method, Path string
	Name         string          // operationId
	Summary      string          // one sentence
	Action       onceward.Action // whose roles may ask; empty: anybody may, without credentials
	Signed       bool            // no token: the sender's signature is the credential, and its source the principal
	Query        []param
	Headers      []param
	Body         any  // the wire type of the body; rawInput for a tool's input; nil: no body is read
	BodyOptional bool // an empty body is taken
	Decides      bool // a request for an operation: refusals are marked blocked
	Answers      []answer
	Refusals     []onceward.Code // those that are particular to it
	handle       func(*call) error
}

// param is a query parameter or a header of a request.
type param struct {
	Name    string
	Doc     string
	Schema  map[string]any
	Repeats bool
}

// answer is one status that a route answers with, but for refusals.
type answer struct {
	Status int
	Body   any // the wire type
	Doc    string
}

// rawText stands for an answer in plain text.
type rawText struct{}

// rawInput stands for a body that is a tool's input.
type rawInput struct{}

func (r *route) public() bool { return r.Action == "" }

func (r *route) param(name string) *param {
	for i := range r.Query {
		if r.Query[i].Name == name {
			return &r.Query[i]
		}
	}
	return nil
}

func (r *route) paramsInWords() string {
	if len(r.Query) == 0 {
		return "it takes no parameters"
	}
	names := make([]string, len(r.Query))
	for i := range r.Query {
		names[i] = r.Query[i].Name
	}
	return "its parameters are " + strings.Join(names, ", ")
}

var (
	keyHeader = param{Name: "Idempotency-Key", Schema: textSchema(),
		Doc: `The caller's key: 1 to 255 visible ASCII characters, raw or as a quoted string, in one line. abc and "abc" are one key.`}
	traceHeader        = param{Name: "traceparent", Schema: textSchema(), Doc: "W3C trace context; kept with the operation, ignored if invalid."}
	subjectHeaderParam = param{Name: subjectHeader, Schema: textSchema(), Doc: "Whose data the document is: it is made unreadable when that subject is shredded. Needs master keys. Bytes that are there already stay whose they are."}
	secretHeaderParam  = param{Name: secretHeader, Schema: textSchema(), Doc: "The attempt's secret, if it is not in the body."}
	waitParam          = param{Name: "wait", Schema: durationSchema(), Doc: "How long to wait for the end: 10s if absent, 60s at most."}
	readWaitParam      = param{Name: "wait", Schema: durationSchema(), Doc: "How long to wait for the end: not at all if absent, 60s at most."}
	runParam           = param{Name: "run", Schema: textSchema(), Doc: "The run that it belongs to."}
	decisionParam      = param{Name: "decision", Schema: textSchema(), Doc: "The decision that led to it."}
	branchParam        = param{Name: "branch", Schema: textSchema(), Doc: "The branch on which the caller takes itself to be."}
	limitParam         = limitOf(onceward.MaxPage)
	correlationIDParam = param{Name: "correlation_id", Schema: textSchema(), Doc: "The business event that it belongs to."}
)

// limitOf is the parameter that limits a page to so many at the most.
func limitOf(most int) param {
	return param{Name: "limit", Schema: map[string]any{"type": "integer", "minimum": 1, "maximum": most, "default": DefaultPage}, Doc: "The longest page."}
}

var submitAnswers = []answer{
	{http.StatusOK, OperationAnswer{}, "It has succeeded, now or earlier; or it was compensated."},
	{http.StatusAccepted, OperationAnswer{}, "It is not final. Ask again with the same key after Retry-After, or ask for the operation at Location."},
	{http.StatusFailedDependency, Problem{}, "It failed, was cancelled or was abandoned. The problem carries the operation."},
}

var submitRefusals = []onceward.Code{onceward.CodeInvalidInput, onceward.CodeKeyMissing, onceward.CodeKeyInvalid, onceward.CodeKeyAmbiguous, onceward.CodeKeyReused,
	onceward.CodeKeyRetired, onceward.CodeDuplicate, onceward.CodeStillRunning, onceward.CodeUnsupportedPolicy, onceward.CodeToolNotFound,
	onceward.CodeRunNotFound, onceward.CodeDecisionNotFound, onceward.CodeStateForbids, onceward.CodeBranchForbids, onceward.CodeMayBeRecorded}

var changeAnswers = []answer{
	{http.StatusOK, OperationState{}, "Done; the operation has ended."},
	{http.StatusAccepted, OperationState{}, "Done; the operation goes on, or is not settled yet."},
}

var routes = slices.Concat(operationRoutes, reviewRoutes, inboxRoutes, outboxRoutes, switchRoutes, signoffRoutes, bulkRoutes, runRoutes, sagaRoutes, decisionRoutes, holdRoutes, keyRoutes, tokenRoutes, auditRoutes, reportRoutes, metricRoutes)

var operationRoutes = []route{
	{
		Method: http.MethodPost, Path: "/v1/operations", Name: "submitOperation", handle: submit, Action: onceward.ActionSubmit, Decides: true,
		Summary: "Make one effect for one business intention, or get the answer of the first request for it.",
		Headers: []param{keyHeader, traceHeader}, Body: OperationRequest{}, Answers: submitAnswers, Refusals: submitRefusals,
	},
	{
		Method: http.MethodPost, Path: "/v1/operations:batch", Name: "submitBatch", handle: batch, Action: onceward.ActionSubmit, Decides: true,
		Summary: "Submit up to 100 operations side by side; each is answered as it would be alone.",
		Headers: []param{traceHeader}, Body: BatchRequest{},
		Answers:  []answer{{http.StatusOK, BatchAnswer{}, "One result for each operation, in order. A key that repeats in a batch is one operation."}},
		Refusals: []onceward.Code{onceward.CodeKeyAmbiguous, onceward.CodeTooLarge},
	},
	{
		Method: http.MethodPost, Path: "/v1/operations:claim", Name: "claimOperation", handle: claim, Action: onceward.ActionPerform, Decides: true,
		Summary: "Claim an operation that the caller performs itself.",
		Headers: []param{keyHeader, traceHeader}, Body: ClaimRequest{},
		Answers: []answer{
			{http.StatusOK, ClaimAnswer{}, "With attempt: perform the write once, then report its outcome. Without: it has succeeded already."},
			{http.StatusAccepted, ClaimAnswer{}, "Somebody else's attempt is not final. Ask again after Retry-After."},
			{http.StatusFailedDependency, Problem{}, "It failed, was cancelled or was abandoned. The problem carries the operation."},
		},
		Refusals: submitRefusals,
	},
	{
		Method: http.MethodPost, Path: "/v1/attempts/{id}/heartbeat", Name: "prolongAttempt", handle: heartbeat, Action: onceward.ActionPerform,
		Summary: "Prolong the lease of an attempt that the caller holds.",
		Headers: []param{secretHeaderParam}, Body: HeartbeatRequest{}, BodyOptional: true,
		Answers:  []answer{{http.StatusOK, HeartbeatAnswer{}, "The lease runs on."}},
		Refusals: []onceward.Code{onceward.CodeAttemptNotFound, onceward.CodeFenceLost, onceward.CodeStateForbids},
	},
	{
		Method: http.MethodPost, Path: "/v1/attempts/{id}/outcome", Name: "reportOutcome", handle: outcome, Action: onceward.ActionPerform,
		Summary: "Report what became of an attempt that the caller holds. The same report again changes nothing.",
		Headers: []param{secretHeaderParam}, Body: OutcomeRequest{}, Answers: changeAnswers,
		Refusals: []onceward.Code{onceward.CodeAttemptNotFound, onceward.CodeFenceLost, onceward.CodeStateForbids, onceward.CodeUnsupportedPolicy},
	},
	{
		Method: http.MethodGet, Path: "/v1/operations", Name: "listOperations", handle: listOperations, Action: onceward.ActionRead,
		Summary: "List operations, newest first, without results.",
		Query: []param{
			{Name: "tool", Schema: textSchema(), Doc: "Of this tool."},
			{Name: "state", Schema: textSchema(), Repeats: true, Doc: "In one of these states; repeated, or separated by commas."},
			{Name: "dead", Schema: boolSchema(), Doc: "true: only dead letters, which are needs_review, failed and abandoned."},
			{Name: "key", Schema: textSchema(), Doc: "Under this key; needs tool."},
			{Name: "run", Schema: textSchema(), Doc: "Of this run."},
			{Name: "correlation_id", Schema: textSchema(), Doc: "Of this business event."},
			{Name: "after", Schema: textSchema(), Doc: "The member next of the page before."},
			limitParam,
		},
		Answers:  []answer{{http.StatusOK, OperationPage{}, "A page. A last page may be empty."}},
		Refusals: []onceward.Code{onceward.CodeCursorInvalid, onceward.CodeKeyInvalid},
	},
	{
		Method: http.MethodGet, Path: "/v1/operations/{id}", Name: "getOperation", handle: getOperation, Action: onceward.ActionRead,
		Summary: "Read one operation with its attempts, events and evidence, at once or at its end.",
		Query:   []param{readWaitParam}, Answers: []answer{{http.StatusOK, OperationState{}, "The operation, whatever its state."}},
		Refusals: []onceward.Code{onceward.CodeOperationNotFound, onceward.CodeUnsupportedPolicy},
	},
	{
		Method: http.MethodPost, Path: "/v1/operations/{id}/cancel", Name: "cancelOperation", handle: cancel, Action: onceward.ActionCancel,
		Summary: "Wish that it does not happen. What may have been sent stays unknown until it is settled.",
		Body:    CancelRequest{}, BodyOptional: true, Answers: changeAnswers,
		Refusals: []onceward.Code{onceward.CodeOperationNotFound, onceward.CodeStateForbids},
	},
	{
		Method: http.MethodPost, Path: "/v1/operations/{id}/reconcile", Name: "reconcileOperation", handle: reconcile, Action: onceward.ActionReconcile,
		Summary: "Look the effect up at the provider now.",
		Body:    struct{}{}, BodyOptional: true, Answers: changeAnswers,
		Refusals: []onceward.Code{onceward.CodeOperationNotFound, onceward.CodeStateForbids},
	},
	{
		Method: http.MethodPost, Path: "/v1/operations/{id}/resolve", Name: "resolveOperation", handle: resolve, Action: onceward.ActionResolve,
		Summary: "Settle it by a person's word. Of two at once, one wins and the other is told.",
		Body:    ResolveRequest{}, Answers: changeAnswers,
		Refusals: []onceward.Code{onceward.CodeOperationNotFound, onceward.CodeStateForbids, onceward.CodeEvidenceRequired, onceward.CodeUnsupportedPolicy},
	},
	{
		Method: http.MethodPost, Path: "/v1/operations/{id}/fork", Name: "forkOperation", handle: fork, Action: onceward.ActionFork, Decides: true,
		Summary: "Make a wanted second effect, under its own key and with a reason.",
		Headers: []param{keyHeader}, Body: ForkRequest{}, Answers: submitAnswers,
		Refusals: append([]onceward.Code{onceward.CodeOperationNotFound, onceward.CodeEvidenceRequired}, submitRefusals...),
	},
	{
		Method: http.MethodGet, Path: "/v1/operations/{id}/replay", Name: "planReplay", handle: planReplay, Action: onceward.ActionReplay,
		Summary: "Look the effect up afresh and say whether a new attempt under the same key is safe. What the look-up proves is recorded.",
		Answers: []answer{{http.StatusOK, ReplayPlan{}, "The plan."}}, Refusals: []onceward.Code{onceward.CodeOperationNotFound, onceward.CodeStateForbids},
	},
	{
		Method: http.MethodPost, Path: "/v1/operations/{id}/replay", Name: "replayOperation", handle: replay, Action: onceward.ActionReplay,
		Summary: "Make a new attempt under the same key, if its plan allows it.",
		Body:    ReplayRequest{}, Answers: changeAnswers,
		Refusals: []onceward.Code{onceward.CodeOperationNotFound, onceward.CodeStateForbids, onceward.CodeReplayRefused, onceward.CodeConfirmationNeeded, onceward.CodeEvidenceRequired},
	},
	{
		Method: http.MethodGet, Path: "/v1/approvals", Name: "listApprovals", handle: listApprovals, Action: onceward.ActionReadApprovals,
		Summary: "List what waits for a person's yes, oldest first.",
		Query: []param{
			{Name: "tool", Schema: textSchema(), Doc: "Of this tool."},
			{Name: "for", Schema: map[string]any{"type": "string", "enum": []string{"me", "named"}}, Doc: "me: what you may answer, and have not. named: what was assigned to you, or to a group of yours. Absent: all."},
			{Name: "limit", Schema: limitParam.Schema, Doc: "The longest list."},
		},
		Answers: []answer{{http.StatusOK, ApprovalList{}, "The open questions."}},
	},
	{
		Method: http.MethodGet, Path: "/v1/operations/{id}/approval", Name: "showApproval", handle: showApproval, Action: onceward.ActionReadApprovals,
		Summary: "Read what an approver has to look at, with the digest to answer for. Linked documents are fetched.",
		Answers: []answer{{http.StatusOK, ApprovalShowing{}, "What is asked."}}, Refusals: []onceward.Code{onceward.CodeOperationNotFound, onceward.CodeStateForbids},
	},
	{
		Method: http.MethodPost, Path: "/v1/operations/{id}/approve", Name: "approveOperation", handle: approve, Action: onceward.ActionDecideApprovals,
		Summary: "Say yes to what was shown, as it is or edited. The first answer wins, and the second is told.",
		Body:    ApproveRequest{}, Answers: []answer{{http.StatusAccepted, ApproveAnswer{}, "It is taken: the operation goes on, needs another person's yes, or does not exist yet."}},
		Refusals: []onceward.Code{onceward.CodeOperationNotFound, onceward.CodeStateForbids, onceward.CodeInvalidInput, onceward.CodeProviderUnreachable},
	},
	{
		Method: http.MethodPost, Path: "/v1/operations/{id}/reject", Name: "rejectOperation", handle: reject, Action: onceward.ActionDecideApprovals,
		Summary: "Say no to what was shown. It is cancelled.",
		Body:    RejectRequest{}, Answers: changeAnswers,
		Refusals: []onceward.Code{onceward.CodeOperationNotFound, onceward.CodeStateForbids, onceward.CodeEvidenceRequired},
	},
	{
		Method: http.MethodPost, Path: "/v1/documents", Name: "addDocument", handle: addDocument, Action: onceward.ActionAddDocuments,
		Summary: "Keep a document of up to 8 MiB that requests can name. The same bytes again change nothing.",
		Headers: []param{subjectHeaderParam},
		Body:    rawBytes{}, Answers: []answer{{http.StatusCreated, DocumentAnswer{}, "It is kept."}}, Refusals: []onceward.Code{onceward.CodeTooLarge, onceward.CodeKeysMissing},
	},
	{
		Method: http.MethodGet, Path: "/v1/documents/{sha256}", Name: "getDocument", handle: getDocument, Action: onceward.ActionReadDocuments,
		Summary: "Read a document: what supports a request, or what an approver was shown.",
		Answers: []answer{{http.StatusOK, rawBytes{}, "Its bytes, as an attachment of its media type."}}, Refusals: []onceward.Code{onceward.CodeDocumentNotFound, onceward.CodeShredded},
	},
	{
		Method: http.MethodGet, Path: "/v1/tools", Name: "listTools", handle: listTools, Action: onceward.ActionReadTools,
		Summary: "List the contracts in force.", Answers: []answer{{http.StatusOK, ToolList{}, "The contracts, by name."}},
	},
	{
		Method: http.MethodGet, Path: "/v1/tools/{name}", Name: "getTool", handle: getTool, Action: onceward.ActionReadTools,
		Summary: "Read one contract in force.", Answers: []answer{{http.StatusOK, ToolAnswer{}, "The contract."}}, Refusals: []onceward.Code{onceward.CodeToolNotFound},
	},
	{
		Method: http.MethodPost, Path: "/v1/tools/{name}/call", Name: "callTool", handle: callTool, Action: onceward.ActionSubmit, Decides: true,
		Summary: "As POST /v1/operations, with the body as the tool's input.",
		Query: []param{waitParam, runParam, decisionParam, branchParam, correlationIDParam,
			{Name: "on_duplicate", Schema: enumSchema("on_duplicate"), Doc: "What a second request with the same key wants; return if absent."}},
		Headers: []param{keyHeader, traceHeader}, Body: rawInput{}, Answers: submitAnswers, Refusals: submitRefusals,
	},
	{
		Method: http.MethodPost, Path: "/v1/tools/{name}/pause", Name: "pauseTool", handle: pauseTool, Action: onceward.ActionSwitchTools,
		Summary: "Stop new attempts of a tool. Running ones settle.",
		Body:    PauseRequest{}, Answers: []answer{{http.StatusOK, PauseAnswer{}, "It is paused."}},
		Refusals: []onceward.Code{onceward.CodeToolNotFound, onceward.CodeEvidenceRequired},
	},
	{
		Method: http.MethodPost, Path: "/v1/tools/{name}/resume", Name: "resumeTool", handle: resumeTool, Action: onceward.ActionSwitchTools,
		Summary: "Let attempts of a tool start again; what waited is let go in steps.",
		Body:    struct{}{}, BodyOptional: true, Answers: []answer{{http.StatusOK, ResumeAnswer{}, "It runs."}}, Refusals: []onceward.Code{onceward.CodeToolNotFound},
	},
	{
		Method: http.MethodGet, Path: "/openapi.json", Name: "getOpenAPI", handle: openAPI,
		Summary: "This description, as OpenAPI 3.1.", Answers: []answer{{http.StatusOK, map[string]any{}, "The document."}},
	},
	{
		Method: http.MethodGet, Path: "/healthz", Name: "getHealth", handle: healthz,
		Summary: "Whether the process serves.", Answers: []answer{{http.StatusOK, Health{}, "It does."}},
	},
	{
		Method: http.MethodGet, Path: "/readyz", Name: "getReadiness", handle: readyz,
		Summary: "Whether the ledger can record and the server stays.", Answers: []answer{{http.StatusOK, Health{}, "Both."}},
		Refusals: []onceward.Code{onceward.CodeLedgerUnavailable, onceward.CodeLedgerReadOnly, onceward.CodeOverloaded},
	},
}
