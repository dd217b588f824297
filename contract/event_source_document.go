package contract

// eventSourceDocument is a document of kind Source as it stands in its file. As
// with document, its tags are the one place for every field.
type eventSourceDocument struct {
	group
	APIVersion choice          `field:"apiVersion,required" enum:"onceward/v1" doc:"The version of the language."`
	Kind       choice          `field:"kind,required" enum:"Source" doc:"What the document describes."`
	Metadata   sourceMetadata  `field:"metadata,required" doc:"Which sender it is and whose."`
	Spec       eventSourceSpec `field:"spec,required" doc:"How its deliveries are known, and what is done for them."`
}

type sourceMetadata struct {
	group
	Name        text   `field:"name,required" doc:"The source's name, which is the end of its path: POST /v1/hooks/NAME. Lower-case letters, digits, dots, dashes and underscores, at most 128 characters, such as shop.orders."`
	Description text   `field:"description" doc:"Who sends, and what."`
	Owners      owners `field:",inline"`
}

type eventSourceSpec struct {
	group
	Tenant    text           `field:"tenant" default:"default" doc:"Whose events they are: the tenant of the operations and runs that they make."`
	Signature eventSignature `field:"signature,required" doc:"How the sender signs. It is what the sender is known by: there is no token."`
	Format    choice         `field:"format" enum:"json|form" doc:"What a body is. Another content type is refused. Default: form with twilio, else json."`
	BodyMax   size           `field:"body_max" default:"1MiB" doc:"The longest delivery; at most 8MiB. A longer one is refused and not read."`
	Split     source         `field:"split" doc:"CEL: the list of events in a delivery that carries several. In the other expressions event.json is one of them then. Default: the body itself with hubspot; else a delivery is one event."`
	ID        sources        `field:"id" doc:"What names an event in every delivery of it: CEL over event, each a non-empty text, number or boolean. Default: what the sender documents as its event ID. Where it has none, name the fields that tell two events apart."`
	Time      source         `field:"time" doc:"CEL: when the event happened, as RFC 3339 or Unix seconds. An event older than window is not handled by itself. Default: what the sender documents; if there is none, or it cannot be read, no event is late."`
	Headers   texts          `field:"headers" doc:"Headers that are kept with an event for people to read, besides those that expressions name."`
	Retries   span           `field:"retries" doc:"For how long the sender delivers an event again. Default: what it documents. It is compared with window."`
	Window    span           `field:"window" default:"45d" doc:"For how long an event is remembered after it was handled, so that another delivery changes nothing."`
	Otherwise choice         `field:"otherwise" enum:"review|ignore" default:"review" doc:"What is done with an event that no mapping is for: it waits for a person, or is nothing."`
	Mappings  []eventMapping `field:"mappings,required" doc:"What is done for events. Every mapping whose condition holds is carried out; what one of them cannot do keeps no other from being done."`
}

type eventSignature struct {
	group
	Scheme    choice  `field:"scheme,required" enum:"standard-webhooks|stripe|github|shopify|slack|twilio|hubspot|hmac" doc:"How the sender signs. hmac: as the fields below say."`
	Secrets   texts   `field:"secrets,required" doc:"Names of secrets, looked up as secret.NAME is: a file, or a variable. Any of them is good: name the old and the new one while one replaces the other. They are read anew within a second, without a restart."`
	Tolerance span    `field:"tolerance" default:"5m" doc:"How far the signed time may be from now. It means nothing where the sender signs no time."`
	URL       pattern `field:"url" doc:"The URL as the sender has it, without its query; env may stand in it. Needed by twilio and hubspot, which sign it, and by hmac with {url}."`
	Header    text    `field:"header" doc:"hmac: the header that holds the signature."`
	Prefix    text    `field:"prefix" doc:"hmac: what stands before the signature in it, such as sha256=."`
	Algorithm choice  `field:"algorithm" enum:"sha256|sha512|sha1" default:"sha256" doc:"hmac: the hash."`
	Encoding  choice  `field:"encoding" enum:"hex|base64" default:"hex" doc:"hmac: how the signature is written."`
	TimeIn    text    `field:"time_in" doc:"hmac: the header that holds the signed time, in Unix seconds."`
	Signs     text    `field:"signs" default:"{body}" doc:"hmac: what is signed, as a text with {body}, {timestamp}, {method} and {url}."`
}

type eventMapping struct {
	group
	Name       text                    `field:"name,required" doc:"The mapping's name, for people: lower-case letters, digits, dots, dashes and underscores."`
	When       source                  `field:"when,required" doc:"CEL condition over event. If it cannot be evaluated, the event waits for a person."`
	Run        *eventRunMapping        `field:"run" doc:"The run that the event starts, once. The mapping's operations belong to it."`
	Operations []eventOperationMapping `field:"operations" doc:"The operations that the event makes, each once."`
	Evidence   []eventEvidenceMapping  `field:"evidence" doc:"What the event proves of operations whose outcome is not known."`
}

type eventRunMapping struct {
	group
	Workflow text   `field:"workflow,required" doc:"The workflow that handles the event."`
	Version  text   `field:"version" doc:"Its version, where no document describes the workflow. Default: the one in force."`
	Trigger  source `field:"trigger" doc:"CEL: the trigger key, as a request for the same run would give it. Default: the event's own ID, which begins with ev_."`
	Input    tree   `field:"input" doc:"The run's input; texts may be templates over event."`
}

type eventOperationMapping struct {
	group
	Tool  text   `field:"tool,required" doc:"The tool."`
	When  source `field:"when" doc:"CEL condition over event. Default: always."`
	Input tree   `field:"input,required" doc:"The tool's input; texts may be templates over event. The tool's key rule makes the key of it: a request with the same fields is the same operation."`
	Key   source `field:"key" doc:"CEL: the key, for a tool without a key rule; the same text as a caller would send."`
}

type eventEvidenceMapping struct {
	group
	Tool        text   `field:"tool,required" doc:"The tool whose operation it is."`
	When        source `field:"when" doc:"CEL condition over event. Default: always."`
	Is          choice `field:"is,required" enum:"done|not_done" doc:"What is proven. not_done closes the one open attempt; the operation's own rules say whether another one follows."`
	Operation   source `field:"operation" doc:"CEL: the operation's ID, which the request sent along as ${operation.id}."`
	Key         source `field:"key" doc:"CEL: the operation's key, which the request sent along as ${operation.key}."`
	ProviderKey source `field:"provider_key" doc:"CEL: the provider key. Only operations that are not settled are looked through."`
	Reference   source `field:"reference" doc:"CEL: the provider's reference. Only operations that are not settled are looked through."`
	Effect      source `field:"effect" doc:"CEL: the provider's name of the effect, as outcomes and probe read it: another name is another effect."`
	Reason      source `field:"reason" doc:"CEL: why it did not happen, for people."`
}
