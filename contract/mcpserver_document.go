package contract

// mcpServerDocument is a document of kind MCPServer as it stands in its file. As
// with document, its tags are the one place for every field.
type mcpServerDocument struct {
	group
	APIVersion choice            `field:"apiVersion,required" enum:"onceward/v1" doc:"The version of the language."`
	Kind       choice            `field:"kind,required" enum:"MCPServer" doc:"What the document describes."`
	Metadata   mcpServerMetadata `field:"metadata,required" doc:"Which server it is and whose."`
	Spec       mcpServerSpec     `field:"spec,required" doc:"How the server is reached, and what its tools do."`
}

type mcpServerMetadata struct {
	group
	Name        text   `field:"name,required" doc:"The server's name: lower-case letters, digits, dashes and underscores, at most 40 characters, such as files. Its tools are called by this name, a dot and their own."`
	Description text   `field:"description" doc:"What the server is for."`
	Owners      owners `field:",inline"`
}

type mcpServerSpec struct {
	group
	Command  texts     `field:"command" doc:"The program and its arguments, with ${env.NAME}, for a server on standard input and output. It gets no variable of ours but PATH and HOME. Either command or url."`
	Dir      text      `field:"dir" doc:"The folder in which the command runs. Default: that of this program."`
	Env      patterns  `field:"env" doc:"Variables of the command, with ${env.NAME} and ${secret.NAME}."`
	URL      pattern   `field:"url" doc:"The address of a server on streamable HTTP, such as ${env.FILES_URL}/mcp."`
	Headers  patterns  `field:"headers" doc:"Header fields of every request, such as a credential of ours: Bearer ${secret.NAME}. A caller's credentials never go to the server."`
	Unlisted choice    `field:"unlisted" enum:"refuse|review|pass_reads" default:"refuse" doc:"What becomes of tools that are not listed here. refuse: they are not offered. pass_reads: those that the server calls read-only are passed through, for whoever trusts it. review: as pass_reads, and every other waits for a person's yes."`
	Tools    []mcpTool `field:"tools,required" doc:"The tools that have a contract."`
}

// mcpTool is one tool of a server. What is not about the protocol is as in the
// spec of a Tool, which it becomes.
type mcpTool struct {
	group
	Tool        text         `field:"tool,required" doc:"The tool's name at its server."`
	Name        text         `field:"name" doc:"Its name here, behind the server's and a dot. Default: tool, in lower case, other characters as dashes."`
	Description text         `field:"description" doc:"What it does, for people. Callers read the server's own description."`
	Definition  text         `field:"definition" doc:"The digest of the tool's definition at the server, as onceward mcp definitions prints it. Where the server's has another, nothing is sent and the tool is paused. Default: the first definition that this process sees."`
	Arguments   tree         `field:"arguments" doc:"The arguments of the call, as a request's json. Default: the input as it came."`
	Deadline    span         `field:"deadline" default:"30s" doc:"The time for the whole call."`
	ToolError   choice       `field:"tool_error" enum:"unknown|not_done" default:"unknown" doc:"What an answer with isError means for a write: it may have happened, or the tool promises that it did nothing. outcomes go before it."`
	Effect      choice       `field:"effect,required" enum:"read|compute|keyed_write|conditional_write|probed_write|unsafe_write" doc:"What the tool offers against a second effect."`
	Input       schema       `field:"input" doc:"JSON Schema of the arguments, which is checked here. Default: any object; the server's own schema is shown to callers."`
	Key         sources      `field:"key" doc:"As in a Tool."`
	KeyWas      rules        `field:"key_was" doc:"As in a Tool."`
	Volatile    texts        `field:"volatile" doc:"As in a Tool."`
	ProviderKey *providerKey `field:"provider_key" doc:"As in a Tool: the argument that is the tool's own idempotency key, in: json."`
	Condition   *condition   `field:"condition" doc:"As in a Tool. exists reads the answer, such as response.json.isError."`
	Conflict    choice       `field:"conflict" enum:"look_up_then_compare" doc:"As in a Tool."`
	Lease       span         `field:"lease" doc:"As in a Tool."`
	Outcomes    []outcome    `field:"outcomes" doc:"How to read the answer: response.json is the tool's result (content, structuredContent, isError), or {error: {code, message}} of the protocol; response.status is HTTP's, 200 on standard input and output."`
	Probe       *mcpProbe    `field:"probe" doc:"How to look the effect up, by another tool of the same server."`
	Retry       retry        `field:"retry" doc:"As in a Tool."`
	OnUnknown   choice       `field:"on_unknown" enum:"review|abandon" default:"review" doc:"As in a Tool."`
	NotAfter    span         `field:"not_after" doc:"As in a Tool."`
	Horizon     span         `field:"horizon" default:"7d" doc:"As in a Tool."`
	Keep        keep         `field:"keep" doc:"As in a Tool."`
	Answer      answer       `field:"answer" doc:"As in a Tool."`
	Review      review       `field:"review" doc:"As in a Tool."`
	Approval    *approval    `field:"approval" doc:"As in a Tool."`
	Compensate  *compensate  `field:"compensate" doc:"As in a Tool."`
	SerializeBy source       `field:"serialize_by" doc:"As in a Tool."`
	Rate        rate         `field:"rate" doc:"As in a Tool."`
	Automations yesNo        `field:"repeat_runs_automations" default:"false" doc:"As in a Tool."`
}

type mcpProbe struct {
	group
	Tool        text    `field:"tool,required" doc:"A tool of the server that only reads."`
	Arguments   tree    `field:"arguments,required" doc:"Its arguments, with ${…} over input and operation."`
	Found       pattern `field:"found,required" doc:"One ${…} over the answer: the list of effects, one effect, or null for none. An answer with isError is read only if it mentions isError."`
	Reference   pattern `field:"reference" doc:"As in a Tool."`
	Ours        source  `field:"ours" doc:"As in a Tool."`
	Settle      span    `field:"settle" doc:"As in a Tool."`
	Consistency choice  `field:"consistency" enum:"fresh|lag" default:"fresh" doc:"As in a Tool."`
	BlindSpots  text    `field:"blind_spots" doc:"As in a Tool."`
	Deadline    span    `field:"deadline" default:"10s" doc:"As in a Tool."`
}
