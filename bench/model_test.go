package main

import (
	"math"
	"testing"
)

// The constants that are taken from samples give these samples back, and what many
// callers reach never needs more than there is.
func TestModelGivesBackWhatItWasMadeFrom(t *testing.T) {
	t.Parallel()
	want := model{cores: 2, commit: .0005, change: .00004, commitUs: 120, opUs: 300, commitB: 170, opB: 1200}
	const n = 100
	alone := sample{rate: 1 / (2 * (want.commit + want.change)), commits: 2, cpuUs: 60 + 2*want.commitUs, walB: 900 + 2*want.commitB}
	batched := sample{rate: n / (want.commit + 2*n*want.change), commits: 1. / n, cpuUs: 60 + want.commitUs/n, walB: 900 + want.commitB/n}
	const per = .2 // commits an operation
	busy := sample{rate: want.cores * 1e6 / (want.opUs + per*want.commitUs), commits: per, cpuUs: want.opUs + per*want.commitUs, walB: want.opB + per*want.commitB}
	got := modelOf(n, alone, batched, busy)
	for name, pair := range map[string][2]float64{
		"processors": {got.cores, want.cores}, "commit": {got.commit, want.commit}, "change": {got.change, want.change}, "processor of a commit": {got.commitUs, want.commitUs},
		"processor of an operation": {got.opUs, want.opUs}, "log of a commit": {got.commitB, want.commitB}, "log of an operation": {got.opB, want.opB},
	} {
		if math.Abs(pair[0]/pair[1]-1) > 1e-9 {
			t.Errorf("%s is %g, want %g", name, pair[0], pair[1])
		}
	}
	last := 0.0
	for _, callers := range []float64{1, 4, 16, 64, 1024} {
		rate := got.rate(callers)
		if used := rate * (got.opUs + got.commits(callers)*got.commitUs) / 1e6; rate < last*.999 || used > got.cores*1.001 || 2*rate*got.change > 1 {
			t.Errorf("%g callers reach %g a second after %g, with %g processors and %g of the committing connection", callers, rate, last, used, 2*rate*got.change)
		}
		last = rate
	}
}
