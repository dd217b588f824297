package faultproxy

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// Proxy passes connections on to one address, with faults. It is safe for
// concurrent use.
type Proxy struct {
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu       sync.Mutex
	upstream string
	queue    []Fault
	links    map[*link]bool
	opened   int
	struck   int
	notify   chan struct{} // closed and renewed whenever struck grows
	heal     chan struct{} // not nil: a partition; closed by Heal
	only     bool          // of a partition: it holds answers only
	bytes    [2]int64
}

// Start listens on a free loopback port and passes connections to upstream
// (host:port). Close ends it.
func Start(upstream string) (*Proxy, error) {
	ctx, cancel := context.WithCancel(context.Background())
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		return nil, fmt.Errorf("listen for fault proxy: %w", err)
	}
	p := &Proxy{upstream: upstream, listener: l, ctx: ctx, cancel: cancel, links: make(map[*link]bool), notify: make(chan struct{})}
	p.running.Go(p.accept)
	return p, nil
}

// Addr is the host:port that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Next queues faults: each is used for one of the next connections, in order.
func (p *Proxy) Next(faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, faults...)
}

// Partition stops all bytes in both directions, of present and later
// connections, until Heal. Nothing is closed and nothing is lost, except what
// was sent by a side that has meanwhile reset its connection: a network would
// not deliver that either.
func (p *Proxy) Partition() { p.part(false) }

// PartitionAnswers is Partition in one direction: what clients send arrives and
// is worked on, and nobody hears of it until Heal, or never after ResetAll.
func (p *Proxy) PartitionAnswers() { p.part(true) }

func (p *Proxy) part(only bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heal == nil {
		p.heal, p.only = make(chan struct{}), only
	}
	for l := range p.links {
		l.parted.Store(true)
	}
}

// Heal ends a partition; bytes that were held go on.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heal != nil {
		close(p.heal)
		p.heal = nil
	}
}

// ResetAll resets every open connection on both sides.
func (p *Proxy) ResetAll() {
	for _, l := range p.open() {
		l.reset()
	}
}

// Redirect sends later connections to another address (host:port), as after a
// failover; those that are open stay where they are.
func (p *Proxy) Redirect(upstream string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.upstream = upstream
}

func (p *Proxy) target() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.upstream
}

// Connections returns how many connections were accepted.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opened
}

// Bytes returns how many bytes were passed on in a direction.
func (p *Proxy) Bytes(d Direction) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes[d]
}

// Struck returns how many faults have struck.
func (p *Proxy) Struck() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.struck
}

// AwaitStruck waits until n faults have struck, or returns ctx's error.
func (p *Proxy) AwaitStruck(ctx context.Context, n int) error {
	for {
		p.mu.Lock()
		struck, notify := p.struck, p.notify
		p.mu.Unlock()
		if struck >= n {
			return nil
		}
		select {
		case <-notify:
		case <-ctx.Done():
			return fmt.Errorf("await fault %d, %d have struck: %w", n, struck, ctx.Err())
		}
	}
}

// Close ends the proxy and all its connections, and returns when nothing of it
// runs any more.
func (p *Proxy) Close() error {
	p.cancel()
	err := p.listener.Close()
	for _, l := range p.open() {
		l.close()
	}
	p.running.Wait()
	return err
}

func (p *Proxy) open() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	open := make([]*link, 0, len(p.links))
	for l := range p.links {
		open = append(open, l)
	}
	return open
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		client, ok := c.(*net.TCPConn)
		if !ok {
			_ = c.Close()
			continue
		}
		p.running.Go(func() { p.serve(client) })
	}
}

// serve is one connection, from accept to end.
func (p *Proxy) serve(client *net.TCPConn) {
	fault := p.take()
	if fault.Kind == Refuse {
		resetConn(client)
		p.strike()
		return
	}
	parted := p.parted()
	if !p.passable(ToServer) {
		_ = client.Close()
		return
	}
	var d net.Dialer
	c, err := d.DialContext(p.ctx, "tcp", p.target())
	if err != nil {
		resetConn(client)
		return
	}
	server, ok := c.(*net.TCPConn)
	if !ok {
		_ = c.Close()
		_ = client.Close()
		return
	}
	l := &link{proxy: p, fault: fault, ends: [2]*net.TCPConn{ToServer: server, ToClient: client}}
	p.mu.Lock()
	p.links[l] = true
	l.parted.Store(parted || p.heal != nil)
	p.mu.Unlock()
	l.run()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

func (p *Proxy) take() Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened++
	if len(p.queue) == 0 {
		return Fault{}
	}
	f := p.queue[0]
	p.queue = p.queue[1:]
	return f
}

func (p *Proxy) strike() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.struck++
	close(p.notify)
	p.notify = make(chan struct{})
}

func (p *Proxy) count(d Direction, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes[d] += int64(n)
}

func (p *Proxy) parted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heal != nil
}

// passable waits while a partition holds the direction. It reports false where
// the proxy ended.
func (p *Proxy) passable(d Direction) bool {
	for {
		p.mu.Lock()
		heal, held := p.heal, p.heal != nil && (d == ToClient || !p.only)
		p.mu.Unlock()
		if !held {
			return p.ctx.Err() == nil
		}
		select {
		case <-heal:
		case <-p.ctx.Done():
			return false
		}
	}
}
