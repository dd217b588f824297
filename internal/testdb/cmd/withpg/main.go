//go:build unix

// Command withpg runs a command with a throw-away PostgreSQL around it:
//
//	withpg [-set name=value]... -- go test ./...
//
// The command finds the server's address in the environment as testdb.EnvDSN,
// and testneed.EnvRequire set to 1 unless it is set, so that no test skips itself. The server ends with
// the command, also after a failure or a signal, which the command is given
// first; so does a folder for the command's temporary files. If the address is
// already set, that server is used and none is started.
//
// Exit status: the command's own (128 + signal, if one ended it); 2 for wrong
// usage; 3 when there is no PostgreSQL or no room for it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/internal/testneed"
)

// Exit statuses of our own.
const (
	exitUsage     = 2
	exitNotSetUp  = 3
	exitNoCommand = 127 // the shell's
	exitSignalled = 128 // plus the signal's number
)

// passedOn are the signals that end us, in order, after the command.
var passedOn = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// settings collects repeated -set flags.
type settings []string

func (s *settings) String() string { return strings.Join(*s, " ") }

func (s *settings) Set(value string) error {
	if name, _, ok := strings.Cut(value, "="); !ok || name == "" {
		return errors.New("want name=value")
	}
	*s = append(*s, value)
	return nil
}

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run is main with its exit status as a value. The command has our standard
// streams; say is where withpg's own words go.
func run(args []string, say io.Writer) int {
	var set settings
	flags := flag.NewFlagSet("withpg", flag.ContinueOnError)
	flags.SetOutput(say)
	flags.Var(&set, "set", "PostgreSQL setting `name=value`; may be repeated")
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	if flags.NArg() == 0 {
		fmt.Fprintln(say, "usage: withpg [-set name=value]... -- command [argument]...")
		return exitUsage
	}
	signals := make(chan os.Signal, len(passedOn))
	signal.Notify(signals, passedOn...)
	defer signal.Stop(signals)
	if os.Getenv(testdb.EnvDSN) != "" {
		fmt.Fprintf(say, "withpg: %s is set: using that server, starting none\n", testdb.EnvDSN)
		return runCommand(flags.Args(), os.Environ(), signals, say)
	}
	return withServer(set, flags.Args(), signals, say)
}

// withServer runs the command between a server's start and its end.
func withServer(set settings, command []string, signals <-chan os.Signal, say io.Writer) int {
	log, err := os.CreateTemp("", "onceward-pg-*.log")
	if err != nil {
		fmt.Fprintf(say, "withpg: create log: %v\n", err)
		return exitNotSetUp
	}
	_ = log.Close() // empty; the server appends to it by name
	starting, stop := signal.NotifyContext(context.Background(), passedOn...)
	server, err := testdb.Open(starting, testdb.Options{Settings: set, LogPath: log.Name()})
	stop()
	if err != nil {
		_ = os.Remove(log.Name()) // the error quotes it
		fmt.Fprintf(say, "withpg: %v\n", err)
		return exitNotSetUp
	}
	status := withTemp(func(env []string) int {
		env = append(env, testdb.EnvDSN+"="+server.DSN())
		if os.Getenv(testneed.EnvRequire) == "" {
			env = append(env, testneed.EnvRequire+"=1")
		}
		return runCommand(command, env, signals, say)
	}, say)
	if err := server.Close(); err != nil {
		fmt.Fprintf(say, "withpg: %v\n", err)
		status = max(status, 1)
	}
	if status != 0 {
		fmt.Fprintf(say, "withpg: the command ended with status %d; PostgreSQL's log is %s\n", status, log.Name())
		return status
	}
	_ = os.Remove(log.Name()) // a log that nobody misses
	return 0
}

// withTemp runs something with an environment whose temporary folder is new and
// removed at the end: a test that is killed leaves its servers' data behind.
func withTemp(do func(env []string) int, say io.Writer) int {
	temp, err := os.MkdirTemp("", "onceward-test-")
	if err == nil {
		err = os.Chmod(temp, 0o711) // servers of the tests run as another account
	}
	if err != nil {
		fmt.Fprintf(say, "withpg: create temporary folder: %v\n", err)
		return exitNotSetUp
	}
	status := do(append(os.Environ(), "TMPDIR="+temp))
	if err := os.RemoveAll(temp); err != nil {
		fmt.Fprintf(say, "withpg: remove temporary folder: %v\n", err)
	}
	return status
}

// runCommand runs the command in a process group of its own and hands on our
// signals to all of it: the first as it is, any further one as SIGKILL.
func runCommand(command, env []string, signals <-chan os.Signal, say io.Writer) int {
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(say, "withpg: start command: %v\n", err)
		return exitNoCommand
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for kill := false; ; kill = true {
		select {
		case err := <-ended:
			return statusOf(err, say)
		case received := <-signals:
			pass, _ := received.(syscall.Signal)
			if kill {
				pass = syscall.SIGKILL
			}
			fmt.Fprintf(say, "withpg: %v: passing %v on to the command\n", received, pass)
			_ = syscall.Kill(-cmd.Process.Pid, pass) // a group that is gone needs no signal
		}
	}
}

// statusOf is the exit status that a command's end is reported with.
func statusOf(err error, say io.Writer) int {
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		fmt.Fprintf(say, "withpg: wait for command: %v\n", err)
		return exitNoCommand
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignalled + int(status.Signal())
	}
	return exit.ExitCode()
}
