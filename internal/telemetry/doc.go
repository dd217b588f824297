// Package telemetry brings what the engine measures to whoever watches it: the
// root's table of metrics as Prometheus text, attempts as OpenTelemetry spans, and
// the store's calls with their times. It decides nothing, and knows no operation.
//
// Start reading at Registry.
package telemetry

//go:generate go run ./gen
