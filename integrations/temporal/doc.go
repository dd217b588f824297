// Package temporal makes the effect of a Temporal activity (go.temporal.io/sdk)
// an operation, whose key is taken from the business and not from the run.
// However often Temporal tries the activity, and though the workflow is reset or
// started again under another run ID, there is one effect.
//
// It must not know the server. Start reading at Activity.
package temporal
