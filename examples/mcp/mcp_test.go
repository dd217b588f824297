//go:build thirdparty

package mcp_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/onceward/onceward/internal/proctest"
)

func listens(address string) bool {
	c, err := net.Dial("tcp", address)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// gateway is a server with the contracts of this folder before the real
// servers. It returns the address of /mcp and the folder of the files.
func gateway(t *testing.T) (url, files, graph string) {
	t.Helper()
	files, graph = t.TempDir(), filepath.Join(t.TempDir(), "memory.jsonl")
	servers, err := filepath.Abs(tools + "/node_modules/@modelcontextprotocol")
	if err != nil {
		t.Fatal(err)
	}
	everything := address(t)
	_, port, _ := net.SplitHostPort(everything)
	cmd := exec.Command(node(t), servers+"/server-everything/dist/index.js", "streamableHttp")
	cmd.Env = append(path(t), "PORT="+port)
	start(t, everything, cmd)
	contracts, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	var yaml []string
	for _, name := range []string{"files", "memory", "everything"} {
		yaml = append(yaml, filepath.Join(contracts, name+".yaml"))
	}
	srv := proctest.NewServer(t, "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"), yaml,
		"MCP_SERVERS="+servers, "FILES="+files, "MEMORY_FILE="+graph, "EVERYTHING_URL=http://"+everything, "PATH="+filepath.Dir(node(t))+":"+os.Getenv("PATH"))
	srv.Start("")
	return srv.URL() + "/mcp", files, graph
}

func TestClientsOfBothErasMakeOneEffectAtTheProjectsServers(t *testing.T) {
	t.Parallel()
	url, files, graph := gateway(t)
	const inRun = "Onceward-Run=case-1"
	t.Run("a file is moved once", func(t *testing.T) {
		arguments := fmt.Sprintf(`{"path":%q,"content":"a note"}`, files+"/a.txt")
		for i, era := range []string{"old", "new"} {
			if r := ask(t, era, url, "files.write_file", arguments, inRun); r.Thrown != "" || r.IsError || r.Meta.Operation.Replayed != (i > 0) {
				t.Errorf("%s: %+v", era, r)
			}
		}
		move := fmt.Sprintf(`{"source":%q,"destination":%q}`, files+"/a.txt", files+"/b.txt")
		for i, era := range []string{"new", "old"} {
			if r := ask(t, era, url, "files.move_file", move, inRun); r.Thrown != "" || r.IsError || r.Meta.Operation.Replayed != (i > 0) {
				t.Errorf("%s: the server alone refuses a second move; here it is %+v", era, r)
			}
		}
		if data, err := os.ReadFile(files + "/b.txt"); err != nil || string(data) != "a note" {
			t.Errorf("the file holds %q (%v)", data, err)
		}
		if r := ask(t, "old", url, "files.read_text_file", fmt.Sprintf(`{"path":%q}`, files+"/b.txt")); !strings.Contains(r.text(), "a note") {
			t.Errorf("a read passes: %+v", r)
		}
		if r := ask(t, "new", url, "files.create_directory", fmt.Sprintf(`{"path":%q}`, files+"/d")); !strings.Contains(r.Thrown, "unknown tool") {
			t.Errorf("a write without a contract: %+v", r)
		}
	})
	t.Run("what is remembered is remembered once", func(t *testing.T) {
		for i, era := range []string{"old", "new", "old"} {
			r := ask(t, era, url, "memory.create_entities", fmt.Sprintf(`{"entities":[{"name":"Ada","entityType":"person","observations":["said so in try %d"]}]}`, i))
			if r.Thrown != "" || r.IsError || !strings.Contains(string(r.Structured), "try 0") {
				t.Errorf("%s: %+v %s", era, r, r.Structured)
			}
		}
		if data, err := os.ReadFile(graph); err != nil || strings.Count(string(data), `"Ada"`) != 1 || !strings.Contains(string(data), "try 0") {
			t.Errorf("the graph holds %s (%v)", data, err)
		}
	})
	t.Run("two ask at once for something long", func(t *testing.T) {
		var all sync.WaitGroup
		answers := make([]*result, 2)
		for i, era := range []string{"old", "new"} {
			all.Go(func() {
				answers[i] = ask(t, era, url, "everything.trigger-long-running-operation", `{"job":"order-1","duration":3,"steps":3}`)
			})
		}
		all.Wait()
		if a, b := answers[0], answers[1]; a.IsError || b.IsError || a.Meta.Operation.Operation != b.Meta.Operation.Operation || a.Meta.Operation.Replayed == b.Meta.Operation.Replayed {
			t.Errorf("%+v\n%+v", a, b)
		}
	})
	t.Run("structured output passes the clients' own checks", func(t *testing.T) {
		for _, era := range []string{"old", "new"} {
			if r := ask(t, era, url, "everything.get-structured-content", `{"location":"New York"}`); r.Thrown != "" || len(r.Structured) == 0 {
				t.Errorf("%s: %+v", era, r)
			}
			if r := ask(t, era, url, "list", ``); len(r.Tools) < 10 {
				t.Errorf("%s is offered %+v", era, r)
			}
		}
	})
}

func TestInspectorCallsInBothEras(t *testing.T) {
	t.Parallel()
	url, files, _ := gateway(t)
	inspector, err := filepath.Abs(tools + "/node_modules/.bin/mcp-inspector")
	if err != nil {
		t.Fatal(err)
	}
	for i, era := range []string{"legacy", "modern"} {
		if out := run(t, tools, inspector, "--cli", url, "--transport", "http", "--protocol-era", era, "--method", "tools/list", "--format", "json"); !strings.Contains(out, "onceward_operation_status") {
			t.Errorf("%s lists %s", era, out)
		}
		out := run(t, tools, inspector, "--cli", url, "--transport", "http", "--protocol-era", era, "--method", "tools/call", "--tool-name", "files.write_file",
			"--tool-args-json", fmt.Sprintf(`{"path":%q,"content":"x"}`, files+"/i.txt"), "--tool-metadata", "io.github.onceward/key=inspected", "--format", "json")
		if !strings.Contains(out, "Successfully wrote") || strings.Contains(out, `"replayed"`) != (i > 0) {
			t.Errorf("%s is answered %s", era, out)
		}
	}
}

// verdict is a line of the suite's summary.
var verdict = regexp.MustCompile(`(?m)^. ([a-z0-9-]+): (\d+) passed, (\d+) failed$`)

// TestConformanceThroughTheGatewayIsNoWorseThanThatOfTheServerItself runs the
// protocol's suite against the SDK's example server, directly and through the
// gateway.
func TestConformanceThroughTheGatewayIsNoWorseThanThatOfTheServerItself(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	install := exec.Command("go", "install", "github.com/modelcontextprotocol/go-sdk/conformance/everything-server@v1.8.0")
	install.Env = append(os.Environ(), "GOBIN="+bin)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("build the example server: %v\n%s", err, out)
	}
	suite, err := filepath.Abs(tools + "/node_modules/.bin/conformance")
	if err != nil {
		t.Fatal(err)
	}
	for version, stateless := range map[string]bool{"2025-11-25": false, "2026-07-28": true} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			at := address(t)
			start(t, at, exec.Command(bin+"/everything-server", "-http", at, "-stateless="+strconv.FormatBool(stateless)))
			contract := filepath.Join(t.TempDir(), "suite.yaml")
			if err := os.WriteFile(contract, []byte(suiteContract(t, "http://"+at+"/mcp")), 0o600); err != nil {
				t.Fatal(err)
			}
			srv := proctest.NewServer(t, "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"), []string{contract})
			srv.Start("")
			type checks struct{ passed, failed int }
			verdicts := func(url string) (map[string]checks, int) {
				out := run(t, t.TempDir(), suite, "server", "--url", url, "--requirements", version)
				list, passed := map[string]checks{}, 0
				for _, m := range verdict.FindAllStringSubmatch(out, -1) {
					var c checks
					c.passed, _ = strconv.Atoi(m[2])
					c.failed, _ = strconv.Atoi(m[3])
					list[m[1]] = c
					passed += c.passed
				}
				return list, passed
			}
			direct, passed := verdicts("http://" + at + "/mcp")
			through, same := verdicts(srv.URL() + "/mcp/suite")
			if len(direct) < 30 || passed < 80 {
				t.Fatalf("the suite ran %d scenarios with %d checks", len(direct), passed)
			}
			for scenario, want := range direct { // the gateway has task handles, which that server has not
				if got := through[scenario]; got.passed < want.passed || got.failed > want.failed {
					t.Errorf("%s: %+v directly, %+v through the gateway", scenario, want, got)
				}
			}
			t.Logf("%d scenarios; %d checks pass directly, %d through the gateway", len(direct), passed, same)
		})
	}
}

// suiteContract lists every tool of the example server as one that only
// computes: the suite is about the protocol, and nothing there is an effect.
func suiteContract(t *testing.T, url string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: onceward/v1\nkind: MCPServer\nmetadata: {name: suite, owner: us}\nspec:\n  url: %s\n  tools:\n", url)
	raw, err := json.Marshal(ask(t, map[bool]string{true: "new", false: "old"}[strings.Contains(t.Name(), "2026")], url, "list", ""))
	if err != nil {
		t.Fatal(err)
	}
	var listed result
	if err := json.Unmarshal(raw, &listed); err != nil || len(listed.Tools) == 0 {
		t.Fatalf("the example server lists %s (%v)", raw, err)
	}
	names := []string{"__transient_tool_for_list_changed"} // comes and goes
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	for i, name := range names {
		fmt.Fprintf(&b, "    - {tool: %s, name: t%d, effect: compute}\n", name, i)
	}
	return b.String()
}
