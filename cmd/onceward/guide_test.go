package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/proctest"
)

// guide is a page of the documentation whose commands are run as they stand
// there, with other addresses, in a folder of their own.
type guide struct {
	t         *testing.T
	dir       string
	env       map[string]string
	replace   *strings.Replacer
	fill      func(command string) string // puts what the page leaves open into a command; nil: nothing
	words     bool                        // the commands have to be understood; what they find is open
	sections  map[string][]docBlock       // of commands, by heading
	processes []*process                  // in the order of the page
}

// process is a command that the page leaves running.
type process struct {
	*exec.Cmd
	address string // where it listens
	done    chan struct{}
}

var (
	guideExit    = regexp.MustCompile(`\s+# exits (\d)$`)
	guideCurl    = regexp.MustCompile(`^curl (-X POST )?(?:-H "Authorization: Bearer \$\(cat (\S+)\)" )?(http\S+)$`)
	guidePsql    = regexp.MustCompile(`^psql "\$ONCEWARD_DB" -c "(.*)"$`)
	guideMistake = regexp.MustCompile(`unknown (flag|command|shorthand)|accepts \d|requires at least|is missing|needs an argument|invalid argument`)
	guideStays   = regexp.MustCompile(`^(?:\w+=\S+ )*onceward (?:serve\b|sim\b|demo --keep\b)`)
)

// readGuide reads the commands of a page. What stands on the left of a pair is
// replaced by what stands on the right.
func readGuide(t *testing.T, name string, replace ...string) *guide {
	t.Helper()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	p := &guide{t: t, dir: t.TempDir(), replace: strings.NewReplacer(replace...), sections: map[string][]docBlock{},
		env: map[string]string{"PATH": filepath.Dir(proctest.Binary(t)) + ":" + os.Getenv("PATH")}}
	if err := os.Symlink(examples, filepath.Join(p.dir, "examples")); err != nil {
		t.Fatal(err)
	}
	for _, b := range readBlocks(t, name) {
		if b.lang == "sh" {
			p.sections[b.heading] = append(p.sections[b.heading], b)
		}
	}
	return p
}

// play runs the commands under a heading and returns what each printed.
func (p *guide) play(heading string) (printed []string) {
	p.t.Helper()
	blocks, ok := p.sections[heading]
	if !ok {
		p.t.Fatalf("the page has no commands under %q", heading)
	}
	delete(p.sections, heading)
	for i := range blocks {
		printed = append(printed, p.block(&blocks[i])...)
	}
	return printed
}

// block runs the commands of a block, each of which has to exit as the page says.
func (p *guide) block(b *docBlock) (printed []string) {
	p.t.Helper()
	for _, command := range b.commands() {
		want := "0"
		if m := guideExit.FindStringSubmatch(command); m != nil {
			want, command = m[1], guideExit.ReplaceAllString(command, "")
		}
		command = p.replace.Replace(command)
		if p.fill != nil {
			command = p.fill(command)
		}
		out, code := p.run(command)
		if p.words && code != "1" && !guideMistake.MatchString(out) {
			want = code
		}
		if code != want {
			p.t.Fatalf("%s:%d: %s\nexits %s, want %s:\n%s", b.page, b.line, command, code, want, out)
		}
		printed = append(printed, out)
	}
	return printed
}

func (p *guide) run(command string) (printed, code string) {
	p.t.Helper()
	if variable, ok := strings.CutPrefix(command, "export "); ok {
		name, _, _ := strings.Cut(variable, "=")
		value, code := p.shell("export " + variable + `; printf %s "$` + name + `"`)
		p.env[name] = value
		return "", code
	}
	if background, ok := strings.CutSuffix(command, " &"); ok || guideStays.MatchString(command) {
		return p.start(background), "0"
	}
	if m := guideCurl.FindStringSubmatch(command); m != nil {
		method := http.MethodGet
		if m[1] != "" {
			method = http.MethodPost
		}
		return string(p.ask(method, m[3], m[2])), "0"
	}
	if m := guidePsql.FindStringSubmatch(command); m != nil {
		return p.sql(m[1]), "0"
	}
	return p.shell(command)
}

func (p *guide) environ() []string {
	env := os.Environ()
	for _, name := range slices.Sorted(maps.Keys(p.env)) {
		env = append(env, name+"="+p.env[name])
	}
	return env
}

func (p *guide) shell(command string) (printed, code string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", "umask 077\n"+command)
	cmd.Dir, cmd.Env = p.dir, p.environ()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return string(out), "0"
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return string(out), string(rune('0' + exit.ExitCode()%10))
	}
	p.t.Fatalf("%s: %v\n%s", command, err, out)
	return "", ""
}

// start starts a command of ours that stays, in place of one that listens where
// it does, waits until it answers, and returns what it said until then.
func (p *guide) start(command string) string {
	p.t.Helper()
	words := strings.Fields(command)
	at := slices.Index(words, "onceward")
	address := p.listens(words)
	if !slices.Contains(words, "--listen") && words[at+1] == "sim" {
		words = append(words, "--listen", address)
	}
	for _, before := range p.processes {
		if before.address == address && before.alive() {
			before.signal(p.t, syscall.SIGTERM)
			before.ended(p.t)
		}
	}
	log := &proctest.Said{}
	words = slices.Insert(words, at, "exec")
	cmd := exec.CommandContext(context.Background(), "sh", "-c", strings.Join(words, " ")) // Cleanup kills it
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.environ(), log, log
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	running := &process{cmd, address, make(chan struct{})}
	p.processes = append(p.processes, running)
	go func() { _ = cmd.Wait(); close(running.done) }()
	p.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // whoever has processes of its own ends them
		select {
		case <-running.done:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-running.done
		}
		if p.t.Failed() {
			p.t.Logf("%s said:\n%s", command, log)
		}
	})
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until) && running.alive(); <-time.After(20 * time.Millisecond) {
		if p.answers(words, address, log) {
			return log.String()
		}
	}
	p.t.Fatalf("%s does not answer", command)
	return ""
}

// listens is where a command will listen: where it says, where the environment
// says, or, for the bundled provider, where the test has its address.
func (p *guide) listens(words []string) string {
	switch i := slices.Index(words, "--listen"); {
	case i >= 0:
		return words[i+1]
	case slices.Contains(words, "sim"):
		return p.replace.Replace("127.0.0.1:7070")
	}
	return p.env["ONCEWARD_LISTEN"]
}

// anyCertificate takes any certificate: the pages' own are nobody's.
var anyCertificate = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // #nosec G402 -- asks whether a server is up

// answers reports whether what was started is up.
func (p *guide) answers(words []string, address string, log *proctest.Said) bool {
	if slices.Contains(words, "demo") {
		return strings.Contains(log.String(), "Ctrl-C")
	}
	base, path := "http://"+address, "/readyz"
	if slices.Contains(words, "--tls-cert") {
		base = "https://" + address
	}
	if slices.Contains(words, "sim") {
		path = "/"
	}
	res, err := anyCertificate.Get(base + path) //nolint:noctx // bounded by the client
	if err != nil {
		return false
	}
	return res.Body.Close() == nil && res.StatusCode == http.StatusOK
}

func (p *process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// ended waits for the end of a process and returns how it came.
func (p *process) ended(t *testing.T) string {
	t.Helper()
	select {
	case <-p.done:
		return p.ProcessState.String()
	case <-time.After(30 * time.Second):
		return "it lives"
	}
}

func (p *process) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// ask makes one request, as the bearer of the token in a file if one is named.
func (p *guide) ask(method, address, tokenFile string) []byte {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, address, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if tokenFile != "" {
		token, err := os.ReadFile(filepath.Join(p.dir, tokenFile))
		if err != nil {
			p.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 {
		p.t.Fatalf("%s %s: %s %v\n%s", method, address, res.Status, err, body)
	}
	return body
}

// sql runs a statement of psql.
func (p *guide) sql(statement string) string {
	p.t.Helper()
	conn, err := pgx.Connect(p.t.Context(), p.env["ONCEWARD_DB"])
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	tag, err := conn.Exec(p.t.Context(), statement)
	if err != nil {
		p.t.Fatal(err)
	}
	return tag.String()
}
