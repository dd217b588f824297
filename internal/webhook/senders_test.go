//go:build thirdparty

package webhook

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/testneed"
)

// TestSendersOwnLibrariesAndExamplesAgree signs with the libraries that senders
// publish, now, and every example payload that GitHub publishes.
func TestSendersOwnLibrariesAndExamplesAgree(t *testing.T) {
	t.Parallel()
	const folder = "../../tools/senders"
	if _, err := os.Stat(folder + "/node_modules/stripe"); err != nil {
		testneed.Missing(t, "the senders' libraries (make thirdparty installs them)")
	}
	script, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", script+"/testdata/sign.mjs")
	now := time.Now()
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	cmd.Env = append(os.Environ(), "SIGN_EXAMPLES=1", "SIGN_AT="+strconv.FormatInt(now.Unix(), 10))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := parseSigned(t, out)
	for _, d := range all {
		if err := d.verifier().Verify(d.request(), []string{d.Secret}, now); err != nil {
			t.Errorf("%s (%s): %v", d.Scheme, d.Library, err)
		}
	}
	if len(all) < 100 {
		t.Errorf("only %d deliveries were signed", len(all))
	}
}
