package contract

// upstreamDocument is a document of kind Upstream as it stands in its file. As
// with document, its tags are the one place for every field.
type upstreamDocument struct {
	group
	APIVersion choice           `field:"apiVersion,required" enum:"onceward/v1" doc:"The version of the language."`
	Kind       choice           `field:"kind,required" enum:"Upstream" doc:"What the document describes."`
	Metadata   upstreamMetadata `field:"metadata,required" doc:"Which upstream it is and whose."`
	Spec       upstreamSpec     `field:"spec,required" doc:"Where it is, and what its requests mean."`
}

type upstreamMetadata struct {
	group
	Name        text   `field:"name,required" doc:"The upstream's name, as it stands in /proxy/NAME/: lower-case letters, digits, dots, dashes and underscores, at most 64 characters, such as stripe. Each route is a tool, NAME.ROUTE."`
	Description text   `field:"description" doc:"What the upstream is, for people."`
	Owners      owners `field:",inline"`
}

type upstreamSpec struct {
	group
	URL         pattern         `field:"url,required" doc:"The URL that requests go below: scheme, host and perhaps a path, literal or ${env.NAME}. Nothing else is ever talked to."`
	Listen      text            `field:"listen" doc:"An address of its own, host:port, for clients that take no base path. Read when the server starts."`
	HostName    text            `field:"host_name" doc:"A host name of its own on the server's address: whoever asks by this name asks this upstream, without /proxy/NAME. Read when the server starts."`
	Credentials choice          `field:"credentials" enum:"caller|contract" default:"caller" doc:"Whose credentials the upstream gets. caller: all header fields of the request go along; those that are not stored are held in memory only. contract: those of headers, and of the request only Accept, User-Agent, Content-Type and material."`
	Headers     patterns        `field:"headers" doc:"Header fields that we add, over env and secret. With credentials: caller, those with a secret are used only where the caller's are not held any more: after a crash."`
	Material    texts           `field:"material" doc:"Header fields of the request that are part of what it means, such as Stripe-Account: they are stored, in the digest, and in input.headers by their lower-case names."`
	Unlisted    choice          `field:"unlisted" enum:"refuse|pass_reads|pass" default:"pass_reads" doc:"What happens to a request that no route names. pass_reads: GET, HEAD and OPTIONS pass. pass: whatever else passes, too, once and without an operation."`
	Wait        span            `field:"wait" default:"55s" doc:"How long a request waits for its operation before it is told to ask again: 60s at most."`
	Deadline    span            `field:"deadline" default:"30s" doc:"How long a request that passes may wait for the start of its answer, and the deadline of routes that name none."`
	Routes      []upstreamRoute `field:"routes" doc:"The requests that become operations. The first that matches decides."`
}

type upstreamRoute struct {
	group
	Name        text      `field:"name,required" doc:"The route's name: with the upstream's before it, the name of its tool."`
	Match       text      `field:"match,required" doc:"Method and path below url: POST /repos/{owner}/{repo}/issues. {name} is one segment, in input.path.name; {name...} at the end is the rest of the path."`
	Description text      `field:"description" doc:"What the write does, for people."`
	Deadline    span      `field:"deadline" doc:"The time for the whole exchange. Default: that of the upstream."`
	Keyless     choice    `field:"keyless" enum:"refuse|pass" default:"refuse" doc:"What happens to a request without a key, where there is no key rule: a refusal, or it passes once and without an operation."`
	Recover     *recovery `field:"recover" doc:"How to answer where the write is known to be done and its own answer is not: it was lost, and a look-up found the effect, or it was too long to be kept. Absent: 410 with the reference."`
	Spec        spec      `field:",inline" omit:"executor|input|request|hosts|sandbox"`
}

// recovery is a read whose answer stands for the write's own.
type recovery struct {
	group
	URL    pattern `field:"url,required" doc:"Where the object is, over input and operation: operation.reference is its name. On the upstream's own host."`
	Status count   `field:"status" default:"200" doc:"The status that the write's own answer has, such as 201."`
}
