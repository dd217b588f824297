//go:build clients

package clients_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/onceward/onceward/internal/proctest"
)

// sim is the program before the bundled provider.
type sim struct {
	*proctest.Server
	provider *proctest.Provider
}

func newSim(t *testing.T) *sim {
	t.Helper()
	provider := proctest.NewProvider(t)
	contracts, err := filepath.Abs("../sim")
	if err != nil {
		t.Fatal(err)
	}
	s := &sim{provider: provider, Server: proctest.NewServer(t, "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"), []string{contracts}, "SIM_URL="+provider.URL)}
	s.Start("")
	return s
}

func (s *sim) env() []string {
	return []string{"ONCEWARD_URL=" + s.URL(), "SIM_URL=" + s.provider.URL}
}

// suite runs a client's own tests.
func (s *sim) suite(t *testing.T, dir string, command ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), scriptTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), s.env()...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
}

func TestTheTypeScriptClient(t *testing.T) {
	t.Parallel()
	newSim(t).suite(t, "../../clients/typescript", "node", "--test", "test/")
}

func TestThePythonClient(t *testing.T) {
	t.Parallel()
	newSim(t).suite(t, "../../clients/python", "python3", "-m", "unittest", "test_onceward")
}
