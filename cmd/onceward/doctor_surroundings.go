package main

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward/contract"
)

// reachWithin is how long a host may take to be found and to take a connection.
const reachWithin = 3 * time.Second

// examineEgress asks whether the hosts of the contracts can be reached from here.
// A connection is opened and closed; not a byte is sent.
func examineEgress(ctx context.Context, tools []*contract.Tool, add func(check)) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		if os.Getenv(name) != "" {
			add(check{Name: "egress", Status: "warning", Detail: name + " is set, and is not used: providers are talked to directly",
				Fix: "let this machine reach the providers, or unset it"})
			break
		}
	}
	for _, origin := range originsOf(tools) {
		if err := reach(ctx, origin); err != nil {
			add(check{Name: "egress", Status: "warning", Detail: fmt.Sprintf("%s cannot be reached from here: %v", origin, err),
				Fix: "attempts at it would not be done, and be tried again: open the way, or correct the contract"})
			continue
		}
		add(check{Name: "egress", Status: "ok", Detail: origin + " takes connections"})
	}
}

// originsOf lists what the tools talk to over HTTP, each once.
func originsOf(tools []*contract.Tool) []string {
	var all []string
	for _, t := range tools {
		for _, origin := range t.Origins() {
			if strings.HasPrefix(origin, "http") && !slices.Contains(all, origin) {
				all = append(all, origin)
			}
		}
	}
	slices.Sort(all)
	return all
}

func reach(ctx context.Context, origin string) error {
	u, err := url.Parse(origin)
	if err != nil {
		return err
	}
	port := u.Port()
	if port == "" {
		port = u.Scheme // a service's name is as good as its number
	}
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return err
	}
	return conn.Close()
}

// forAll are the rights of a file that every account may use.
const forAll fs.FileMode = 0o007

// openToAll reports whether every account of the machine may use a file, as far as
// its mode tells: on Windows it tells nothing.
func openToAll(path string) (mode fs.FileMode, open bool) {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" {
		return 0, false
	}
	return info.Mode().Perm(), info.Mode().Perm()&forAll != 0
}

// examineFile asks who may use the files of an SQLite ledger.
func examineFile(db string, add func(check)) {
	if strings.Contains(db, "://") {
		return
	}
	const mayWrite fs.FileMode = 0o002
	// No row stands in the index of the log, -shm: who may only read it learns nothing.
	for _, f := range []struct {
		suffix string
		rights fs.FileMode
	}{{"", forAll}, {"-wal", forAll}, {"-shm", mayWrite}} {
		path := strings.TrimPrefix(db, "sqlite:") + f.suffix
		if mode, open := openToAll(path); open && mode&f.rights != 0 {
			add(check{Name: "ledger", Status: "warning", Detail: fmt.Sprintf("its mode lets every account of this machine use %s (%04o)", path, mode), Fix: "chmod o= " + path})
		}
	}
}

// examineSecrets asks who may read the files in which secrets stand. That they are
// there, the load of the contracts has found out.
func examineSecrets(tools []*contract.Tool, add func(check)) {
	names, files := map[string]bool{}, 0
	for _, t := range tools {
		for _, name := range t.SecretNames() {
			path := os.Getenv(name + "_FILE")
			if names[name] || path == "" {
				names[name] = true
				continue
			}
			names[name] = true
			files++
			if mode, open := openToAll(path); open {
				add(check{Name: "secrets", Status: "warning", Detail: fmt.Sprintf("its mode lets every account of this machine use the file of %s (%04o)", name, mode),
					Fix: "chmod o= on the file that " + name + "_FILE names"})
			}
		}
	}
	if len(names) > 0 {
		add(check{Name: "secrets", Status: "ok", Detail: fmt.Sprintf("%s, %d from files and the others from the environment", plural(len(names), "secret"), files)})
	}
}
