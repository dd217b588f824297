package contract

import (
	"cel.dev/cel-go/common/types/ref"

	"github.com/onceward/onceward"
)

// Tool is one compiled contract. It is immutable and safe for concurrent use.
type Tool struct {
	info *onceward.ToolInfo
	doc  *document
	file string

	schema   *inputSchema
	key      []*program // nil: the caller's key
	keyWas   [][]*program
	volatile []onceward.Path
	// immaterial is what the digest leaves out: volatile fields, and those whose
	// normalised value is a part of the key. The key tells these apart already, and
	// the other way round: two spellings of one key are one intention.
	immaterial []onceward.Path
	shape      onceward.KeyShape

	request     *requestTemplate // nil: the caller performs the write
	forward     *forward         // a route of an upstream; nil: a tool of its own
	mcp         bool             // the request is a call of an MCP server's tool
	outcomes    []outcomeRule
	judgesInput bool // a rule looks at the input
	keyed       bool // the provider gets a key that it honours
	exists      *program
	compare     bool // an object that exists has to be compared
	probe       *probeTemplate
	approval    *program
	serialBy    *program
	subject     *program
	undo        *undoTemplate
	reminders   []reminderTemplate
	reread      *rereadTemplate
	audit       *auditTemplate

	env     ref.Val
	secrets func(name string) (string, error)
	names   toolNames
	missing []missing // what a load with stand-ins did without
	hosts   []string
}

// toolNames is what a contract takes from its surroundings.
type toolNames struct {
	env, secrets []string
}

var _ onceward.Tool = (*Tool)(nil)

// Info describes the contract. It must not be changed.
func (t *Tool) Info() *onceward.ToolInfo { return t.info }

// File is the file that the contract was read from, as it was named to Load.
func (t *Tool) File() string { return t.file }

// Line is the document's first line in its file.
func (t *Tool) Line() int { return t.doc.at.line }

// EnvNames lists the environment variables that were read at load.
func (t *Tool) EnvNames() []string { return t.names.env }

// SecretNames lists the secrets that are read when a request is sent.
func (t *Tool) SecretNames() []string { return t.names.secrets }

// Approval says who may approve, and how many must.
type Approval struct {
	Groups            []string // empty: every approver of the tenant
	Quorum            int
	SeparateRequester bool
}

// Approval returns the approval rule; ok is false if the contract asks for none.
func (t *Tool) Approval() (rule Approval, ok bool) {
	a := t.doc.Spec.Approval
	if a == nil {
		return Approval{}, false
	}
	return Approval{Groups: a.By.values(), Quorum: a.Quorum.value, SeparateRequester: a.Separate.value}, true
}

// secretValues shows the secrets to expressions, each read when asked for.
func (t *Tool) secretValues() ref.Val { return secretMap{names: t.names.secrets, lookup: t.secrets} }
