package main

import "time"

// Times of the contracts in contracts.go, and of the faults around them.
const (
	deadline = 400 * time.Millisecond // of one request, for every guard
	settle   = 600 * time.Millisecond // how late an effect may still appear, says the contract
)

// mode is one thing that goes wrong, once for each intention.
type mode struct {
	name  string
	fault string // of the provider, on the first write; empty: none
	// deliveries is how the event arrives: once, side by side, or one after the other.
	deliveries int
	together   bool
	reworded   bool // each delivery has other words, as a model's next try has
	dies       bool // the first worker dies between the provider's answer and its own record
}

// modes are the twelve faults.
var modes = []mode{
	{name: "request lost", fault: "drop_before_commit", deliveries: 1},
	{name: "answer lost", fault: "drop_after_commit", deliveries: 1},
	{name: "5xx without effect", fault: "error_before_commit;status=503", deliveries: 1},
	{name: "5xx after the effect", fault: "error_after_commit;status=502", deliveries: 1},
	{name: "answer cut", fault: "cut_body", deliveries: 1},
	{name: "answer past the deadline", fault: "slow;at=after;delay=700ms", deliveries: 1},
	{name: "late commit within settle", fault: "late_commit;delay=300ms", deliveries: 1},
	{name: "late commit beyond settle", fault: "late_commit;delay=2s", deliveries: 1},
	{name: "rate limited", fault: "rate_limited;retry_after=1", deliveries: 1},
	{name: "delivered five times at once", deliveries: 5, together: true},
	{name: "delivered again, reworded", deliveries: 2, reworded: true},
	{name: "worker dies after the answer", deliveries: 2, dies: true},
}
