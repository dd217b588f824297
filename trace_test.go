package onceward_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// A trace is a situation told to the machine, in a file that a person can read:
// blocks of commands, "----", and what came of them. Times are written as time
// since the operation was created. With -update the outputs are written anew.
//
// The words are those of the events (see traceEvent); besides them there are
//
//	new CLASS [name=value ...]   an operation, under the policy of tracePolicy
//	wait DURATION                time passes

// TestEachTraceIsWhatTheMachineSays runs every file of testdata/trace.
func TestEachTraceIsWhatTheMachineSays(t *testing.T) {
	t.Parallel()
	for _, file := range traceFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			var tr trace
			got, err := tr.run(readFile(t, file))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, file, got)
		})
	}
}

func traceFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/trace/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	return files
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// traceReached adds the cells of the transition table that the traces reach.
func traceReached(t *testing.T, reached map[string]bool) {
	t.Helper()
	for _, file := range traceFiles(t) {
		tr := trace{reached: reached}
		if _, err := tr.run(readFile(t, file)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

// trace is a trace while it runs.
type trace struct {
	op      onceward.Operation
	began   time.Time // of the operation
	at      time.Time
	reached map[string]bool // cells reached, if anybody wants to know
	out     strings.Builder
}

// run tells the commands of a file and returns the file as it should be.
func (tr *trace) run(text string) (string, error) {
	tr.at = t0
	skipping := false // inside of the old output
	var block []string
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case line == "----":
			skipping = true
			if err := tr.block(block); err != nil {
				return "", fmt.Errorf("line %d: %w", i+1, err)
			}
			block = nil
		case skipping && line != "":
		case line == "":
			skipping = false
			tr.out.WriteString("\n")
		default:
			if !strings.HasPrefix(line, "#") {
				block = append(block, line)
			}
			fmt.Fprintln(&tr.out, line)
		}
	}
	if len(block) > 0 {
		return "", fmt.Errorf("commands without ---- at the end: %q", block)
	}
	return tr.out.String(), nil
}

// block tells some commands and writes what came of each, and the end.
func (tr *trace) block(commands []string) error {
	fmt.Fprintln(&tr.out, "----")
	for _, line := range commands {
		if err := tr.command(line); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	tr.show()
	return nil
}

func (tr *trace) command(line string) error {
	args, err := parseArgs(line)
	if err != nil {
		return err
	}
	switch args.word(0) {
	case "new":
		tr.began = tr.at
		tr.op, err = traceOperation(args, tr.at)
		return errOr(err, args)
	case "wait":
		d, err := time.ParseDuration(args.word(1))
		tr.at = tr.at.Add(d)
		return errOr(err, args)
	}
	ev, err := traceEvent(args, tr.op, tr.at)
	if err := errOr(err, args); err != nil {
		return err
	}
	tr.tell(ev)
	return nil
}

// tell applies an event and writes the transition and its consequences.
func (tr *trace) tell(ev onceward.Event) {
	after, out, err := onceward.Apply(tr.op, ev, tr.at)
	switch {
	case err != nil:
		var refusal *onceward.Error
		if !errors.As(err, &refusal) {
			panic(err)
		}
		fmt.Fprintf(&tr.out, "%s: refused, %s: %s\n", ev.Kind(), refusal.Code, refusal.Message)
		return
	case onceward.TransitionCell(ev.Kind(), tr.op.State).Ignored:
		fmt.Fprintf(&tr.out, "%s: ignored in %s\n", ev.Kind(), tr.op.State)
	default:
		fmt.Fprintf(&tr.out, "%s: %s -> %s\n", ev.Kind(), tr.op.State, after.State)
		if tr.reached != nil {
			tr.reached[fmt.Sprint(ev.Kind(), tr.op.State, after.State)] = true
		}
	}
	for _, c := range out {
		fmt.Fprintf(&tr.out, "  %s: %s\n", consequenceWord(c.Kind), c.Reason)
	}
	tr.op = after
}

func consequenceWord(k onceward.ConsequenceKind) string {
	switch k {
	case onceward.PauseTool:
		return "pause the tool"
	case onceward.RaiseAlarm:
		return "alarm"
	}
	return "?"
}

// show writes where the operation stands.
func (tr *trace) show() {
	o := &tr.op
	words := []string{tr.since(tr.at) + ": " + o.State.String()}
	add := func(is bool, format string, args ...any) {
		if is {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(o.Generation > 0, "generation %d", o.Generation)
	add(o.Retired, "retired")
	add(o.CancelRequested, "cancel requested")
	add(o.Broken, "broken")
	add(o.Parked != onceward.NotParked, "parked: %s", o.Parked)
	add(o.Reference != "", "reference %s", o.Reference)
	add(o.RefPending, "reference pending")
	add(o.Failure.Code != "", "failure %s", o.Failure.Code)
	add(o.ApprovalSpent, "approval spent")
	add(o.QuorumLeft() > 0 && len(o.Approval.Yeses) > 0, "%d more must approve", o.QuorumLeft())
	add(o.Approval.EditedBy != "", "edited by %s", o.Approval.EditedBy)
	add(o.Contract != "", "contract %s", o.Contract)
	add(o.Assigned.To != "", "assigned to %s", o.Assigned.To)
	add(o.ReviewReason != "", "asks a person: %s", o.ReviewReason)
	add(!o.DueAt.IsZero(), "due at %s", tr.since(o.DueAt))
	add(true, "next: %s", stepWord(o.NextStep(tr.at)))
	fmt.Fprintln(&tr.out, strings.Join(words, "; "))
	for i := range o.Attempts {
		tr.showAttempt(&o.Attempts[i])
	}
}

func (tr *trace) showAttempt(a *onceward.Attempt) {
	words := []string{fmt.Sprintf("  attempt %d of %s: %s", a.Number, a.Owner, a.Status)}
	if by := a.Settler.String(); by != "" {
		words[0] += " by " + by
	}
	if a.Status == onceward.StatusRunning {
		words = append(words, "lease until "+tr.since(a.LeaseUntil))
	}
	if a.Reference != "" {
		words = append(words, "reference "+a.Reference)
	}
	if a.Failure.Code != "" {
		words = append(words, a.Failure.Code)
	}
	if !a.LastByteAt.IsZero() {
		words = append(words, "last byte at "+tr.since(a.LastByteAt))
	}
	if a.Resend {
		words = append(words, "resend")
	}
	if a.Free {
		words = append(words, "free")
	}
	fmt.Fprintln(&tr.out, strings.Join(words, ", "))
}

// since writes an instant as time since the operation's begin, to the millisecond.
func (tr *trace) since(at time.Time) string {
	return at.Sub(tr.began).Truncate(time.Millisecond).String()
}

func stepWord(s onceward.Step) string {
	switch s {
	case onceward.StepNone:
		return "nothing"
	case onceward.StepStart:
		return "start"
	case onceward.StepExpire:
		return "expire"
	case onceward.StepProbe:
		return "probe"
	case onceward.StepResend:
		return "resend"
	case onceward.StepLapse:
		return "lapse"
	case onceward.StepEscalate:
		return "escalate"
	case onceward.StepCancel:
		return "cancel"
	case onceward.StepExpireApproval:
		return "expire approval"
	case onceward.StepRemind:
		return "remind"
	case onceward.StepReviewOverdue:
		return "review overdue"
	}
	return "?"
}

// traceArgs are a command's words and its name=value pairs. What nobody asks
// for is an error, so that no misspelt option is silently the default.
type traceArgs struct {
	words []string
	named map[string]string
	asked map[string]bool
	err   error
}

func parseArgs(line string) (*traceArgs, error) {
	a := &traceArgs{named: map[string]string{}, asked: map[string]bool{}}
	for f := range strings.FieldsSeq(line) {
		name, value, pair := strings.Cut(f, "=")
		if _, twice := a.named[name]; twice {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		if pair {
			a.named[name] = value
		} else {
			a.words = append(a.words, f)
		}
	}
	return a, nil
}

// word returns the nth word; "" if there is none.
func (a *traceArgs) word(n int) string {
	a.asked[fmt.Sprint(n)] = true
	if n < len(a.words) {
		return a.words[n]
	}
	return ""
}

// has reports whether a word is given anywhere after the first.
func (a *traceArgs) has(word string) bool {
	i := slices.Index(a.words, word)
	a.asked[fmt.Sprint(i)] = true
	return i > 0
}

// raw returns a value as it is written; "" if it is not given.
func (a *traceArgs) raw(name string) string {
	a.asked[name] = true
	return a.named[name]
}

// text returns a value with spaces for its underscores.
func (a *traceArgs) text(name, otherwise string) string {
	if v := a.raw(name); v != "" {
		return strings.ReplaceAll(v, "_", " ")
	}
	return otherwise
}

func (a *traceArgs) duration(name string, otherwise time.Duration) time.Duration {
	v := a.text(name, "")
	if v == "" {
		return otherwise
	}
	if v == "forever" {
		return onceward.KeyWindowForever
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		a.err = fmt.Errorf("%s: %w", name, err)
	}
	return d
}

func (a *traceArgs) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		a.err = err
	}
	return n
}

// errOr returns an error of reading the command, or what nobody asked for.
func errOr(err error, a *traceArgs) error {
	if err != nil {
		return err
	}
	if a.err != nil {
		return a.err
	}
	for i, w := range a.words {
		if !a.asked[fmt.Sprint(i)] {
			return fmt.Errorf("nobody knows what %q means here", w)
		}
	}
	for name := range a.named {
		if !a.asked[name] {
			return fmt.Errorf("nobody knows what %s= means here", name)
		}
	}
	return nil
}
