package contract

// workflowDocument is a document of kind Workflow as it stands in its file. As
// with document, its tags are the one place for every field.
type workflowDocument struct {
	group
	APIVersion choice           `field:"apiVersion,required" enum:"onceward/v1" doc:"The version of the language."`
	Kind       choice           `field:"kind,required" enum:"Workflow" doc:"What the document describes."`
	Metadata   workflowMetadata `field:"metadata,required" doc:"Which workflow it is and whose."`
	Spec       workflowSpec     `field:"spec,required" doc:"What the workflow decides."`
}

type workflowMetadata struct {
	group
	Name        text   `field:"name,required" doc:"The workflow's name, as runs give it: lower-case letters, digits, dots, dashes and underscores, at most 128 characters, such as support.triage."`
	Description text   `field:"description" doc:"What business event it handles, and how."`
	Owners      owners `field:",inline"`
}

type workflowSpec struct {
	group
	Version text           `field:"version,required" doc:"The workflow's version, as its author names it. A run keeps the version, and the rules, that it started under."`
	Steps   []workflowStep `field:"steps,required" doc:"The steps that decide something which would not come out the same twice."`
}

type workflowStep struct {
	group
	Name        text             `field:"name,required" doc:"The step's name, as decisions give it: lower-case letters, digits, dots, dashes and underscores."`
	Description text             `field:"description" doc:"What it decides, for people."`
	Schema      schema           `field:"schema,required" doc:"JSON Schema of the step's output, which is an object. An output that breaks it is refused, and the step may try again."`
	Branches    []workflowBranch `field:"branches" doc:"The ways on which a run may go on after the step. Absent: the step only pins its output."`
	Rules       []workflowRule   `field:"rules" doc:"Which branch an output leads to: the first rule whose condition holds decides."`
	Otherwise   text             `field:"default" doc:"The branch where no rule holds. Needed with branches."`
}

type workflowBranch struct {
	group
	Name  text  `field:"name,required" doc:"The branch's name."`
	Tools texts `field:"tools" doc:"The tools that may be called on it. Within a run of the workflow, a tool that stands in some branch is called on the pinned branch of its step only; a tool that stands in none is free. Default: none."`
}

type workflowRule struct {
	group
	When source `field:"when,required" doc:"CEL condition over output, as the schema took it, and confidence, which is 0 where the step gave none. It has no clock and no chance. If it cannot be evaluated, the output is refused."`
	Then text   `field:"then,required" doc:"The branch."`
}
