package testbroker

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

// startChild starts a process that dies with us, in a group of its own. That is
// tied to the thread that forked it, so that thread is kept.
func startChild(cmd *exec.Cmd) (*child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
	c, started := &child{cmd: cmd, done: make(chan struct{})}, make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(c.done)
		}
	}()
	return c, <-started
}

// guard ends a child's whole group when this process dies, however it dies: a child
// that has children of its own, as RabbitMQ's start script has, leaves them behind
// where only the child itself is told. It waits for the end of a pipe whose other
// end this process has alone.
func (c *child) guard() error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	watch := exec.CommandContext(context.Background(), "sh", "-c", "read _; kill -9 -- -"+strconv.Itoa(c.cmd.Process.Pid))
	watch.Stdin, watch.SysProcAttr = read, &syscall.SysProcAttr{Setpgid: true}
	if err := errors.Join(watch.Start(), read.Close()); err != nil {
		return errors.Join(err, write.Close())
	}
	c.unguard = func() {
		_ = watch.Process.Kill() // before the pipe ends: the group may be another one's by then
		_ = watch.Wait()
		_ = write.Close()
	}
	return nil
}

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// as lets the command run under an account.
func as(cmd *exec.Cmd, uid, gid uint32) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
}
