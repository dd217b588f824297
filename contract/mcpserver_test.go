package contract

import (
	"os"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

const filesServer = `apiVersion: onceward/v1
kind: MCPServer
metadata: {name: files, owner: us}
spec:
  command: [files-server, '/data/${env.REGION}']
  env: {API_KEY: '${secret.TOKEN}', REGION: '${env.REGION}'}
  unlisted: review
  tools:
    - tool: write_file
      effect: probed_write
      key: [input.path, input.version]
      tool_error: not_done
      probe: {tool: read_file, arguments: {path: '${input.path}'}, found: 'PROBE', settle: 1s}
    - tool: Get Sum
      effect: compute
`

func loadServer(t testing.TB, doc string) (*MCPServer, map[onceward.ToolName]*Tool) {
	t.Helper()
	doc = strings.Replace(doc, "PROBE", `${response.json.?isError.orValue(false) ? null : response.json}`, 1)
	file := t.TempDir() + "/server.yaml"
	if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := LoadDir([]string{file}, testOptions())
	if err != nil {
		t.Fatalf("load: %v %s", err, strings.Join(problemsOf(t, doc), "\n"))
	}
	if len(set.MCPServers()) != 1 {
		t.Fatalf("%d servers", len(set.MCPServers()))
	}
	tools := map[onceward.ToolName]*Tool{}
	for _, tool := range set.Tools() {
		tools[tool.Info().Name] = tool
	}
	return set.MCPServers()[0], tools
}

func TestListedToolsOfAServerAreContracts(t *testing.T) {
	t.Parallel()
	s, tools := loadServer(t, filesServer)
	if env, err := s.Env(); err != nil || strings.Join(env, " ") != "API_KEY=s3cr3t-token-value REGION=eu" || s.Command()[1] != "/data/eu" || s.Unlisted() != UnlistedToolsReview {
		t.Errorf("the server has %v (%v), %v, %s", env, err, s.Command(), s.Unlisted())
	}
	if got := strings.Join(s.SecretEnv(), " "); got != "API_KEY" {
		t.Errorf("the variables with secrets are %q", got)
	}
	write := tools["files.write_file"]
	if write == nil || tools["files.get-sum"] == nil || tools["files.unlisted"] == nil || len(tools) != 3 {
		t.Fatalf("the tools are %v", tools)
	}
	if i := write.Info(); i.MCP != (onceward.MCPTool{Server: "files", Tool: "write_file"}) || i.TechnicalOwner != "us" || i.Policy.Deadline.String() != "30s" || i.KeyRule == "" {
		t.Errorf("the contract says %+v", i)
	}
	input := `{"path":"a","version":1.50,"text":"<&>"}`
	p, err := write.Prepare(&onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "files.write_file", Input: []byte(input)}, 0)
	if err != nil || p.Request.URL != "mcp://files/write_file" || string(p.Request.Body) != input || len(p.Request.Header) != 0 {
		t.Errorf("the call is %+v (%v)", p.Request, err)
	}
	if i := tools["files.get-sum"].Info(); i.MCP.Tool != "Get Sum" {
		t.Errorf("the tool is %q at its server", i.MCP.Tool)
	}
	p, err = tools["files.unlisted"].Prepare(&onceward.Intent{Principal: onceward.LocalPrincipal(), CallerKey: "k", Input: []byte(`{"tool":"move/it","arguments":{"a":1}}`)}, 0)
	if err != nil || p.Request.URL != "mcp://files/move%2Fit" || string(p.Request.Body) != `{"a":1}` || !p.Approval {
		t.Errorf("a tool without a contract is called by %+v (%v)", p, err)
	}
	// What the ledger stores is enough to compile the contract again.
	again, err := Compiler(testOptions())("files.write_file", write.Info().Source)
	if err != nil || again.Info().Version != write.Info().Version {
		t.Errorf("the stored contract: %v", err)
	}
}

func TestDefinitionIsPartOfTheVersion(t *testing.T) {
	t.Parallel()
	_, tools := loadServer(t, filesServer)
	digest := strings.Repeat("ab", 32)
	_, pinned := loadServer(t, strings.Replace(filesServer, "tool_error:", "definition: "+digest+"\n      tool_error:", 1))
	if pinned["files.write_file"].Info().Version == tools["files.write_file"].Info().Version {
		t.Error("an approval for one definition would hold for another")
	}
	p, err := pinned["files.write_file"].Prepare(&onceward.Intent{Principal: onceward.LocalPrincipal(), Input: []byte(`{"path":"a","version":1}`)}, 0)
	if err != nil || len(p.Request.Header) != 1 || p.Request.Header[0] != (onceward.HeaderField{Name: onceward.DefinitionHeader, Value: digest}) {
		t.Errorf("the call is %+v (%v)", p.Request, err)
	}
}

func TestAnswerOfAToolIsJudgedByWhatItProves(t *testing.T) {
	t.Parallel()
	_, tools := loadServer(t, filesServer)
	_, careful := loadServer(t, strings.Replace(filesServer, "      tool_error: not_done\n", "", 1))
	op := &onceward.Operation{Input: []byte(`{"path":"a","version":1}`)}
	for _, c := range []struct {
		body   string
		status int
		want   onceward.Verdict
		write  *Tool
	}{
		{`{"content":[]}`, 200, onceward.VerdictDone, tools["files.write_file"]},
		{`{"content":[{"type":"text","text":"no room"}],"isError":true}`, 200, onceward.VerdictNotDone, tools["files.write_file"]},
		{`{"content":[{"type":"text","text":"no room"}],"isError":true}`, 200, onceward.VerdictUnknown, careful["files.write_file"]},
		{`{"content":[],"isError":true}`, 200, onceward.VerdictDone, tools["files.get-sum"]}, // of a read, it is the answer
		{`{"error":{"code":-32602,"message":"x"}}`, 200, onceward.VerdictNotDone, tools["files.write_file"]},
		{`{"error":{"code":-32603,"message":"x"}}`, 200, onceward.VerdictUnknown, tools["files.write_file"]},
		{`{"resultType":"input_required","inputRequests":{}}`, 200, onceward.VerdictUnknown, tools["files.write_file"]},
		{`{"task":{"taskId":"t","status":"working"}}`, 200, onceward.VerdictUnknown, tools["files.write_file"]},
		{`nonsense`, 200, onceward.VerdictUnknown, tools["files.write_file"]},
		{``, 401, onceward.VerdictUnknown, tools["files.write_file"]},
		{``, 404, onceward.VerdictUnknown, tools["files.write_file"]},
		{``, 400, onceward.VerdictUnknown, tools["files.write_file"]},
		{``, 429, onceward.VerdictUnknown, tools["files.write_file"]},
		{``, 503, onceward.VerdictUnknown, tools["files.write_file"]},
	} {
		j := c.write.Judge(op, &onceward.Evidence{Status: c.status, Body: []byte(c.body), Reach: onceward.ReachFirstByte})
		if j.Verdict != c.want {
			t.Errorf("%d %s is %s (%s), want %s", c.status, c.body, j.Verdict, j.Rule, c.want)
		}
	}
	j := tools["files.write_file"].Judge(op, &onceward.Evidence{Status: 200, Body: []byte(`{"content":[{"type":"text","text":"no room"}],"isError":true}`)})
	if j.Failure.Message != "no room" || j.Failure.Code != "tool_error" {
		t.Errorf("a model is told %+v", j.Failure)
	}
}

func TestBrokenServerIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	for broken, want := range map[string]string{
		strings.Replace(filesServer, "command: [files-server, '/data/${env.REGION}']", "url: https://x/mcp", 1):          "env and dir are for a command",
		strings.Replace(filesServer, "  command: [files-server, '/data/${env.REGION}']\n", "", 1):                        "either command or url",
		strings.Replace(filesServer, "'${env.REGION}'", "'${operation.id}'", 1):                                          "only env and secret stand here",
		strings.Replace(filesServer, "effect: probed_write", "effect: keyed_write", 1):                                   "spec.tools[0].effect: a keyed write needs provider_key",
		strings.Replace(filesServer, "tool: Get Sum", "tool: Write_File", 1):                                             "the name write_file is taken",
		strings.Replace(filesServer, "key: [input.path, input.version]", "request: {method: POST, url: 'https://x'}", 1): "there is no such field",
		strings.Replace(filesServer, "tool_error: not_done", "definition: abc", 1):                                       "64 lower-case hexadecimal digits",
		strings.Replace(filesServer, "/data/${env.REGION}", "${input.path}", 1):                                          "only env stands here",
		testHead + "  effect: read\n  request: {method: GET, url: 'mcp://files/x'}\n":                                    "a call of a tool is a POST with json",
		testHead + "  effect: read\n  request: {method: POST, url: 'mcp://files/x', json: {}, headers: {A: b}}\n":        "a call of a tool has no headers",
	} {
		got := strings.Join(problemsOf(t, strings.Replace(broken, "PROBE", "${response.json}", 1)), "\n")
		if !strings.Contains(got, want) || !strings.Contains(got, "f.yaml:") {
			t.Errorf("want %q, got %s", want, got)
		}
	}
}
