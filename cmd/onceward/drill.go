package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/drill"
	"github.com/onceward/onceward/provider/httpcall"
)

// drillFlags are the flags of onceward drill.
type drillFlags struct {
	demo, yes, list            bool
	input, out, db             string
	keyField, material, reword string
	only                       []string
	lateness, answer           time.Duration
	scale                      float64
	parallel                   int
}

func newDrill() *cobra.Command {
	var f drillFlags
	c := &cobra.Command{
		Use: "drill [TOOL]", Short: "Find out whether a contract survives duplicates, lost answers, late commits and crashes", Args: cobra.MaximumNArgs(1),
		Long: "Runs real servers under a copy of your contract, with a proxy between them and your sandbox that breaks\n" +
			"what can break, kills them at crash points, and counts effects by the contract's own look-up.\n" +
			"Nothing is drilled at a host that the contract does not name under sandbox.hosts, and the first write is\n" +
			"asked for. Each failure names the line of the contract to change. The guide: docs/operating/drill.md.\n\n" +
			"Exit codes: 0 all as promised, 8 a promise is not kept, 1 a scenario could not be carried out, 2 refused: no\n" +
			"sandbox, no --yes, no usable input.",
		Example:     "  onceward drill --demo\n  onceward drill tickets.create --contracts ./contracts --input example.json --out drill-report",
		Annotations: map[string]string{noRun: "takes minutes; the tests of the drill run its scenarios"},
		RunE:        func(c *cobra.Command, args []string) error { return runDrill(c, args, &f) },
	}
	contractsFlag(c)
	fl := c.Flags()
	fl.BoolVar(&f.demo, "demo", false, "drill the five contracts of examples/sim that create something, at the bundled provider")
	fl.BoolVar(&f.yes, "yes", false, "do not ask before the first write")
	fl.BoolVar(&f.list, "list", false, "list the scenarios and drill nothing")
	fl.StringVar(&f.input, "input", "", "file with an example input of the tool, as JSON")
	fl.StringVar(&f.out, "out", "", "folder for report.json, junit.xml and report.html")
	fl.StringVar(&f.db, "db", "", "PostgreSQL database (postgres://…) in which each scenario gets a schema of its own; default: SQLite in a temporary folder")
	fl.StringSliceVar(&f.only, "scenario", nil, "drill these only: names, or what stands before their slash")
	fl.DurationVar(&f.lateness, "provider-lateness", 0, "how late an effect of the provider can appear at worst (default: the contract's sandbox.lateness)")
	fl.DurationVar(&f.answer, "answer-within", 2*time.Second, "the provider's slowest normal answer; deadlines are not scaled below it")
	fl.Float64Var(&f.scale, "scale", 0, "divide the contract's waits by this (default: so that they come to about five seconds)")
	fl.IntVar(&f.parallel, "parallel", 0, "scenarios at a time (default: 12 in the demonstration, else 4: a sandbox has limits)")
	fl.StringVar(&f.keyField, "key-field", "", "input field that carries the drill's mark (default: found by trying)")
	fl.StringVar(&f.material, "material", "", "input field that means another intention (default: found by trying)")
	fl.StringVar(&f.reword, "volatile", "", "input field that is reworded (default: found by trying)")
	return c
}

func runDrill(c *cobra.Command, args []string, f *drillFlags) error {
	if f.list {
		return listScenarios(c.OutOrStdout())
	}
	if _, err := drill.Select(f.only); err != nil {
		return err
	}
	if err := f.check(c); err != nil {
		return err
	}
	opts, err := drillOptions(c, args, f)
	if err != nil {
		return err
	}
	if err := drill.Check(*opts); err != nil {
		return err
	}
	if f.out != "" {
		if err := drill.CanWrite(f.out); err != nil {
			return usageError("no report can be written to --out %s: %v", f.out, err)
		}
	}
	if !f.demo {
		if err := askBefore(c, opts, f); err != nil {
			return err
		}
	}
	said := c.ErrOrStderr()
	opts.Progress = func(done, of int, row drill.Row) {
		fmt.Fprintf(said, "[%d/%d] %s %s: %s\n", done, of, row.Tool, row.Scenario, row.Verdict)
	}
	report, err := drill.Run(c.Context(), *opts)
	if report == nil {
		return err
	}
	report.Demo = f.demo
	shown := showDrill(c, report, f)
	if err != nil { // stopped: what was left behind has been said
		return &exitError{code: exitOther, err: fmt.Errorf("the drill was stopped: %w", err)}
	}
	return shown
}

// check refuses values that mean nothing. Zero, where it stands for "chosen", is
// refused too if somebody wrote it.
func (f *drillFlags) check(c *cobra.Command) error {
	given := c.Flags().Changed
	switch {
	case given("provider-lateness") && f.lateness < 0:
		return usageError("--provider-lateness cannot be negative: it is %s", f.lateness)
	case given("scale") && !(f.scale > 0 && f.scale <= math.MaxFloat64):
		return usageError("--scale has to be greater than 0: it is %g", f.scale)
	case given("parallel") && f.parallel < 1:
		return usageError("--parallel has to be at least 1: it is %d", f.parallel)
	case given("answer-within") && f.answer <= 0:
		return usageError("--answer-within has to be greater than 0: it is %s", f.answer)
	}
	if !f.demo {
		return nil
	}
	for _, name := range []string{"input", "key-field", "material", "volatile", "provider-lateness", "answer-within"} {
		if given(name) {
			return usageError("--%s is for a contract of your own: --demo brings what it drills", name)
		}
	}
	return nil
}

// showDrill prints the report, writes its files, and ends as the verdicts say.
func showDrill(c *cobra.Command, r *drill.Report, f *drillFlags) error {
	show := r.WriteTable
	if wantsJSON(c) {
		show = r.WriteJSON
	}
	if err := show(c.OutOrStdout()); err != nil {
		return err
	}
	if f.out != "" {
		if err := r.WriteFiles(f.out); err != nil {
			return err
		}
		fmt.Fprintf(c.ErrOrStderr(), "reports in %s: %s, %s, %s\n", f.out, drill.HTMLFile, drill.JUnitFile, drill.JSONFile)
	}
	switch {
	case r.Totals[drill.Broken] > 0:
		return &exitError{code: exitBroken, err: fmt.Errorf("%d of %d scenarios are not as promised", r.Totals[drill.Broken], len(r.Rows))}
	case r.Totals[drill.Trouble] > 0:
		return &exitError{code: exitOther, err: fmt.Errorf("%d of %d scenarios could not be carried out", r.Totals[drill.Trouble], len(r.Rows))}
	}
	return nil
}

func listScenarios(out io.Writer) error {
	w := newTable(out)
	for _, sc := range drill.Scenarios {
		fmt.Fprintf(w, "%s\t%s\n", sc.Name, sc.Title)
	}
	return w.Flush()
}

// drillOptions gathers what is drilled, and with what.
func drillOptions(c *cobra.Command, args []string, f *drillFlags) (*drill.Options, error) {
	opts := &drill.Options{
		Contracts: contractOptions(), Parallel: f.parallel, Only: f.only, RunID: strings.ToLower(rand.Text()[:6]),
		Launch: launchServer, Provider: httpcall.New(httpcall.Options{Version: versionText(), IdlePerHost: -1}),
	}
	if err := drillLedger(opts, f.db); err != nil {
		return nil, err
	}
	if f.demo {
		opts.Parallel = cmp.Or(f.parallel, 12)
		return opts, demoSubjects(opts, args, f)
	}
	tool, err := drilledTool(c, args)
	if err != nil {
		return nil, err
	}
	if strangers := tool.Strangers(); len(strangers) > 0 {
		line, _ := tool.FieldLine("spec")
		return nil, &exitError{code: exitUsage, err: fmt.Errorf("nothing is drilled: %s goes to %s, which it does not name as sandbox\n  if that is a sandbox, add to spec (%s:%d): sandbox: {hosts: [%s]}",
			tool.Info().Name, strings.Join(strangers, ", "), tool.File(), line, strings.Join(strangers, ", "))}
	}
	if f.input == "" {
		return nil, usageError("an example input of %s is needed: --input FILE", tool.Info().Name)
	}
	input, err := os.ReadFile(f.input)
	if err != nil {
		return nil, usageError("the example input cannot be read: %v", err)
	}
	s := drill.Subject{Tool: tool, Input: input, KeyField: f.keyField, Material: f.material, Volatile: f.reword, AnswerWithin: f.answer, Scale: f.scale}
	if box, _ := tool.Sandbox(); box.Lateness > 0 {
		s.Lateness = drill.Lateness{Worst: box.Lateness, Known: true}
	}
	if c.Flags().Changed("provider-lateness") {
		s.Lateness = drill.Lateness{Worst: f.lateness, Known: true}
	}
	opts.Subjects = []drill.Subject{s}
	return opts, nil
}

// drilledTool finds the contract: the one named, or the only one.
func drilledTool(c *cobra.Command, args []string) (*contract.Tool, error) {
	cfg, err := loadConfig(c)
	if err != nil {
		return nil, err
	}
	if len(cfg.Contracts) == 0 {
		return nil, usageError("which contract? give --contracts FILE, or --demo")
	}
	set, err := contract.LoadDir(cfg.Contracts, contractOptions())
	if err != nil {
		return nil, err
	}
	if len(args) == 0 && len(set.Tools()) == 1 {
		return set.Tools()[0], nil
	}
	if len(args) == 0 {
		return nil, usageError("these files hold %d contracts: name one", len(set.Tools()))
	}
	tool, found := set.Tool(onceward.ToolName(args[0]))
	if !found {
		return nil, &onceward.Error{Code: onceward.CodeToolNotFound, Message: fmt.Sprintf("no contract named %q in these files", args[0]), Hint: "onceward contract list shows the names"}
	}
	return tool, nil
}

// askBefore says what is about to be written, and where, and wants a yes.
func askBefore(c *cobra.Command, opts *drill.Options, f *drillFlags) error {
	scenarios, err := drill.Select(f.only)
	if err != nil {
		return err
	}
	tool := opts.Subjects[0].Tool
	out := c.ErrOrStderr()
	fmt.Fprintf(out, "%s (%s, %s:%d) is about to be drilled: up to %d scenarios, each with one intention\n", tool.Info().Name, tool.Info().Policy.Effect, tool.File(), tool.Line(), len(scenarios))
	fmt.Fprintf(out, "that WRITES to %s, more than once where the contract does not hold. What is written\ncarries drill-%s and is left there.\n", strings.Join(tool.Origins(), ", "), opts.RunID)
	if f.yes {
		return nil
	}
	fmt.Fprint(out, "Go on? Type yes: ")
	line, err := readLine(c.Context(), c.InOrStdin())
	if err != nil {
		fmt.Fprintln(out)
		return usageError("nobody said yes, and nothing was written: answer at a terminal, or give --yes")
	}
	if strings.TrimSpace(line) != "yes" {
		return &exitError{code: exitUsage, err: errors.New("nothing was written")}
	}
	return nil
}

// readLine reads an answer, or ends with ctx.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := bufio.NewReader(in).ReadString('\n')
		got <- read{line, err}
	}()
	select {
	case r := <-got:
		if r.line != "" {
			return r.line, nil
		}
		return "", r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
