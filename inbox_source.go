package onceward

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Delivery is one request of a sender, as it came.
type Delivery struct {
	Method string
	Target string              // path and query
	Header map[string][]string // as net/http has it
	Body   []byte
}

// EventSource is one version of a source's document, compiled. Its methods are
// pure but for reading secrets, and safe for concurrent use.
type EventSource interface {
	Info() *EventSourceInfo

	// Verify holds a delivery to the sender's signature, at this time.
	// CodeSignatureInvalid and CodeUnsupportedMedia: it is refused.
	Verify(d *Delivery, now time.Time) error

	// Challenge is what the sender wants to read back, where the delivery asks
	// only for that; nil for any other. It is asked of verified deliveries.
	Challenge(d *Delivery) []byte

	// Events reads the events of a verified delivery: their keys, their times, and
	// what is kept of each. CodeKeyInvalid: one has no key, and none is taken.
	Events(d *Delivery) ([]InboxEvent, error)

	// Plan is what is to be done for an event: one part for each mapping that is
	// for it. A part that cannot be made carries its error; the others stand.
	Plan(e *InboxEvent) []EventPart
}

// EventSourceInfo describes a source. It is immutable.
type EventSourceInfo struct {
	Name           string
	Version        string // short hash of the document's meaning
	Description    string
	BusinessOwner  string
	TechnicalOwner string
	Tenant         Tenant
	Scheme         string     // how the sender signs
	Tools          []ToolName // that its mappings name: nothing else can be reached through it
	BodyBytesMax   int64      // of a delivery
	Window         time.Duration
	IgnoreUnmapped bool   // an event without a mapping is nothing; else it waits for a person
	Quiet          bool   // the sender is answered without a body
	Source         []byte // the YAML document
}

// EventPart is what one mapping makes of an event.
type EventPart struct {
	Mapping    string // its name
	Err        error  // it could not be made: a person has to know
	Run        *EventRun
	Operations []EventOperation
	Evidence   []EventEvidence
}

// EventRun is a run that an event starts, once.
type EventRun struct {
	Workflow, Version string
	TriggerKey        Key
	Input             []byte // nil: none
}

// EventOperation is an operation that an event makes, once.
type EventOperation struct {
	Tool  ToolName
	Input []byte
	Key   Key // for a tool without a key rule; else empty
}

// EventEvidence is what an event proves of an operation. One of the fields from
// Operation to Reference says of which.
type EventEvidence struct {
	Tool        ToolName
	Operation   OperationID
	Key         Key
	ProviderKey string
	Reference   string

	Done   bool   // the effect exists; false: it does not
	Effect string // the provider's name of the effect; may be empty
	Reason string // of what is not done, as the sender says; may be empty
}

// Principal is who acts for events of the source: it calls the tools that its
// mappings name, in the tenant that its document names, and nothing else.
func (i *EventSourceInfo) Principal() Principal {
	tools := i.Tools
	if len(tools) == 0 {
		tools = []ToolName{noTool} // an empty list would narrow nothing
	}
	return Principal{Tenant: i.Tenant, Issuer: IssuerSource, Subject: i.Name, Roles: []Role{RoleCaller}, Tools: tools}
}

// noTool is no tool's name.
const noTool ToolName = "-"

// IssuerSource is the issuer of the principals that act for senders' events.
const IssuerSource = "source"

// EventSourceCompiler turns a stored document back into an EventSource.
type EventSourceCompiler func(name string, source []byte) (EventSource, error)

// eventSources are the sources of a registry: those in force, and those under
// which events were received.
type eventSources struct {
	compile EventSourceCompiler
	active  map[string]EventSource
	old     map[toolVersion]EventSource
}

// sourcePrefix keeps documents of sources apart from contracts where both are
// stored, and where both are counted: no tool has such a name.
const sourcePrefix = "source:"

func sourceStoredAs(name string) ToolName { return ToolName(sourcePrefix + name) }

// CompileEventSources sets what stored documents of sources are read with. Call
// it before use.
func (r *Registry) CompileEventSources(compile EventSourceCompiler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sources.compile = compile
}

// ActivateEventSources puts a set of sources in force in place of the present
// set, as Activate does with contracts.
func (r *Registry) ActivateEventSources(ctx context.Context, sources []EventSource, force bool) error {
	next := make(map[string]EventSource, len(sources))
	for _, s := range sources {
		if next[s.Info().Name] != nil {
			return Errorf(CodeContractInvalid, "two sources are named %s", s.Info().Name)
		}
		next[s.Info().Name] = s
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		i := next[name].Info()
		if err := r.store.Activate(ctx, ContractVersion{Tool: sourceStoredAs(name), Version: i.Version, Source: i.Source}, force, putInForce(AuditSourceInForce, name, i.Version)); err != nil {
			return fmt.Errorf("activate source %s: %w", name, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, s := range r.sources.active {
		r.sources.keep(name, s)
	}
	r.sources.active = next
	return nil
}

func (s *eventSources) keep(name string, src EventSource) {
	if s.old == nil {
		s.old = map[toolVersion]EventSource{}
	}
	s.old[toolVersion{sourceStoredAs(name), src.Info().Version}] = src
}

// EventSource returns the source in force. CodeSourceNotFound: there is none.
func (r *Registry) EventSource(name string) (EventSource, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if s := r.sources.active[name]; s != nil {
		return s, nil
	}
	return nil, &Error{Code: CodeSourceNotFound, Op: "find source", Message: "no source of that name is in force", Hint: "write a document of kind Source, and load it with the contracts"}
}

// EventSources returns the sources in force, by name.
func (r *Registry) EventSources() []EventSource {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.SortedFunc(maps.Values(r.sources.active), func(a, b EventSource) int { return strings.Compare(a.Info().Name, b.Info().Name) })
}

// EventSourceVersion returns one version of a source, from memory or from the ledger.
func (r *Registry) EventSourceVersion(ctx context.Context, name, version string) (EventSource, error) {
	r.mu.RLock()
	s, compile := r.sources.active[name], r.sources.compile
	if s == nil || s.Info().Version != version {
		s = r.sources.old[toolVersion{sourceStoredAs(name), version}]
	}
	r.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	c, err := r.store.Contract(ctx, sourceStoredAs(name), version)
	if err != nil {
		return nil, fmt.Errorf("load source %s version %s: %w", name, version, err)
	}
	if compile == nil {
		return nil, &Error{Code: CodeConfigInvalid, Op: "compile source", Message: fmt.Sprintf("version %s of %s stands in the ledger, and there is no compiler for it", version, name),
			Hint: "set one: Registry.CompileEventSources(contract.SourceCompiler(…))"}
	}
	if s, err = compile(name, c.Source); err != nil {
		return nil, fmt.Errorf("compile source %s version %s: %w", name, version, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sources.keep(name, s)
	return s, nil
}
