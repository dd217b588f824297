package testdb

import (
	"os/exec"
	"runtime"
)

// process is a running child. Its end is seen by whoever waits for done.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended and was waited for
	err  error         // how it ended; read only after done
}

// startProcess starts cmd and watches it. The child is meant to die with us
// (see isolate), which Linux ties to the thread that forked it: so that thread
// is kept, waiting, until the child has ended.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// running reports whether the process has not been seen to end.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}
