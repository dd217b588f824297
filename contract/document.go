package contract

// document is one contract as it stands in its file. The structs below are the
// one place for every field of the language: its name, what it means, what it
// is when absent. The loader, the published JSON Schema and the reference page
// are made from them.
//
// Where a tag has a default, absent means exactly that value. Where the default
// depends on other fields, doc says how.
type document struct {
	group
	APIVersion choice   `field:"apiVersion,required" enum:"onceward/v1" doc:"The version of the language."`
	Kind       choice   `field:"kind,required" enum:"Tool" doc:"What the document describes."`
	Metadata   metadata `field:"metadata,required" doc:"Who the tool is and whose it is."`
	Spec       spec     `field:"spec,required" doc:"What the tool does."`
}

type metadata struct {
	group
	Name        text   `field:"name,required" doc:"The tool's name: lower-case letters, digits, dots, dashes and underscores, at most 128 characters, such as tickets.create."`
	Description text   `field:"description" doc:"What the tool does, for people and for agents."`
	Owners      owners `field:",inline"`
	Facts       *facts `field:"facts" doc:"What is known of the provider, and whence. It changes nothing of what the tool does, nor its version."`
}

// facts is what the contract's author knew of the provider.
type facts struct {
	group
	Provider text         `field:"provider,required" doc:"Whose API it is."`
	Endpoint text         `field:"endpoint,required" doc:"The endpoint, as the provider names it: POST /v1/refunds."`
	Sources  []factSource `field:"sources" doc:"Where the facts come from."`
	Settle   text         `field:"settle" doc:"Why probe.settle is what it is."`
	Unknown  text         `field:"unknown" doc:"What could not be found out, and on which side the contract is because of it."`
	Undo     text         `field:"undo" doc:"How the effect is undone where compensate names no contract, or that nothing undoes it."`
}

type factSource struct {
	group
	URL   text   `field:"url" doc:"The page. Absent: it was observed, and says tells where."`
	Date  text   `field:"date,required" doc:"The day on which the fact was read or seen: 2026-11-29."`
	Basis choice `field:"basis,required" enum:"documented|quoted|observed|reported" doc:"documented: the provider's own page, read. quoted: the provider's page, as somebody else quotes it. observed: seen on a running server. reported: what others say of it."`
	Says  text   `field:"says,required" doc:"What it says, in a few words of our own."`
}

type spec struct {
	group
	Effect      choice       `field:"effect,required" enum:"read|compute|keyed_write|conditional_write|probed_write|unsafe_write" doc:"What the provider offers against a second effect."`
	Executor    choice       `field:"executor" enum:"onceward|caller" default:"onceward" doc:"Who performs the write. With caller, the caller claims an attempt, sends the request itself and reports the outcome."`
	Input       schema       `field:"input" doc:"JSON Schema (2020-12 unless $schema says otherwise) of the input, which is always an object. Shown to callers and agents. No remote references. Formats are checked. Default: any object."`
	Key         sources      `field:"key" doc:"What makes two requests the same intention: CEL expressions over input, each a non-empty text, number or boolean. Absent: the caller gives the key."`
	KeyWas      rules        `field:"key_was" doc:"Earlier key rules. An operation that was made under one of them is still found."`
	Volatile    texts        `field:"volatile" doc:"Paths of input fields that may differ between retries, such as a model's wording: subject, items[*].note. They are not in the digest; the first accepted value is the one sent."`
	ProviderKey *providerKey `field:"provider_key" doc:"The idempotency key that the provider takes. Its value is operation.provider_key, equal on every attempt."`
	Condition   *condition   `field:"condition" doc:"What makes a conditional write create at most one object."`
	Conflict    choice       `field:"conflict" enum:"look_up_then_compare" doc:"What an object that exists already means. Default: the effect is done. look_up_then_compare: it is done only if the probe finds it and probe.ours says that it is ours."`
	Request     *request     `field:"request" doc:"The one request of an attempt. Needed unless executor is caller."`
	Lease       span         `field:"lease" doc:"How long an attempt may hold the operation; longer than request.deadline. Default: 2 × deadline + 5s."`
	Outcomes    []outcome    `field:"outcomes" doc:"How to read the provider's answer: the first rule whose condition holds decides, before the defaults. A rule whose condition cannot be evaluated does not hold."`
	Probe       *probe       `field:"probe" doc:"How to look the effect up."`
	Retry       retry        `field:"retry" doc:"How often and when to try again."`
	OnUnknown   choice       `field:"on_unknown" enum:"review|abandon" default:"review" doc:"Who settles an outcome that nothing can settle: a person, or nobody."`
	NotAfter    span         `field:"not_after" doc:"An intent older than this is not started any more. Default: no limit."`
	Horizon     span         `field:"horizon" default:"7d" doc:"The longest time in which a duplicate of an intention can still arrive."`
	Keep        keep         `field:"keep" doc:"What is stored, and for how long after the end of an operation."`
	Answer      answer       `field:"answer" doc:"How much of an answer is read and kept."`
	Review      review       `field:"review" doc:"Who settles what only a person can settle, and by when."`
	Approval    *approval    `field:"approval" doc:"When a person must say yes first."`
	Compensate  *compensate  `field:"compensate" doc:"How the effect is undone: an operation of its own."`
	SerializeBy source       `field:"serialize_by" doc:"CEL expression: operations with the same value run one at a time, until each has ended."`
	Rate        rate         `field:"rate" doc:"How often attempts of this tool may start. Default: no bound."`
	Hosts       texts        `field:"hosts" doc:"Hosts (host or host:port) that may be talked to. Default: those of the URLs at load. A private host is reached only if its name or address stands here or in a URL."`
	Source      *reread      `field:"source" doc:"How to read the record that caused the write again."`
	Audit       *audit       `field:"audit" doc:"How to list the provider's objects, to find those that no operation explains."`
	Sandbox     *sandbox     `field:"sandbox" doc:"Where the tool may be drilled (onceward drill): nothing is ever drilled anywhere else."`
	Automations yesNo        `field:"repeat_runs_automations" default:"false" doc:"A repeat of the request leaves one object but runs the provider's automations again."`
}

type providerKey struct {
	group
	In         choice `field:"in,required" enum:"header|json|query|path|graphql" doc:"Where the key stands. header, json and query are filled in from name; with path and graphql the request's own template holds ${operation.provider_key}."`
	Name       text   `field:"name" doc:"Header, query parameter, or path of the JSON member (meta.key). Default in a header: Idempotency-Key."`
	Format     choice `field:"format" enum:"hex|base32hex|uuid4|raw" default:"hex" doc:"The form of the key."`
	Max        count  `field:"max" doc:"The longest key that the provider takes. Default: 255."`
	Scope      text   `field:"scope" doc:"Within what the provider keeps keys apart, in words: account, application, region, call type."`
	Exclusive  yesNo  `field:"exclusive" default:"false" doc:"Nobody but this tool of one tenant uses keys in that scope, so that a raw key may be the operation's key itself."`
	Window     span   `field:"window,forever" doc:"How long the provider remembers a key, at least. Needed with a guaranteed window."`
	WindowKind choice `field:"window_kind" enum:"guaranteed|best_effort|unpublished|object_lifetime" default:"unpublished" doc:"What the provider says about that time. Only guaranteed and object_lifetime make it safe to send again."`
	OnRepeat   choice `field:"on_repeat" enum:"replay|replay_errors_too|current_state|reject|ignore" default:"replay" doc:"What the provider does with a key that it knows: send its stored answer, also stored errors, the object as it is now, a refusal, or nothing new whatever the body says."`
}

type condition struct {
	group
	By     choice `field:"by,required" enum:"if_none_match|own_id|upsert" doc:"if_none_match: the header If-None-Match: * is sent. own_id: the request creates under an ID that we choose. upsert: the request writes by a unique field of ours."`
	Field  text   `field:"field" doc:"Which field holds our ID, for people."`
	Exists source `field:"exists" default:"response.status == 412" doc:"CEL condition over the answer: the object exists already."`
}

type request struct {
	group
	Method   choice   `field:"method,required" enum:"GET|HEAD|POST|PUT|PATCH|DELETE" doc:"The HTTP method."`
	URL      pattern  `field:"url,required" doc:"The URL. The scheme and host are literal or ${env.NAME}; values in the path and in the query are percent-encoded where they stand. mcp://server/tool calls a tool of an MCPServer; json is its arguments then."`
	Headers  patterns `field:"headers" doc:"Header fields. Only here may ${secret.NAME} stand."`
	JSON     tree     `field:"json" doc:"A JSON body. A text that is one ${…} keeps the value's type; a lone ${input.path} copies the JSON token as it came, and its member is left out when the input has no such field."`
	Form     patterns `field:"form" doc:"A form body (application/x-www-form-urlencoded). A lone ${input.path} that the input does not have is left out."`
	Body     pattern  `field:"body" doc:"A body of text. Its Content-Type is text/plain unless a header says otherwise."`
	Deadline span     `field:"deadline" default:"10s" doc:"The time for the whole exchange."`
	// Definition is for requests to mcp://server/tool alone, which documents of
	// kind MCPServer become.
	Definition text `field:"definition" doc:"With mcp://server/tool: the digest of the tool's definition; see MCPServer."`
}

// lookup is a request that only reads.
type lookup struct {
	group
	Method  choice   `field:"method" enum:"GET|HEAD|POST" default:"GET" doc:"The HTTP method."`
	URL     pattern  `field:"url,required" doc:"The URL, as in the request."`
	Headers patterns `field:"headers" doc:"Header fields, as in the request."`
	JSON    tree     `field:"json" doc:"A JSON body."`
	Form    patterns `field:"form" doc:"A form body."`
	Body    pattern  `field:"body" doc:"A body of text."`
}

type outcome struct {
	group
	When       source  `field:"when,required" doc:"CEL condition over response.status, response.headers (lower-case names, first value), response.header_values, response.json (null when the body is not JSON), response.text, input and operation."`
	Is         choice  `field:"is,required" enum:"done|not_done|unknown|in_progress" doc:"What it means. in_progress: the provider is still working under this key; it is asked again with the same key, each time as one of max_attempts."`
	Class      choice  `field:"class" enum:"validation|auth|rate_limited|conflict|unavailable|timeout|connection|protocol" doc:"The error class. Default: what the status stands for."`
	Code       pattern `field:"code" doc:"The provider's own error code. Default: http_ and the status."`
	Message    pattern `field:"message" doc:"One sentence for people. No payload."`
	Reference  pattern `field:"reference" doc:"The provider's name of the effect: one ${…}."`
	RetryAfter pattern `field:"retry_after" doc:"How long to wait: seconds, an HTTP date, or a duration. Default: the Retry-After header."`
	Retryable  yesNo   `field:"retryable" doc:"Whether the same write may succeed later without a change. Default: by class; validation and conflict are not."`
}

type probe struct {
	group
	Request     lookup  `field:"request,required" doc:"The read that looks the effect up."`
	Found       pattern `field:"found,required" doc:"One ${…} over the answer: the list of effects, one effect, or null for none. Answers other than 2xx are read only if it mentions response.status, and 401, 403, 408, 429 and 5xx never."`
	Reference   pattern `field:"reference" doc:"The provider's name of one effect: one ${…} over item."`
	Ours        source  `field:"ours" doc:"CEL condition over item, input and operation: this effect is ours. Default: every found effect is."`
	Settle      span    `field:"settle" doc:"The longest time after the last possible byte of an attempt in which its effect may still appear. Needed for a probed write. Default: 0s."`
	Consistency choice  `field:"consistency" enum:"fresh|lag" default:"fresh" doc:"Whether the look-up sees a write at once, or lags behind (within settle)."`
	BlindSpots  text    `field:"blind_spots" doc:"What the look-up cannot see, in words, for the person who reviews."`
	Deadline    span    `field:"deadline" default:"10s" doc:"The time for one look-up."`
}

type retry struct {
	group
	MaxAttempts    count   `field:"max_attempts" default:"5" doc:"How many attempts an operation may have."`
	Backoff        backoff `field:"backoff" doc:"How long to wait between attempts."`
	RecoveryWindow span    `field:"recovery_window" default:"24h" doc:"How long an unknown outcome is looked up before a person is asked."`
	EvidenceWithin span    `field:"evidence_within" doc:"How long an unknown outcome that nothing can look up waits for a source's event, such as a status callback, before a person is asked. Default: 0s."`
}

type backoff struct {
	group
	Initial span `field:"initial" default:"1s" doc:"The first wait; it doubles each time."`
	Max     span `field:"max" default:"1m" doc:"The longest wait."`
}

type keep struct {
	group
	Record     span   `field:"record,forever" default:"90d" doc:"How long an ended operation is kept whole."`
	Tombstone  span   `field:"tombstone,forever" default:"forever" doc:"How long its key is still refused after that, at least: lint compares it with horizon. Then the key is forgotten, and a request with it is fresh, under another provider key. An operation that began under a contract whose record or tombstone stays for ever is never forgotten."`
	Input      choice `field:"input" enum:"full|redacted|digest|encrypted" default:"full" doc:"How much of the input is stored once the operation has ended. encrypted: all of it, from the first moment on, with the data key of its subject; then whatever else tells of input and result is encrypted, too."`
	Result     choice `field:"result" enum:"full|redacted|digest|encrypted" default:"full" doc:"How much of the result is stored. redacted: names and types of the answer's members, no values. encrypted: as for input."`
	Subject    source `field:"subject" doc:"CEL expression: whose data it is, where it is kept encrypted. What is encrypted of one subject can be shredded. Default: the tenant's, which cannot be shredded alone."`
	RetiredKey choice `field:"retired_key" enum:"refuse|reuse" default:"refuse" doc:"What a request under a retired key gets: a refusal, or a new effect."`
}

type answer struct {
	group
	JudgeBytes size `field:"judge_bytes" default:"16MiB" doc:"How much of an answer is read to judge it."`
	KeepBytes  size `field:"keep_bytes" default:"256KiB" doc:"How much of an answer is kept with the result."`
}

type approval struct {
	group
	When     source     `field:"when" default:"true" doc:"CEL condition over input and operation. If it cannot be evaluated, approval is needed."`
	By       texts      `field:"by" doc:"Groups of people who may approve. Default: every approver of the tenant."`
	Expires  span       `field:"expires" default:"24h" doc:"How long an approval is waited for, and how long it holds."`
	Quorum   count      `field:"quorum" default:"1" doc:"How many different people must say yes."`
	Separate yesNo      `field:"separate_requester" default:"false" doc:"The requester may not approve, nor may whoever edited it."`
	Remind   []reminder `field:"remind" doc:"Reminders of an open question, at most 16, each an operation of another tool. Each is made once, also where a process dies."`
}

type reminder struct {
	group
	After        span `field:"after" doc:"How long after it was asked."`
	BeforeExpiry span `field:"before_expiry" doc:"How long before it expires, in place of after."`
	Tool         text `field:"tool,required" doc:"The tool that reminds, such as one that writes to a chat or sends a mail. It should ask for no approval itself."`
	Input        tree `field:"input,required" doc:"Its input, with ${…} over input and operation (operation.id, operation.key)."`
}

type review struct {
	group
	Team   text `field:"team" doc:"The group of people who are asked. Default: technical_owner, else business_owner."`
	Within span `field:"within" default:"24h" doc:"How long it may take until it is overdue: then an alarm is raised and it stands first in the queue."`
}

type compensate struct {
	group
	Tool  text   `field:"tool,required" doc:"The tool that undoes the effect."`
	Input tree   `field:"input,required" doc:"Its input, with ${…} over input and operation (operation.reference included)."`
	By    choice `field:"by" enum:"reference|key" default:"reference" doc:"What names the effect: its reference, or the provider key, which is known even when the outcome is not."`
}

type reread struct {
	group
	Request lookup  `field:"request,required" doc:"The read of the source record."`
	Value   pattern `field:"value" default:"${response.json}" doc:"One ${…} over the answer: what is compared with the record at the time of the intent."`
	Was     pattern `field:"was" doc:"One ${…} over input: the same value as it stood in the record at the time of the intent, as the input brings it. A plan to replay reads the record again, shows what differs, and asks. Absent: a plan does not ask."`
}

type audit struct {
	group
	Request   lookup  `field:"request,required" doc:"The read that lists objects."`
	Found     pattern `field:"found,required" doc:"One ${…} over the answer: the list of objects."`
	Reference pattern `field:"reference,required" doc:"The provider's name of one object: one ${…} over item."`
	Operation pattern `field:"operation" doc:"The provider key that the object carries: one ${…} over item."`
}

type sandbox struct {
	group
	Hosts    texts `field:"hosts,required" doc:"Hosts (host or host:port) at which drills may write. A host of production does not belong here."`
	Lateness span  `field:"lateness" doc:"How late an effect of this provider can appear at worst, counted as settle is. A drill holds writes back for so long."`
}
