//go:build !linux

package testbroker

import "os/exec"

func startChild(cmd *exec.Cmd) (*child, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, done: make(chan struct{})}
	go func() { _ = cmd.Wait(); close(c.done) }()
	return c, nil
}

func (*child) guard() error { return nil }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func as(*exec.Cmd, uint32, uint32) {}
