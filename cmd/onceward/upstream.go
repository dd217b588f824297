package main

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"github.com/onceward/onceward/internal/auth"
	"github.com/onceward/onceward/internal/httpapi"
	"github.com/onceward/onceward/internal/proxy"
	"github.com/onceward/onceward/internal/webserver"
)

// proxy is the drop-in proxy of the engine's upstreams.
func (e *engine) proxy(who *auth.Authenticator, log *slog.Logger) (*proxy.Proxy, error) {
	px, err := proxy.New(proxy.Options{Ledger: e.ledger, Held: e.held, Authenticate: who.Authenticate, Provider: e.client, Reads: e.client.Passing,
		Refuse: httpapi.WriteProblem, Unfinished: httpapi.WriteUnfinished, Log: log})
	if err != nil {
		return nil, err
	}
	px.Set(e.ups)
	e.upsTo = px.Set
	return px, nil
}

// servers are the server's own address, first, and those of its upstreams.
type servers []*webserver.Server

// servers listens on the addresses that upstreams have for themselves. The
// server's own listener is l, which the caller closes if this fails.
func (a *access) servers(ctx context.Context, e *engine, g *guarded, l net.Listener, log *slog.Logger) (list servers, err error) {
	hosts := a.cfg.Hosts
	addr, _ := l.Addr().(*net.TCPAddr)
	for _, u := range e.ups {
		// Why not always: beyond loopback, a server that was told no names takes any.
		if u.HostName() != "" && (len(hosts) > 0 || addr != nil && addr.IP.IsLoopback()) {
			hosts = append(hosts[:len(hosts):len(hosts)], u.HostName())
		}
	}
	main, err := webserver.New(webserver.Options{Handler: g.handler, Listener: l, Log: log, Refuse: httpapi.WriteProblem, Hosts: hosts, TLS: a.tls()})
	if err != nil {
		return nil, err
	}
	list = servers{main}
	var opened []net.Listener
	defer func() {
		if err != nil {
			for _, l := range opened {
				err = errors.Join(err, l.Close())
			}
		}
	}()
	for _, u := range e.ups {
		if u.Listen() == "" {
			continue
		}
		own, err := webserver.Listen(ctx, u.Listen(), a.open)
		if err != nil {
			return nil, err
		}
		opened = append(opened, own)
		srv, err := webserver.New(webserver.Options{Handler: g.proxy.Upstream(u.Name()), Listener: own, Log: log, Refuse: httpapi.WriteProblem, Hosts: a.cfg.Hosts, TLS: a.tls()})
		if err != nil {
			return nil, err
		}
		list = append(list, srv)
		log.Info("serving upstream", "upstream", u.Name(), "address", a.scheme()+own.Addr().String())
	}
	return list, nil
}

// serve serves on all addresses; the channel gets the first end.
func (s servers) serve() <-chan error {
	served := make(chan error, len(s))
	for _, srv := range s {
		go func() { served <- srv.Serve() }()
	}
	return served
}

// shutdown takes no new requests on any address.
func (s servers) shutdown(ctx context.Context) error {
	errs := make(chan error, len(s))
	for _, srv := range s {
		go func() { errs <- srv.Shutdown(ctx) }()
	}
	var err error
	for range s {
		err = errors.Join(err, <-errs)
	}
	return err
}
