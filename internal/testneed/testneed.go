package testneed

import (
	"os"
	"testing"
)

// EnvRequire set to 1 turns what is missing into a failure. make test sets it
// where it is not set, so that 0 asks for skips there too.
const EnvRequire = "ONCEWARD_TEST_REQUIRE"

// Missing ends the test: something that it needs is not here. The reason says
// what, and what to do. It does not return.
func Missing(tb testing.TB, reason string) {
	tb.Helper()
	if os.Getenv(EnvRequire) == "1" {
		tb.Fatalf("missing, and required (%s=1; 0 skips this test): %s", EnvRequire, reason)
	}
	tb.Skip("skipped: " + reason)
}
