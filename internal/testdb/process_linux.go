package testdb

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is who a server runs as; nil is whoever runs the test.
type account = syscall.Credential

// serverAccount finds an unprivileged account when we are root, because
// postgres refuses to run as root.
func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(found.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(found.Gid, 10, 32)
		if err := errors.Join(errUID, errGID); err != nil {
			return nil, fmt.Errorf("read account %s: %w", name, err)
		}
		return &account{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("find an account for PostgreSQL, which refuses to run as root: there is neither postgres nor nobody")
}

// giveTo makes the account own a file or folder.
func giveTo(path string, as *account) error {
	if as == nil {
		return nil
	}
	return os.Chown(path, int(as.Uid), int(as.Gid))
}

// isolate sets the account, a process group of its own (a Ctrl-C at the
// terminal is for us; we then stop the server in order), and SIGQUIT, at which
// PostgreSQL stops at once, for the case that we die without stopping it.
func isolate(cmd *exec.Cmd, as *account) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
}

// killTree kills a process and its children with SIGKILL, so that none of them
// runs another instruction of its own. The parent is stopped first: a server
// that forks while its children are listed would leave one behind. It returns
// the children's ids.
func killTree(parent int) ([]int, error) {
	if err := syscall.Kill(parent, syscall.SIGSTOP); err != nil {
		return nil, fmt.Errorf("stop process %d: %w", parent, err)
	}
	children, err := childrenOf(parent)
	errs := []error{err}
	for _, pid := range children {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, fmt.Errorf("kill process %d: %w", pid, err))
		}
	}
	if err := syscall.Kill(parent, syscall.SIGKILL); err != nil {
		errs = append(errs, fmt.Errorf("kill process %d: %w", parent, err))
	}
	return children, errors.Join(errs...)
}

// childrenOf lists the processes whose parent is the given one.
func childrenOf(parent int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var children []int
	for _, path := range stats {
		state, ppid, ok := readStat(path)
		if !ok || ppid != parent || state == 'Z' {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return nil, fmt.Errorf("read process id in %s: %w", path, err)
		}
		children = append(children, pid)
	}
	return children, nil
}

// gone reports whether a process has ended; one that nobody has waited for yet
// has ended too.
func gone(pid int) bool {
	state, _, ok := readStat(fmt.Sprintf("/proc/%d/stat", pid))
	return !ok || state == 'Z' || state == 'X'
}

// readStat reads state and parent of a process; ok is false when it is gone.
// The line is "pid (name) state parent ...", and a name may hold anything.
func readStat(path string) (state byte, parent int, ok bool) {
	line, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, false
	}
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	if len(fields) < 2 {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(string(fields[1]))
	return fields[0][0], parent, err == nil
}
