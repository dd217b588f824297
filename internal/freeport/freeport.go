package freeport

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Why below 32768: from there on the kernel hands ports to outgoing
// connections (Linux, ip_local_port_range), and one of those could sit on ours
// before the program listens, or while it is down.
const low, high, tries = 20000, 32000, 100

var (
	mu    sync.Mutex
	given = map[int]bool{}
)

// Find returns a loopback port that nobody listens on and that this process
// was not given before.
func Find(ctx context.Context) (int, error) {
	mu.Lock()
	defer mu.Unlock()
	var lastErr error
	for range tries {
		port := low + rand.IntN(high-low)
		if given[port] {
			continue
		}
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address(port))
		if err != nil {
			lastErr = err
			continue
		}
		given[port] = true
		return port, l.Close()
	}
	return 0, fmt.Errorf("find a free port between %d and %d: %w", low, high, lastErr)
}

// Address returns the HOST:PORT of such a port.
func Address(ctx context.Context) (string, error) {
	port, err := Find(ctx)
	return address(port), err
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
