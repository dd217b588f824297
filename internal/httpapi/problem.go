package httpapi

import (
	"errors"
	"net/http"

	"github.com/onceward/onceward"
)

// RequestIDHeader names a request in answers and logs. Whoever serves the API
// may set it on the response before the API sees the request; the API then
// repeats it in problems.
const RequestIDHeader = "X-Request-Id"

// Problem is an RFC 9457 problem: what was refused or failed, and what to do.
type Problem struct {
	Type                   string     `json:"type" doc:"A URI that names the code: urn:onceward:problem:<code>."`
	Title                  string     `json:"title" doc:"The code in words; the same for every problem of the code."`
	Status                 int        `json:"status" doc:"The HTTP status; inside a batch, the status that the item would have had alone."`
	Code                   string     `json:"code" enum:"codes" doc:"One of a closed list; docs/reference/errors.md explains each."`
	Detail                 string     `json:"detail,omitempty" doc:"What is wrong, and where: the member, line and column of a body."`
	Retryable              bool       `json:"retryable" doc:"Asking again with the same key may bring another answer."`
	SideEffectPossible     bool       `json:"side_effect_possible" doc:"The write may have had its effect though nothing proves it."`
	ReconciliationRequired bool       `json:"reconciliation_required" doc:"Somebody has to find out what happened before it is repeated."`
	Advice                 string     `json:"advice" doc:"What to do now, in a sentence that an agent can follow."`
	Decision               string     `json:"decision,omitempty" enum:"decisions" doc:"How a request for an operation was answered; blocked is every refusal."`
	OperationID            string     `json:"operation_id,omitempty" doc:"The operation that is concerned."`
	Operation              *Operation `json:"operation,omitempty" doc:"The operation itself, with operation_failed."`
	RequestID              string     `json:"request_id,omitempty" doc:"Names this request in the server's log."`
}

// codeInfo is how a code is answered.
type codeInfo struct {
	status int
	title  string
}

// codes is the one table from codes to answers. A test walks
// onceward.AllCodes through it.
var codes = map[onceward.Code]codeInfo{
	onceward.CodeInvalidRequest:      {400, "The request is malformed"},
	onceward.CodeInvalidInput:        {400, "The input is not what the contract takes"},
	onceward.CodeTooLarge:            {413, "A limit of size, depth or count is exceeded"},
	onceward.CodeUnsupportedMedia:    {415, "The body is not JSON by its media type"},
	onceward.CodeUnsupportedPolicy:   {400, "A policy value is not known"},
	onceward.CodeCursorInvalid:       {400, "The page cursor is not one of this ledger"},
	onceward.CodeKeyMissing:          {400, "A key is missing"},
	onceward.CodeKeyInvalid:          {400, "The key is unusable"},
	onceward.CodeKeyAmbiguous:        {400, "Two different keys are given"},
	onceward.CodeKeyReused:           {422, "The key was used for another input"},
	onceward.CodeKeyRetired:          {409, "The key was used and its record is retired"},
	onceward.CodeKeysMissing:         {503, "The server lacks a key"},
	onceward.CodeShredded:            {410, "The bodies were shredded"},
	onceward.CodeHeld:                {409, "A legal hold covers it"},
	onceward.CodeHoldNotFound:        {404, "No such hold"},
	onceward.CodeKeyCollision:        {409, "Another identity has this operation ID"},
	onceward.CodeDuplicate:           {409, "The key was used before"},
	onceward.CodeStillRunning:        {409, "The first request under this key still runs"},
	onceward.CodeToolNotFound:        {404, "No such tool"},
	onceward.CodeOperationNotFound:   {404, "No such operation"},
	onceward.CodeRunNotFound:         {404, "No such run"},
	onceward.CodeDecisionNotFound:    {404, "No such decision"},
	onceward.CodeDecisionConflict:    {409, "The step decided about something else"},
	onceward.CodeOutputInvalid:       {422, "The output is not what the step may decide"},
	onceward.CodeBranchForbids:       {409, "The pinned decision chose another branch"},
	onceward.CodeWorkflowMismatch:    {409, "Another version of the workflow is in force"},
	onceward.CodeReplayNotFound:      {404, "No such bulk replay"},
	onceward.CodeSagaNotFound:        {404, "No such saga"},
	onceward.CodeDocumentNotFound:    {404, "No such document"},
	onceward.CodeAttemptNotFound:     {404, "No such attempt"},
	onceward.CodeSourceNotFound:      {404, "No such source"},
	onceward.CodeEventNotFound:       {404, "No such event"},
	onceward.CodeSignatureInvalid:    {401, "The delivery is not signed by its sender"},
	onceward.CodeRouteNotFound:       {404, "No such path"},
	onceward.CodeMethodNotAllowed:    {405, "The path does not take this method"},
	onceward.CodeTokenNotFound:       {404, "No such token"},
	onceward.CodeUnauthenticated:     {401, "Who asks is not known"},
	onceward.CodeForbidden:           {403, "Who asks may not do this"},
	onceward.CodeOriginRefused:       {403, "The Host or Origin may not reach this server"},
	onceward.CodeStateForbids:        {409, "The operation's state does not allow it"},
	onceward.CodeFenceLost:           {409, "A newer attempt or a settled state makes this void"},
	onceward.CodeEvidenceRequired:    {400, "A reference or a reason is missing"},
	onceward.CodeConfirmationNeeded:  {409, "A sentence has to be confirmed first"},
	onceward.CodeReplayRefused:       {409, "A replay is not safe"},
	onceward.CodeOperationFailed:     {424, "The operation ended without its effect"},
	onceward.CodeContractInvalid:     {500, "A contract cannot be used"},
	onceward.CodeContractSuperseded:  {503, "This replica has an older contract than the ledger"},
	onceward.CodeConfigInvalid:       {500, "The server's configuration is wrong"},
	onceward.CodeRateLimited:         {429, "Asked too often"},
	onceward.CodeOverloaded:          {503, "The server is busy or going away"},
	onceward.CodeLedgerUnavailable:   {503, "The ledger cannot be reached"},
	onceward.CodeMayBeRecorded:       {503, "The ledger was lost while recording"},
	onceward.CodeLedgerReadOnly:      {503, "The ledger does not take writes"},
	onceward.CodeLedgerForeign:       {503, "The database is not a ledger"},
	onceward.CodeLedgerTooNew:        {503, "The ledger, or a row of it, belongs to a newer version"},
	onceward.CodeLedgerBehind:        {503, "The ledger was restored and has to be recovered"},
	onceward.CodeLedgerCorrupt:       {500, "A stored record cannot be read"},
	onceward.CodeWriteConflict:       {409, "The operation kept changing meanwhile"},
	onceward.CodeCanceled:            {408, "The caller stopped waiting"},
	onceward.CodeProviderUnreachable: {502, "The provider cannot be reached"},
	onceward.CodeResultNotKept:       {410, "The answer is not kept"},
	onceward.CodePassedUnknown:       {502, "A write that passed through got no answer"},
	onceward.CodeInternal:            {500, "A defect of this server"},
}

// Status is the HTTP status that answers a code.
func Status(c onceward.Code) int {
	if info, ok := codes[c]; ok {
		return info.status
	}
	return http.StatusInternalServerError
}

// Title is a code in words.
func Title(c onceward.Code) string { return codes[c].title }

// problemOf describes an error. What speaks to operators stays in the log;
// messages of typed errors hold no payloads or secrets, their causes may.
func problemOf(err error) *Problem {
	code := onceward.CodeOf(err)
	info, ok := codes[code]
	if !ok {
		code, info = onceward.CodeInternal, codes[onceward.CodeInternal]
	}
	p := &Problem{Type: "urn:onceward:problem:" + string(code), Title: info.title, Status: info.status, Code: string(code)}
	p.advise(onceward.AdviceFor(err))
	var e *onceward.Error
	if errors.As(err, &e) {
		if !code.ForOperators() {
			p.Detail = e.Message
		}
		if !e.OperationID.IsZero() {
			p.OperationID = e.OperationID.String()
		}
	}
	return p
}

func (p *Problem) advise(a onceward.Advice) {
	p.Retryable, p.SideEffectPossible, p.ReconciliationRequired = a.Retryable, a.SideEffectPossible, a.ReconciliationRequired
	p.Advice = a.Sentence
}

// blocks reports whether a code says that nothing was done: such a refusal of a
// request for an operation carries the decision blocked.
func blocks(c onceward.Code) bool { return !c.Advice().SideEffectPossible }

// retryAfterSeconds is when a refusal that may pass by itself should be asked again.
const retryAfterSeconds = "1"

// WriteProblem answers a request with an error's problem.
func WriteProblem(w http.ResponseWriter, req *http.Request, err error) {
	writeProblem(w, req, problemOf(err))
}

// WriteUnfinished answers a request for an operation that has no answer of its
// provider to show: 409 while its end is open, as the IETF's Idempotency-Key
// draft has it, else that it did not happen, or that nobody knows.
func WriteUnfinished(w http.ResponseWriter, req *http.Request, a *onceward.Answer) {
	op := a.Operation
	code := onceward.CodeStillRunning
	if op.State.Terminal() {
		code = onceward.CodeOperationFailed
	}
	p := problemOf(&onceward.Error{Code: code, OperationID: op.ID, Message: "operation " + op.ID.String() + " is " + op.State.String()})
	if code == onceward.CodeOperationFailed && op.Failure.Message != "" {
		p.Detail += ": " + op.Failure.Message
	}
	p.advise(op.Advice())
	p.Decision = string(a.Decision)
	if code == onceward.CodeStillRunning {
		w.Header().Set("Retry-After", seconds(a.RetryAfter))
	}
	writeProblem(w, req, p)
}

func writeProblem(w http.ResponseWriter, _ *http.Request, p *Problem) {
	h := w.Header()
	p.RequestID = h.Get(RequestIDHeader)
	if p.Status == http.StatusUnauthorized && h.Get("WWW-Authenticate") == "" {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if p.Retryable && h.Get("Retry-After") == "" {
		h.Set("Retry-After", retryAfterSeconds)
	}
	if p.OperationID != "" {
		h.Set("Onceward-Operation", p.OperationID)
	}
	if p.Decision != "" {
		h.Set("Onceward-Decision", p.Decision)
	}
	writeJSON(w, p.Status, mediaProblem, p)
}
