package main

import (
	"bytes"
	"context"
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
	sections  map[string][]string // commands by heading
	processes []*process          // in the order of the page
}

// process is a command that the page leaves running.
type process struct {
	*exec.Cmd
	done chan struct{}
}

var (
	guideHeading = regexp.MustCompile(`(?m)^## (.*)$`)
	guideBlock   = regexp.MustCompile("(?s)```sh\n(.*?)```")
	guideExit    = regexp.MustCompile(`\s+# exits (\d)$`)
	guideCurl    = regexp.MustCompile(`^curl (-X POST )?(?:-H "Authorization: Bearer \$\(cat (\S+)\)" )?(http\S+)$`)
	guidePsql    = regexp.MustCompile(`^psql "\$ONCEWARD_DB" -c "(.*)"$`)
)

// readGuide reads the commands of a page. What stands on the left of a pair is
// replaced by what stands on the right.
func readGuide(t *testing.T, name string, replace ...string) *guide {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	p := &guide{t: t, dir: t.TempDir(), sections: map[string][]string{}, env: map[string]string{"PATH": filepath.Dir(proctest.Binary(t)) + ":" + os.Getenv("PATH")}}
	if err := os.Symlink(examples, filepath.Join(p.dir, "examples")); err != nil {
		t.Fatal(err)
	}
	heads := guideHeading.FindAllSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		title := string(text[h[2]:h[3]])
		for _, block := range guideBlock.FindAllSubmatch(text[h[1]:end], -1) {
			commands := strings.NewReplacer(append([]string{"\\\n  ", ""}, replace...)...).Replace(string(block[1]))
			p.sections[title] = append(p.sections[title], strings.Split(strings.TrimSpace(commands), "\n")...)
		}
	}
	return p
}

// play runs the commands under a heading and returns what each printed.
func (p *guide) play(heading string) (printed []string) {
	p.t.Helper()
	commands, ok := p.sections[heading]
	if !ok {
		p.t.Fatalf("the page has no commands under %q", heading)
	}
	delete(p.sections, heading)
	for _, command := range commands {
		want := "0"
		if m := guideExit.FindStringSubmatch(command); m != nil {
			want, command = m[1], guideExit.ReplaceAllString(command, "")
		}
		out, code := p.run(command)
		if code != want {
			p.t.Fatalf("%s\nexits %s, want %s:\n%s", command, code, want, out)
		}
		printed = append(printed, out)
	}
	return printed
}

func (p *guide) run(command string) (printed, code string) {
	p.t.Helper()
	if variable, ok := strings.CutPrefix(command, "export "); ok {
		name, value, _ := strings.Cut(variable, "=")
		p.env[name] = value
		return "", "0"
	}
	if background, ok := strings.CutSuffix(command, " &"); ok {
		p.start(background)
		return "", "0"
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

// start starts a command of ours that stays, and waits until it answers.
func (p *guide) start(command string) {
	p.t.Helper()
	words := strings.Fields(command)
	at := slices.Index(words, "onceward")
	var log bytes.Buffer
	cmd := exec.CommandContext(context.Background(), proctest.Binary(p.t), words[at+1:]...) // Cleanup kills it
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, append(p.environ(), words[:at]...), &log, &log
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	running := &process{cmd, make(chan struct{})}
	p.processes = append(p.processes, running)
	go func() { _ = cmd.Wait(); close(running.done) }()
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-running.done
		if p.t.Failed() {
			p.t.Logf("%s said:\n%s", command, &log)
		}
	})
	path := map[string]string{"sim": "/", "serve": "/readyz"}[words[at+1]]
	address := "http://" + words[slices.Index(words, "--listen")+1] + path
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); <-time.After(20 * time.Millisecond) {
		res, err := http.Get(address) //nolint:noctx // bounded by the loop
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
	}
	p.t.Fatalf("%s does not answer", command)
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
