package explore

import (
	"strings"
	"testing"
)

// TestOneOperationAtATimeWorksOnAResource explores two operations that want one
// resource.
func TestOneOperationAtATimeWorksOnAResource(t *testing.T) {
	t.Parallel()
	r := RunSerial(Real(), false, *states)
	if r.Breach != nil {
		t.Fatalf("%+v\n%s", r.Breach, strings.Join(r.Trace, "\n"))
	}
	t.Logf("%s: %d states, %d steps, depth %d, all states %v", r.Config.Name, r.States, r.Steps, r.Depth, r.Complete)
}

// TestAHolderThatWritesNothingIsRobbed holds that the exploration sees what a
// holder's write is for.
func TestAHolderThatWritesNothingIsRobbed(t *testing.T) {
	t.Parallel()
	r := RunSerial(Real(), true, 0)
	if r.Breach == nil || r.Breach.Rule != OneAtATime {
		t.Fatalf("the breach is %+v, want %q", r.Breach, OneAtATime)
	}
	t.Logf("%s: %s\n%s", r.Breach.Rule, r.Breach.How, strings.Join(r.Trace, "\n"))
}
