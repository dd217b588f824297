package testbroker

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/onceward/onceward/internal/testneed"
)

// rabbitServer is where Debian's package has the program. The one in PATH is a
// wrapper that looks at who calls it.
const rabbitServer = "/usr/lib/rabbitmq/bin/rabbitmq-server"

// RabbitMQ starts a RabbitMQ server with a node name, ports, folders and a port
// mapper (epmd) of its own.
func RabbitMQ(tb testing.TB) *Broker {
	tb.Helper()
	if _, err := os.Stat(rabbitServer); err != nil {
		testneed.Missing(tb, "RabbitMQ is not here: apt-get install rabbitmq-server (as .ci/run does)")
	}
	r := &rabbit{dir: tb.TempDir(), port: port(tb), dist: port(tb), epmd: port(tb)}
	if err := r.ownFolder(); err != nil {
		tb.Fatal(err)
	}
	mapper := r.command("epmd", "-port", strconv.Itoa(r.epmd), "-address", "127.0.0.1")
	c, err := startChild(mapper)
	if err != nil {
		tb.Fatalf("start epmd: %v", err)
	}
	tb.Cleanup(c.kill)
	if err := listening(tb.Context(), address(r.epmd), c); err != nil {
		tb.Fatalf("start epmd: %v", err)
	}
	addr := address(r.port)
	return run(tb, &Broker{URL: "amqp://guest:guest@" + addr + "/", Addr: addr, start: func() (*child, error) {
		c, err := startChild(r.command(rabbitServer))
		if err != nil {
			return nil, err
		}
		if err = c.guard(); err == nil {
			err = listening(tb.Context(), addr, c)
		}
		if err != nil {
			c.kill()
			return nil, err
		}
		return c, nil
	}})
}

type rabbit struct {
	dir              string
	port, dist, epmd int
	root             bool
	uid, gid         uint32
}

// ownFolder gives the folder to the server's account where we are root.
func (r *rabbit) ownFolder() error {
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("rabbitmq")
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return err
	}
	r.root, r.uid, r.gid = true, uint32(uid), uint32(gid)
	for dir := r.dir; len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
	}
	return os.Chown(r.dir, uid, gid)
}

func (r *rabbit) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), name, args...) // whoever starts it kills it
	in := func(name string) string { return filepath.Join(r.dir, name) }
	cmd.Env = append(os.Environ(), "HOME="+r.dir, "RABBITMQ_MNESIA_BASE="+in("mnesia"), "RABBITMQ_LOG_BASE="+in("log"), "RABBITMQ_NODENAME=onceward"+strconv.Itoa(r.port)+"@localhost",
		"RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", "RABBITMQ_NODE_PORT="+strconv.Itoa(r.port), "RABBITMQ_DIST_PORT="+strconv.Itoa(r.dist), "RABBITMQ_PID_FILE="+in("pid"),
		"RABBITMQ_ENABLED_PLUGINS_FILE="+in("plugins"), "RABBITMQ_CONFIG_FILE="+in("rabbitmq"), "RABBITMQ_CONF_ENV_FILE="+in("none"),
		"ERL_EPMD_ADDRESS=127.0.0.1", "ERL_EPMD_PORT="+strconv.Itoa(r.epmd))
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.dir, discard, discard
	if r.root {
		as(cmd, r.uid, r.gid)
	}
	return cmd
}
