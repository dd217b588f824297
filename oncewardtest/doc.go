// Package oncewardtest helps to test programs that embed a ledger: a clock that
// moves when told, a provider that counts effects and fails on request, and a
// tool without YAML.
package oncewardtest
