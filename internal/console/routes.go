package console

import (
	"net/http"

	"github.com/onceward/onceward"
)

// route is one line of the table of pages: GET reads, POST does one thing and
// sends the browser on.
type route struct {
	Method, Path string
	Action       onceward.Action    // whose roles may ask; empty: anybody
	Live         func(*page) string // topic that the page follows; nil: nothing changes by itself
	handle       func(*page) error
}

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// Topics of live updates.
func ofTenant(*page) string      { return "tenant" }
func ofOperation(p *page) string { return "operation:" + p.req.PathValue("id") }
func ofReplay(p *page) string    { return "replay:" + p.req.PathValue("id") }

var routes = []route{
	{get, "/{$}", onceward.ActionReadTools, ofTenant, overview},

	{get, "/operations", onceward.ActionRead, nil, operations},
	{post, "/operations/filters", onceward.ActionRead, nil, saveFilter},
	{post, "/operations/filters/drop", onceward.ActionRead, nil, dropFilter},
	{get, "/operations/{id}", onceward.ActionRead, ofOperation, operation},
	{post, "/operations/{id}/cancel", onceward.ActionCancel, nil, cancel},
	{post, "/operations/{id}/reconcile", onceward.ActionReconcile, nil, reconcile},
	{post, "/operations/{id}/comment", onceward.ActionWorkReviews, nil, comment},
	{post, "/operations/{id}/fork", onceward.ActionFork, nil, fork},
	{get, "/operations/{id}/replay", onceward.ActionReplay, nil, planReplay},
	{post, "/operations/{id}/replay", onceward.ActionReplay, nil, replay},

	{get, "/runs", onceward.ActionReadRuns, nil, runs},
	{get, "/runs/{id}", onceward.ActionReadRuns, ofTenant, run},
	{post, "/runs/{id}/saga/cancel", onceward.ActionCancelSagas, nil, cancelSaga},
	{post, "/runs/{id}/saga/resolve", onceward.ActionResolve, nil, resolveSaga},

	{get, "/approvals", onceward.ActionReadApprovals, ofTenant, approvals},
	{get, "/approvals/{id}", onceward.ActionReadApprovals, ofOperation, approval},
	{post, "/approvals/{id}/preview", onceward.ActionDecideApprovals, nil, previewEdit},
	{post, "/approvals/{id}/approve", onceward.ActionDecideApprovals, nil, approve},
	{post, "/approvals/{id}/reject", onceward.ActionDecideApprovals, nil, reject},
	{post, "/approvals/{id}/assign", onceward.ActionAssign, nil, assignApproval},

	{get, "/reviews", onceward.ActionReadReviews, ofTenant, reviews},
	{get, "/reviews/{id}", onceward.ActionReadReviews, ofOperation, review},
	{post, "/reviews/{id}/take", onceward.ActionWorkReviews, nil, takeReview},
	{post, "/reviews/{id}/assign", onceward.ActionAssign, nil, assignReview},
	{post, "/reviews/{id}/resolve", onceward.ActionResolve, nil, resolve},
	{get, "/events/{id}", onceward.ActionReadEvents, nil, event},
	{post, "/events/{id}/redrive", onceward.ActionHandleEvents, nil, redriveEvent},
	{post, "/events/{id}/dismiss", onceward.ActionHandleEvents, nil, dismissEvent},

	{get, "/outbox", onceward.ActionReadEvents, nil, outbox},
	{post, "/outbox/redrive", onceward.ActionHandleEvents, nil, redriveOutbox},
	{post, "/outbox/drop", onceward.ActionHandleEvents, nil, dropOutbox},

	{get, "/replays", onceward.ActionReplay, ofTenant, replays},
	{post, "/replays", onceward.ActionReplay, nil, startReplay},
	{get, "/replays/{id}", onceward.ActionReplay, ofReplay, bulkReplay},
	{post, "/replays/{id}/run", onceward.ActionReplay, nil, runPlan},
	{post, "/replays/{id}/cancel", onceward.ActionReplay, nil, cancelReplay},

	{get, "/tools", onceward.ActionReadTools, ofTenant, tools},
	{get, "/tools/{name}", onceward.ActionReadTools, ofTenant, tool},
	{post, "/tools/{name}/pause", onceward.ActionSwitchTools, nil, pauseTool},
	{post, "/tools/{name}/resume", onceward.ActionSwitchTools, nil, resumeTool},
	{post, "/tools/{name}/sign", onceward.ActionSignContracts, nil, signContract},
	{post, "/switches/stop", onceward.ActionSwitchTools, nil, stopTenant},
	{post, "/switches/resume", onceward.ActionSwitchTools, nil, resumeTenant},

	{get, "/audit", onceward.ActionReadAudit, nil, audit},
	{get, "/audit/export", onceward.ActionReadAudit, nil, exportAudit},
	{get, "/reports", onceward.ActionReadReports, nil, reports},

	{get, "/access", onceward.ActionReadSelf, nil, access},
	{post, "/access/tokens", onceward.ActionManageTokens, nil, issueToken},
	{post, "/access/tokens/{id}/revoke", onceward.ActionManageTokens, nil, revokeToken},

	{get, "/live", onceward.ActionReadTools, nil, stream},
	{get, "/signin", "", nil, signIn},
	{post, "/signin", "", nil, beginSession},
	{post, "/signout", "", nil, endSession},
}

// navigation is the order of the pages.
var navigation = []struct {
	name, path string
	action     onceward.Action
}{
	{"overview", "/", onceward.ActionReadTools},
	{"operations", "/operations", onceward.ActionRead},
	{"approvals", "/approvals", onceward.ActionReadApprovals},
	{"reviews", "/reviews", onceward.ActionReadReviews},
	{"runs", "/runs", onceward.ActionReadRuns},
	{"replays", "/replays", onceward.ActionReplay},
	{"tools", "/tools", onceward.ActionReadTools},
	{"reports", "/reports", onceward.ActionReadReports},
	{"audit", "/audit", onceward.ActionReadAudit},
	{"access", "/access", onceward.ActionReadSelf},
}

// sections are the first elements of the console's paths: below them nothing is
// anybody else's.
var sections = func() map[string]bool {
	s := map[string]bool{"signin": true, "signout": true, "switches": true, "events": true, "outbox": true}
	for _, n := range navigation {
		if n.path != "/" {
			s[n.path[1:]] = true
		}
	}
	return s
}()
