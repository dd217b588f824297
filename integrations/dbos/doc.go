// Package dbos makes the effect of a step of a DBOS workflow
// (github.com/dbos-inc/dbos-transact-golang) an operation, whose key is taken from
// the business and not from the workflow. However often DBOS repeats the step,
// and though the workflow is forked or started under another ID, there is one
// effect.
//
// It must not know how workflows are stored. Start reading at Step.
package dbos
