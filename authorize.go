package onceward

import (
	"fmt"
	"slices"
	"strings"
)

// Action is one kind of thing that a principal asks for. Every route and every
// command that asks a server names one.
type Action string

// The actions.
const (
	ActionSubmit    Action = "submit operations"
	ActionPerform   Action = "perform operations" // claim an attempt, prolong it, report its outcome
	ActionRead      Action = "read operations"    // results only as SeesResult says
	ActionCancel    Action = "cancel operations"
	ActionReconcile Action = "reconcile operations" // look an effect up now
	ActionResolve   Action = "resolve operations"   // settle by a person's word
	ActionReplay    Action = "replay operations"    // plan and run
	ActionFork      Action = "fork operations"      // a wanted second effect

	ActionReadTools      Action = "read tools"
	ActionSwitchTools    Action = "pause and resume tools" // the stop switch of a tenant included
	ActionStopEverything Action = "stop everything"        // every tool of every tenant

	ActionStartRuns     Action = "start runs"
	ActionReadRuns      Action = "read runs"
	ActionStartSagas    Action = "start sagas"
	ActionReadSagas     Action = "read sagas"
	ActionCancelSagas   Action = "cancel sagas" // what they did is undone
	ActionPinDecisions  Action = "pin decisions"
	ActionRedecide      Action = "decide anew"
	ActionReadDecisions Action = "read decisions"

	ActionDecideApprovals Action = "decide approvals" // grant, reject, edit, delegate
	ActionReadApprovals   Action = "read approvals"
	ActionAddDocuments    Action = "add documents"
	ActionReadDocuments   Action = "read documents"

	ActionReadReviews   Action = "read reviews"
	ActionWorkReviews   Action = "work on reviews" // take, hand over, comment
	ActionAssign        Action = "hand over"       // approvals or reviews, as their own actions say
	ActionSignContracts Action = "sign contracts"
	ActionReadAudit     Action = "read the audit trail"
	ActionReadReports   Action = "read reports"
	ActionReadMetrics   Action = "read metrics" // of the whole server

	ActionDeliver      Action = "deliver events" // by a sender's signature, as the principal of its source
	ActionReadEvents   Action = "read events"    // payloads included
	ActionHandleEvents Action = "handle events"  // drive again, dismiss

	ActionHold       Action = "hold and lift holds" // legal holds
	ActionReadHolds  Action = "read holds"
	ActionShred      Action = "shred subjects"
	ActionManageKeys Action = "rotate keys"
	ActionReadKeys   Action = "read keys" // never the keys themselves

	ActionManageTokens Action = "manage tokens" // issue and revoke
	ActionReadTokens   Action = "read tokens"   // never their secrets
	ActionReadSelf     Action = "read who they are"
)

// readers are whoever has to do with operations.
var readers = []Role{RoleCaller, RoleApprover, RoleOperator, RoleAuditor}

// rights is the one table of who may do what. A role that an action does not
// name has no part in it: no role includes another.
var rights = map[Action][]Role{
	ActionSubmit:    {RoleCaller},
	ActionPerform:   {RoleCaller},
	ActionRead:      readers,
	ActionCancel:    {RoleCaller, RoleOperator},
	ActionReconcile: {RoleOperator},
	ActionResolve:   {RoleOperator},
	ActionReplay:    {RoleOperator},
	ActionFork:      {RoleCaller},

	ActionReadTools:      AllRoles,
	ActionSwitchTools:    {RoleOperator},
	ActionStopEverything: {RoleAdmin},

	ActionStartRuns:     {RoleCaller},
	ActionReadRuns:      readers,
	ActionStartSagas:    {RoleCaller},
	ActionReadSagas:     readers,
	ActionCancelSagas:   {RoleCaller, RoleOperator},
	ActionPinDecisions:  {RoleCaller},
	ActionRedecide:      {RoleOperator},
	ActionReadDecisions: readers,

	ActionDecideApprovals: {RoleApprover},
	ActionReadApprovals:   readers,
	ActionAddDocuments:    {RoleCaller},
	ActionReadDocuments:   readers,

	ActionReadReviews:   {RoleApprover, RoleOperator, RoleAuditor},
	ActionWorkReviews:   {RoleOperator},
	ActionAssign:        {RoleApprover, RoleOperator},
	ActionSignContracts: {RoleApprover},
	ActionReadAudit:     {RoleAuditor},
	ActionReadReports:   {RoleOperator, RoleAuditor},
	ActionReadMetrics:   {RoleOperator, RoleAuditor},

	ActionDeliver:      {RoleCaller},
	ActionReadEvents:   {RoleOperator, RoleAuditor},
	ActionHandleEvents: {RoleOperator},

	ActionHold:       {RoleAdmin},
	ActionReadHolds:  {RoleOperator, RoleAuditor, RoleAdmin},
	ActionShred:      {RoleAdmin},
	ActionManageKeys: {RoleAdmin},
	ActionReadKeys:   {RoleAdmin, RoleAuditor},

	ActionManageTokens: {RoleAdmin},
	ActionReadTokens:   {RoleAdmin, RoleAuditor},
	ActionReadSelf:     AllRoles,
}

// AllActions lists every action, in order of their names.
func AllActions() []Action {
	all := make([]Action, 0, len(rights))
	for a := range rights {
		all = append(all, a)
	}
	slices.Sort(all)
	return all
}

// Roles returns who may do the action: any of these roles. Empty: nobody, for
// it is no action.
func (a Action) Roles() []Role { return slices.Clone(rights[a]) }

// Authorize refuses, with CodeForbidden and the roles that are missing, an
// action that no role of the principal has a part in. What the principal may
// act on is Permits' matter, where the tool is known.
func Authorize(p Principal, a Action) error {
	may := rights[a]
	if slices.ContainsFunc(may, p.Has) {
		return nil
	}
	words := strings.ReplaceAll(inWords(may), ", ", " or ")
	return &Error{Code: CodeForbidden, Op: "authorize", Message: fmt.Sprintf("it needs the role %s to %s", words, a),
		Hint: "ask with credentials that have the role"}
}
