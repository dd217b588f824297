package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/testdb"
)

// docStages make what a page takes for given: a ledger, files, a server with
// something in it. Pages that are not here take nothing for given.
var docStages = map[string]func(*guide){
	"docs/operating/access.md":    func(p *guide) { p.must("onceward migrate"); p.must(certificate) },
	"docs/operating/approvals.md": approvalsStage,
	"docs/operating/audit.md":     auditStage,
	"docs/operating/backup.md":    backupStage,
	"docs/operating/proxy.md":     proxyStage,
	"docs/operating/report.md":    func(p *guide) { p.write("drill.json", "{}"); p.serve("examples/sim") },
	"docs/operating/review.md":    reviewStage,
	"docs/operating/runs.md": func(p *guide) {
		p.write("mail.json", `{"subject":"It leaks"}`)
		p.must("mkdir contracts && cp examples/sim/*.yaml examples/contracts/workflow.yaml contracts/")
		p.serve("contracts")
	},
	"docs/operating/sagas.md":   func(p *guide) { p.serve("examples/sim") },
	"docs/operating/signoff.md": signOffStage,
	"docs/reference/cli.md":     cliStage,
}

const certificate = "openssl req -x509 -newkey ed25519 -nodes -subj /CN=onceward.example -days 2 -keyout tls.key -out tls.pem"

// must runs a command that belongs to no page.
func (p *guide) must(command string) string {
	p.t.Helper()
	out, code := p.run(p.replace.Replace(command))
	if code != "0" {
		p.t.Fatalf("%s exits %s:\n%s", command, code, out)
	}
	return out
}

func (p *guide) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// serve starts the bundled provider and a server with contracts.
func (p *guide) serve(contracts string, flags ...string) {
	p.t.Helper()
	p.must("onceward sim --log=false &")
	p.must("onceward serve --contracts " + contracts + " " + strings.Join(flags, " ") + " &")
}

// submit asks for an operation, and returns what the answer says of it.
func (p *guide) submit(tool, key, input string) (op struct {
	ID, Digest, State string
	Contract          string `json:"contract_version"`
}) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.env["ONCEWARD_SERVER"]+"/v1/tools/"+tool+"/call?wait=1s", strings.NewReader(input))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	answer := struct{ Operation any }{&op}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || op.ID == "" {
		p.t.Fatalf("%s is answered %s, %v", tool, res.Status, err)
	}
	return op
}

// approvalsStage has an operation that waits before each command: each answer is
// the last one for the operation that it is given to.
func approvalsStage(p *guide) {
	p.write("contracts/payouts.yaml", `apiVersion: onceward/v1
kind: Tool
metadata: {name: payouts.send, owner: finance}
spec:
  effect: unsafe_write
  request: {method: POST, url: '${env.SIM_URL}/payments', json: {amount: '${input.amount}', currency: EUR}}
  approval: {expires: 1h}
`)
	p.write("edited.json", `{"amount":50}`)
	p.serve("contracts")
	word := regexp.MustCompile(`\b(ID|D|V)\b`)
	p.fill = func(command string) string {
		if !strings.HasPrefix(command, "onceward approval") {
			return command
		}
		op := p.submit("payouts.send", strings.Fields(command)[2], `{"amount":500}`)
		return word.ReplaceAllStringFunc(command, func(w string) string {
			return map[string]string{"ID": op.ID, "D": op.Digest, "V": op.Contract}[w]
		})
	}
}

// auditStage has a trail on PostgreSQL that was signed once.
func auditStage(p *guide) {
	p.env["LEDGER_DSN"] = testdb.Postgres(p.t)
	p.must("openssl genpkey -algorithm ed25519 -out audit.pem")
	p.must("openssl pkey -in audit.pem -pubout -out audit.pub")
	p.serve("examples/sim", `--db "$LEDGER_DSN"`, "--audit-key file:audit.pem")
	p.submit("payments.create", "", `{"order_id":"o-1","amount":100,"currency":"EUR"}`)
	becomes(p.t, "the trail is signed", 30*time.Second, func() bool {
		return strings.Contains(string(p.ask(http.MethodGet, p.env["ONCEWARD_SERVER"]+"/v1/audit/checkpoints", "")), "signature")
	})
}

// backupStage has a ledger in SQLite, and on a PostgreSQL of the page's own with
// an empty database beside it.
func backupStage(p *guide) {
	server := testdb.Cluster(p.t, "wal_level=replica", "max_wal_senders=4")
	p.env["LEDGER"], p.env["CLUSTER"], p.env["NEW"] = server.DSN(), server.DSN(), server.Database(p.t, "restored")
	p.env["PATH"] += ":" + testdb.Folder(p.t)
	p.must(`onceward migrate --db "$LEDGER"`)
	p.must("onceward migrate")
}

func proxyStage(p *guide) {
	p.must("cp -r examples/upstreams upstreams")
	p.must("sed -i s/127.0.0.1:8731/" + proctest.FreeAddress(p.t) + "/ upstreams/stripe.yaml")
	for _, name := range []string{"GITHUB_URL", "MODEL_URL", "STRIPE_URL"} {
		p.env[name] = p.env["SIM_URL"]
	}
	p.env["GITHUB_TOKEN"], p.env["MODEL_KEY"] = "not a token", "not a key"
}

var (
	confirmed = regexp.MustCompile(`--plan (replay_\w+) --confirm "([^"]+)"`)
	anID      = regexp.MustCompile(`\bID\b`)
)

// reviewStage has a fax whose answer was lost; what a command leaves open is taken
// from what the one before it printed.
func reviewStage(p *guide) {
	p.serve("examples/sim")
	p.must(`curl -sf -X POST -H "Content-Type: application/json" -d '{"system":"fax","faults":[{"fault":"drop_before_commit"}]}' http://127.0.0.1:7070/faults`)
	op := p.submit("fax.send", "", `{"case_id":"c","to":"+49301234567","document":"d"}`)
	p.shell("onceward op watch " + op.ID) // until it waits for a person
	p.fill = func(command string) string {
		if strings.Contains(command, "replay_…") {
			dry := p.must("onceward replay run --dead --tool fax.send --dry-run --reason 'the line is repaired'")
			m := confirmed.FindStringSubmatch(dry)
			if m == nil {
				p.t.Fatalf("nothing is to be confirmed:\n%s", dry)
			}
			command = strings.NewReplacer("replay_…", m[1], "I accept …", m[2]).Replace(command)
		}
		return anID.ReplaceAllString(command, op.ID)
	}
}

// signOffStage has a version in force, and one that waits for both owners.
func signOffStage(p *guide) {
	const before = `apiVersion: onceward/v1
kind: Tool
metadata: {name: payouts.send, business_owner: operator, technical_owner: platform}
spec:
  effect: unsafe_write
  key: [input.id]
  request: {method: POST, url: '${env.SIM_URL}/payments', json: {amount: '${input.amount}'}}
`
	p.write("before/payouts.yaml", before)
	p.write("contracts/payouts.yaml", before)
	p.serve("contracts", "--sign-off required")
	p.write("contracts/payouts.yaml", before+"  on_unknown: abandon\n")
	p.processes[len(p.processes)-1].signal(p.t, syscall.SIGHUP)
	waits := regexp.MustCompile(`(\w{12}) +waits`)
	var version string
	becomes(p.t, "a version waits", 20*time.Second, func() bool {
		m := waits.FindStringSubmatch(p.must("onceward contract history payouts.send"))
		if m != nil {
			version = m[1]
		}
		return m != nil
	})
	p.fill = func(command string) string { return strings.ReplaceAll(command, "3f9a01c2d4e5", version) }
}

// cliStage has one of each thing that the examples of the commands name. They are
// run for their words: one may find that there is nothing of the kind, or that
// its sentence is another one, but must not be a mistake.
func cliStage(p *guide) {
	p.env["LEDGER_DSN"] = testdb.Postgres(p.t)
	p.must(`onceward migrate --db "$LEDGER_DSN"`)
	p.must("openssl genpkey -algorithm ed25519 -out audit.pem")
	p.must("openssl pkey -in audit.pem -pubout -out audit.pub")
	p.must("mkdir contracts")
	p.must("cp examples/sim/*.yaml examples/contracts/workflow.yaml contracts/")
	p.must("cp -r contracts before")
	p.must("mv before/tickets.create.yaml before/tickets.yaml")
	p.write("mail.json", `{"subject":"It leaks"}`)
	p.write("drill.json", "{}")
	p.write("steps.json", `[{"name":"charge","tool":"payments.create","input":{"order_id":"o-17","amount":4200,"currency":"EUR"}}]`)
	p.serve("contracts")
	op := p.submit("payments.create", "", `{"order_id":"o-1","amount":100,"currency":"EUR"}`)
	var run struct{ Run struct{ ID string } }
	if err := json.Unmarshal([]byte(p.must(`onceward run start inbox.triage --trigger mail-1 --input '{}' --json`)), &run); err != nil {
		p.t.Fatal(err)
	}
	p.words = true
	p.fill = func(command string) string {
		if strings.HasPrefix(command, "onceward serve --keys") {
			// What comes after it needs contracts, and a server without keys its own ledger.
			command += " --contracts contracts --db sqlite:encrypted.db"
		}
		if strings.Contains(command, "onceward contract init") {
			command = strings.ReplaceAll(command, "contracts/", "new-")
		}
		return strings.NewReplacer("op_…", op.ID, "run_…", run.Run.ID, "3f9a01c2d4e5", op.Contract, "contracts/tickets.yaml", "contracts/tickets.create.yaml",
			"ct_…", "ct_"+strings.Repeat("0", 26), "replay_…", "replay_"+strings.Repeat("0", 26)).Replace(command)
	}
}
